"""Solutions of the puzzles on hardswish."""

import numpy as np

from aclnn_viz.checking.puzzles.solutions import Mistake


def hardswish_middle(x):
    return x / 3 + 0.5


def hardswish_slope(x):
    return np.where(x < -3, 0.0, np.where(x <= 3, x / 3 + 0.5, 1.0))


def hardswish_kernel(gradOutput, self):
    x = self.astype(np.promote_types(self.dtype, np.float32))
    slope = np.where(x < -3, 0, np.where(x <= 3, x / 3 + 0.5, 1))
    return (gradOutput.astype(x.dtype) * slope).astype(self.dtype)


LOWER, UPPER = ("x < -3", "x <= -3"), ("x <= 3", "x < 3")

MISTAKES = {
    "hardswish_middle": (
        Mistake("slope 1/6", "only the first factor of the product is differentiated",
                (("x / 3", "x / 6"),)),
        Mistake("half forgotten", "the 3 / 6 of the product rule is dropped", (("x / 3 + 0.5", "x / 3"),)),
        Mistake("only the clip differentiated", "the term with x itself is dropped, and with it the half",
                (("x / 3 + 0.5", "x / 6"),)),
    ),
    "hardswish_slope": (
        Mistake("kinks open", "the kinks belong to the outer pieces in newer PyTorch, not here", (LOWER, UPPER)),
        Mistake("right side cut", "outside of the middle everything is taken for saturated; on the right y is x",
                (("1.0))", "0.0))"),)),
        Mistake("infinity times a mask", "the pieces are chosen by multiplying with masks, and inf * 0 is nan",
                (("np.where(x < -3, 0.0, np.where(x <= 3, x / 3 + 0.5, 1.0))",
                  "(x >= -3) * (x <= 3) * (x / 3 + 0.5) + (x > 3)"),)),
    ),
    "hardswish_kernel": (
        Mistake("computed in 16 bits", "", (("np.promote_types(self.dtype, np.float32)", "self.dtype"),
                                            ("x / 3 + 0.5", "x / x.dtype.type(3) + x.dtype.type(0.5)"))),
        Mistake("gradOutput forgotten", "", (("(gradOutput.astype(x.dtype) * slope)", "slope"),)),
        Mistake("both kinks open", "", (LOWER, UPPER)),
    ),
}
