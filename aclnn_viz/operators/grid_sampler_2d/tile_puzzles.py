"""Puzzles on the grid sampler's gradient in tiles: channels that lie far apart, and many points on one pixel."""

import numpy as np

from aclnn_viz.checking.puzzles.puzzle import Curve, Puzzle
from aclnn_viz.checking.puzzles.symptoms import table
from aclnn_viz.checking.puzzles.tiles.detective import TileDetective


def channel_gap(pixels, itemsize):
    """The srcStride, in bytes, with which DataCopyPad takes the same pixel of one channel after another, each a block
    of one element; channels of pixels (n,) elements lie behind each other, and a gap runs from the end of a block to
    the start of the next."""
    gap = np.zeros_like(pixels)
    for i in range(pixels.size):
        end_of_this, start_of_next = 1, pixels[i]
        gap[i] = (start_of_next - end_of_this) * itemsize
    return gap


PUZZLES = (
    Puzzle(channel_gap, "grid_sampler_2d", "From end to start", ("gap",), 1, (
        "From the start of a block to the start of the next it is one channel.",
        "A block is one element: the gap is that much shorter.",
        "return (pixels - 1) * ..."),
        Curve("pixels", 1.0, 100.0, ({"itemsize": 2}, {"itemsize": 4}), (1.0, 16.0)),
        lambda pixels, itemsize: pixels * itemsize - itemsize,
        tuple({"pixels": np.array([1.0, 2.0, 20.0, 1024.0]), "itemsize": itemsize} for itemsize in (2, 4))),
)

DETECTIVES = (
    TileDetective(
        4, "busy_pixel", "grid_sampler_2d", "A busy pixel",
        "Every point adds to the pixels around it. The gradient of the image is too small, but not always.",
        (("one point", {"shape": (1, 2, 4, 4), "grid_shape": (1, 1), "cores": 1}),
         ("one point, float16", {"shape": (1, 2, 4, 4), "grid_shape": (1, 1), "cores": 1, "dtype": "float16"}),
         ("16 points on 4 pixels", {"shape": (1, 2, 2, 2), "grid_shape": (4, 4), "cores": 1}),
         ("16 points on 4 pixels, late", {"shape": (1, 2, 2, 2), "grid_shape": (4, 4), "cores": 1,
                                          "schedule": "late"})), table,
        ("atomics onto anything", "16 bits stored densely", "stored instead of added", "stride without its block"),
        ("Is the gradient of the grid right? Then what is read is read well.",
         "With one point nothing is amiss, in either format.",
         "What is left of what the points before have put on a pixel?"),
        "stored instead of added"),
)
