"""Puzzles on the hardswish gradient in tiles: how many tiles, how long, whose, and how the last one leaves."""

import numpy as np

from aclnn_viz.checking.puzzles.puzzle import Curve, Puzzle
from aclnn_viz.checking.puzzles.symptoms import table
from aclnn_viz.checking.puzzles.tiles.detective import TileDetective
from aclnn_viz.checking.puzzles.tiles.machine import Part

LENGTHS = np.array([0.0, 1.0, 63.0, 64.0, 65.0, 127.0, 128.0, 129.0, 1000.0])
COUNTS = np.array([1.0, 7.0, 8.0, 9.0, 15.0, 16.0, 17.0, 31.0, 32.0, 33.0, 100.0])


def tile_count(length, tileLength):
    """How many tiles of tileLength elements cover length (n,) elements; whole numbers, none for no elements."""
    tiles = np.zeros_like(length)
    for i in range(length.size):
        start = 0.0
        while start < length[i]:
            tiles[i] += 1
            start += tileLength
    return tiles


def tile_tail(length, tileLength):
    """How many elements the last tile holds, for length (n,) of at least one element."""
    last = np.zeros_like(length)
    for i in range(length.size):
        start = 0.0
        while length[i] - start > tileLength:
            start += tileLength
        last[i] = length[i] - start
    return last


def aligned_bytes(count, itemsize):
    """The bytes that count (n,) elements of itemsize bytes take in the Unified Buffer, which hands out blocks of 32."""
    taken = np.zeros_like(count)
    for i in range(count.size):
        while taken[i] < count[i] * itemsize:
            taken[i] += 32
    return taken


def moved_elements(count, itemsize):
    """How many of count (n,) elements `DataCopy(dst, src, count)` moves: whole blocks of 32 bytes, and no more."""
    moved = np.zeros_like(count)
    for i in range(count.size):
        while (moved[i] * itemsize + 32) <= count[i] * itemsize:
            moved[i] += 32 / itemsize
    return moved


def tile_length(room, itemsize, buffers):
    """The longest tile, in multiples of 64 elements, of which a program fits room (n,) bytes with three queues of
    `buffers` buffers of itemsize bytes an element and two work buffers of 4 bytes an element."""
    tile = np.zeros_like(room)
    for i in range(room.size):
        while (tile[i] + 64) * (3 * buffers * itemsize + 2 * 4) <= room[i]:
            tile[i] += 64
    return tile


