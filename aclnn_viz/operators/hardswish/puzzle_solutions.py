"""Solutions of the puzzles on hardswish."""

import numpy as np

from aclnn_viz.checking.puzzles.solutions import Mistake
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel


def hardswish_middle(x):
    return x / 3 + 0.5


def hardswish_slope(x):
    return np.where(x < -3, 0.0, np.where(x <= 3, x / 3 + 0.5, 1.0))


def hardswish_kernel(gradOutput, self):
    x = self.astype(np.promote_types(self.dtype, np.float32))
    slope = np.where(x < -3, 0, np.where(x <= 3, x / 3 + 0.5, 1))
    return (gradOutput.astype(x.dtype) * slope).astype(self.dtype)


LOWER, UPPER = ("x < -3", "x <= -3"), ("x <= 3", "x < 3")


def tile_count(length, tileLength):
    return -(-length // tileLength)


def tile_tail(length, tileLength):
    return (length - 1) % tileLength + 1


def aligned_bytes(count, itemsize):
    return -(-count * itemsize // 32) * 32


def moved_elements(count, itemsize):
    return count * itemsize // 32 * (32 // itemsize)


def tile_length(room, itemsize, buffers):
    each = 3 * buffers * itemsize + 2 * 4
    return room // each // 64 * 64


def core_first(core, total, cores, align):
    blocks = -(-total // align)
    return (core * (blocks // cores) + np.minimum(core, blocks % cores)) * align


def hardswish_copy_out(self, start, count):
    out = self.outQue.DeQue(self.T)
    DataCopyPad(self.outGm[start], out, DataCopyExtParams(1, count * self.T.itemsize, 0, 0, 0))
    self.outQue.FreeTensor(out)


MISTAKES = {
    "hardswish_middle": (
        Mistake("slope 1/6", "only the first factor of the product is differentiated",
                {"x / 3": "x / 6"}),
        Mistake("half forgotten", "the 3 / 6 of the product rule is dropped", {"x / 3 + 0.5": "x / 3"}),
        Mistake("only the clip differentiated", "the term with x itself is dropped, and with it the half",
                {"x / 3 + 0.5": "x / 6"}),
    ),
    "hardswish_slope": (
        Mistake("kinks open", "the kinks belong to the outer pieces in newer PyTorch, not here", (LOWER, UPPER)),
        Mistake("right side cut", "outside of the middle everything is taken for saturated; on the right y is x",
                {"1.0))": "0.0))"}),
        Mistake("infinity times a mask", "the pieces are chosen by multiplying with masks, and inf * 0 is nan",
                {"np.where(x < -3, 0.0, np.where(x <= 3, x / 3 + 0.5, 1.0))":
                 "(x >= -3) * (x <= 3) * (x / 3 + 0.5) + (x > 3)"}),
    ),
    "hardswish_kernel": (
        Mistake("computed in 16 bits", "", {"np.promote_types(self.dtype, np.float32)": "self.dtype",
                                            "x / 3 + 0.5": "x / x.dtype.type(3) + x.dtype.type(0.5)"}),
        Mistake("gradOutput forgotten", "", {"(gradOutput.astype(x.dtype) * slope)": "slope"}),
        Mistake("both kinks open", "", (LOWER, UPPER)),
    ),
    "tile_count": (
        Mistake("tail forgotten", "a division that rounds down leaves the short tile out",
                {"-(-length // tileLength)": "length // tileLength"}),
        Mistake("a tile too many", "one is added although the tiles fit evenly",
                {"-(-length // tileLength)": "length // tileLength + 1"}),
        Mistake("rounded to nearest", "a tail of less than half a tile is left out",
                {"-(-length // tileLength)": "np.rint(length / tileLength)"}),
    ),
    "tile_tail": (
        Mistake("no tail when they fit", "the remainder is 0 where the last tile is whole",
                {"(length - 1) % tileLength + 1": "length % tileLength"}),
        Mistake("always a whole tile", "the last tile is taken to be as long as the others",
                {"(length - 1) % tileLength + 1": "0 * length + tileLength"}),
        Mistake("what is missing", "the lanes that the last tile does not fill are counted",
                {"(length - 1) % tileLength + 1": "-length % tileLength"}),
    ),
    "aligned_bytes": (
        Mistake("rounded down", "the last block is left out",
                {"-(-count * itemsize // 32)": "(count * itemsize // 32)"}),
        Mistake("elements in blocks of 32", "elements are rounded up to 32, not bytes",
                {"-(-count * itemsize // 32) * 32": "-(-count // 32) * 32 * itemsize"}),
        Mistake("a block too many", "one block is added although the bytes fit evenly",
                {"-(-count * itemsize // 32)": "(count * itemsize // 32 + 1)"}),
    ),
    "moved_elements": (
        Mistake("nothing left out", "the count is taken to be moved as it is",
                {"count * itemsize // 32 * (32 // itemsize)": "1 * count"}),
        Mistake("rounded up", "the last block is taken to be moved whole",
                {"count * itemsize // 32": "-(-count * itemsize // 32)"}),
        Mistake("bytes for elements", "the bytes that are moved are returned",
                {"(32 // itemsize)": "32"}),
    ),
    "tile_length": (
        Mistake("planned for one buffer", "the queues are doubled, the plan is not",
                {"3 * buffers * itemsize": "3 * itemsize"}),
        Mistake("work buffers forgotten", "what is computed in float takes space as well", {" + 2 * 4": ""}),
        Mistake("not in whole repeats", "a tile is as long as fits, and no multiple of 64",
                {" // 64 * 64": ""}),
        Mistake("rounded up", "the tile is longer than what fits",
                {"room // each // 64 * 64": "-(-(room // each) // 64) * 64"}),
    ),
    "core_first": (
        Mistake("every core has one more", "the cores behind begin too far",
                {"np.minimum(core, blocks % cores)": "core * (blocks % cores > 0)"}),
        Mistake("the rest is nobody's", "the blocks that the first cores have more are not counted",
                {" + np.minimum(core, blocks % cores)": ""}),
        Mistake("blocks for elements", "the number of a block is not the number of an element", {") * align": ")"}),
    ),
    "hardswish_copy_out": (
        Mistake("tail rounded down", "DataCopy moves whole blocks of 32 bytes, and says nothing",
                {"DataCopyPad(self.outGm[start], out, DataCopyExtParams(1, count * self.T.itemsize, 0, 0, 0))":
                 "DataCopy(self.outGm[start], out, count)"}),
        Mistake("tail rounded up", "whole blocks are stored, over what lies behind",
                {"DataCopyPad(self.outGm[start], out, DataCopyExtParams(1, count * self.T.itemsize, 0, 0, 0))":
                 "DataCopy(self.outGm[start], out, -(-count // 16) * 16)"}),
        Mistake("not given back", "the queue has no free block for the tiles that follow",
                {"    self.outQue.FreeTensor(out)": "    return out"}),
        Mistake("elements for bytes", "DataCopyExtParams counts in bytes", {"count * self.T.itemsize": "count"}),
    ),
}
