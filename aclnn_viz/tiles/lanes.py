"""Which lanes a vector call treats: the first `count` elements, or those of a mask in each of `repeatTime` repeats.

A repeat is 256 bytes, 8 blocks of 32. In the form with a mask, blocks and repeats have strides in blocks of 32 bytes.
Calls that widen or narrow go by the wider type.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aclnn_viz.tiles.formats import c_name
from aclnn_viz.tiles.memory import Span
from aclnn_viz.tiles.platforms import BLOCK, LIMIT, REPEAT
from aclnn_viz.words.speech import message

MASK, STRIDE = message("{name} has mask {mask} for {n} lanes of {dtype}"), message("a stride")


@dataclass(frozen=True)
class UnaryRepeatParams:
    """Strides of blocks and of repeats of the result and the source, in blocks of 32 bytes."""

    dstBlkStride: int = 1
    srcBlkStride: int = 1
    dstRepStride: int = 8
    srcRepStride: int = 8

    @property
    def pairs(self):
        return (self.dstBlkStride, self.dstRepStride), (self.srcBlkStride, self.srcRepStride)


@dataclass(frozen=True)
class BinaryRepeatParams:
    """Strides of blocks and of repeats of the result and the two sources, in blocks of 32 bytes."""

    dstBlkStride: int = 1
    src0BlkStride: int = 1
    src1BlkStride: int = 1
    dstRepStride: int = 8
    src0RepStride: int = 8
    src1RepStride: int = 8

    @property
    def pairs(self):
        return ((self.dstBlkStride, self.dstRepStride), (self.src0BlkStride, self.src0RepStride),
                (self.src1BlkStride, self.src1RepStride))


def eight_bits(core, name: str, number: int, what: str) -> int:
    """What the hardware makes of a repeat or stride: its last 8 bits."""
    if not 0 <= number <= LIMIT:
        core.hazard("repeat beyond 255", message("{name} has {what} {n}, taken as {taken}", name=name, what=what, n=number,
                                                  taken=number % (LIMIT + 1)))
    return number % (LIMIT + 1)


@lru_cache(maxsize=512)
def runs(mask, lanes: int, per_block: int) -> tuple[tuple[int, int, int, int], ...]:
    """The set lanes as boxes (first block, blocks, first lane, lanes); `mask` is a number of lanes or a tuple of bits.

    >>> runs(20, 64, 8)
    ((0, 2, 0, 8), (2, 1, 0, 4))
    """
    if not isinstance(mask, tuple):
        whole, rest = divmod(max(min(mask, lanes), 0), per_block)
        return ((0, whole, 0, per_block),) * bool(whole) + ((whole, 1, 0, rest),) * bool(rest)
    bits = [mask[lane // 64] >> lane % 64 & 1 for lane in range(lanes)]
    found = []
    for block in range(lanes // per_block):
        lane = 0
        while lane < per_block:
            width = 0
            while lane + width < per_block and bits[block * per_block + lane + width]:
                width += 1
            if width:
                found.append((block, 1, lane, width))
            lane += max(width, 1)
    return tuple(found)


def counted(core, name: str, count: int) -> int:
    """A count of elements; C++ has no negative one."""
    if count < 0:
        core.stop("beyond tensor", message("{name} is given {n} elements, which C++ takes as {taken}", name=name, n=count,
                                           taken=count % 2**32))
    return int(count)


def mask_spans(core, name: str, mask, repeats: int, pairs, operands) -> list[list[Span]]:
    """The runs of the form with a mask: for each, the spans of the operands, (repeats, blocks) runs of lanes each."""
    widest = max(tensor.dtype.itemsize for tensor, _ in operands)
    lanes = REPEAT // widest
    if isinstance(mask, (list, tuple)):
        mask = tuple(mask) + (0,) * (lanes // 64 - len(mask))
        fits = any(mask[:lanes // 64]) and not any(mask[lanes // 64:])
    else:
        fits = 0 <= mask <= lanes
    if not fits:
        core.hazard("mask", message(MASK, name=name, mask=mask, n=lanes, dtype=c_name(operands[0][0].dtype)))
    repeats = eight_bits(core, name, repeats, "repeatTime")
    if not repeats:
        return []
    # A narrow operand beside a wide one fills fewer than 8 blocks in a repeat.
    strides = [[eight_bits(core, name, step, STRIDE) * BLOCK for step in pair] for pair in pairs]
    found = []
    per_block = BLOCK // widest
    for block, blocks, lane, width in runs(mask, lanes, per_block):
        spans = []
        for (tensor, writing), (block_step, repeat_step) in zip(operands, strides):
            size = tensor.dtype.itemsize
            share = widest // size  # blocks of the wide type that lie in one of this type
            if share == 1:
                offset, shape, steps = block * block_step, (repeats, blocks), (repeat_step, block_step)
                start, length = offset + lane * size, width * size
            else:  # only unit block strides: the lanes are contiguous
                start, length = (block * per_block + lane) * size, width * size
                shape, steps = (repeats, blocks), (repeat_step, per_block * size)
            spans.append(tensor.span(name, writing, length, shape, steps, offset=start))
        found.append(spans)
    return found


def operands(core, name: str, form: tuple, dst, sources) -> tuple[list[list[tuple[Span, np.ndarray]]], bool]:
    """The runs of either form, for each the span and the elements of dst and of the sources.

    And whether repeats must follow one another because the result stays in place.
    """
    if len(form) == 1:
        count = counted(core, name, form[0])
        if count <= 0:
            return [], False
        return [[dst.operand(core, name, True, count),
                 *[source.operand(core, name, False, count) for source in sources]]], False
    mask, repeats, params = form
    pairs = params.pairs
    found = mask_spans(core, name, mask, repeats, pairs, [(dst, True), *((source, False) for source in sources)])
    return [[(span, span.values(core.ub.bytes, tensor.dtype)) for span, tensor in zip(one, (dst, *sources))]
            for one in found], pairs[0][1] == 0 and repeats > 1


def need_apart(core, name: str, dst, sources, found: list[list[tuple[Span, np.ndarray]]]):
    """Operands are the same or disjoint."""
    for (write, _), *reads in found:
        for source, (span, _) in zip(sources, reads):
            if source.start != dst.start and write.start < span.end and span.start < write.end \
                    and not (span.shape and np.prod(span.shape) > 1):
                core.hazard("overlap", message("{name} writes bytes {a} to {b} and reads {c} to {d}", name=name, a=write.start,
                                                b=write.end, c=span.start, d=span.end))
