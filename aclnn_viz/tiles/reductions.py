"""Sums and extremes, in the published order: a tree of neighbours in each repeat, then the repeats.

Source: the pages ReduceSum, ReduceRepeat, ReduceDataBlock of the Ascend C API reference. A lane that takes no part is
absent: its neighbour goes up the tree alone.
"""

import numpy as np

from aclnn_viz.tiles.core import current
from aclnn_viz.tiles.formats import c_name
from aclnn_viz.tiles.lanes import MASK, counted, eight_bits, mask_spans
from aclnn_viz.tiles.memory import MTE3, S, V
from aclnn_viz.tiles.platforms import BLOCK, REPEAT
from aclnn_viz.tiles.vector import need_format
from aclnn_viz.words.speech import message

_ADD, _MAX, _MIN = np.add, np.maximum, np.minimum
# What changes nothing: -0 + x is x for each x, +0 + -0 would lose the sign.
_NEUTRAL = {_ADD: -0.0, _MAX: -np.inf, _MIN: np.inf}


def tree(values: np.ndarray, function=_ADD) -> np.ndarray:
    """Combine neighbours along the last axis until one is left; absent lanes change nothing.

    >>> tree(np.float32([1, 2, 3])).item()
    6.0
    """
    lanes = 1 << max(values.shape[-1] - 1, 0).bit_length()
    if lanes != values.shape[-1]:
        filled = np.full((*values.shape[:-1], lanes), _NEUTRAL[function], values.dtype)
        filled[..., :values.shape[-1]] = values
        values = filled
    while values.shape[-1] > 1:
        values = function(values[..., ::2], values[..., 1::2])
    return values[..., 0]


