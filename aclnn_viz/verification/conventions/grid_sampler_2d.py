"""Conventions of the grid sampler."""

from itertools import product

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification import kinks as table
from aclnn_viz.verification.conventions.model import SILENT, Convention, gradient

SIZES = {True: 5, False: 4}  # pixels in a row, by alignCorners: all coordinates u / 2 are then exact as grid values
MULTIPLIER = 2.0  # of both, (5 - 1) / 2 and 4 / 2: what turns a derivative by the pixel coordinate into gridGrad
PIXELS = np.array([1.0, 3.0, 7.0, 15.0, 31.0])  # differences 2, 4, 8, 16: no two slopes are alike
BICUBIC = 2
BICUBIC_SOURCE = "ATen GridSampler.h, read and not run: the multiplier of bicubic is that of the unnormalisation alone"


def kinks() -> list[table.Row]:
    """One row of `PIXELS` in each of the 18 modes; values are derivatives by the pixel coordinate.

    Bicubic has no kinks: its rows show both one-sided derivatives at each pixel, which are equal.
    """
    from derivations.grid_sampler_2d_kinks import grid_sampler_kinks

    rows = []
    for mode in product((0, 1, 2), (0, 1, 2), (True, False)):
        if mode[0] == BICUBIC:
            rows += _bicubic(*mode[1:])
        else:
            rows += [_kink(found, mode) for found in grid_sampler_kinks(*mode, size=SIZES[mode[2]])]
    return rows


def sources() -> tuple[str, ...]:
    """What is cited for PyTorch's values at kinks."""
    from derivations.grid_sampler_2d_kinks import GRID_SOURCE, NEAREST_SOURCE

    return GRID_SOURCE, NEAREST_SOURCE, BICUBIC_SOURCE


def _kink(found, mode) -> table.Row:
    from sympy import Indexed

    def number(e):
        return float(e.subs({entry: PIXELS[int(entry.indices[0])] for entry in e.atoms(Indexed)}))

    at, size = float(found.at), SIZES[mode[2]]
    # Where the image ends, one side is outside: border padding is constant there.
    outside = ("left" if at == 0 else "right" if at == size - 1 else "") if mode[1] == 1 and mode[0] == 0 else ""
    return table.kink("grid_sampler_2d", found.mode, at, number(found.left), number(found.right),
                      number(found.documented), _kernel(at, *mode), (number(found.pytorch), found.source),
                      _sampled(at, *mode), outside, number(found.jump))


def _bicubic(paddingMode: int, alignCorners: bool) -> list[table.Row]:
    """One row a pixel, and one beyond each end: no kinks. The document multiplies by the factor of padding."""
    from derivations.coordinates import padded
    from derivations.interpolation import DOCUMENTED_A, cubic_weights, printed_coefficients, slopes, t
    from derivations.grid_sampler_2d_kinks import INTERPOLATIONS, PADDINGS
    from sympy import Integer, S

    size = SIZES[alignCorners]
    mode = f"{INTERPOLATIONS[BICUBIC]}, {PADDINGS[paddingMode]}, alignCorners={alignCorners}"

    def pixel(index):
        index = int(padded(Integer(index), Integer(size), paddingMode, alignCorners)[0])
        return PIXELS[index] if 0 <= index < size else 0.0

    def combine(weights, first):
        return float(sum(float(weight) * pixel(first + j) for j, weight in enumerate(weights)))

    derivatives, printed = slopes(cubic_weights(t, DOCUMENTED_A)), printed_coefficients(S.Zero, DOCUMENTED_A)
    rows = []
    for u in range(-1, size + 1):
        left, right = (combine([d.subs(t, end) for d in derivatives], u - 1 - end) for end in (1, 0))
        factor = float(padded(Integer(u), Integer(size), paddingMode, alignCorners, closed=True)[1])
        rows.append(table.kink("grid_sampler_2d", mode, float(u), left, right, 0.0 - factor * combine(printed, u - 1),
                               _kernel(float(u), BICUBIC, paddingMode, alignCorners), (left, BICUBIC_SOURCE),
                               _sampled(float(u), BICUBIC, paddingMode, alignCorners), ""))
    return rows


def _grid(u: float, alignCorners: bool) -> np.ndarray:
    x = u / MULTIPLIER - 1 if alignCorners else (2 * u + 1) / SIZES[False] - 1
    return np.array([[[[x, 0.0]]]])


def _kernel(u: float, interpolationMode: int, paddingMode: int, alignCorners: bool) -> float:
    """What op.backward returns at pixel coordinate u of the row, per pixel."""
    image = PIXELS[None, None, None, :SIZES[alignCorners]]
    grad = operator("grid_sampler_2d").backward(
        gradOutput=np.ones((1, 1, 1, 1)), input=image, grid=_grid(u, alignCorners),
        interpolationMode=interpolationMode, paddingMode=paddingMode, alignCorners=alignCorners)["gridGrad"]
    return float(grad[0, 0, 0, 0]) / MULTIPLIER