def core_first(core, total, cores, align):
    """The first element of each core (n,): total elements are dealt in blocks of align, and the first cores have one
    block more when they cannot be dealt evenly."""
    blocks, first = np.ceil(total / align), np.zeros_like(core)
    for i in range(core.size):
        for before in range(int(core[i])):
            first[i] += (blocks // cores + (before < blocks % cores)) * align
    return first


def hardswish_copy_out(self, start, count):
    """Take the result from `self.outQue`, store its `count` elements to `self.outGm` from `start` on, and no other
    byte, and give the tensor back. A method of the program, which holds `self.T`, the format."""
    out = self.outQue.DeQue(self.T)
    for i in range(count):
        self.outGm[start].SetValue(i, out.GetValue(i))  # by the scalar unit, which is slow, and not awaited here
    self.outQue.FreeTensor(out)


PUZZLES = (
    Puzzle(tile_count, "hardswish", "How many tiles", ("tiles",), 1, (
        "The last tile may be short, and counts.",
        "Rounding up is rounding down with two signs turned.",
        "return -(-length // ...)"),
        Curve("length", 1.0, 400.0, ({"tileLength": 64.0}, {"tileLength": 100.0}), (64.0, 100.0, 200.0)),
        lambda length, tileLength: np.ceil(length / tileLength),
        ({"length": LENGTHS, "tileLength": 64.0}, {"length": LENGTHS, "tileLength": 100.0},
         {"length": np.array([8.0, 9.0]), "tileLength": 8.0})),
    Puzzle(tile_tail, "hardswish", "The last tile", ("last",), 1, (
        "What does the remainder say when the tiles fit evenly?",
        "The last tile holds 1 to tileLength elements: a remainder of 0 to tileLength - 1, and one more.",
        "return (length - 1) % ..."),
        Curve("length", 1.0, 400.0, ({"tileLength": 64.0}, {"tileLength": 100.0}), (64.0, 100.0, 200.0)),
        lambda length, tileLength: length - (np.ceil(length / tileLength) - 1) * tileLength,
        ({"length": LENGTHS[1:], "tileLength": 64.0}, {"length": LENGTHS[1:], "tileLength": 100.0})),
    Puzzle(aligned_bytes, "hardswish", "In blocks of 32 bytes", ("taken",), 1, (
        "Round up bytes, not elements.",
        "As many blocks as tiles in the first puzzle; each has 32 bytes.",
        "return -(-count * itemsize // 32) * ..."),
        Curve("count", 1.0, 40.0, ({"itemsize": 2}, {"itemsize": 4}), (8.0, 16.0, 32.0)),
        lambda count, itemsize: np.ceil(count * itemsize / 32) * 32,
        ({"count": COUNTS, "itemsize": 4}, {"count": COUNTS, "itemsize": 2})),
    Puzzle(moved_elements, "hardswish", "What DataCopy leaves out", ("moved",), 1, (
        "It rounds down, and says nothing.",
        "How many whole blocks of 32 bytes are there, and how many elements are in one?",
        "return count * itemsize // 32 * ..."),
        Curve("count", 1.0, 40.0, ({"itemsize": 2}, {"itemsize": 4}), (8.0, 16.0, 32.0)),
        lambda count, itemsize: np.floor(count * itemsize / 32) * 32 / itemsize,
        ({"count": COUNTS, "itemsize": 4}, {"count": COUNTS, "itemsize": 2})),
    Puzzle(tile_length, "hardswish", "How long a tile", ("tile",), 2, (
        "What does one element cost, in all buffers together?",
        "Each of three queues has `buffers` buffers: that many elements lie in it at a time.",
        "each = 3 * buffers * itemsize + 8; then as many elements as fit, down to a multiple of 64."),
        Curve("room", 1000.0, 20000.0, ({"itemsize": 2, "buffers": 2}, {"itemsize": 4, "buffers": 2}), (5120.0,)),
        lambda room, itemsize, buffers: np.floor(room / (3 * buffers * itemsize + 8) / 64) * 64,
        tuple({"room": np.array([100.0, 2048.0, 5120.0, 100000.0, 188160.0]), "itemsize": itemsize, "buffers": buffers}
              for itemsize in (2, 4) for buffers in (1, 2))),
    Puzzle(core_first, "hardswish", "Where a core begins", ("first",), 2, (
        "Before core k lie k cores. How many of them have a block more?",
        "The first blocks % cores cores have one more: np.minimum counts those before core k.",
        "blocks = -(-total // align); then (core * (blocks // cores) + np.minimum(...)) * align"),
        Curve("core", 0.0, 7.0, ({"total": 90, "cores": 8, "align": 8}, {"total": 200, "cores": 8, "align": 8}),
              (1.0, 4.0)),
        lambda core, total, cores, align: np.array(
            [sum(len(part) for part in np.array_split(np.arange(-(-total // align)), cores)[:int(k)]) * align
             for k in core], np.float64),
        tuple({"core": np.arange(cores, dtype=np.float64), "total": total, "cores": cores, "align": align}
              for total, cores, align in ((90, 8, 8), (90, 7, 8), (1999, 8, 16), (64, 8, 8), (70, 3, 16)))),
    Puzzle(hardswish_copy_out, "hardswish", "A tail that eats no neighbour", (), 3, (
        "DataCopy moves whole blocks of 32 bytes. Which copy counts in bytes?",
        "DataCopyPad takes DataCopyExtParams(1, bytes, 0, 0, 0).",
        "out = self.outQue.DeQue(self.T), then the copy, then self.outQue.FreeTensor(out)"), None,
        judge=Part("CopyOut", (({"shape": (99,)}, 1), ({"shape": (300,), "dtype": "float16"}, 4),
                               ({"shape": (30000,)}, 2)))),
)

DETECTIVES = (
    TileDetective(
        2, "late_only", "hardswish", "It worked on my machine",
        "All tests pass. On the next machine the numbers are wrong, and sometimes they are not.",
        (("in order, 300 elements", {"shape": (300,), "schedule": "eager", "cores": 4}),
         ("late, 300 elements", {"shape": (300,), "schedule": "late", "cores": 4}),
         ("in order, 99 elements", {"shape": (99,), "schedule": "eager", "cores": 1}),
         ("late, 99 elements", {"shape": (99,), "schedule": "late", "cores": 1})), table,
        ("slope forgotten", "barrier removed", "one core fewer", "start of a core"),
        ("What does not change when instructions land later? Everything that is computed by the host.",
         "Two of the suspects are about who computes what. Would they care for the order?",
         "One suspect lets an instruction read what the one before it has not written yet."),
        "barrier removed"),
)
