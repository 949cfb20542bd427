"""Ascend C's vector arithmetic and `Cast` on simulated cores: each call takes a count, or mask, repeatTime and repeat
parameters.

A repeat is 256 bytes, 8 blocks of 32. In the form with a mask, blocks and repeats have strides in blocks of 32 bytes. Calls
that widen or narrow count lanes of the wider type. Results are those of IEEE arithmetic in the operands' format, rounded after
each operation. Exp and Ln are rounded once from float64: no bound is documented for them on Atlas A2.
"""

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays.plan import round_away
from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.errors import mistyped
from aclnn_viz.tiles.machine import current
from aclnn_viz.tiles.memory import Span
from aclnn_viz.tiles.platforms import BLOCK, REPEAT, REPEATS, c_name, float32, half, int32_t
from aclnn_viz.words.messages import message

STRIDE = message("a stride")


class UnaryRepeatParams(NamedTuple):
    """Strides of blocks and of repeats of the result and the source, in blocks of 32 bytes."""

    dstBlkStride: int = 1
    srcBlkStride: int = 1
    dstRepStride: int = 8
    srcRepStride: int = 8


class BinaryRepeatParams(NamedTuple):
    """Strides of blocks and of repeats of the result and the two sources, in blocks of 32 bytes."""

    dstBlkStride: int = 1
    src0BlkStride: int = 1
    src1BlkStride: int = 1
    dstRepStride: int = 8
    src0RepStride: int = 8
    src1RepStride: int = 8


class BrcbRepeatParams(NamedTuple):
    """Strides of blocks and of repeats of the result of Brcb, in blocks of 32 bytes."""

    dstBlkStride: int = 1
    dstRepStride: int = 8


def eight_bits(core, name: str, number: int, what: str) -> int:
    """Return a repeat or stride as the hardware reads it: its last 8 bits."""
    if not 0 <= number <= REPEATS:
        core.hazard(
            "repeat beyond 255",
            message(
                "{name} has {what} {n}, taken as {taken}",
                name=name,
                what=what,
                n=number,
                taken=number % (REPEATS + 1),
            ),
        )
    return number % (REPEATS + 1)


