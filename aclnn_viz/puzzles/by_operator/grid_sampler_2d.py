"""Puzzles on the grid sampler: from x to a pixel, past the border, to the taps and their slopes; what lands in a
pixel, and what moves a point; and, in tiles, channels that lie far apart, and many points on one pixel.
"""

import math

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.operators import operator
from aclnn_viz.operators.families import sampling
from aclnn_viz.puzzles.puzzle import Puzzle, Reads

XP = NumPyArrays()
QUARTERS = np.arange(-24, 41) / 4.0  # pixel centres, edges, ties and mirrors of small images
RANDOM = np.random.default_rng(0).uniform(-9.0, 12.0, 23)
BOTH = ({"alignCorners": False}, {"alignCorners": True})


def grid_unnormalise(x, size, alignCorners):
    """The place u in pixels of every x (n,), and the slope du / dx (n,): -1 and 1 are the centres of the end pixels
    (alignCorners) or their outer edges; pixel 0 has its centre at 0."""
    u, slope = np.zeros_like(x), np.zeros_like(x)
    for i in range(x.size):
        left, right = (0.0, size - 1.0) if alignCorners else (-0.5, size - 0.5)
        u[i] = left + (x[i] + 1.0) / 2.0 * (right - left)
        slope[i] = (right - left) / 2.0
    return u, slope


def grid_clip(u, size):
    """Border padding: the place u (n,) kept on the image, and its slope (n,): on the border itself it is 0 already."""
    clipped, slope = np.zeros_like(u), np.zeros_like(u)
    for i in range(u.size):
        if u[i] <= 0.0:
            clipped[i], slope[i] = 0.0, 0.0
        elif u[i] >= size - 1:
            clipped[i], slope[i] = size - 1, 0.0
        else:
            clipped[i], slope[i] = u[i], 1.0
    return clipped, slope


def grid_reflect(u, size, alignCorners):
    """Reflection padding: where u (n,) comes to lie between two mirrors, on the centres of the end pixels
    (alignCorners) or on their outer edges, however often it bounces."""
    low, high = (0.0, size - 1.0) if alignCorners else (-0.5, size - 0.5)
    place = np.zeros_like(u)
    for i in range(u.size):
        place[i] = u[i]
        while not low <= place[i] <= high:
            mirror = low if place[i] < low else high
            place[i] = 2.0 * mirror - place[i]
    return place


def grid_reflect_slope(u, size, alignCorners):
    """The slope of reflection padding at u (n,): each mirror turns the direction around. A mirror that is reached
    exactly counts, but for the lower one of the image itself."""
    low, span = (0.0, size - 1.0) if alignCorners else (-0.5, float(size))
    slope = np.zeros_like(u)
    for i in range(u.size):
        way = abs(u[i] - low)
        slope[i] = 1.0 if u[i] >= low else -1.0
        while way >= span:
            way = way - span
            slope[i] = -slope[i]
    return slope


def grid_taps(u):
    """The bilinear taps along one axis: the pixel to the left of u (n,), the weight of that pixel, and the weight of
    its right neighbour, all (n,)."""
    left, left_weight, right_weight = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    for i in range(u.size):
        pixel = int(u[i])
        if pixel > u[i]:  # int cuts towards 0
            pixel -= 1
        left[i] = pixel
        right_weight[i] = u[i] - pixel
        left_weight[i] = 1.0 - right_weight[i]
    return left, left_weight, right_weight


def grid_nearest(u):
    """The nearest pixel to u (n,); halfway between two, the even one."""
    nearest = np.zeros_like(u)
    for i in range(u.size):
        candidates = [k for k in range(-30, 40) if abs(k - u[i]) <= 0.5]
        nearest[i] = min(candidates, key=lambda k: (abs(k - u[i]), k % 2))
    return nearest


def _taps(u):
    (left, left_weight, _), (_, right_weight, _) = sampling.taps(
        XP, u - 1.0, 3, sampling.BILINEAR, sampling.ZEROS, True
    )
    return left, left_weight, right_weight


def _nearest(u):
    ((pixel, _, _),) = sampling.taps(XP, u - 1.0, 3, sampling.NEAREST, sampling.ZEROS, True)
    return pixel


def _unnormalised(x, size, alignCorners):
    u, slope = sampling.unnormalise(x, size, alignCorners)
    return u, slope * np.ones_like(x)


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
                grad[point] += (
                    gradOutput[point] * row[pixel] * slope_of_weight * (row.size - 1) / 2.0
                )
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
    image = XP.scatter_add(
        np.zeros((len(values), pixels + 1)), np.where(index < 0, pixels, index), values
    )
    return image[:, :pixels]


def _row_gradient(row, x, gradOutput, paddingMode=0, alignCorners=True):
    grid = np.stack([x, np.zeros_like(x)], axis=-1)[None, None]
    return operator("grid_sampler_2d").backward(
        gradOutput=gradOutput[None, None, None],
        input=row[None, None, None],
        grid=grid,
        paddingMode=paddingMode,
        alignCorners=alignCorners,
        outputMask=(False, True),
    )["gridGrad"][0, 0, :, 0]


