"""Puzzles on the gradients of the grid sampler: what lands in a pixel, and what moves a point."""

import math

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.checking.puzzles.puzzle import Curve, Puzzle, Reads
from aclnn_viz.operators import operator
from aclnn_viz.operators.families import sampling

XP = NumPyArrays()


def grid_scatter(index, values, pixels):
    """Add values (C, P) to the pixels index (P,) of an image (C, pixels); an index of -1 lies outside and adds
    nothing."""
    image = np.zeros((values.shape[0], pixels))
    for channel in range(values.shape[0]):
        for point in range(index.size):
            if index[point] >= 0:
                image[channel, index[point]] += values[channel, point]
    return image


def grid_row_gradient(row, x, gradOutput):
    """The gradient by x (P,) of bilinear samples of one row of pixels (W,), with zeros outside and alignCorners:
    each tap gives its pixel times the slope of its weight."""
    grad = np.zeros_like(x)
    for point in range(x.size):
        u = (x[point] + 1.0) / 2.0 * (row.size - 1)
        left = math.floor(u)
        for pixel, slope_of_weight in ((left, -1.0), (left + 1, 1.0)):
            if 0 <= pixel < row.size:
                grad[point] += gradOutput[point] * row[pixel] * slope_of_weight * (row.size - 1) / 2.0
    return grad


def grid_reflected_gradient(row, x, gradOutput):
    """The gradient by x (P,) of bilinear samples of one row of pixels (W,), reflected at the outer edges of the end
    pixels: the mirrors turn it around, and between a mirror and the last centre it is 0."""
    grad = np.zeros_like(x)
    for point in range(x.size):
        u = ((x[point] + 1.0) * row.size - 1.0) / 2.0
        slope = row.size / 2.0
        while not -0.5 <= u < row.size - 0.5:  # a mirror that is reached exactly counts
            mirror = -0.5 if u < -0.5 else row.size - 0.5
            slope = -slope
            if u == mirror:
                break
            u = 2.0 * mirror - u
        if 0.0 < u < row.size - 1.0:
            left = math.floor(u)
            grad[point] = gradOutput[point] * (row[left + 1] - row[left]) * slope
    return grad


def grid_bicubic_slopes(t):
    """The derivatives by t of the four bicubic weights (4, n): the taps lie at -1, 0, 1 and 2, t (n,) is in [0, 1), and
    A is -0.75."""
    A = -0.75
    slopes = np.zeros((4, t.size))
    for k, tap in enumerate((-1, 0, 1, 2)):
        for i in range(t.size):
            d = abs(t[i] - tap)
            away = 1.0 if t[i] > tap else -1.0  # does the distance grow with t?
            if d <= 1.0:  # the weight is (A + 2) d^3 - (A + 3) d^2 + 1
                slopes[k, i] = away * (3.0 * (A + 2.0) * d**2 - 2.0 * (A + 3.0) * d)
            else:  # the weight is A d^3 - 5 A d^2 + 8 A d - 4 A
                slopes[k, i] = away * (3.0 * A * d**2 - 10.0 * A * d + 8.0 * A)
    return slopes


def _scattered(index, values, pixels):
    image = XP.scatter_add(np.zeros((len(values), pixels + 1)), np.where(index < 0, pixels, index), values)
    return image[:, :pixels]


def _row_gradient(row, x, gradOutput, paddingMode=0, alignCorners=True):
    grid = np.stack([x, np.zeros_like(x)], axis=-1)[None, None]
    return operator("grid_sampler_2d").backward(
        gradOutput=gradOutput[None, None, None], input=row[None, None, None], grid=grid, paddingMode=paddingMode,
        alignCorners=alignCorners, outputMask=(False, True))["gridGrad"][0, 0, :, 0]


def rows(low, high):
    """Rows of pixels, points from low to high, and points on centres, edges and mirrors."""
    rng = np.random.default_rng(1)
    for width in (4, 5):
        yield {"row": rng.normal(size=width), "x": rng.uniform(low, high, 15), "gradOutput": rng.normal(size=15)}
        at = np.arange(8 * low, 8 * high + 1) / 8.0
        yield {"row": rng.normal(size=width), "x": at, "gradOutput": rng.normal(size=at.size)}


def scattered():
    rng = np.random.default_rng(2)
    for index, pixels in (([0, 2, 1], 4), ([1, 1, 3, 1], 5), ([-1, 0, 2, -1], 3), (rng.integers(-1, 6, 20), 6)):
        yield {"index": np.array(index), "values": rng.normal(size=(2, len(index))), "pixels": pixels}


ROW = {"row": np.array([1.0, 3.0, -2.0, 0.5]), "x": np.array([-1.2, -0.5, 0.1, 0.9]),
       "gradOutput": np.array([1.0, -2.0, 0.5, 1.5])}

GRADIENTS = (
    Puzzle(grid_scatter, "grid_sampler_2d", "Where gradients land", ("image",), 3, (
        "image[:, index] += values forgets all but one where two points share a pixel.",
        "np.add.at adds every one. It takes an index for both axes: (slice(None), index).",
        "-1 is the last column: give the image one column more, and leave it out at the end."),
        Reads({"index": np.array([1, 1, -1, 3]), "values": np.array([[1.0, 2.0, 4.0, 8.0], [0.5, -1.0, 3.0, 2.0]]),
               "pixels": 4}, "image", (0, 1)), _scattered, tuple(scattered())),
    Puzzle(grid_row_gradient, "grid_sampler_2d", "What moves a point", ("grad",), 4, (
        "The two taps have the slopes -1 and 1: the gradient is a difference of two neighbours.",
        "A pixel outside is 0. Look it up at a clipped index, and replace it by np.where.",
        "left = np.floor(u).astype(int); (pixel(left + 1) - pixel(left)), times gradOutput, times the slope of u."),
        Reads(ROW, "grad", (1,)), _row_gradient, tuple(rows(-1.5, 1.5))),
    Puzzle(grid_reflected_gradient, "grid_sampler_2d", "The gradient in a mirror", ("grad",), 8, (
        "Take the puzzles apart: u, the reflected place, its slope, the clip, two taps.",
        "Three factors multiply the difference of the neighbours: width / 2, the sign of the mirrors, and the 0 or 1 "
        "of the clip.",
        "phase = np.remainder(np.abs(u + 0.5), 2 * width); the place is np.minimum(phase, 2 * width - phase) - 0.5; "
        "turned = (phase >= width) == (u >= -0.5) says where the sign is -1."),
        Reads(ROW | {"x": np.array([-1.6, -0.5, 0.1, 0.9])}, "grad", (0,)),
        lambda row, x, gradOutput: _row_gradient(row, x, gradOutput, sampling.REFLECTION, False), tuple(rows(-4.0, 5.0))),
    Puzzle(grid_bicubic_slopes, "grid_sampler_2d", "Four slopes", ("slopes",), 4, (
        "Write the derivative of the near and of the far polynomial by d as two functions.",
        "The distances of the four taps are 1 + t, t, 1 - t and 2 - t. Two of them shrink as t grows.",
        "np.stack([far(1 + t), near(t), -near(1 - t), ...])"),
        Curve("t", 0.0, 0.999, marks=(0.0,)),
        lambda t: np.stack([slope for _, slope in sampling.bicubic_weights(t)]),
        ({"t": np.arange(8) / 8.0}, {"t": np.random.default_rng(3).uniform(0, 1, 9)}, {"t": np.zeros(1)})),
)