def _sampled(u: float, interpolationMode: int, paddingMode: int, alignCorners: bool) -> tuple[float, str] | None:
    def loss(torch, grid):
        image = torch.tensor(PIXELS[None, None, None, :SIZES[alignCorners]])
        return torch.nn.functional.grid_sample(
            image, grid, ("bilinear", "nearest", "bicubic")[interpolationMode],
            ("zeros", "border", "reflection")[paddingMode], alignCorners).sum()

    return table.peer(loss, _grid(u, alignCorners).tolist(), MULTIPLIER)


# The table of conventions

A2 = "ops-cv image/grid_sampler2_d_grad/op_kernel/grid_sampler2_d_grad.h"
BICUBIC_A2 = "ops-cv image/grid_sampler2_d_grad/op_kernel/grid_sampler2_d_grad_bicubic.h"
ROUND = "round(), without a word on ties"
CRASHES = "a segmentation fault (2.13.0 on a CPU)"  # which is why PyTorch is not asked again for these rows
CAST = "undefined: nan is cast to an index"
NOTHING = "nothing about coordinates that are no numbers, or too large"


def both_gradients(x: float, interpolationMode: int, paddingMode: int, alignCorners: bool, size: int | None = None,
                   upstream: float = 1.0):
    """inputGrad of the row, then gridGrad by x, for gradOutput `upstream` at (x, 0)."""
    image = PIXELS[None, None, None, :size or SIZES[alignCorners]]

    def run():
        found = operator("grid_sampler_2d").backward(
            gradOutput=np.full((1, 1, 1, 1), upstream), input=image, grid=np.array([[[[x, 0.0]]]]),
            interpolationMode=interpolationMode, paddingMode=paddingMode, alignCorners=alignCorners)
        return [*found["inputGrad"].ravel(), found["gridGrad"].ravel()[0]]
    return run


def both_in_torch(x: float, interpolationMode: int, paddingMode: int, alignCorners: bool, size: int | None = None,
                  upstream: float = 1.0):
    row = PIXELS[None, None, None, :size or SIZES[alignCorners]]

    def run(torch):
        def sampled(image, grid):
            return torch.nn.functional.grid_sample(
                image, grid, ("bilinear", "nearest", "bicubic")[interpolationMode],
                ("zeros", "border", "reflection")[paddingMode], alignCorners)

        grid = torch.tensor([[[[x, 0.0]]]], dtype=torch.float64)
        by_image = gradient(torch, lambda t: sampled(t, grid), row, upstream)
        by_grid = gradient(torch, lambda t: sampled(torch.tensor(row), t), [[[[x, 0.0]]]], upstream)
        return [*by_image.ravel(), by_grid.ravel()[0]]
    return run


def row(topic, where, x, mode, returns, document, published, pytorch, why, size=None, upstream=1.0) -> Convention:
    peer = None if isinstance(pytorch, str) else both_in_torch(x, *mode, size, upstream)
    return Convention(topic, f"{where}: inputGrad, gridGrad by x", both_gradients(x, *mode, size, upstream), returns,
                      document, published, pytorch, why, peer)


def without_points():
    none = np.zeros((1, 0, 1, 2))
    return operator("grid_sampler_2d").backward(gradOutput=np.zeros((1, 1, 0, 1)), input=np.ones((1, 1, 1, 2)),
                                                grid=none)["inputGrad"].ravel()


def in_torch_without_points(torch):
    grid = torch.zeros((1, 0, 1, 2), dtype=torch.float64)
    return gradient(torch, lambda t: torch.nn.functional.grid_sample(t, grid, align_corners=False),
                    np.ones((1, 1, 1, 2))).ravel()


