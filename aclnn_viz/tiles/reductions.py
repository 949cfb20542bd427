"""Sums and extremes in the published order, comparisons into bits, selection by bits, and moves by index.

A sum is a tree of neighbours in each repeat, then the repeats; a lane that takes no part is absent: its neighbour goes
up the tree alone. A comparison writes one bit an element, the lowest bit of a byte first.

Source: the pages ReduceSum, ReduceRepeat, ReduceDataBlock of the Ascend C API reference.
"""

from enum import Enum

import numpy as np

from aclnn_viz.tiles.machine import current
from aclnn_viz.tiles.memory import MTE3, S, V, meet
from aclnn_viz.tiles.platforms import BLOCK, REPEAT, c_name, int32_t, uint32_t, uint8_t
from aclnn_viz.tiles.vector import MASK, counted, eight_bits, mask_spans, named, need_format
from aclnn_viz.words.messages import message

_ADD, _MAX, _MIN = np.add, np.maximum, np.minimum
# What changes nothing: -0 + x is x for each x, +0 + -0 would lose the sign.
_NEUTRAL = {_ADD: -0.0, _MAX: -np.inf, _MIN: np.inf}
KINDS = {"Sum": _ADD, "Max": _MAX, "Min": _MIN}


def tree(values: np.ndarray, function=_ADD) -> np.ndarray:
    """Combine neighbours along the last axis until one is left; absent lanes change nothing.

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
    """One result for each repeat of a row of elements; the last may be short."""
    lanes = REPEAT // values.itemsize
    count = -(-values.size // lanes)
    filled = np.full(count * lanes, _NEUTRAL[function], values.dtype)
    filled[: values.size] = values
    return tree(filled.reshape(count, lanes), function)


def _need_apart(core, name: str, write, reads):
    """A call that does not compute lane by lane must not write into what it reads.

    Source: docs/zh/api/SIMD-API/通用说明和约束.md, overlapping addresses; the page Gather.
    """
    for read in reads:
        if meet(write, read):
            core.hazard(
                "overlap",
                message(
                    "{name} writes bytes {a} to {b} and reads {c} to {d}",
                    name=name,
                    a=write.start,
                    b=write.end,
                    c=read.start,
                    d=read.end,
                ),
            )


def _reduce(name, function, dst, src, tmp, form):
    core, size = current(), src.dtype.itemsize
    need_format(core, name, src.dtype)
    if len(form) == 1:
        count = counted(core, name, form[0])
        if not count:
            return
        (read, given), order = src.part(name, False, count * size), "ascending"
    else:
        mask, repeats, step = form
        if not 0 <= mask <= REPEAT // size:
            core.hazard(
                "mask",
                message(MASK, name=name, mask=mask, n=REPEAT // size, dtype=c_name(src.dtype)),
            )
            mask = max(min(mask, REPEAT // size), 0)
        if not mask or not counted(core, name, repeats):
            return
        (read, given), order = (
            src.part(name, False, int(mask) * size, (repeats,), (step * BLOCK,)),
            "tree",
        )
    write, out = dst.part(name, True, size, align=size)
    writes = [write]
    if order == "tree" or function is not _ADD:  # for a sum of a count the work buffer is not used
        repeats = read.shape[0] if read.shape else -(-count * size // REPEAT)
        lanes = BLOCK // size
        work = tmp.span(name, True, -(-repeats * (1 if function is _ADD else 2) // lanes) * BLOCK)
        _need_apart(core, name, work, [read])
        writes = (
            [work._replace(start=work.start + BLOCK, length=work.length - BLOCK)]
            * (work.length > BLOCK)
            + writes
            if work.start == write.start
            else [work, write]
        )

    def run():
        if order == "tree":
            out[0] = tree(tree(given, function), function)
        else:
            out[0] = core.reduced = function.accumulate(_repeats(given, function))[-1]

    core.vector(name, run, [read], writes)
    if (
        order == "ascending"
    ):  # the scalar unit takes the sum over and stores it: all later pipes are behind it
        clock = core.snapshot(V)
        for pipe in (S, V, MTE3):
            core.wait(pipe, clock)


def _reducing(kind):
    def call(dst, src, tmp, *form):
        _reduce(f"Reduce{kind}", KINDS[kind], dst, src, tmp, form)

    setattr(
        call,
        "__doc__",
        f"dst[0] = the {kind.lower()} of src: `(dst, src, tmp, count)` or `(dst, src, tmp, mask, repeatTime, srcRepStride)`.\n\n"
        "    With a count the repeats are taken one after the other, and dst of a sum may be read at once; else they form a tree.",
    )
    return named(call, f"Reduce{kind}")


ReduceSum, ReduceMax, ReduceMin = map(_reducing, KINDS)


def GetReduceRepeatSumSpr() -> float:
    """What the last ReduceSum of a count has left in a register of the core."""
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
    write, out = dst.part(name, True, written * size, (repeats,), (out_step,), align=align or size)
    per_block = BLOCK // size
    reads = [one[0] for one in found]
    # Where in the repeat each run lies: its place in the tree.
    boxes = [
        (
            (span.start - src.start) // BLOCK // max(src_block, 1),
            span.shape[1],
            (span.start - src.start) % BLOCK // size,
            span.length // size,
        )
        for span in reads
    ]
    given = [span.values(core.ub.bytes, src.dtype) for span in reads]

    def run():
        filled = np.full((repeats, 8, per_block), _NEUTRAL[function], src.dtype)
        for (block, blocks, lane, width), part in zip(boxes, given):
            filled[:, block : block + blocks, lane : lane + width] = part
        out[...] = tree(filled.reshape(repeats, shares, lanes // shares), function)[:, :written]

    core.vector(name, run, reads, [write])


def _wholes(kind):
    def call(
        dst, src, mask, repeatTime: int, dstRepStride: int, srcBlkStride: int, srcRepStride: int
    ):
        _whole(
            f"WholeReduce{kind}",
            KINDS[kind],
            dst,
            src,
            mask,
            repeatTime,
            dstRepStride,
            srcBlkStride,
            srcRepStride,
        )

    setattr(
        call,
        "__doc__",
        f"The {kind.lower()} of each repeat of src, side by side when dstRepStride is 1 (order ORDER_ONLY_VALUE).",
    )
    return named(call, f"WholeReduce{kind}")


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
    """As WholeReduceSum, its arguments in the order of the older call."""
    _whole(
        "RepeatReduceSum",
        _ADD,
        dst,
        src,
        elemsInOneRepeat,
        repeatTime,
        dstRepStride,
        srcBlkStride,
        srcRepStride,
    )


def _blocks(kind):
    def call(
        dst, src, repeatTime: int, mask, dstRepStride: int, srcBlkStride: int, srcRepStride: int
    ):
        _whole(
            f"BlockReduce{kind}",
            KINDS[kind],
            dst,
            src,
            mask,
            repeatTime,
            dstRepStride,
            srcBlkStride,
            srcRepStride,
            8,
            8 * src.dtype.itemsize,
        )

    setattr(
        call, "__doc__", f"The {kind.lower()} of each block of 32 bytes: 8 for each repeat of src."
    )
    return named(call, f"BlockReduce{kind}")


BlockReduceSum, BlockReduceMax, BlockReduceMin = map(_blocks, KINDS)


def PairReduceSum(
    dst, src, repeatTime: int, mask, dstRepStride: int, srcBlkStride: int, srcRepStride: int
):
    """The sums of neighbours: half as many elements as src has in each repeat."""
    size = src.dtype.itemsize
    lanes = REPEAT // size
    _whole(
        "PairReduceSum",
        _ADD,
        dst,
        src,
        mask,
        repeatTime,
        dstRepStride,
        srcBlkStride,
        srcRepStride,
        lanes // 2,
        BLOCK,
    )


SCRATCH = 8192  # bytes at the end of the Unified Buffer that some forms of Select use themselves on Atlas A2


class CMPMODE(Enum):
    """The comparisons; with nan all are false but NE."""

    LT, GT, EQ, LE, GE, NE = "less", "greater", "equal", "less_equal", "greater_equal", "not_equal"

    def __call__(self, a, b):
        return getattr(np, self.value)(a, b)


class SELMODE(Enum):
    """How Select takes its bits: the same for each repeat, on and on with a scalar, or on and on with a tensor."""

    VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE = range(3)


def _strided(name: str, tensor, lanes: int, repeats: int, block_step: int, step: int):
    """The spans of so many lanes of each repeat, whose blocks and repeats have strides in blocks, and what gives their elements."""
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


def _compare(name, dst, src, mode, count, other=(), numbers=(), steps=()):
    core, size = current(), src.dtype.itemsize
    need_format(core, name, src.dtype)
    if src.dtype == int32_t and mode is not CMPMODE.EQ:
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
    if count * size % REPEAT:
        core.hazard(
            "alignment of a comparison",
            message(
                "{name} of {n} elements, {length} bytes, leaves out the last {rest}",
                name=name,
                n=count,
                length=count * size,
                rest=count * size % REPEAT,
            ),
        )
        count = count * size // REPEAT * REPEAT // size
    if count <= 0:
        return
    lanes = REPEAT // size
    found = (
        [
            _strided(name, tensor, lanes, count // lanes, *pair)
            for tensor, pair in zip((src, *other), steps)
        ]
        if steps
        else [
            ([span], values.view)
            for span, values in (tensor.part(name, False, count * size) for tensor in (src, *other))
        ]
    )
    spans = [span for some, _ in found for span in some]
    write, out = dst.part(name, True, count // 8)
    _need_apart(core, name, write, spans)

    def run():
        out[...] = np.packbits(
            mode(*(values() for _, values in found), *numbers), bitorder="little"
        )

    core.vector(name, run, spans, [write])


def CompareRepeats(dst, src0, src1, cmpMode: CMPMODE, repeats: int, *steps: int):
    """The form with strides of Compare and CompareScalar: of blocks and repeats of src0, then of src1 if it is a tensor.

    Atlas A2 pays no heed to the mask of this form: all lanes of a repeat are compared, and their bits lie one after the other.
    """
    pairs, count = (
        (steps[:2], steps[2:]),
        eight_bits(current(), "Compare", repeats, "repeatTime") * REPEAT // src0.dtype.itemsize,
    )
    if hasattr(src1, "block"):
        _compare("Compare", dst, src0, cmpMode, count, (src1,), steps=pairs)
    else:
        _compare(
            "CompareScalar",
            dst,
            src0,
            cmpMode,
            count,
            numbers=(np.asarray(src1).astype(src0.dtype),),
            steps=pairs,
        )


def Compare(dst, src0, src1, cmpMode: CMPMODE, count: int):
    """Bit i of dst is src0[i] `cmpMode` src1[i]; count elements must fill a multiple of 256 bytes."""
    _compare("Compare", dst, src0, cmpMode, count, (src1,))


def CompareScalar(dst, src0, scalar, cmpMode: CMPMODE, count: int):
    """Bit i of dst is src0[i] `cmpMode` scalar; count elements must fill a multiple of 256 bytes."""
    _compare(
        "CompareScalar", dst, src0, cmpMode, count, numbers=(np.asarray(scalar).astype(src0.dtype),)
    )


def Select(dst, selMask, src0, src1, selMode: SELMODE, count: int):
    """dst[i] = src0[i] where bit i of selMask is 1, else src1[i], or the scalar src1 in VSEL_TENSOR_SCALAR_MODE."""
    core, size = current(), dst.dtype.itemsize
    need_format(core, "Select", dst.dtype)
    if not counted(core, "Select", count):
        return
    scalar = selMode is SELMODE.VSEL_TENSOR_SCALAR_MODE
    tensors = (src0,) if scalar else (src0, src1)
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
    spans = [tensor.span("Select", False, count * size) for tensor in tensors]
    lanes = min(count, REPEAT // size) if selMode is SELMODE.VSEL_CMPMASK_SPR else count
    bits = selMask.span("Select", False, -(-lanes // 8))
    write, out = dst.part("Select", True, count * size)
    _need_apart(core, "Select", write, [bits, *(span for span in spans if span != write)])
    packed = bits.values(core.ub.bytes, uint8_t)
    given = [span.values(core.ub.bytes, dst.dtype) for span in spans]
    number = np.asarray(src1).astype(dst.dtype) if scalar else None

    def run():
        chosen = np.unpackbits(packed, count=lanes, bitorder="little").astype(bool)
        if lanes < count:
            chosen = np.resize(chosen, count)
        out[...] = np.where(chosen, given[0], number if scalar else given[1])

    core.vector("Select", run, [bits, *spans], [write])


def Gather(dst, src, srcOffset, srcBaseAddr: int, count: int):
    """dst[i] = the element of src at byte srcBaseAddr + srcOffset[i]; offsets are uint32_t, in bytes.

    Which bytes it reads is known when it runs: whether they were written is checked for the whole of src.
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
    length = src.end - src.start - srcBaseAddr
    read = src.span("Gather", False, length // size * size, offset=srcBaseAddr)
    at, places = srcOffset.part("Gather", False, count * 4)
    write, out = dst.part("Gather", True, count * size)
    _need_apart(core, "Gather", write, [read, at])
    elements = read.values(core.ub.bytes, dst.dtype)

    def run():
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
        out[...] = elements[np.where(inside, index, 0)]

    where = core.where()
    core.vector("Gather", run, [read, at], [write])


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
    """Pack `count` elements of each repeat, those of a pattern, and return how many: 1 even lanes, 2 odd, 3 to 6 every fourth, 7 all.

    A pattern may be a tensor, whose bits choose and are read when the call is made. C++ spells it
    `reduceMode = true, mask = count, {blkStride, repeats, repStride, patternStride}, rsvdCnt`; strides are in blocks of 32 bytes.
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
        )  # the vector unit reads them in its own order; the scalar unit learns only how many
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
    reads, given = _strided("GatherMask", src, lanes.size, repeats, blkStride, repStride)
    write, out = dst.part("GatherMask", True, kept * src.dtype.itemsize)
    after = repeats == 1 or repStride >= -(-lanes.size * src.dtype.itemsize // BLOCK) * blkStride
    # Packed in place, as the vendor's example gather.asc does, no element is written before it is read.
    _need_apart(
        core, "GatherMask", write, spans if after and write.start == src.start else [*spans, *reads]
    )

    def run():
        out[...] = given()[chosen]

    core.vector("GatherMask", run, [*spans, *reads], [write])
    return kept


def Brcb(dst, src, repeatTime: int, params=None):
    """Spread each of 8 elements a repeat over one block of 32 bytes."""
    core, size = current(), src.dtype.itemsize
    need_format(core, "Brcb", src.dtype)
    lanes = BLOCK // size
    if repeatTime <= 0:
        return
    read, given = src.part("Brcb", False, 8 * repeatTime * size)
    write, out = dst.part("Brcb", True, 8 * repeatTime * BLOCK)
    _need_apart(core, "Brcb", write, [read])

    def run():
        out[...] = np.repeat(given, lanes)

    core.vector("Brcb", run, [read], [write])
