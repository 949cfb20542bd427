"""Puzzles on the gradient of hardswish: three pieces, two kinks, one rounding."""

from functools import partial

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.checking.puzzles.detective import Detective
from aclnn_viz.checking.puzzles.puzzle import Curve, Puzzle, Reads
from aclnn_viz.checking.puzzles.symptoms import standards

from . import page

XP = NumPyArrays()
KINKS = np.array([-3.0, 3.0])
BESIDE = np.nextafter(KINKS[:, None], np.array([-4.0, 4.0])).ravel()


def hardswish_middle(x):
    """The derivative of y = x (x + 3) / 6 at every element of x (n,), by the product rule."""
    slope = np.zeros_like(x)
    for i in range(x.size):
        of_the_first_factor = (x[i] + 3.0) / 6.0
        of_the_second_factor = x[i] / 6.0
        slope[i] = of_the_first_factor + of_the_second_factor
    return slope


def hardswish_slope(x):
    """The slope of hardswish, x clip(x + 3, 0, 6) / 6, everywhere on the line, for x (n,); the kinks belong to the
    middle."""
    slope = np.zeros_like(x)
    for i in range(x.size):
        clipped = min(max(x[i] + 3.0, 0.0), 6.0)
        moving = -3.0 <= x[i] <= 3.0  # otherwise the clip holds still
        slope[i] = (clipped + (x[i] if moving else 0.0)) / 6.0
    return slope


def hardswish_kernel(gradOutput, self):
    """The whole kernel, in float16, bfloat16, float32 and float64: 16-bit inputs are computed in float32 and rounded
    once."""
    out = np.zeros_like(gradOutput)
    for i in np.ndindex(out.shape):
        x = float(self[i])
        slope = 0.0 if x < -3.0 else 1.0 if not x <= 3.0 else x / 3.0 + 0.5
        out[i] = float(gradOutput[i]) * slope
    return out


PUZZLES = (
    Puzzle(hardswish_middle, "hardswish", "A derivative in one line", ("slope",), 1, (
        "Add the two terms of the product rule.",
        "(x + 3) / 6 + x / 6 has one x too many: collect them.",
        "return x / 3 + ..."),
        Curve("x", -3.0, 3.0, marks=(-3.0, -1.5, 3.0)), lambda x: page.slope(XP, x),
        ({"x": np.linspace(-2.9, 2.9, 13)}, {"x": KINKS}, {"x": np.array([-1.5, 0.0, 1.0])})),
    Puzzle(hardswish_slope, "hardswish", "Two corners", ("slope",), 1, (
        "There are three pieces: what is the slope on each?",
        "Two np.where inside each other choose one of three. Which comparisons include their bound?",
        "return np.where(x < -3, 0, np.where(x <= 3, ..., 1))"),
        Curve("x", -5.0, 5.0, marks=(-3.0, 3.0)), lambda x: page.slope(XP, x),
        ({"x": np.linspace(-4.7, 4.9, 13)}, {"x": KINKS}, {"x": BESIDE},
         {"x": np.array([-np.inf, -1e30, 1e30, np.inf])})),
    Puzzle(hardswish_kernel, "hardswish", "A kernel that rounds once", ("out",), 3, (
        "The formula is that of the puzzle before. What is new are the formats.",
        "np.promote_types(self.dtype, np.float32) is the type to compute in: float32 for 16 bits, and never narrower.",
        "x = self.astype(wide) first; multiply in that type; .astype(self.dtype) at the very end."),
        Reads({"gradOutput": np.array([1.0, 2.0, -1.0, 0.5]), "self": np.array([-4.0, -3.0, 1.5, 5.0])}, "out", (2,))),
)

DETECTIVES = (
    Detective(
        3, "half_digits", "hardswish", "Accepted here, refused there",
        "A float16 kernel passes the loose standards and fails the strict ones. The formula was read twice, and is "
        "right.",
        (("float16", {"shape": (64, 64), "dtype": "float16"}),), partial(standards, output="out"),
        ("both kinks open", "a third with three digits", "16-bit outputs truncated", "computed in 16 bits",
         "half forgotten"),
        ("How many ulps are the largest errors? A cut output is off by less than one.",
         "Look where the errors are large: at which |truth|?",
         "Small results near x = -1.5 are differences of larger numbers. With how many digits were those kept?"),
        "computed in 16 bits"),
)
