import numpy as np
from checking.wrong.common import asked, taps


def kernel(gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    (samples, channels, height, width), points = (input.shape, grid.shape[1] * grid.shape[2])
    wide = np.float64 if input.dtype == np.float64 else np.float32
    image, places = (input.astype(wide), grid.astype(wide).reshape(samples, points, 2))
    upstream = gradOutput.astype(wide).reshape(samples, channels, points)
    to_image, to_grid = (np.zeros_like(image), np.zeros((samples, points, 2), wide))
    modes = (interpolationMode, paddingMode, alignCorners)
    x, y = (0, 1)
    for n in range(samples):
        across = taps(places[n, :, x], width, *modes)
        down = taps(places[n, :, y], height, *modes)
        source = image[n]
        for row, wy, dy in down:
            for column, wx, dx in across:
                at = np.flatnonzero((row >= 0) & (row < height) & (column >= 0) & (column < width))
                r, c = (row[at].astype(int), np.minimum(column[at], width - 1).astype(int))
                grad, weight = (upstream[n][:, at], (wy * wx)[at].astype(wide))
                np.add.at(to_image[n], (slice(None), r, c), grad * weight)
                if interpolationMode != 1:
                    dot = np.sum(grad * source[:, r, c], axis=0, dtype=wide)
                    to_grid[n, at, x] += dot * (wy * dx)[at].astype(wide)
                    to_grid[n, at, y] += dot * (wx * dy)[at].astype(wide)
    outputs = {
        "inputGrad": to_image.astype(input.dtype),
        "gridGrad": to_grid.reshape(grid.shape).astype(grid.dtype),
    }
    return asked(outputs, outputMask)