@lru_cache(maxsize=512)
def runs(mask, lanes: int, per_block: int) -> tuple[tuple[int, int, int, int], ...]:
    """Return the set lanes as boxes (first block, blocks, first lane, lanes); `mask` is a number of lanes or a tuple of bits.

    >>> runs(20, 64, 8)
    ((0, 2, 0, 8), (2, 1, 0, 4))
    """
    if not isinstance(mask, tuple):
        whole, rest = divmod(max(min(mask, lanes), 0), per_block)
        return ((0, whole, 0, per_block),) * bool(whole) + ((whole, 1, 0, rest),) * bool(rest)
    bits = [mask[lane // 64] >> lane % 64 & 1 for lane in range(lanes)]
    boxes: list = []
    for block in range(lanes // per_block):
        for lane in range(per_block):
            if bits[block * per_block + lane]:
                if lane and bits[block * per_block + lane - 1]:
                    *first, width = boxes.pop()
                    boxes.append((*first, width + 1))
                else:
                    boxes.append((block, 1, lane, 1))
    return tuple(boxes)


def counted(core, name: str, count: int) -> int:
    """Return a count of elements; C++ has no negative count."""
    if count < 0:
        core.stop(
            "beyond tensor",
            message(
                "{name} is given {n} elements, which C++ takes as {taken}",
                name=name,
                n=count,
                taken=count % 2**32,
            ),
        )
    return int(count)


def need_mask(core, name: str, mask, dtype: np.dtype, lanes: int):
    """Return a mask as a number of lanes or a tuple of bits; record a hazard if it has no lane, or more than a repeat."""
    if isinstance(mask, (list, tuple)):
        mask = tuple(mask) + (0,) * (lanes // 64 - len(mask))
        fits = any(mask[: lanes // 64]) and not any(mask[lanes // 64 :])
    else:
        fits = 0 <= mask <= lanes
    if not fits:
        core.hazard(
            "mask",
            message(
                "{name} has mask {mask} for {n} lanes of {dtype}",
                name=name,
                mask=mask,
                n=lanes,
                dtype=c_name(dtype),
            ),
        )
    return mask if isinstance(mask, tuple) else max(min(mask, lanes), 0)


def need_places(core, name: str, blocks: int, stride: int):
    """Record a hazard if a call writes all blocks of a repeat to one place."""
    if stride == 0 and blocks > 1:
        core.hazard(
            "block stride",
            message("{name} writes {n} blocks of each repeat to one place", name=name, n=blocks),
            True,
        )


def mask_spans(core, name: str, mask, repeats: int, params, operands) -> list[tuple]:
    """Return the boxes of lanes of a call with a mask, each with a span per operand: (repeats, blocks) runs of lanes.

    `params` are the strides of blocks, then of repeats, for each operand.
    """
    widest = max(tensor.dtype.itemsize for tensor, _ in operands)
    lanes, per_block = REPEAT // widest, BLOCK // widest
    mask = need_mask(core, name, mask, operands[0][0].dtype, lanes)
    repeats = eight_bits(core, name, repeats, "repeatTime")
    if not repeats:
        return []
    pairs = zip(params[: len(operands)], params[len(operands) :])
    strides = [[eight_bits(core, name, step, STRIDE) * BLOCK for step in pair] for pair in pairs]
    for (tensor, _), (step, _) in zip(operands, strides):
        if tensor.dtype.itemsize < widest and step != BLOCK:
            core.stop(
                "format",
                message(
                    "{name} with a block stride of {n} is not offered for {dtype}, the narrower type",
                    name=name,
                    n=step // BLOCK,
                    dtype=c_name(tensor.dtype),
                ),
            )
    boxes = runs(mask, lanes, per_block)
    if operands[0][1] and boxes:
        need_places(core, name, boxes[-1][0] + boxes[-1][1], strides[0][0])
    each = []
    for box in boxes:
        (block, blocks, lane, width), spans = box, []
        for (tensor, writing), (block_step, repeat_step) in zip(operands, strides):
            size = tensor.dtype.itemsize
            start, near = block * block_step + lane * size, block_step
            if size < widest:  # lanes are contiguous and fill fewer than 8 blocks
                start, near = (block * per_block + lane) * size, per_block * size
            shape, steps = (repeats, blocks), (repeat_step, near)
            spans.append(tensor.span(name, writing, width * size, shape, steps, offset=start))
        each.append((box, spans))
    return each


def operands(
    core, name: str, form: tuple, dst, sources
) -> tuple[list[list[tuple[Span, np.ndarray]]], bool]:
    """Return the runs of a call, and whether the repeats must run in turn because the result overwrites a source.

    A run lists span and elements of dst and of each source. `form` is (count,), or (mask, repeats, strides).
    """
    tensors = [(dst, True), *((source, False) for source in sources)]
    if len(form) == 1:
        if not (count := counted(core, name, form[0])):
            return [], False
        return [[tensor.operand(core, name, writing, count) for tensor, writing in tensors]], False
    mask, repeats, params = form
    if len(params) != 2 * len(tensors):
        raise mistyped(
            f"{name} has two strides of each of {len(tensors)} operands",
            f"{len(params)} in {type(params).__name__}",
            "pass UnaryRepeatParams with one source, BinaryRepeatParams with two",
        )
    return [
        [
            (span, span.values(core.ub.bytes, tensor.dtype))
            for span, (tensor, _) in zip(spans, tensors)
        ]
        for _, spans in mask_spans(core, name, mask, repeats, params, tensors)
    ], params[len(tensors)] == 0 and repeats > 1


# these instructions may store their result in place of src1
SUMS = {"Add", "Sub", "Mul", "Max", "Min"}
KEPT = {half, float32, int32_t}  # formats in which `SUMS` may do so


def overlap(core, name: str, write: Span, read: Span):
    """Record a hazard if a call writes into its sources."""
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


def need_apart(core, name: str, dst, runs: list[list[tuple[Span, np.ndarray]]]):
    """Require that operands are equal or disjoint in a repeat, and that no repeat reads an earlier repeat's result.

    Source: docs/zh/api/SIMD-API/通用说明和约束.md, overlapping addresses; a running sum in src1 is its one exception.
    """
    for (write, _), *reads in runs:
        for place, (read, _) in enumerate(reads, 1):
            running = (
                place == len(reads)
                and name in SUMS
                and dst.dtype in KEPT
                and write == read
                and write.shape
                and write.strides[0] == 0
            )
            if (
                write.start < read.end
                and read.start < write.end
                and not running
                and _collide(write, read)
            ):
                overlap(core, name, write, read)


@lru_cache(maxsize=512)
def _collide(write: Span, read: Span) -> bool:
    """Return whether a repeat partly overlaps its source, or reads an earlier repeat's result."""
    if not write.shape and not read.shape:
        return write != read
    wrote, taken = (
        (
            span.start
            + np.add.outer(
                np.arange(span.shape[0]) * span.strides[0],
                np.add.outer(
                    np.arange(span.shape[1]) * span.strides[1], np.arange(0, span.length, 2)
                ).ravel(),
            )
        ).tolist()
        for span in (write, read)
    )
    first: dict[int, tuple[int, int]] = {}
    for repeat, row in enumerate(wrote):
        for place, address in enumerate(row):
            first.setdefault(address, (repeat, place))
    return any(
        first[address][0] <= repeat and first[address] != (repeat, place)
        for repeat, row in enumerate(taken)
        for place, address in enumerate(row)
        if address in first
    )


def need_format(core, name: str, dtype):
    """Stop the core if a call does not support a format."""
    if c_name(dtype) not in core.platform.arch.formats[name]:
        taken = ", ".join(sorted(core.platform.arch.formats[name]))
        core.stop(
            "format",
            message(
                "{name} takes {taken}, not {dtype}", name=name, taken=taken, dtype=c_name(dtype)
            ),
        )


WRAP = {"Add", "Sub", "Mul", "Adds", "Muls"}
# instructions that may add products of half to float (types on their pages)
MIXED = {"Axpy", "MulAddDst"}


def elementwise(name: str, function, dst, sources, form: tuple):
    """Issue `function(*sources)` into dst over the lanes of a form."""
    core = current()
    need_formats(core, name, dst, sources)
    lanes, in_turn = operands(core, name, form, dst, sources)
    if not lanes:
        return
    need_apart(core, name, dst, lanes)
    parts = [[view for _, view in run] for run in lanes]
    if in_turn:  # a running sum, in which each repeat reads the previous result
        parts = [
            [view[repeat] for view in part] for part in parts for repeat in range(len(part[0]))
        ]

    where = core.where() if name in WRAP and dst.dtype.kind == "i" else None

    def run():
        for out, *elements in parts:
            result = function(*elements)
            if where and (result != function(*(part.astype(np.int64) for part in elements))).any():
                core.hazard(
                    "integer overflow",
                    message(
                        "{name} gives a number beyond {dtype}", name=name, dtype=c_name(dst.dtype)
                    ),
                    where=where,
                )
            out[...] = result

    core.vector(
        name, run, [span for run in lanes for span, _ in run[1:]], [run[0][0] for run in lanes]
    )


def need_formats(core, name: str, dst, sources):
    """Stop the core if a call does not support the combination of its operands' formats."""
    need_format(core, name, dst.dtype)
    for source in sources:
        if source.dtype != dst.dtype and not (
            name in MIXED and source.dtype == half and dst.dtype == float32
        ):
            need_format(core, name, source.dtype)
            core.stop(
                "format",
                message(
                    "{name} mixes {dtype} and {other}",
                    name=name,
                    dtype=c_name(dst.dtype),
                    other=c_name(source.dtype),
                ),
            )


def named(call, name: str, text: str):
    """Return a function with a name and a docstring."""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = text
    return call


def _binary(name, function):
    def call(dst, src0, src1, *form):
        elementwise(name, function, dst, (src0, src1), form)

    return named(
        call,
        name,
        f"dst = {name} of src0 and src1: `(dst, src0, src1, count)` or "
        "`(dst, src0, src1, mask, repeatTime, BinaryRepeatParams)`.",
    )


def _unary(name, function):
    def call(dst, src, *form):
        elementwise(name, function, dst, (src,), form)

    return named(
        call,
        name,
        f"dst = {name} of src: `(dst, src, count)` or `(dst, src, mask, repeatTime, UnaryRepeatParams)`.",
    )


# Bits of the fraction to which the result of an approximate instruction is rounded. Near 1, this
# errs by 2**-8 and 2**-12; the vendor's pages state 1e-3 for half and 1e-4 for float. Source:
# docs/zh/api/SIMD-API.
APPROXIMATE = {half: 7, float32: 11}


def coarse(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return values rounded to the number of bits that an approximate instruction gets right.

    >>> coarse(np.float32([1 / 3]), float32) * 3
    array([1.00012207])
    """
    if dtype not in APPROXIMATE:
        return values
    fraction, exponent = np.frexp(values)
    scale = 2.0 ** (APPROXIMATE[dtype] + 1)
    rounded = np.ldexp(np.rint(fraction.astype(np.float64) * scale) / scale, exponent)
    return np.where(np.isfinite(values), rounded, values)


def _approximate(name, function):
    def call(dst, src, *form):
        core = current()
        core.machine.approximate.setdefault(name, core.where())
        exact = core.machine.exact or core.machine.precise
        elementwise(
            name, function if exact else lambda x: coarse(function(x), dst.dtype), dst, (src,), form
        )

    return named(call, name, f"{_unary(name, function).__doc__} Approximate, as its page says.")


def _scalar(name, function):
    def call(dst, src, scalar, *form):
        number = (
            scalar if type(scalar) is dst.dtype.type else np.asarray(scalar).astype(dst.dtype)[()]
        )
        elementwise(name, lambda x: function(x, number), dst, (src,), form)

    return named(
        call,
        name,
        f"dst = {name} of src and a scalar, rounded to the format first: "
        "`(dst, src, scalar, count)` or "
        "`(dst, src, scalar, mask, repeatTime, UnaryRepeatParams)`.",
    )


Add, Sub, Mul = _binary("Add", np.add), _binary("Sub", np.subtract), _binary("Mul", np.multiply)
Div, Max, Min = _binary("Div", np.divide), _binary("Max", np.maximum), _binary("Min", np.minimum)
And, Or = _binary("And", np.bitwise_and), _binary("Or", np.bitwise_or)
Abs, Sqrt, Not = _unary("Abs", np.abs), _unary("Sqrt", np.sqrt), _unary("Not", np.invert)
Exp = _unary("Exp", lambda x: np.exp(x.astype(np.float64)))
Ln = _unary("Ln", lambda x: np.log(x.astype(np.float64)))
Rsqrt = _approximate("Rsqrt", lambda x: np.reciprocal(np.sqrt(x)))
Reciprocal = _approximate("Reciprocal", np.reciprocal)
Relu = _unary("Relu", lambda x: np.maximum(x, x.dtype.type(0)))
Adds, Muls = _scalar("Adds", np.add), _scalar("Muls", np.multiply)
Maxs, Mins = _scalar("Maxs", np.maximum), _scalar("Mins", np.minimum)
ShiftLeft, ShiftRight = _scalar("ShiftLeft", np.left_shift), _scalar("ShiftRight", np.right_shift)
LeakyRelu = _scalar("LeakyRelu", lambda x, slope: np.where(x >= 0, x, x * slope))


def Axpy(dst, src, scalar, *form):
    """Add src * scalar to dst, rounded twice (inferred): `(dst, src, scalar, count)` or with a mask."""
    number = np.asarray(scalar).astype(src.dtype).astype(dst.dtype)[()]
    _accumulating("Axpy", lambda out, x: out + x.astype(out.dtype) * number, dst, (src,), form)


def MulAddDst(dst, src0, src1, *form):
    """Add src0 * src1 to dst, rounded twice (inferred)."""
    _accumulating(
        "MulAddDst",
        lambda out, a, b: a.astype(out.dtype) * b.astype(out.dtype) + out,
        dst,
        (src0, src1),
        form,
    )


def FusedMulAdd(dst, src0, src1, *form):
    """Set dst to src0 * dst + src1, rounded twice (inferred)."""
    _accumulating("FusedMulAdd", lambda out, a, b: a * out + b, dst, (src0, src1), form)


def _accumulating(name, function, dst, sources, form):
    """Issue a call whose result is also a source."""
    if len(form) > 1:
        mask, repeats, params = form
        middle = len(params) // 2
        form = mask, repeats, (params[0], *params[:middle], params[middle], *params[middle:])
    elementwise(name, function, dst, (dst, *sources), form)


def Duplicate(dst, scalar, *form):
    """Fill dst: `(dst, scalar, count)` or `(dst, scalar, mask, repeatTime, dstBlkStride, dstRepStride)`."""
    number = np.asarray(scalar).astype(dst.dtype)
    if len(form) > 1:
        mask, repeats, *params = form
        form = mask, repeats, params
    elementwise("Duplicate", lambda: number, dst, (), form)


def CreateVecIndex(dst, firstValue, count: int):
    """dst = firstValue, firstValue + 1, ..."""
    steps = (np.arange(count) + firstValue).astype(dst.dtype)
    elementwise("CreateVecIndex", lambda: steps, dst, (), (count,))


def Copy(dst, src, mask, repeatTime: int, params):
    """Copy lanes within the Unified Buffer; `params` are CopyRepeatParams in C++, UnaryRepeatParams here."""
    elementwise("Copy", lambda x: x, dst, (src,), (mask, repeatTime, params))


class RoundMode(Enum):
    """The rounding modes of Cast; each value is the letter for the mode in the table of allowed casts."""

    CAST_NONE = "N"
    CAST_RINT = "R"
    CAST_FLOOR = "F"
    CAST_CEIL = "C"
    CAST_ROUND = "A"
    CAST_TRUNC = "Z"
    CAST_ODD = "O"


def Cast(dst, src, mode: RoundMode, *form):
    """Convert src to the type of dst: `(dst, src, mode, count)` or with mask, repeatTime, UnaryRepeatParams.

    A repeat holds as many lanes of the wider type as fit. Integers saturate; a float too large becomes infinite, as on Atlas A2
    in its default mode of overflow.
    """
    core = current()
    pair = c_name(src.dtype), c_name(dst.dtype)
    modes = core.platform.arch.modes.get(pair, "")
    if mode.value not in modes:
        taken = ", ".join(mode.name for mode in RoundMode if mode.value in modes)
        core.stop(
            "format",
            message(
                "Cast from {old} to {new} takes {modes}, not {mode}",
                old=pair[0],
                new=pair[1],
                modes=taken or message("no mode"),
                mode=mode.name,
            ),
        )
    lanes, _ = operands(core, "Cast", form, dst, (src,))
    if not lanes:
        return
    _need_safe_overlap(core, dst, src, lanes[0][0][0], lanes[0][1][0])

    def run():
        for (_, out), (_, elements) in lanes:
            # both formats are held in float32, so the numbers stay
            kept = out.dtype == elements.dtype and dst.dtype != src.dtype
            out[...] = elements if kept else converted(elements, dst.dtype, mode)

    core.vector("Cast", run, [read for _, (read, _) in lanes], [write for (write, _), _ in lanes])


def _need_safe_overlap(core, dst, src, wide: Span, narrow: Span):
    """Record a hazard if a widening Cast in place overwrites unread elements: the source must lie at the upper end."""
    if wide.start < narrow.end and narrow.start < wide.end:
        ratio = dst.dtype.itemsize / src.dtype.itemsize
        last = max(-(-wide.length // 256) - 1, 0) * 256  # start of the last repeat of the result
        if (
            ratio > 1
            and narrow.start - wide.start < last * (1 - 1 / ratio)
            or ratio == 1
            and wide.start != narrow.start
            or ratio < 1
            and narrow.start < wide.start
        ):
            core.hazard(
                "overlap",
                message(
                    "Cast writes bytes {a} to {b} before it has read {c} to {d}",
                    a=wide.start,
                    b=wide.end,
                    c=narrow.start,
                    d=narrow.end,
                ),
            )


def converted(values: np.ndarray, dtype: np.dtype, mode: RoundMode) -> np.ndarray:
    """Return values in another type, rounded by a mode; in their own type, rounded to whole numbers.

    Source: docs/zh/api/SIMD-API/基础API/数据结构/precision_conversion.md.

    >>> converted(np.float32([2.5, -2.5]), np.dtype(np.int32), RoundMode.CAST_ROUND)
    array([ 3, -3], dtype=int32)
    """
    wide = _wide(values)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if values.dtype.kind in "iu":
            return np.clip(values.astype(np.int64), limits.min, limits.max).astype(dtype)
        whole = np.nan_to_num(_whole(wide, mode), nan=0.0)
        high = whole >= float(limits.max)
        fitting = np.where(high, 0.0, np.maximum(whole, limits.min)).astype(np.int64)
        return np.where(high, limits.max, fitting).astype(dtype)
    if dtype == values.dtype:
        return _whole(wide, mode).astype(dtype)
    if mode is RoundMode.CAST_ROUND:
        return round_away(wide, float_format(dtype))
    near = round_to(wide if values.dtype.kind in "iu" else values, dtype)
    if mode in (RoundMode.CAST_NONE, RoundMode.CAST_RINT):
        return near
    got = near.astype(np.float64)
    below = np.nextafter(near, np.asarray(-np.inf, dtype))
    above = np.nextafter(near, np.asarray(np.inf, dtype))
    down, up = np.where(got > wide, below, near), np.where(got < wide, above, near)
    upward = {
        RoundMode.CAST_FLOOR: False,
        RoundMode.CAST_CEIL: True,
        RoundMode.CAST_TRUNC: wide < 0,
        RoundMode.CAST_ODD: down.astype(dtype).view(f"u{dtype.itemsize}") & 1 == 0,
    }[mode]
    return np.where(upward, up, down).astype(dtype)


def _wide(values: np.ndarray) -> np.ndarray:
    """Return values in float64; of an int64_t beyond 53 bits the last kept bit is 1 (odd), so that later rounding is right."""
    if values.dtype == np.int64:
        odd = values >> 11 << 11 | (values & 2047 != 0).astype(np.int64) << 11
        values = np.where(np.abs(values) < 2**53, values, odd)
    return values.astype(np.float64)


def _whole(values, mode: RoundMode):
    match mode:
        case RoundMode.CAST_FLOOR:
            return np.floor(values)
        case RoundMode.CAST_CEIL:
            return np.ceil(values)
        case RoundMode.CAST_TRUNC:
            return np.trunc(values)
        case RoundMode.CAST_ROUND:
            whole = np.trunc(values)
            return np.where(np.abs(values - whole) >= 0.5, whole + np.copysign(1, values), whole)
    return np.rint(values)
