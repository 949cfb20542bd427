import numpy as np

from checking.wrong.common import taps


def kernel(gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    samples, channels, depth, height, width = input.shape
    points = int(np.prod(grid.shape[1:4]))
    wide = np.float64 if input.dtype == np.float64 else np.float32
    image, places = (input.astype(wide), grid.astype(wide).reshape(samples, points, 3))
    upstream = gradOutput.astype(wide).reshape(samples, channels, points)
    to_image, to_grid = (
        np.zeros((samples, channels, depth * height * width), wide),
        np.zeros_like(places),
    )
    image = image.reshape(to_image.shape)
    modes = (interpolationMode, paddingMode, alignCorners)
    order = (0, 1, 2)
    sizes = (width, height, depth)
    for n in range(samples):
        axes = [taps(places[n, :, at], size, *modes) for at, size in zip(order, sizes)]
        source = image[n]
        for number, (plane, wz, dz) in enumerate(axes[2]):
            for row, wy, dy in axes[1]:
                for column, wx, dx in axes[0]:
                    inside = (
                        (plane >= 0) & (plane < depth) & (row >= 0) & (row < height) & (column >= 0)
                    )
                    at = np.flatnonzero(inside & (column < width))
                    flat = ((plane[at] * height + row[at]) * width + column[at]).astype(
                        int
                    ) % to_image.shape[2]
                    grad, weight = (upstream[n][:, at], (wz * wy * wx)[at].astype(wide))
                    np.add.at(to_image[n], (slice(None), flat), grad * weight)
                    if interpolationMode == 1:
                        continue
                    dot = np.sum(grad * source[:, flat], axis=0, dtype=wide)
                    to_grid[n, at, order[0]] += dot * (wz * wy * dx)[at].astype(wide)
                    to_grid[n, at, order[1]] += dot * (wz * wx * dy)[at].astype(wide)
                    to_grid[n, at, order[2]] += dot * (wx * wy * dz)[at].astype(wide)
    outputs = {
        "inputGrad": to_image.reshape(input.shape).astype(input.dtype),
        "gridGrad": to_grid.reshape(grid.shape).astype(grid.dtype),
    }
    return {name: value for (name, value), asked in zip(outputs.items(), outputMask) if asked}
