"""Errata of aclnnGridSampler2DBackward that are mathematics; those of its contract are in `grid_sampler_2d_calls`."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.errata import grid_sampler_2d_calls
from aclnn_viz.verification.errata.differences import STEP, one_sided
from aclnn_viz.verification.errata.model import Counterexample, Erratum, Lemma, Observation

DOCUMENT = "ops-cv image/grid_sampler2_d_grad/docs/aclnnGridSampler2DBackward.md, commit 6ae8765"
KERNEL = "ops-cv image/grid_sampler2_d_grad/op_kernel"
A = -0.75
ROW = np.array([1.0, 2.0, 4.0])  # one row of pixels; with alignCorners x = -1, 0, 1 are their centres
SQUARE = np.array([[1.0, 2.0], [3.0, 4.0]])
NEAREST, BICUBIC, BORDER = 1, 2, 1


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


ERRATA = (
    Erratum(
        "grid-sampler-corners", "grid_sampler_2d", "mathematics", "The corners are exchanged in print",
        "(x, y) = (-1, 1) is the top left corner and (1, -1) the bottom right one.", DOCUMENT,
        "The printed formulas make (-1, -1) the top left and (1, 1) the bottom right corner.",
        f"{DOCUMENT}, formulas",
        (Lemma("grid_sampler_2d", "unnormalise_ends", "-1 and 1 exchanged"),
         Counterexample("the image [[1, 2], [3, 4]] and the point (-1, 1)", lambda: SQUARE[0, 0], lambda: SQUARE[1, 0],
                        lambda: sample(SQUARE[None], -1.0, 1.0)[0], "forward pass"))),
    Erratum(
        "grid-sampler-clip", "grid_sampler_2d", "mathematics", "The clip factor is 0 on the border itself",
        "grad_clip is 0 outside of the border, else 1.", DOCUMENT,
        "The kernels return 0 on the border, too: the derivative from outside. The printed factor reads a pixel behind "
        "the last one, and gives a slope that is neither one-sided derivative.",
        f"{KERNEL}/grid_sampler2_d_grad.h; clip_coordinates_set_grad in ATen GridSampler.h",
        (Lemma("grid_sampler_2d", "printed_clip_factor", "by 0"),
         Lemma("grid_sampler_2d", "clip_at_the_border", "1, as printed"),
         Counterexample("the last pixel of the row [1, 2, 4], border", lambda: border_slope(1.0, True),
                        lambda: border_slope(1.0, False), lambda: one_sided(sample_row, 1.0, 1),
                        "difference from outside"),
         Observation("difference from inside at the last pixel", lambda: one_sided(sample_row, 1.0, -1),
                     border_slope(1.0, True), 2.0),
         Observation("op.backward at the first and the last pixel",
                     lambda: [backward(x, paddingMode=BORDER)["gridGrad"][0, 0, 0, 0] for x in (-1.0, 1.0)],
                     [border_slope(x, True) for x in (-1.0, 1.0)], [0.0, 0.0]))),
    Erratum(
        "grid-sampler-bicubic-abs", "grid_sampler_2d", "mathematics",
        "Bicubic derivative coefficients with |.| are wrong",
        "Coefficients 0 and 1 of the derivative take x = |-1 - t| and x = |0 - t|.", DOCUMENT,
        "The printed polynomials need the signed distances -1 - t and -t; with |.| the four do not even add up to 0.",
        f"{KERNEL}/grid_sampler2_d_grad_bicubic.h; the derivative of Keys' kernel",
        (Lemma("grid_sampler_2d", "printed_cubic_coefficients", "by nothing"),
         Lemma("grid_sampler_2d", "cubic_coefficients_need_signed_distances", "as printed, at absolute distances"),
         Counterexample("t = 1/4", lambda: coefficients(0.25, False), lambda: coefficients(0.25, True), weight_slopes,
                        "differences of the weights"),
         Observation("sum of the printed coefficients at t = 1/4", lambda: sum(coefficients(0.25, False)), 0.0,
                     16.5))),
    Erratum(
        "grid-sampler-bicubic-padding", "grid_sampler_2d", "mathematics", "Padding multipliers do not apply to bicubic",
        "border multiplies by grad_clip and reflection by grad_refl * grad_clip, whatever interpolationMode is.",
        DOCUMENT,
        "Bicubic pads each neighbour, not the coordinate: the multiplier is that of the unnormalisation alone.",
        f"{KERNEL}/grid_sampler2_d_grad_bicubic.h, ComputeSourceIndexSetGrad; {KERNEL}/arch35",
        (Lemma("grid_sampler_2d", "padding_factors_by_mode", "right on bicubic"),
         Counterexample("half a pixel before the row [1, 2, 4], bicubic, border", lambda: bicubic_outside(0.0),
                        lambda: bicubic_outside(1.0), bicubic_difference, "difference of the forward pass"))),
    Erratum(
        "grid-sampler-round", "grid_sampler_2d", "numerics", "round() does not say what it does with ties",
        "nearest reads the pixel round(iy), round(ix).", DOCUMENT,
        "The kernels round to nearest even (CAST_RINT, rintf), as PyTorch's nearbyint; C's round() goes away from 0.",
        f"{KERNEL}/grid_sampler2_d_grad.h; {KERNEL}/arch35/grid_sampler2_d_grad_simt.h",
        (Observation("inputGrad of nearest at coordinate 1/2",
                     lambda: backward(-0.5, interpolationMode=NEAREST)["inputGrad"][0, 0, 0], [0.0, 1.0, 0.0],
                     [1.0, 0.0, 0.0]),),
        inferred="that the document means C's round()"),
    *grid_sampler_2d_calls.ERRATA,
)
