"""Conventions of the grid sampler."""

from itertools import product

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification import kinks as table
from aclnn_viz.verification.conventions.model import gradients

# pixels in a row, by alignCorners: all coordinates u / 2 are then exact as grid values
SIZES = {True: 5, False: 4}
# of both, (5 - 1) / 2 and 4 / 2: what turns a derivative by the pixel coordinate into gridGrad
MULTIPLIER = 2.0
PIXELS = np.array([1.0, 3.0, 7.0, 15.0, 31.0])  # differences 2, 4, 8, 16: no two slopes are alike


def kinks() -> list[table.Row]:
    """Those of a row of `PIXELS` in each mode; values are derivatives by the pixel coordinate. Bicubic has none."""
    from derivations.grid_sampler_2d_kinks import grid_sampler_kinks

    return [
        _kink(found, mode)
        for mode in product((0, 1), (0, 1, 2), (True, False))
        for found in grid_sampler_kinks(*mode, size=SIZES[mode[2]])
    ]


def sources() -> tuple[str, ...]:
    """What is cited for PyTorch's values at kinks."""
    from derivations.grid_sampler_2d_kinks import GRID_SOURCE, NEAREST_SOURCE

    return GRID_SOURCE, NEAREST_SOURCE


def _kink(found, mode) -> table.Row:
    from sympy import Indexed

    def number(e):
        return float(e.subs({entry: PIXELS[int(entry.indices[0])] for entry in e.atoms(Indexed)}))

    at, size = float(found.at), SIZES[mode[2]]
    # Where the image ends, one side is outside: border padding is constant there.
    outside = (
        ("left" if at == 0 else "right" if at == size - 1 else "")
        if mode[1] == 1 and mode[0] == 0
        else ""
    )
    return table.kink(
        "grid_sampler_2d",
        found.mode,
        at,
        number(found.left),
        number(found.right),
        number(found.documented),
        _kernel(at, mode),
        (number(found.pytorch), found.source),
        _in_torch(at, mode),
        outside,
        number(found.jump),
    )


def _grid(u: float, alignCorners: bool) -> float:
    return u / MULTIPLIER - 1 if alignCorners else (2 * u + 1) / SIZES[False] - 1


def _kernel(u: float, mode: tuple) -> float:
    """What op.backward returns at pixel coordinate u of the row, per pixel."""
    return float(ours(_grid(u, mode[2]), mode)[-1]) / MULTIPLIER


def _in_torch(u: float, mode: tuple) -> tuple[float, str] | None:
    return table.peer(
        lambda torch, grid: sampled(torch, torch.tensor(image(mode)), grid, mode).sum(),
        [[[[_grid(u, mode[2]), 0.0]]]],
        MULTIPLIER,
    )


def image(mode: tuple, size: int | None = None) -> np.ndarray:
    return PIXELS[None, None, None, : size or SIZES[mode[2]]]


def ours(x: float, mode: tuple, size: int | None = None, upstream: float = 1.0) -> list:
    """inputGrad of the row, then gridGrad by x, for gradOutput `upstream` at (x, 0)."""
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
    """inputGrad of ones, for gradOutput 1 at (0, 0)."""
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
