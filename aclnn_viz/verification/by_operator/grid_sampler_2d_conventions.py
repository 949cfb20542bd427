"""Compute the results of the 2D grid sampler in this kit and in PyTorch where an implementation must choose a value (kinks,
ties, special and empty inputs), to check conventions.toml.
"""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import gradients

# pixels in a row, by alignCorners: grid values then represent all coordinates u / 2 exactly
SIZES = {True: 5, False: 4}
# the differences 2, 4, 8, 16 make all slopes distinct
PIXELS = np.array([1.0, 3.0, 7.0, 15.0, 31.0])


def image(mode: tuple, size: int | None = None) -> np.ndarray:
    return PIXELS[None, None, None, : size or SIZES[mode[2]]]


def ours(x: float, mode: tuple, size: int | None = None, upstream: float = 1.0) -> list:
    """Return inputGrad of the row and the x component of gridGrad, for gradOutput `upstream` at (x, 0)."""
    found = operator("grid_sampler_2d").backward(
        gradOutput=np.full((1, 1, 1, 1), upstream),
        input=image(mode, size),
        grid=np.array([[[[x, 0.0]]]]),
        **dict(zip(("interpolationMode", "paddingMode", "alignCorners"), mode)),
    )
    return [*found["inputGrad"].ravel(), found["gridGrad"].ravel()[0]]


def sampled(torch, image, grid, mode: tuple):
    return torch.nn.functional.grid_sample(
        image,
        grid,
        ("bilinear", "nearest", "bicubic")[mode[0]],
        ("zeros", "border", "reflection")[mode[1]],
        mode[2],
    )


def theirs(torch, x: float, mode: tuple, size: int | None = None, upstream: float = 1.0) -> list:
    found = gradients(
        torch,
        lambda *given: sampled(torch, *given, mode),
        upstream,
        image=image(mode, size),
        grid=[[[[x, 0.0]]]],
    )
    return [*found["image"].ravel(), found["grid"].ravel()[0]]


def backward(size=(1, 1, 1, 2), points=1) -> np.ndarray:
    """Return inputGrad for an input of ones and gradOutput 1 at (0, 0)."""
    return (
        operator("grid_sampler_2d")
        .backward(
            gradOutput=np.ones((1, 1, points, 1)),
            input=np.ones(size),
            grid=np.zeros((1, points, 1, 2)),
        )["inputGrad"]
        .ravel()
    )


def in_torch_without_points(torch):
    grid = torch.zeros((1, 0, 1, 2), dtype=torch.float64)
    return gradients(
        torch,
        lambda t: torch.nn.functional.grid_sample(t, grid, align_corners=False),
        image=np.ones((1, 1, 1, 2)),
    )["image"].ravel()
