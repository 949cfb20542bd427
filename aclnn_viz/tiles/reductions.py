"""Ascend C's sums and extremes in the published order, comparisons into bits, selections and moves by index, on simulated
cores.

A sum is a tree of neighbours in each repeat, then over repeats; an inactive lane is absent, and its neighbour goes up the tree
alone. A comparison writes one bit per element, the lowest bit of a byte first.

Source: the pages ReduceSum, ReduceRepeat, ReduceDataBlock of the Ascend C API reference.
"""

from enum import Enum

import numpy as np

from aclnn_viz.tiles.machine import current
from aclnn_viz.tiles.memory import MTE3, S, V, meet
from aclnn_viz.tiles.platforms import BLOCK, REPEAT, c_name, int32_t, uint8_t, uint32_t
from aclnn_viz.tiles.vector import (
    STRIDE,
    BrcbRepeatParams,
    counted,
    eight_bits,
    mask_spans,
    named,
    need_format,
    need_mask,
    need_places,
    overlap,
)
from aclnn_viz.words.messages import message

_ADD, _MAX, _MIN = np.add, np.maximum, np.minimum
# Neutral element of each reduction: -0 + x is x for each x; +0 would change -0.
_NEUTRAL = {_ADD: -0.0, _MAX: -np.inf, _MIN: np.inf}
KINDS = {"Sum": _ADD, "Max": _MAX, "Min": _MIN}


def tree(values: np.ndarray, function=_ADD) -> np.ndarray:
    """Return the last axis reduced by combining neighbours; absent lanes change nothing.

    >>> tree(np.float32([1, 2, 3])).item()
    6.0
    """
    lanes = 1 << max(values.shape[-1] - 1, 0).bit_length()
    if lanes != values.shape[-1]:
        filled = np.full((*values.shape[:-1], lanes), _NEUTRAL[function], values.dtype)
        filled[..., : values.shape[-1]] = values
        values = filled
    while values.shape[-1] > 1:
        values = function(values[..., ::2], values[..., 1::2])
    return values[..., 0]


