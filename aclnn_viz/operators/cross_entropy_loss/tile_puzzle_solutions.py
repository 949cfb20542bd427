"""Solutions of the puzzles on cross entropy in tiles."""

from aclnn_viz.checking.puzzles.solutions import Mistake


def target_lane(target, tileLength):
    return target // tileLength, target % tileLength


MISTAKES = {
    "target_lane": (
        Mistake("edge in the tile before", "a target at the edge is taken to be the lane behind the last",
                (("target // tileLength, target % tileLength",
                  "(target - (target > 0)) // tileLength, (target - (target > 0)) % tileLength + (target > 0)"),)),
        Mistake("lane of the row", "the start of the tile is not taken off", ((", target % tileLength", ", target"),)),
        Mistake("tiles from one", "the first tile has number 0", (("target // tileLength", "target // tileLength + 1"),)),
    ),
}
