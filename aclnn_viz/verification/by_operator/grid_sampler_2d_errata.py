"""Recompute errors in the vendor's document of the 2D grid sampler: functions that the expressions of errata.toml call by name."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.operators.codes import ACL_DOUBLE
from aclnn_viz.verification import contract
from aclnn_viz.verification.errata.model import STEP

A = -0.75
# one row of pixels; with alignCorners their centres lie at x = -1, 0, 1
ROW = np.array([1.0, 2.0, 4.0])
SQUARE = np.array([[1.0, 2.0], [3.0, 4.0]])
NEAREST, BICUBIC, BORDER = 1, 2, 1
DOUBLES = {
    name: (shape, ACL_DOUBLE)
    for name, shape in (
        ("gradOutput", (1, 2, 3, 3)),
        ("input", (1, 2, 4, 5)),
        ("grid", (1, 3, 3, 2)),
        ("inputGrad", (1, 2, 4, 5)),
        ("gridGrad", (1, 3, 3, 2)),
    )
}


def sample(image, x, y=0.0, interpolationMode=0, paddingMode=0) -> np.ndarray:
    """Run the forward operator on images (C, H, W) at one point with alignCorners; return C values."""
    return operator("grid_sampler_2d").forward(
        input=image[None],
        grid=np.array([[[[x, y]]]]),
        interpolationMode=interpolationMode,
        paddingMode=paddingMode,
        alignCorners=True,
    )["out"][0, :, 0, 0]


def backward(x, **mode) -> dict:
    """Return both gradients at one point of ROW, for gradOutput 1."""
    return operator("grid_sampler_2d").backward(
        gradOutput=np.ones((1, 1, 1, 1)),
        input=ROW[None, None, None],
        grid=np.array([[[[x, 0.0]]]]),
        alignCorners=True,
        **mode,
    )


def border_slope(x: float, printed: bool) -> float:
    """Return gridGrad of ROW with border padding: (right - left pixel) times the clip factor; the pixel behind the last is 0.

    The printed factor is 0 outside only; the factor in the kernels is 0 at the border, too.
    """
    u = x + 1
    inside = 0 <= u <= 2 if printed else 0 < u < 2
    left = int(np.floor(np.clip(u, 0, 2)))
    pixels = [*ROW, 0.0]
    return float(inside) * (pixels[left + 1] - pixels[left])


def coefficients(t: float, signed: bool) -> list[float]:
    """Return the derivative coefficients of bicubic: the printed polynomials at absolute or at signed distances."""
    a, b = (-1 - t, -t) if signed else (abs(-1 - t), abs(-t))
    c, d = 1 - t, 2 - t
    return [
        (-3 * A * a - 10 * A) * a - 8 * A,
        (-3 * (A + 2) * b - 2 * (A + 3)) * b,
        (3 * (A + 2) * c - 2 * (A + 3)) * c,
        (3 * A * d - 10 * A) * d + 8 * A,
    ]


def weight_slopes() -> np.ndarray:
    """Return minus the derivatives of the four weights at t = 1/4, from differences of the forward pass on unit impulses."""
    # nine images of nine pixels, each with a single 1; x = u / 4 - 1
    impulses = np.eye(9)[:, None, :]

    def weights(u):
        return sample(impulses, u / 4 - 1, interpolationMode=BICUBIC)[2:6]

    return -(weights(3.25 + STEP) - weights(3.25 - STEP)) / (2 * STEP)


def bicubic_outside(factor: float) -> float:
    """Return gridGrad of ROW at u = -1/2 with border: factor * -(coefficients . clamped pixels)."""
    pixels = ROW[[0, 0, 0, 1]]  # pixels -2, -1, 0, 1, clamped to the image
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
    """Return inputGrad, [7, 7] before the call, after a call with no grid point."""
    image, none = np.zeros((1, 1, 1, 2), np.float32), np.zeros((1, 0, 1, 2), np.float32)
    given = {
        "gradOutput": np.zeros((1, 1, 0, 1), np.float32),
        "input": image,
        "grid": none,
        "outputMask": [True, True],
        "inputGrad": np.full(image.shape, 7, np.float32),
        "gridGrad": none,
    }
    return contract.run("grid_sampler_2d", **given).outputs["inputGrad"][0, 0, 0]
