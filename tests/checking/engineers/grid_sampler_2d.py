"""Grid sampler, float64 where it is asked for, sample by sample and tap by tap: image gradients are added up, grid gradients dotted over channels."""

import numpy as np

from checking.engineers.axis import taps

SLIPS = (
    "mirrors at the centres",
    "slope not mirrored",
    "align corners not read",
    "half a pixel forgotten",
    "slope of the grid forgotten",
    "slope as if aligned",
    "bicubic as bilinear",
    "zeros taken for border",
    "slope outside of the border",
    "nearest by a half",
    "nearest is floor",
    "truncated to an index",
    "weights of the corners exchanged",
    "coefficient of Catmull-Rom",
    "cubic slope by distance",
    "x and y exchanged",
    "grid gradient as (y, x)",
    "stored instead of added",
    "last channel alone",
    "width for both",
    "image of sample 0",
    "one column too far",
)


def kernel(slip, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    (samples, channels, height, width), points = input.shape, grid.shape[1] * grid.shape[2]
    wide = np.float64 if input.dtype == np.float64 else np.float32
    image, places = input.astype(wide), grid.astype(wide).reshape(samples, points, 2)
    upstream = gradOutput.astype(wide).reshape(samples, channels, points)
    to_image, to_grid = np.zeros_like(image), np.zeros((samples, points, 2), wide)
    modes = interpolationMode, paddingMode, alignCorners
    x, y = (1, 0) if slip == "x and y exchanged" else (0, 1)
    for n in range(samples):
        across = taps(slip, places[n, :, x], width, *modes)
        down = taps(slip, places[n, :, y], width if slip == "width for both" else height, *modes)
        source = image[0 if slip == "image of sample 0" else n]
        for row, wy, dy in down:
            for column, wx, dx in across:
                far = width + (slip == "one column too far")
                at = np.flatnonzero((row >= 0) & (row < height) & (column >= 0) & (column < far))
                r, c = row[at].astype(int), np.minimum(column[at], width - 1).astype(int)
                grad, weight = upstream[n][:, at], (wy * wx)[at].astype(wide)
                if slip == "stored instead of added":
                    to_image[n][:, r, c] = grad * weight
                else:
                    np.add.at(to_image[n], (slice(None), r, c), grad * weight)
                if interpolationMode != 1:
                    dot = (
                        grad[-1] * source[-1, r, c]
                        if slip == "last channel alone" and channels
                        else np.sum(grad * source[:, r, c], axis=0, dtype=wide)
                    )
                    to_grid[n, at, x] += dot * (wy * dx)[at].astype(wide)
                    to_grid[n, at, y] += dot * (wx * dy)[at].astype(wide)
    if slip == "grid gradient as (y, x)":
        to_grid = to_grid[..., ::-1]
    outputs = {
        "inputGrad": to_image.astype(input.dtype),
        "gridGrad": to_grid.reshape(grid.shape).astype(grid.dtype),
    }
    return {name: value for (name, value), asked in zip(outputs.items(), outputMask) if asked}
