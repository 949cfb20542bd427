"""Right answers to the puzzles on the grid sampler; small changes to them give the usual mistakes."""

import numpy as np


def grid_unnormalise(x, size, alignCorners):
    span = size - 1 if alignCorners else size
    return (x + 1) * span / 2 - (0 if alignCorners else 0.5), np.full_like(x, span / 2)


def grid_clip(u, size):
    return np.clip(u, 0, size - 1), ((u > 0) & (u < size - 1)).astype(float)


def grid_reflect(u, size, alignCorners):
    low, span = (0, size - 1) if alignCorners else (-0.5, size)
    phase = np.remainder(np.abs(u - low), 2 * span)
    return low + np.minimum(phase, 2 * span - phase)


def grid_reflect_slope(u, size, alignCorners):
    low, span = (0, size - 1) if alignCorners else (-0.5, size)
    odd = np.floor(np.abs(u - low) / span) % 2 == 1
    return np.where(odd == (u >= low), -1.0, 1.0)


def grid_taps(u):
    left = np.floor(u)
    return left, 1 - (u - left), u - left


def grid_nearest(u):
    return np.rint(u)


def grid_scatter(index, values, pixels):
    image = np.zeros_like(values, shape=(len(values), pixels + 1))
    np.add.at(image, (slice(None), index), values)
    return image[:, :pixels]


def grid_row_gradient(row, x, gradOutput):
    width, left = row.size, np.floor((x + 1) / 2 * (row.size - 1)).astype(int)

    def pixel(k):
        return np.where((k >= 0) & (k < width), row[np.clip(k, 0, width - 1)], 0.0)

    return gradOutput * (pixel(left + 1) - pixel(left)) * (width - 1) / 2


def grid_bicubic_slopes(t):
    A = -0.75
    near = lambda d: (3 * (A + 2) * d - 2 * (A + 3)) * d
    far = lambda d: (3 * A * d - 10 * A) * d + 8 * A
    return np.stack([far(1 + t), near(t), -near(1 - t), -far(2 - t)])


def channel_gap(pixels, itemsize):
    return (pixels - 1) * itemsize