def _repeats(values: np.ndarray, function) -> np.ndarray:
    """One result for each repeat of a row of elements; the last may be short."""
    lanes = REPEAT // values.itemsize
    count = -(-values.size // lanes)
    filled = np.full(count * lanes, _NEUTRAL[function], values.dtype)
    filled[:values.size] = values
    return tree(filled.reshape(count, lanes), function)


def _reduce(name, function, dst, src, tmp, form):
    core, size = current(), src.dtype.itemsize
    need_format(core, name, src.dtype)
    if len(form) == 1:
        count = counted(core, name, form[0])
        if not count:
            return
        read, order = src.span(name, False, count * size), "ascending"
    else:
        mask, repeats, step = form
        if not 0 <= mask <= REPEAT // size:
            core.hazard("mask", message(MASK, name=name, mask=mask, n=REPEAT // size, dtype=c_name(src.dtype)))
            mask = max(min(mask, REPEAT // size), 0)
        if not mask or not counted(core, name, repeats):
            return
        read = src.span(name, False, int(mask) * size, (repeats,), (step * BLOCK,))
        order = "tree"
    write = dst.span(name, True, size, align=size)
    out, given = write.values(core.ub.bytes, dst.dtype), read.values(core.ub.bytes, src.dtype)

    def run():
        if order == "tree":
            out[0] = tree(tree(given, function), function)
        else:
            out[0] = function.accumulate(_repeats(given, function))[-1]
    core.issue(V, name, run, [(core.ub, read)], [(core.ub, write)])
    if order == "ascending":  # the scalar unit takes the sum over and stores it: all later pipes are behind it
        clock = core.snapshot(V)
        for pipe in (S, V, MTE3):
            core.wait(pipe, clock)


def ReduceSum(dst, src, tmp, *form):
    """dst[0] = the sum of src: `(dst, src, tmp, count)` or `(dst, src, tmp, mask, repeatTime, srcRepStride)`.

    With a count the repeats add up one after the other, and dst may be read at once; else they form a tree.
    """
    _reduce("ReduceSum", _ADD, dst, src, tmp, form)


def ReduceMax(dst, src, tmp, *form):
    """dst[0] = the largest element of src; the forms are those of ReduceSum. Its index is not offered here."""
    _reduce("ReduceMax", _MAX, dst, src, tmp, form)


def ReduceMin(dst, src, tmp, *form):
    """dst[0] = the smallest element of src; the forms are those of ReduceSum. Its index is not offered here."""
    _reduce("ReduceMin", _MIN, dst, src, tmp, form)


def _whole(name, function, dst, src, mask, repeats, dst_step, src_block, src_step, shares=1, align=None):
    """`shares` results for each repeat, side by side; those of one repeat start dst_step * shares behind the last."""
    core, size = current(), src.dtype.itemsize
    need_format(core, name, src.dtype)
    repeats = eight_bits(core, name, repeats, "repeatTime")
    if not repeats:
        return
    found = mask_spans(core, name, mask, repeats, ((src_block, src_step),), [(src, False)])
    if not found:
        return
    lanes, out_step = REPEAT // size, dst_step * shares * size
    if not isinstance(mask, (tuple, list)):  # a share without a lane keeps what it holds
        written = min(-(-mask * shares // lanes), shares)
    else:
        written = shares
    write = dst.span(name, True, written * size, (repeats,), (out_step,), align=align or size)
    out = write.values(core.ub.bytes, dst.dtype)
    per_block = BLOCK // size
    reads = [one[0] for one in found]
    # Where in the repeat each run lies: its place in the tree.
    boxes = [((span.start - src.start) // BLOCK // max(src_block, 1), span.shape[1], (span.start - src.start) % BLOCK
              // size, span.length // size) for span in reads]
    given = [span.values(core.ub.bytes, src.dtype) for span in reads]

    def run():
        filled = np.full((repeats, 8, per_block), _NEUTRAL[function], src.dtype)
        for (block, blocks, lane, width), part in zip(boxes, given):
            filled[:, block:block + blocks, lane:lane + width] = part
        out[...] = tree(filled.reshape(repeats, shares, lanes // shares), function)[:, :written]
    core.issue(V, name, run, [(core.ub, span) for span in reads], [(core.ub, write)])


def WholeReduceSum(dst, src, mask, repeatTime: int, dstRepStride: int, srcBlkStride: int, srcRepStride: int):
    """One sum for each repeat of src, side by side when dstRepStride is 1."""
    _whole("WholeReduceSum", _ADD, dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride)


def WholeReduceMax(dst, src, mask, repeatTime: int, dstRepStride: int, srcBlkStride: int, srcRepStride: int):
    """The largest element of each repeat of src (order ORDER_ONLY_VALUE)."""
    _whole("WholeReduceMax", _MAX, dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride)


def WholeReduceMin(dst, src, mask, repeatTime: int, dstRepStride: int, srcBlkStride: int, srcRepStride: int):
    """The smallest element of each repeat of src (order ORDER_ONLY_VALUE)."""
    _whole("WholeReduceMin", _MIN, dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride)


def RepeatReduceSum(dst, src, repeatTime: int, elemsInOneRepeat: int, dstBlkStride: int, srcBlkStride: int,
                    dstRepStride: int, srcRepStride: int):
    """As WholeReduceSum, its arguments in the order of the older call."""
    _whole("RepeatReduceSum", _ADD, dst, src, elemsInOneRepeat, repeatTime, dstRepStride, srcBlkStride, srcRepStride)


def _blocks(name, function, dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride):
    _whole(name, function, dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, 8,
           8 * src.dtype.itemsize)


def BlockReduceSum(dst, src, repeatTime: int, mask, dstRepStride: int, srcBlkStride: int, srcRepStride: int):
    """8 sums for each repeat of src, one for each block of 32 bytes."""
    _blocks("BlockReduceSum", _ADD, dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride)


def BlockReduceMax(dst, src, repeatTime: int, mask, dstRepStride: int, srcBlkStride: int, srcRepStride: int):
    """The largest element of each block of 32 bytes."""
    _blocks("BlockReduceMax", _MAX, dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride)


def BlockReduceMin(dst, src, repeatTime: int, mask, dstRepStride: int, srcBlkStride: int, srcRepStride: int):
    """The smallest element of each block of 32 bytes."""
    _blocks("BlockReduceMin", _MIN, dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride)


def PairReduceSum(dst, src, repeatTime: int, mask, dstRepStride: int, srcBlkStride: int, srcRepStride: int):
    """The sums of neighbours: half as many elements as src has in each repeat."""
    size = src.dtype.itemsize
    lanes = REPEAT // size
    _whole("PairReduceSum", _ADD, dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, lanes // 2,
           BLOCK)


