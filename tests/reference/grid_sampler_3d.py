"""Grid sampler 3D: images (N, C, D, H, W) at points (x, y, z) of a grid (N, D_out, H_out, W_out, 3).

interpolationMode 0 trilinear, 1 nearest; paddingMode 0 zeros, 1 border, 2 reflection. x runs along W, y along H, z
along D. Each axis is treated as an axis of the 2D sampler's reference is, with rational arithmetic, exact for every
finite grid value.
"""

import itertools

import numpy as np

from .exact import exact, zeros
from .grid_sampler_2d import NEAREST, taps_of

MODES = (0, 1)


def points(grid, sizes, interpolationMode, paddingMode, alignCorners):
    """Yield (n, place, corners) of every grid point: a corner is ((z, y, x) index, weight, derivatives by x, y, z)."""
    if interpolationMode not in MODES:
        raise ValueError(f"interpolationMode {interpolationMode}")
    for n, *place in np.ndindex(grid.shape[:-1]):
        x, y, z = (
            taps_of(value, size, interpolationMode, paddingMode, alignCorners)
            for value, size in zip(grid[(n, *place)], reversed(sizes))
        )
        corners = []
        for (k, wz, sz), (j, wy, sy), (i, wx, sx) in itertools.product(z, y, x):
            corners.append(((k, j, i), wz * wy * wx, (wz * wy * sx, wz * sy * wx, sz * wy * wx)))
        yield n, tuple(place), corners


def forward(*, input, grid, interpolationMode=0, paddingMode=0, alignCorners=False):
    """Return `out` (N, C, D_out, H_out, W_out)."""
    image, grid = exact(input), exact(grid)
    out = zeros(image.shape[:2] + grid.shape[1:4])
    for n, place, corners in points(
        grid, image.shape[2:], interpolationMode, paddingMode, alignCorners
    ):
        for pixel, weight, _ in corners:
            for c in range(image.shape[1]):
                out[(n, c, *place)] += image[(n, c, *pixel)] * weight
    return {"out": out}


def gradients(
    part, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
):
    """Sum part(term) over the terms of every element of the two gradients."""
    grad, image, grid = exact(gradOutput), exact(input), exact(grid)
    input_grad, grid_grad = zeros(image.shape), zeros(grid.shape)
    for n, place, corners in points(
        grid, image.shape[2:], interpolationMode, paddingMode, alignCorners
    ):
        for pixel, weight, slopes in corners:
            for c in range(image.shape[1]):
                g = grad[(n, c, *place)]
                input_grad[(n, c, *pixel)] += part(g * weight)
                if interpolationMode != NEAREST:
                    for axis in range(3):
                        grid_grad[(n, *place, axis)] += part(
                            g * image[(n, c, *pixel)] * slopes[axis]
                        )
    both = {"inputGrad": input_grad, "gridGrad": grid_grad}
    return {
        name: value
        for (name, value), wanted in zip(both.items(), outputMask, strict=True)
        if wanted
    }


def backward(
    *,
    gradOutput,
    input,
    grid,
    interpolationMode=0,
    paddingMode=0,
    alignCorners=False,
    outputMask=(True, True),
):
    """Return `inputGrad` and `gridGrad` (x, y, z), each if outputMask asks for it.

    A point that is nan or infinite in a coordinate contributes nothing and has gridGrad 0, except that border clips
    an infinity (multiplier 0). An infinite value times the zero width of one aligned pixel is nan.
    """
    return gradients(
        lambda term: term,
        gradOutput,
        input,
        grid,
        interpolationMode,
        paddingMode,
        alignCorners,
        outputMask,
    )


def terms(
    *,
    gradOutput,
    input,
    grid,
    interpolationMode=0,
    paddingMode=0,
    alignCorners=False,
    outputMask=(True, True),
):
    """Return S of `inputGrad` and `gridGrad`.

    inputGrad: |gradOutput wz wy wx| of every point and tap that lands on the pixel. gridGrad: |gradOutput pixel| times
    the absolute product of one weight's derivative and the two other weights, of every channel and tap.
    """
    return gradients(
        abs, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
    )