def rows(low, high):
    """Rows of pixels, points from low to high, and points on centres, edges and mirrors."""
    rng = np.random.default_rng(1)
    for width in (4, 5):
        yield {
            "row": rng.normal(size=width),
            "x": rng.uniform(low, high, 15),
            "gradOutput": rng.normal(size=15),
        }
        at = np.arange(8 * low, 8 * high + 1) / 8.0
        yield {"row": rng.normal(size=width), "x": at, "gradOutput": rng.normal(size=at.size)}


def scattered():
    rng = np.random.default_rng(2)
    for index, pixels in (
        ([0, 2, 1], 4),
        ([1, 1, 3, 1], 5),
        ([-1, 0, 2, -1], 3),
        (rng.integers(-1, 6, 20), 6),
    ):
        yield {
            "index": np.array(index),
            "values": rng.normal(size=(2, len(index))),
            "pixels": pixels,
        }


ROW = {
    "row": np.array([1.0, 3.0, -2.0, 0.5]),
    "x": np.array([-1.2, -0.5, 0.1, 0.9]),
    "gradOutput": np.array([1.0, -2.0, 0.5, 1.5]),
}

COORDINATES = tuple(
    {"u": u, "size": size} | modes for size in (4, 5) for modes in BOTH for u in (QUARTERS, RANDOM)
)

PUZZLES = (
    Puzzle(
        grid_unnormalise,
        tuple(
            {"x": np.linspace(-1.5, 1.5, 13), "size": size} | modes
            for size in (1, 4, 5)
            for modes in BOTH
        ),
        _unnormalised,
    ),
    Puzzle(
        grid_clip,
        tuple({"u": u, "size": size} for size in (5, 4, 1) for u in (QUARTERS, RANDOM)),
        lambda u, size: sampling.clip(XP, u, size),
    ),
    Puzzle(
        grid_reflect,
        COORDINATES,
        lambda u, size, alignCorners: sampling.reflect(XP, u, size, alignCorners)[0],
    ),
    Puzzle(
        grid_reflect_slope,
        COORDINATES,
        lambda u, size, alignCorners: sampling.reflect(XP, u, size, alignCorners)[1],
    ),
    Puzzle(
        grid_taps, ({"u": QUARTERS}, {"u": RANDOM}, {"u": np.array([-0.25, -0.75, 0.0])}), _taps
    ),
    Puzzle(
        grid_nearest,
        ({"u": RANDOM}, {"u": QUARTERS}, {"u": np.array([-1.5, -0.5, 0.5, 1.5])}),
        _nearest,
    ),
    Puzzle(
        grid_scatter,
        tuple(scattered()),
        _scattered,
        picture=Reads(
            {
                "index": np.array([1, 1, -1, 3]),
                "values": np.array([[1.0, 2.0, 4.0, 8.0], [0.5, -1.0, 3.0, 2.0]]),
                "pixels": 4,
            },
            "image",
            (0, 1),
        ),
    ),
    Puzzle(
        grid_row_gradient, tuple(rows(-1.5, 1.5)), _row_gradient, picture=Reads(ROW, "grad", (1,))
    ),
    Puzzle(
        grid_reflected_gradient,
        tuple(rows(-4.0, 5.0)),
        lambda row, x, gradOutput: _row_gradient(row, x, gradOutput, sampling.REFLECTION, False),
        picture=Reads(ROW | {"x": np.array([-1.6, -0.5, 0.1, 0.9])}, "grad", (0,)),
    ),
    Puzzle(
        grid_bicubic_slopes,
        (
            {"t": np.arange(8) / 8.0},
            {"t": np.random.default_rng(3).uniform(0, 1, 9)},
            {"t": np.zeros(1)},
        ),
        lambda t: np.stack([slope for _, slope in sampling.bicubic_weights(t)]),
    ),
)

LATTICE = np.stack(np.meshgrid(*2 * [np.linspace(-3.9, 3.9, 14)]), -1)[None].astype(np.float32)
SPREAD = np.float32([[[[-0.5, -0.5], [0.5, 0.5]]]])
PILED = np.full((1, 1, 2, 2), 0.3, np.float32)
ONE = PILED[:, :, :1]
TWO = np.repeat(ONE, 2, 0)


def channel_gap(pixels, itemsize):
    """The srcStride, in bytes, with which DataCopyPad takes the same pixel of one channel after another, each a block
    of one element; channels of pixels (n,) elements lie behind each other, and a gap runs from the end of a block to
    the start of the next."""
    gap = np.zeros_like(pixels)
    for i in range(pixels.size):
        end_of_this, start_of_next = 1, pixels[i]
        gap[i] = (start_of_next - end_of_this) * itemsize
    return gap


TILE_PUZZLES = (Puzzle(channel_gap),)
