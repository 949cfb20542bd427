"""Errata of aclnnGridSampler2DBackward: of its mathematics, then of its contract."""

from functools import partial

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.operators.codes import ACL_DOUBLE
from aclnn_viz.operators.products import TRAINING
from aclnn_viz.verification.contract import run
from aclnn_viz.verification.errata import model
from aclnn_viz.verification.errata.model import STEP, Contradiction, Counterexample, Lemma, Observation, erratum, one_sided

OLDER = "aclnnGridSampler2DBackward, CANN documentation of 8.x"
NEWEST = "ops-cv image/grid_sampler2_d_grad/docs/aclnnGridSampler2DBackward.md, commit 6ae8765"
CODE = "ops-cv image/grid_sampler2_d_grad/op_host/op_api/aclnn_grid_sampler2d_backward.cpp"
KERNEL = "ops-cv image/grid_sampler2_d_grad/op_kernel"
A = -0.75
ROW = np.array([1.0, 2.0, 4.0])  # one row of pixels; with alignCorners x = -1, 0, 1 are their centres
SQUARE = np.array([[1.0, 2.0], [3.0, 4.0]])
NEAREST, BICUBIC, BORDER = 1, 2, 1
DOUBLES = {name: (shape, ACL_DOUBLE) for name, shape in (
    ("gradOutput", (1, 2, 3, 3)), ("input", (1, 2, 4, 5)), ("grid", (1, 3, 3, 2)), ("inputGrad", (1, 2, 4, 5)),
    ("gridGrad", (1, 3, 3, 2)))}
phase_1 = partial(model.phase_1, "grid_sampler_2d")


def sample(image, x, y=0.0, interpolationMode=0, paddingMode=0) -> np.ndarray:
    """The forward operator on images (C, H, W) at one point, with alignCorners: C values."""
    return operator("grid_sampler_2d").forward(
        input=image[None], grid=np.array([[[[x, y]]]]), interpolationMode=interpolationMode, paddingMode=paddingMode,
        alignCorners=True)["out"][0, :, 0, 0]


def backward(x, **mode) -> dict:
    """Both gradients at one point of ROW, for gradOutput 1."""
    return operator("grid_sampler_2d").backward(
        gradOutput=np.ones((1, 1, 1, 1)), input=ROW[None, None, None], grid=np.array([[[[x, 0.0]]]]), alignCorners=True,
        **mode)


def border_slope(x: float, printed: bool) -> float:
    """gridGrad of ROW with border padding: (right - left pixel) times the clip factor; behind the last pixel is none.

    Printed, the factor is 0 outside only; in the kernels at the border, too.
    """
    u = x + 1
    inside = 0 <= u <= 2 if printed else 0 < u < 2
    left = int(np.floor(np.clip(u, 0, 2)))
    pixels = [*ROW, 0.0]
    return float(inside) * (pixels[left + 1] - pixels[left])


def coefficients(t: float, signed: bool) -> list[float]:
    """The derivative coefficients of bicubic, with the printed polynomials at |.| or at signed distances."""
    a, b = (-1 - t, -t) if signed else (abs(-1 - t), abs(-t))
    c, d = 1 - t, 2 - t
    return [(-3 * A * a - 10 * A) * a - 8 * A, (-3 * (A + 2) * b - 2 * (A + 3)) * b,
            (3 * (A + 2) * c - 2 * (A + 3)) * c, (3 * A * d - 10 * A) * d + 8 * A]


def weight_slopes() -> np.ndarray:
    """Minus the derivatives of the four weights at t = 1/4, from differences of the forward pass on unit impulses."""
    impulses = np.eye(9)[:, None, :]  # nine images of nine pixels; x = u / 4 - 1
    def weights(u):
        return sample(impulses, u / 4 - 1, interpolationMode=BICUBIC)[2:6]
    return -(weights(3.25 + STEP) - weights(3.25 - STEP)) / (2 * STEP)


def bicubic_outside(factor: float) -> float:
    """gridGrad of ROW at u = -1/2 with border: `factor` of padding, then minus coefficients times clamped pixels."""
    pixels = ROW[[0, 0, 0, 1]]  # -2, -1, 0, 1 clamped
    return factor * -float(np.dot(coefficients(0.5, signed=True), pixels))