def _repeats(values: np.ndarray, function) -> np.ndarray:
    """Return one result per repeat of a row of elements; the last repeat may be short."""
    lanes = REPEAT // values.itemsize
    count = -(-values.size // lanes)
    filled = np.full(count * lanes, _NEUTRAL[function], values.dtype)
    filled[: values.size] = values
    return tree(filled.reshape(count, lanes), function)


def _need_apart(core, name: str, write, reads):
    """Record a hazard if a call that does not compute lane by lane writes into its sources.

    Source: docs/zh/api/SIMD-API/通用说明和约束.md, overlapping addresses; the page Gather.
    """
    for read in reads:
        if meet(write, read):
            overlap(core, name, write, read)


def _issue(name: str, result, reads, function, sources=None):
    """Issue an instruction that stores `function()` in `result`, (span, elements), which must not overlap its sources."""
    core, (write, out) = current(), result
    _need_apart(core, name, write, reads if sources is None else sources)

    def run():
        out[...] = function()

    core.vector(name, run, reads, [write])


def _reduce(name, function, dst, src, tmp, form):
    core, size = current(), src.dtype.itemsize
    need_format(core, name, src.dtype)
    in_turn = len(form) == 1
    if in_turn:
        if not (count := counted(core, name, form[0])):
            return
        repeats = -(-count * size // REPEAT)
        read, elements = src.part(name, False, count * size)
    else:
        mask, repeats, step = form
        mask = need_mask(core, name, mask, src.dtype, REPEAT // size)
        if isinstance(mask, tuple):
            core.stop("format", message("{name} with a mask of bits is not offered", name=name))
        if not mask or not counted(core, name, repeats):
            return
        read, elements = src.part(name, False, mask * size, (repeats,), (step * BLOCK,))
    result, out = dst.part(name, True, size, align=size)
    writes = [result]
    if not in_turn or function is not _ADD:  # A sum with a count does not use the work buffer.
        lanes = BLOCK // size
        work = tmp.span(name, True, -(-repeats * (1 if function is _ADD else 2) // lanes) * BLOCK)
        _need_apart(core, name, work, [read])
        if work.start == result.start:
            work = work._replace(start=work.start + BLOCK, length=work.length - BLOCK)
        writes = [work] * (work.length > 0) + writes

    def run():
        if in_turn:
            out[0] = core.reduced = function.accumulate(_repeats(elements, function))[-1]
        else:
            out[0] = tree(tree(elements, function), function)

    core.vector(name, run, [read], writes)
    if in_turn:  # the scalar unit stores the sum, so all later pipes wait for it
        clock = core.snapshot(V)
        for pipe in (S, V, MTE3):
            core.wait(pipe, clock)


def _reducing(kind):
    def call(dst, src, tmp, *form):
        _reduce(f"Reduce{kind}", KINDS[kind], dst, src, tmp, form)

    return named(
        call,
        f"Reduce{kind}",
        f"dst[0] = the {kind.lower()} of src: `(dst, src, tmp, count)` or `(dst, src, tmp, mask, repeatTime, srcRepStride)`.\n\n"
        "    With a count the repeats are taken one after the other, and dst of a sum may be read at once; else they form a tree.",
    )


ReduceSum, ReduceMax, ReduceMin = map(_reducing, KINDS)


def GetReduceRepeatSumSpr() -> float:
    """Return the register of the core that holds the last ReduceSum with a count."""
    core = current()
    core.wait_for("GetReduceRepeatSumSpr")
    if core.reduced is None:
        core.stop(
            "unwritten",
            message("{name} is called before ReduceSum of a count", name="GetReduceRepeatSumSpr"),
        )
    return float(core.reduced)


def _whole(
    name, function, dst, src, mask, repeats, dst_step, src_block, src_step, shares=1, align=None
):
    """Store `shares` results per repeat, side by side; a repeat's results start dst_step * shares after the previous ones."""
    core, size = current(), src.dtype.itemsize
    need_format(core, name, src.dtype)
    repeats = eight_bits(core, name, repeats, "repeatTime")
    boxes = mask_spans(core, name, mask, repeats, (src_block, src_step), [(src, False)])
    if not boxes:
        return
    lanes = np.zeros((8, BLOCK // size), bool)
    for (block, blocks, lane, width), _ in boxes:
        lanes[block : block + blocks, lane : lane + width] = True
    held = [*lanes.reshape(shares, -1).any(1).tolist(), False]
    results = []  # of the groups of lanes that the mask uses; others keep their values
    for share in range(shares):
        if held[share] and not (share and held[share - 1]):
            end = held.index(False, share)
            part = dst.part(
                name,
                True,
                (end - share) * size,
                (repeats,),
                (dst_step * shares * size,),
                offset=share * size,
                align=align or size,
            )
            results.append((share, end, part))

    def run():
        filled = np.full((repeats, *lanes.shape), _NEUTRAL[function], src.dtype)
        for (block, blocks, lane, width), (span,) in boxes:
            filled[:, block : block + blocks, lane : lane + width] = span.values(
                core.ub.bytes, src.dtype
            )
        reduced = tree(filled.reshape(repeats, shares, -1), function)
        for share, end, (_, out) in results:
            out[...] = reduced[:, share:end]

    core.vector(name, run, [span for _, (span,) in boxes], [write for *_, (write, _) in results])


def _wholes(kind):
    def call(
        dst, src, mask, repeatTime: int, dstRepStride: int, srcBlkStride: int, srcRepStride: int
    ):
        strides = dstRepStride, srcBlkStride, srcRepStride
        _whole(f"WholeReduce{kind}", KINDS[kind], dst, src, mask, repeatTime, *strides)

    return named(
        call,
        f"WholeReduce{kind}",
        f"The {kind.lower()} of each repeat of src, side by side when dstRepStride is 1 (order ORDER_ONLY_VALUE).",
    )


WholeReduceSum, WholeReduceMax, WholeReduceMin = map(_wholes, KINDS)


def RepeatReduceSum(
    dst,
    src,
    repeatTime: int,
    elemsInOneRepeat: int,
    dstBlkStride: int,
    srcBlkStride: int,
    dstRepStride: int,
    srcRepStride: int,
):
    """Run WholeReduceSum with the argument order of the older call; its page says that dstBlkStride has no effect."""
    strides = dstRepStride, srcBlkStride, srcRepStride
    _whole("RepeatReduceSum", _ADD, dst, src, elemsInOneRepeat, repeatTime, *strides)


def _parts(name, kind, shares=8):
    """Return the function of an instruction with `shares` results per repeat, one result per two lanes for None."""

    def call(
        dst, src, repeatTime: int, mask, dstRepStride: int, srcBlkStride: int, srcRepStride: int
    ):
        size, strides = src.dtype.itemsize, (dstRepStride, srcBlkStride, srcRepStride)
        count = shares or REPEAT // size // 2
        align = 8 * size if shares else BLOCK
        _whole(name, KINDS[kind], dst, src, mask, repeatTime, *strides, count, align)

    return named(
        call,
        name,
        f"The {kind.lower()} of each block of 32 bytes; PairReduceSum: of two neighbours.",
    )


BlockReduceSum, BlockReduceMax, BlockReduceMin = (
    _parts(f"BlockReduce{kind}", kind) for kind in KINDS
)
PairReduceSum = _parts("PairReduceSum", "Sum", None)


SCRATCH = 8192  # bytes at the end of the Unified Buffer that some forms of Select use on Atlas A2


class CMPMODE(Enum):
    """The comparisons; with nan all are false except NE."""

    LT, GT, EQ, LE, GE, NE = "less", "greater", "equal", "less_equal", "greater_equal", "not_equal"

    def __call__(self, a, b):
        return getattr(np, self.value)(a, b)


class SELMODE(Enum):
    """How Select reads its bits: the same in each repeat; or one after another, with src1 a scalar or a tensor."""

    VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE = range(3)


def _strided(name: str, tensor, lanes: int, repeats: int, block_step: int, step: int):
    """Return spans of some lanes of each repeat, with strides in blocks, and a function for their elements."""
    blocks, rest = divmod(lanes * tensor.dtype.itemsize, BLOCK)
    steps, parts = (step * BLOCK, block_step * BLOCK), []
    if blocks:
        parts.append(tensor.part(name, False, BLOCK, (repeats, blocks), steps))
    if rest:
        parts.append(
            tensor.part(name, False, rest, (repeats, 1), steps, offset=blocks * block_step * BLOCK)
        )
    return [span for span, _ in parts], lambda: np.concatenate(
        [values.reshape(repeats, -1) for _, values in parts], 1
    )


def _compare(dst, src0, src1, mode, count, steps=()):
    """Compare with a tensor or a number; `steps` are the strides of blocks and repeats of each tensor."""
    core, size = current(), src0.dtype.itemsize
    tensors, numbers, name = [src0, src1], [], "Compare"
    if not hasattr(src1, "block"):
        tensors, numbers, name = [src0], [np.asarray(src1).astype(src0.dtype)], "CompareScalar"
    need_format(core, name, src0.dtype)
    if src0.dtype == int32_t and mode is not CMPMODE.EQ:
        core.stop(
            "format",
            message("{name} takes int32_t for EQ alone, not {mode}", name=name, mode=mode.name),
        )
    if dst.dtype != uint8_t:
        core.stop(
            "format",
            message(
                "{name} writes bits into uint8_t, not {dtype}", name=name, dtype=c_name(dst.dtype)
            ),
        )
    count = counted(core, name, count)
    if rest := count * size % REPEAT:
        core.hazard(
            "alignment of a comparison",
            message(
                "{name} of {n} elements, {length} bytes, leaves out the last {rest}",
                name=name,
                n=count,
                length=count * size,
                rest=rest,
            ),
        )
        count -= rest // size
    if not count:
        return
    operands = [
        _strided(name, tensor, REPEAT // size, count * size // REPEAT, *pair)
        for tensor, pair in zip(tensors, steps)
    ] or [
        ([span], values.view)
        for span, values in (tensor.part(name, False, count * size) for tensor in tensors)
    ]
    _issue(
        name,
        dst.part(name, True, count // 8),
        [span for spans, _ in operands for span in spans],
        lambda: np.packbits(
            mode(*(values() for _, values in operands), *numbers), bitorder="little"
        ),
    )


def CompareRepeats(dst, src0, src1, cmpMode: CMPMODE, repeats: int, *steps: int):
    """Run Compare or CompareScalar with strides: of blocks and repeats of src0, then of src1 if it is a tensor.

    Atlas A2 ignores the mask of this form: all lanes of a repeat are compared, and their bits are consecutive.
    """
    count = eight_bits(current(), "Compare", repeats, "repeatTime") * REPEAT // src0.dtype.itemsize
    _compare(dst, src0, src1, cmpMode, count, (steps[:2], steps[2:]))


def Compare(dst, src0, src1, cmpMode: CMPMODE, count: int):
    """Set bit i of dst to src0[i] `cmpMode` src1[i]; count elements must fill a multiple of 256 bytes."""
    _compare(dst, src0, src1, cmpMode, count)


def CompareScalar(dst, src0, scalar, cmpMode: CMPMODE, count: int):
    """Set bit i of dst to src0[i] `cmpMode` scalar; count elements must fill a multiple of 256 bytes."""
    _compare(dst, src0, scalar, cmpMode, count)


def Select(dst, selMask, src0, src1, selMode: SELMODE, count: int):
    """Set dst[i] to src0[i] if bit i of selMask is 1, else to src1[i], or to the scalar src1 in VSEL_TENSOR_SCALAR_MODE."""
    core, size = current(), dst.dtype.itemsize
    need_format(core, "Select", dst.dtype)
    if not counted(core, "Select", count):
        return
    scalar = selMode is SELMODE.VSEL_TENSOR_SCALAR_MODE
    if scalar == hasattr(src1, "block"):
        core.stop(
            "format",
            message(
                "Select takes a number as src1 in VSEL_TENSOR_SCALAR_MODE, and a tensor elsewhere"
            ),
        )
    scratch = core.platform.unified_buffer - SCRATCH
    if selMode is not SELMODE.VSEL_CMPMASK_SPR and (
        any(pipe.top > scratch for pipe in core.pipes) or core.ub.state[scratch:].any()
    ):
        core.hazard(
            "unified buffer full",
            message(
                "Select works in the Unified Buffer from byte {start} on, which holds data",
                start=scratch,
            ),
        )
    parts = [
        tensor.part("Select", False, count * size)
        for tensor in ((src0,) if scalar else (src0, src1))
    ]
    spans = [span for span, _ in parts]
    lanes = min(count, REPEAT // size) if selMode is SELMODE.VSEL_CMPMASK_SPR else count
    bits = selMask.span("Select", False, -(-lanes // 8))
    result = dst.part("Select", True, count * size)
    packed = bits.values(core.ub.bytes, uint8_t)
    other = np.asarray(src1).astype(dst.dtype) if scalar else parts[1][1]

    def function():
        chosen = np.unpackbits(packed, count=lanes, bitorder="little").astype(bool)
        return np.where(np.resize(chosen, count), parts[0][1], other)

    apart = [bits, *(span for span in spans if span != result[0])]
    _issue("Select", result, [bits, *spans], function, apart)


def Gather(dst, src, srcOffset, srcBaseAddr: int, count: int):
    """Set dst[i] to the element of src at byte srcBaseAddr + srcOffset[i]; offsets are uint32_t, in bytes.

    The bytes it reads are known only when it runs, so the check for unwritten bytes covers all of src.
    """
    core, size = current(), dst.dtype.itemsize
    need_format(core, "Gather", dst.dtype)
    if srcOffset.dtype != uint32_t:
        core.stop(
            "format",
            message("Gather takes offsets of uint32_t, not {dtype}", dtype=c_name(srcOffset.dtype)),
        )
    if not counted(core, "Gather", count):
        return
    where, length = core.where(), src.end - src.start - srcBaseAddr
    read = src.span("Gather", False, length // size * size, offset=srcBaseAddr)
    at, places = srcOffset.part("Gather", False, count * 4)
    elements = read.values(core.ub.bytes, dst.dtype)

    def function():
        index = places // size
        inside = index < elements.size
        wrong = places[~inside | (places % size != 0)]
        if wrong.size:
            core.hazard(
                "beyond tensor",
                message(
                    "Gather takes offset {offset} of {length} bytes of elements of {size}",
                    offset=int(wrong[0]),
                    length=length,
                    size=size,
                ),
                where=where,
            )
        return elements[np.where(inside, index, 0)]

    _issue("Gather", dst.part("Gather", True, count * size), [read, at], function)


def GatherMask(
    dst,
    src,
    pattern,
    count: int,
    repeats: int = 1,
    blkStride: int = 1,
    repStride: int = 8,
    patternStride: int = 0,
) -> int:
    """Pack a pattern's lanes from `count` elements of each repeat, and return their number: 1 even lanes, 2 odd, 3 to 6 every
    fourth, 7 all.

    A tensor as pattern selects by its bits, read when the call is made. C++ spells it `reduceMode = true, mask = count,
    {blkStride, repeats, repStride, patternStride}, rsvdCnt`; strides are in blocks of 32 bytes.
    """
    core = current()
    need_format(core, "GatherMask", src.dtype)
    lanes = np.arange(counted(core, "GatherMask", count))
    if hasattr(pattern, "block"):
        unit = pattern.dtype.itemsize
        length = -(-lanes.size // (8 * unit)) * unit
        span, bits = pattern.part("GatherMask", False, length, (repeats,), (patternStride * BLOCK,))
        seen = core.seen[S]
        core.wait(
            S, core.snapshot(V)
        )  # the vector unit reads the elements in its order; the scalar unit gets only their number
        core.scalar_read("GatherMask", core.ub, span)
        core.seen[S] = seen
        chosen, spans = (
            np.unpackbits(np.ascontiguousarray(bits).view(uint8_t), 1, bitorder="little")[
                :, : lanes.size
            ].astype(bool),
            [span],
        )
    else:
        if pattern not in range(1, 8):
            core.stop(
                "copy parameters",
                message(
                    "GatherMask has pattern {pattern}, which must lie in 1 to 7", pattern=pattern
                ),
            )
        first, step = {1: (0, 2), 2: (1, 2), 7: (0, 1)}.get(pattern, (pattern - 3, 4))
        chosen, spans = np.tile(lanes % step == first, (repeats, 1)), []
    if not (kept := int(chosen.sum())):
        return 0
    reads, elements = _strided("GatherMask", src, lanes.size, repeats, blkStride, repStride)
    result = dst.part("GatherMask", True, kept * src.dtype.itemsize)
    after = repeats == 1 or repStride >= -(-lanes.size * src.dtype.itemsize // BLOCK) * blkStride
    # Packing in place, as in the vendor's example gather.asc, reads each element before overwriting it.
    apart = spans if after and result[0].start == src.start else [*spans, *reads]
    _issue("GatherMask", result, [*spans, *reads], lambda: elements()[chosen], apart)
    return kept


def Brcb(dst, src, repeatTime: int, params=BrcbRepeatParams()):
    """Spread each of 8 elements per repeat over a block of 32 bytes; `params` strides the result's blocks."""
    core, size = current(), src.dtype.itemsize
    need_format(core, "Brcb", src.dtype)
    repeats = eight_bits(core, "Brcb", repeatTime, "repeatTime")
    if not repeats:
        return
    block, step = (eight_bits(core, "Brcb", stride, STRIDE) for stride in params)
    need_places(core, "Brcb", 8, block)
    read, elements = src.part("Brcb", False, 8 * repeats * size)
    result = dst.part("Brcb", True, BLOCK, (repeats, 8), (step * BLOCK, block * BLOCK))
    _issue("Brcb", result, [read], lambda: elements.reshape(repeats, 8, 1))
