"""Puzzles on the coordinates of the grid sampler: from x to a pixel, past the border, to the taps and their slopes."""

from functools import partial

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.checking.puzzles.detective import Detective
from aclnn_viz.checking.puzzles.puzzle import Curve, Puzzle
from aclnn_viz.checking.puzzles.symptoms import error_map, table
from aclnn_viz.operators.families import sampling

from .puzzles_gradients import GRADIENTS

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
    (left, left_weight, _), (_, right_weight, _) = sampling.taps(XP, u - 1.0, 3, sampling.BILINEAR, sampling.ZEROS, True)
    return left, left_weight, right_weight


def _nearest(u):
    (pixel, _, _), = sampling.taps(XP, u - 1.0, 3, sampling.NEAREST, sampling.ZEROS, True)
    return pixel


def _unnormalised(x, size, alignCorners):
    u, slope = sampling.unnormalise(x, size, alignCorners)
    return u, slope * np.ones_like(x)


COORDINATES = tuple({"u": u, "size": size} | modes for size in (4, 5) for modes in BOTH for u in (QUARTERS, RANDOM))

PUZZLES = (
    Puzzle(grid_unnormalise, "grid_sampler_2d", "From x to pixels", ("u", "slope"), 2, (
        "A straight line through two points: what are the two points in each case?",
        "The line rises by size - 1 or by size while x rises by 2.",
        "With span = size - 1 if alignCorners else size: u is (x + 1) * span / 2, moved by half a pixel in one case; "
        "np.full_like makes the slope."),
        Curve("x", -1.5, 1.5, tuple({"size": 4} | modes for modes in BOTH), (-1.0, 1.0)), _unnormalised,
        tuple({"x": np.linspace(-1.5, 1.5, 13), "size": size} | modes for size in (1, 4, 5) for modes in BOTH)),
    Puzzle(grid_clip, "grid_sampler_2d", "The border", ("clipped", "slope"), 1, (
        "np.clip does the first half.",
        "The slope is 1 where nothing is clipped: strictly between the two bounds.",
        "return np.clip(u, 0, size - 1), ((u > 0) & ...).astype(float)"),
        Curve("u", -3.0, 7.0, ({"size": 5},), (0.0, 4.0)), lambda u, size: sampling.clip(XP, u, size),
        tuple({"u": u, "size": size} for size in (5, 4, 1) for u in (QUARTERS, RANDOM))),
    Puzzle(grid_reflect, "grid_sampler_2d", "Between two mirrors", ("place",), 3, (
        "Measure from one mirror. The picture repeats: with which period?",
        "The period is twice the distance of the mirrors; within it, the way back mirrors the way there.",
        "phase = np.remainder(np.abs(u - low), 2 * span); then the smaller of phase and 2 * span - phase."),
        Curve("u", -9.0, 12.0, tuple({"size": 4} | modes for modes in BOTH), (-0.5, 0.0, 3.0, 3.5)),
        lambda u, size, alignCorners: sampling.reflect(XP, u, size, alignCorners)[0], COORDINATES),
    Puzzle(grid_reflect_slope, "grid_sampler_2d", "The slope of a reflection", ("slope",), 3, (
        "How many mirrors lie between the image and u? Only whether their number is odd matters.",
        "np.floor(np.abs(u - low) / span) counts spans from the lower mirror; to the left of it one mirror more is "
        "passed.",
        "odd = np.floor(np.abs(u - low) / span) % 2 == 1; np.where(odd == (u >= low), -1.0, 1.0)"),
        Curve("u", -9.0, 12.0, tuple({"size": 4} | modes for modes in BOTH), (-0.5, 0.0, 3.0, 3.5)),
        lambda u, size, alignCorners: sampling.reflect(XP, u, size, alignCorners)[1], COORDINATES),
    Puzzle(grid_taps, "grid_sampler_2d", "Two taps", ("left", "left_weight", "right_weight"), 2, (
        "One NumPy function gives the pixel to the left, for negative u as well.",
        "The right weight is what is left of u: u minus that pixel.",
        "left = np.floor(u); the two weights add up to 1."),
        Curve("u", -1.5, 2.5, marks=(-1.0, 0.0, 1.0, 2.0)), _taps,
        ({"u": QUARTERS}, {"u": RANDOM}, {"u": np.array([-0.25, -0.75, 0.0])})),
    Puzzle(grid_nearest, "grid_sampler_2d", "A tie", ("nearest",), 1, (
        "np.floor(u + 0.5) is right nearly everywhere. Where is it not?",
        "Look at 0.5 and at 1.5: the even neighbour is wanted, as IEEE 754 rounds.",
        "NumPy's function that rounds to an integer in this way is four letters long."),
        Curve("u", -2.0, 3.0, marks=(-1.5, -0.5, 0.5, 1.5, 2.5)), _nearest,
        ({"u": RANDOM}, {"u": QUARTERS}, {"u": np.array([-1.5, -0.5, 0.5, 1.5])})),
    *GRADIENTS,
)

LATTICE = np.stack(np.meshgrid(*2 * [np.linspace(-3.9, 3.9, 14)]), -1)[None].astype(np.float32)
SPREAD = np.float32([[[[-0.5, -0.5], [0.5, 0.5]]]])
PILED = np.full((1, 1, 2, 2), 0.3, np.float32)
SQUARE = {"shape": (1, 1, 6, 6)}

DETECTIVES = (
    Detective(
        4, "in_the_mirror", "grid_sampler_2d", "A striped gradient",
        "The x component of gridGrad over a lattice of points from -3.9 to 3.9, x to the right: reflection padding, an "
        "image of 4 x 4. inputGrad is right.",
        (("a lattice", {"shape": (1, 1, 4, 4), "grid_shape": (14, 14), "grid": LATTICE, "paddingMode": 2}),),
        partial(error_map, output="gridGrad", at=(0, ..., 0)),
        ("period off by one", "mirrors on the centres", "reflection sign lost", "clipped points keep their gradient",
         "reflection as border"),
        ("In which columns is it wrong? What do their x have in common?",
         "It is right between -1 and 1, wrong beyond, and right again after another image width.",
         "An odd number of mirrors is passed there. inputGrad is right, so the place of the point is."),
        "reflection sign lost"),
    Detective(
        5, "crowded", "grid_sampler_2d", "One point works",
        "inputGrad is right as long as few points are sampled. gridGrad is always right.",
        (("one point", SQUARE | {"grid": PILED[:, :, :1], "grid_shape": (1, 1)}),
         ("two points far apart", SQUARE | {"grid": SPREAD, "grid_shape": (1, 2)}),
         ("two points at one place", SQUARE | {"grid": PILED, "grid_shape": (1, 2)}),
         ("25 points", SQUARE | {"grid_shape": (5, 5)}),
         ("two samples, one point each", {"shape": (2, 1, 6, 6), "grid": np.repeat(PILED[:, :, :1], 2, 0),
                                          "grid_shape": (1, 1)})), table,
        ("first sample for all", "uninitialised where nothing lands", "scatter overwrites", "x and y swapped",
         "inputGrad added up in float16"),
        ("Two points far apart are right, two at one place are wrong.",
         "What happens in a pixel that two gradients reach?", "One of the two is lost."),
        "scatter overwrites"),
)
