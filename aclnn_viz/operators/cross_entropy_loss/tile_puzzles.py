"""Puzzles on the cross entropy gradient in tiles: a target at the edge of a tile, a sum of which each core has a part."""

import numpy as np

from aclnn_viz.checking.puzzles.puzzle import Curve, Puzzle
from aclnn_viz.checking.puzzles.symptoms import table
from aclnn_viz.checking.puzzles.tiles.detective import TileDetective


def target_lane(target, tileLength):
    """In which tile of a row the column target (n,) lies, and in which lane of it; both count from 0."""
    tile, lane = np.zeros_like(target), np.zeros_like(target)
    for i in range(target.size):
        lane[i] = target[i]
        while lane[i] >= tileLength:
            tile[i], lane[i] = tile[i] + 1, lane[i] - tileLength
    return tile, lane


PUZZLES = (
    Puzzle(target_lane, "cross_entropy_loss", "Where the target lies", ("tile", "lane"), 1, (
        "The first column of the second tile is no longer in the first.",
        "A whole division, and its remainder.",
        "return target // tileLength, target % ..."),
        Curve("target", 0.0, 300.0, ({"tileLength": 64.0},), (64.0, 128.0, 192.0)),
        lambda target, tileLength: tuple(np.array([divmod(int(k), int(tileLength)) for k in target], np.float64).T),
        ({"target": np.array([0.0, 1.0, 63.0, 64.0, 65.0, 128.0, 299.0]), "tileLength": 64.0},
         {"target": np.array([6847.0, 6848.0, 6849.0]), "tileLength": 6848.0})),
)

DETECTIVES = (
    TileDetective(
        3, "alone", "cross_entropy_loss", "Best when alone",
        "A mean over all rows. The more cores help, the larger the gradients become.",
        (("mean, 1 core", {"shape": (9, 20), "cores": 1}), ("mean, 3 cores", {"shape": (9, 20), "cores": 3}),
         ("sum, 3 cores", {"shape": (9, 20), "cores": 3, "reduction": "sum"}),
         ("mean, 3 cores, 100 classes", {"shape": (9, 100), "cores": 3, "labelSmoothing": 0.3})), table,
        ("weights of the first tile", "column tile of zero", "own rows alone", "target at a tile's edge"),
        ("Which of the three changes: cores, reduction, classes?",
         "Without a mean nothing is divided, and it is right.",
         "By what does a core divide that knows its own rows only?"),
        "own rows alone"),
)
