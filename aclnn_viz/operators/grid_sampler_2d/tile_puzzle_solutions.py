"""Solutions of the puzzles on the grid sampler in tiles."""

from aclnn_viz.checking.puzzles.solutions import Mistake


def channel_gap(pixels, itemsize):
    return (pixels - 1) * itemsize


MISTAKES = {
    "channel_gap": (
        Mistake("from start to start", "the block itself is counted with the gap",
                (("(pixels - 1) * itemsize", "pixels * itemsize"),)),
        Mistake("in elements", "in global memory the gap is in bytes", (("(pixels - 1) * itemsize", "pixels - 1"),)),
        Mistake("in blocks of 32 bytes", "that is the unit in the Unified Buffer",
                (("(pixels - 1) * itemsize", "(pixels - 1) * itemsize / 32"),)),
    ),
}