CONVENTIONS = (
    row("kink", "bilinear on the pixel centre 1 of 5, zeros, aligned", -0.5, (0, 0, True), [0, 1, 0, 0, 0, 8],
        "floor picks the pixels 1 and 2", "the derivative from the right, on every product", [0, 1, 0, 0, 0, 8],
        "floor, as printed; `aclnn-viz errata --kinks` shows every kink of every mode"),
    row("kink", "bilinear on the last pixel, border, aligned", 1.0, (0, 1, True), [0, 0, 0, 0, 1, 0],
        "grad_clip is 0 outside of the border, else 1", f"0 on the border, too ({A2})", [0, 0, 0, 0, 1, 0],
        "the kernels and PyTorch agree: the derivative from outside"),
    row("kink", "bilinear on the last pixel, reflection, aligned", 1.0, (0, 2, True), [0, 0, 0, 0, 1, 0],
        "grad_refl is 1 or -1, times grad_clip", f"grad_clip makes it 0 ({A2})", [0, 0, 0, 0, 1, 0],
        "the kernels and PyTorch agree: the mean of both sides"),
    row("kink", "bilinear on the first pixel, border, aligned", -1.0, (0, 1, True), [1, 0, 0, 0, 0, 0],
        "grad_clip is 0 outside of the border, else 1", f"0 on the border, too ({A2})", [1, 0, 0, 0, 0, 0],
        "the kernels and PyTorch agree: the derivative from outside"),
    row("tie", "nearest, halfway between the pixels 0 and 1, aligned", -0.75, (1, 0, True), [1, 0, 0, 0, 0, 0], ROUND,
        f"to even, pixel 0 ({A2}, CAST_RINT)", [1, 0, 0, 0, 0, 0], "the kernels and PyTorch agree"),
    row("tie", "nearest, halfway between the pixels 1 and 2, aligned", -0.25, (1, 0, True), [0, 0, 1, 0, 0, 0], ROUND,
        f"to even, pixel 2 ({A2}, CAST_RINT)", [0, 0, 1, 0, 0, 0], "the kernels and PyTorch agree"),
    row("not finite", "x = nan, bilinear, zeros", np.nan, (0, 0, False), [0] * 5, NOTHING,
        f"becomes -100, outside of the image ({A2})", [0] * 5, "as on Atlas A2"),
    row("not finite", "x = nan, bilinear, border", np.nan, (0, 1, False), [0] * 5, NOTHING,
        f"becomes -100 after padding: nothing is read ({A2})", CRASHES, "as on Atlas A2"),
    row("not finite", "x = inf, bilinear, border", np.inf, (0, 1, False), [0, 0, 0, 1, 0], NOTHING,
        f"clipped to the last pixel, multiplier 0 ({A2})", [0, 0, 0, 1, 0], "as on Atlas A2"),
    row("not finite", "x = inf, bilinear, reflection", np.inf, (0, 2, False), [0] * 5, NOTHING,
        f"becomes -100: nothing is read ({A2})", CRASHES, "as on Atlas A2"),
    row("not finite", "x = nan, one pixel, bilinear, reflection, aligned", np.nan, (0, 2, True), [0, 0], NOTHING,
        f"becomes -100 after the coordinate 0: nothing is read ({A2})", [1, 0], "as on Atlas A2", 1),
    row("not finite", "x = nan, bicubic, zeros", np.nan, (2, 0, False), [0] * 5, NOTHING,
        f"becomes -100, outside of the image ({BICUBIC_A2})", [0, 0, 0, 0, np.nan], "as on Atlas A2"),
    row("not finite", "x = nan, bicubic, border", np.nan, (2, 1, False), [1, 0, 0, 0, 0], NOTHING,
        f"becomes -100, and the taps around it are clipped to the first pixel ({BICUBIC_A2})",
        CAST, "as on Atlas A2"),
    row("not finite", "x = nan, bicubic, reflection", np.nan, (2, 2, False), [0] * 5, NOTHING,
        f"no special case: a nan is cast to an integer ({BICUBIC_A2})", CAST,
        "nothing is read, as at any other coordinate that is no number"),
    row("not finite", "gradOutput = nan at a point far outside, bilinear, zeros", 9.0, (0, 0, False), [0] * 5, SILENT,
        f"pixels outside are skipped ({A2})", [0, 0, 0, 0, np.nan], "what is not read has no part in it",
        upstream=np.nan),
    row("not finite", "gradOutput = nan, nearest, on the pixel 1, aligned", -0.5, (1, 0, True),
        [0, np.nan, 0, 0, 0, 0], SILENT, "0: nearest computes no gradient by the grid", [0, np.nan, 0, 0, 0, 0],
        "the gradient by the grid is 0, not 0 times gradOutput", upstream=np.nan),
    row("parameter", "x = 1e10, bilinear, zeros", 1e10, (0, 0, False), [0] * 5, NOTHING,
        f"becomes -100, outside of the image ({A2})", [0] * 5, "it is outside in any case"),
    row("parameter", "x = 1e10, bicubic, border", 1e10, (2, 1, False), [1, 0, 0, 0, 0], NOTHING,
        f"becomes -100, and the taps around it are clipped to the first pixel ({BICUBIC_A2})", [0, 0, 0, 1, 0],
        "as on Atlas A2, where the left edge is read for a coordinate far to the right"),
    row("zero divisor", "one pixel, aligned, reflection: the mirrors coincide", 0.5, (0, 2, True), [1, 0], SILENT,
        f"coordinate 0, multiplier 0 ({A2})", [1, 0], "as on Atlas A2", 1),
    row("zero divisor", "one pixel, aligned, zeros: W - 1 = 0", 0.5, (0, 0, True), [1, 0],
        "the factor (W - 1) / 2 is 0", "coordinate 0, multiplier 0", [1, 0], "the formula", 1),
    Convention("empty", "no grid points: inputGrad", without_points, [0, 0], "empty tensors are supported",
               "success at once, and inputGrad is left as it was (ops-cv image/grid_sampler2_d_grad/op_host/op_api/"
               "aclnn_grid_sampler2d_backward.cpp)", [0, 0], "an empty sum is 0", in_torch_without_points),
    Convention("empty", "an image of height 0", lambda: _refused((1, 1, 0, 2)), "refused", "161002", "161002",
               "refuses it", "there is no pixel to read"),
)


def _refused(shape) -> str:
    try:
        operator("grid_sampler_2d").backward(gradOutput=np.ones((1, 1, 1, 1)), input=np.ones(shape),
                                             grid=np.zeros((1, 1, 1, 2)))
    except ValueError:
        return "refused"
    return "taken"