def bicubic_difference() -> float:
    mode = {"interpolationMode": BICUBIC, "paddingMode": BORDER}
    ends = [sample(ROW[None, None], -1.5 + side * STEP, **mode)[0] for side in (-1, 1)]
    return (ends[1] - ends[0]) / (2 * STEP)


def sample_row(x: float) -> float:
    return float(sample(ROW[None, None], x, paddingMode=BORDER)[0])


def nulls(mask) -> dict:
    return {"outputMask": mask, "gradOutput": None, "input": None, "grid": None}


def without_points():
    """What an inputGrad that was [7, 7] before the call holds after a call with no grid point."""
    image, none = np.zeros((1, 1, 1, 2), np.float32), np.zeros((1, 0, 1, 2), np.float32)
    given = {"gradOutput": np.zeros((1, 1, 0, 1), np.float32), "input": image, "grid": none, "outputMask": [True, True],
             "inputGrad": np.full(image.shape, 7, np.float32), "gridGrad": none}
    return run("grid_sampler_2d", **given).outputs["inputGrad"][0, 0, 0]


ERRATA = (
    erratum(
        "grid-sampler-corners", "mathematics", "The corners are exchanged in print",
        "(x, y) = (-1, 1) is the top left corner and (1, -1) the bottom right one.", NEWEST,
        "The printed formulas make (-1, -1) the top left and (1, 1) the bottom right corner.",
        f"{NEWEST}, formulas",
        Lemma("grid_sampler_2d", "unnormalise_ends", "-1 and 1 exchanged"),
        Counterexample("the image [[1, 2], [3, 4]] and the point (-1, 1)", lambda: SQUARE[0, 0], lambda: SQUARE[1, 0],
                       lambda: sample(SQUARE[None], -1.0, 1.0)[0], "forward pass")),
    erratum(
        "grid-sampler-clip", "mathematics", "The clip factor is 0 on the border itself",
        "grad_clip is 0 outside of the border, else 1.", NEWEST,
        "The kernels return 0 on the border, too: the derivative from outside. The printed factor reads a pixel behind "
        "the last one, and gives a slope that is neither one-sided derivative.",
        f"{KERNEL}/grid_sampler2_d_grad.h; clip_coordinates_set_grad in ATen GridSampler.h",
        Lemma("grid_sampler_2d", "printed_clip_factor", "by 0"),
        Lemma("grid_sampler_2d", "clip_at_the_border", "1, as printed"),
        Counterexample("the last pixel of the row [1, 2, 4], border", lambda: border_slope(1.0, True),
                       lambda: border_slope(1.0, False), lambda: one_sided(sample_row, 1.0, 1),
                       "difference from outside"),
        Observation("difference from inside at the last pixel", lambda: one_sided(sample_row, 1.0, -1),
                    border_slope(1.0, True), 2.0),
        Observation("op.backward at the first and the last pixel",
                    lambda: [backward(x, paddingMode=BORDER)["gridGrad"][0, 0, 0, 0] for x in (-1.0, 1.0)],
                    [border_slope(x, True) for x in (-1.0, 1.0)], [0.0, 0.0])),
    erratum(
        "grid-sampler-bicubic-abs", "mathematics",
        "Bicubic derivative coefficients with |.| are wrong",
        "Coefficients 0 and 1 of the derivative take x = |-1 - t| and x = |0 - t|.", NEWEST,
        "The printed polynomials need the signed distances -1 - t and -t; with |.| the four do not even add up to 0.",
        f"{KERNEL}/grid_sampler2_d_grad_bicubic.h; the derivative of Keys' kernel",
        Lemma("grid_sampler_2d", "printed_cubic_coefficients", "by nothing"),
        Lemma("grid_sampler_2d", "cubic_coefficients_need_signed_distances", "as printed, at absolute distances"),
        Counterexample("t = 1/4", lambda: coefficients(0.25, False), lambda: coefficients(0.25, True), weight_slopes,
                       "differences of the weights"),
        Observation("sum of the printed coefficients at t = 1/4", lambda: sum(coefficients(0.25, False)), 0.0,
                    16.5)),
    erratum(
        "grid-sampler-bicubic-padding", "mathematics", "Padding multipliers do not apply to bicubic",
        "border multiplies by grad_clip and reflection by grad_refl * grad_clip, whatever interpolationMode is.",
        NEWEST,
        "Bicubic pads each neighbour, not the coordinate: the multiplier is that of the unnormalisation alone.",
        f"{KERNEL}/grid_sampler2_d_grad_bicubic.h, ComputeSourceIndexSetGrad; {KERNEL}/arch35",
        Lemma("grid_sampler_2d", "padding_factors_by_mode", "right on bicubic"),
        Counterexample("half a pixel before the row [1, 2, 4], bicubic, border", lambda: bicubic_outside(0.0),
                       lambda: bicubic_outside(1.0), bicubic_difference, "difference of the forward pass")),
    erratum(
        "grid-sampler-round", "numerics", "round() does not say what it does with ties",
        "nearest reads the pixel round(iy), round(ix).", NEWEST,
        "The kernels round to nearest even (CAST_RINT, rintf), as PyTorch's nearbyint; C's round() goes away from 0.",
        f"{KERNEL}/grid_sampler2_d_grad.h; {KERNEL}/arch35/grid_sampler2_d_grad_simt.h",
        Observation("inputGrad of nearest at coordinate 1/2",
                    lambda: backward(-0.5, interpolationMode=NEAREST)["inputGrad"][0, 0, 0], [0.0, 1.0, 0.0],
                    [1.0, 0.0, 0.0]),
        inferred="that the document means C's round()"),
    erratum(
        "grid-sampler-null-mask", "contract", "A null outputMask succeeds before every check",
        "161001 for null gradOutput, input, grid, inputGrad, gridGrad; nothing about a null outputMask.",
        f"{OLDER}, return values",
        "A null outputMask returns success and computes nothing, whatever the other arguments are.", CODE,
        phase_1("phase 1 with outputMask and all inputs null", 161001, 0, **nulls(None))),
    erratum(
        "grid-sampler-false-mask", "contract", "The mask {false, false} skips the checks before 9.1",
        "161001 for null gradOutput, input, grid.", OLDER,
        "Up to CANN 9.0.1 a mask of two false entries succeeds before any check; from 9.1.0-beta.1 on after them.",
        f"{CODE}, tags v9.0.1 and v9.1.0-beta.1",
        phase_1("CANN 9.0.1, inputs null", 161001, 0, cann="9.0.1", **nulls([False, False])),
        phase_1("CANN 9.1, inputs null", "success as in 9.0.1", 161001, **nulls([False, False]))),
    erratum(
        "grid-sampler-mask-size", "contract", "The length of outputMask is checked, and not listed",
        "Ten reasons for 161002, none of them about outputMask.", OLDER, "outputMask must have two entries.", CODE,
        phase_1("phase 1 with a mask of three entries", "no status named", 161002, outputMask=[True] * 3)),
    erratum(
        "grid-sampler-double-910", "contract", "DOUBLE on Atlas training series passes the check",
        "Atlas training series: FLOAT16 and FLOAT32.", f"{OLDER}; {NEWEST}",
        "The check takes DOUBLE on every architecture; an AI CPU kernel computes it.", CODE,
        phase_1("phase 1 on Ascend910A with DOUBLE", 161002, 0, TRAINING, **DOUBLES),
        inferred="that the AI CPU kernel then runs: its source is not published"),
    erratum(
        "grid-sampler-empty", "contract",
        "Without grid points inputGrad is left as it was",
        "gradOutput and grid may be empty; inputGrad is the gradient of input.", NEWEST,
        "A call without grid points succeeds at once and does not write inputGrad, whose value is the empty sum 0. (An "
        "H or W of 0 is refused, as the document says under 161002.)", CODE,
        Observation("inputGrad after a call without grid points, [7, 7] before", without_points, [0.0, 0.0],
                    [7.0, 7.0])),
    erratum(
        "grid-sampler-bicubic-version", "contract", "Whether bicubic exists depends on the version",
        "The older document: interpolationMode 0 and 1; the newest: 0, 1 and 2, without a version.",
        f"{OLDER}; {NEWEST}", "2 is accepted from v9.1.0-beta.2 on.", f"{CODE}, tag by tag",
        Contradiction(("interpolationMode: 0 bilinear, 1 nearest", OLDER), ("interpolationMode: 0, 1, 2", NEWEST)),
        phase_1("CANN 9.0, interpolationMode 2 (newest document)", 0, 161002, cann="9.0", interpolationMode=2),
        phase_1("CANN 9.1, interpolationMode 2 (older document)", 161002, 0, interpolationMode=2)),
)
