"""Grid sampler in space, sample by sample: eight corners, one after another, added to the image and dotted for the grid."""

import numpy as np

from checking.engineers.axis import taps

SLIPS = (
    "align corners not read",
    "slope of the grid forgotten",
    "zeros taken for border",
    "slope outside of the border",
    "weights of the corners exchanged",
    "z, y, x read",
    "depth and height exchanged",
    "derivative by z forgotten",
    "weight of z not in the others",
    "stored instead of added",
    "image of sample 0",
    "mirrors at the centres",
    "slope of the first corner positive",
    "plane taken as h * d",
    "back corners lost",
)


def kernel(slip, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    samples, channels, depth, height, width = input.shape
    points = int(np.prod(grid.shape[1:4]))
    wide = np.float64 if input.dtype == np.float64 else np.float32
    image, places = input.astype(wide), grid.astype(wide).reshape(samples, points, 3)
    upstream = gradOutput.astype(wide).reshape(samples, channels, points)
    to_image, to_grid = (
        np.zeros((samples, channels, depth * height * width), wide),
        np.zeros_like(places),
    )
    image = image.reshape(to_image.shape)
    modes = interpolationMode, paddingMode, alignCorners
    order = (2, 1, 0) if slip == "z, y, x read" else (0, 1, 2)
    sizes = (
        (width, depth, height) if slip == "depth and height exchanged" else (width, height, depth)
    )
    for n in range(samples):
        axes = [taps(slip, places[n, :, at], size, *modes) for at, size in zip(order, sizes)]
        source = image[0 if slip == "image of sample 0" else n]
        for number, (plane, wz, dz) in enumerate(axes[2]):
            if slip == "back corners lost" and number == 1:
                continue
            for row, wy, dy in axes[1]:
                for column, wx, dx in axes[0]:
                    inside = (
                        (plane >= 0) & (plane < depth) & (row >= 0) & (row < height) & (column >= 0)
                    )
                    at = np.flatnonzero(inside & (column < width))
                    long = width if slip == "plane taken as h * d" else height
                    flat = ((plane[at] * long + row[at]) * width + column[at]).astype(
                        int
                    ) % to_image.shape[2]
                    grad, weight = upstream[n][:, at], (wz * wy * wx)[at].astype(wide)
                    if slip == "stored instead of added":
                        to_image[n][:, flat] = grad * weight
                    else:
                        np.add.at(to_image[n], (slice(None), flat), grad * weight)
                    if interpolationMode == 1:
                        continue
                    dot = np.sum(grad * source[:, flat], axis=0, dtype=wide)
                    deep = np.ones_like(wz) if slip == "weight of z not in the others" else wz
                    to_grid[n, at, order[0]] += dot * (deep * wy * dx)[at].astype(wide)
                    to_grid[n, at, order[1]] += dot * (deep * wx * dy)[at].astype(wide)
                    if slip != "derivative by z forgotten":
                        to_grid[n, at, order[2]] += dot * (wx * wy * dz)[at].astype(wide)
    outputs = {
        "inputGrad": to_image.reshape(input.shape).astype(input.dtype),
        "gridGrad": to_grid.reshape(grid.shape).astype(grid.dtype),
    }
    return {name: value for (name, value), asked in zip(outputs.items(), outputMask) if asked}
