"""Comparisons into bits, selection by bits, and moves by index: Compare, Select, Gather, GatherMask, Brcb.

A comparison writes one bit an element, the lowest bit of a byte first.
"""

from enum import Enum

import numpy as np

from aclnn_viz.tiles.core import current
from aclnn_viz.tiles.formats import c_name, int32_t, uint8_t, uint32_t
from aclnn_viz.tiles.lanes import counted
from aclnn_viz.tiles.memory import V
from aclnn_viz.tiles.platforms import BLOCK, REPEAT
from aclnn_viz.tiles.vector import need_format
from aclnn_viz.words.speech import message

SCRATCH = 8192  # bytes at the end of the Unified Buffer that some forms of Select use themselves on Atlas A2


class CMPMODE(Enum):
    """The comparisons; with nan all are false but NE."""

    LT, GT, EQ, LE, GE, NE = "less", "greater", "equal", "less_equal", "greater_equal", "not_equal"

    def __call__(self, a, b):
        return getattr(np, self.value)(a, b)


class SELMODE(Enum):
    """How Select takes its bits: the same for each repeat, on and on with a scalar, or on and on with a tensor."""

    VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE = range(3)


def _compare(name, dst, src, mode, count, other):
    core, size = current(), src.dtype.itemsize
    need_format(core, name, src.dtype)
    if src.dtype == int32_t and mode is not CMPMODE.EQ:
        core.stop("format", message("{name} takes int32_t for EQ alone, not {mode}", name=name, mode=mode.name))
    if dst.dtype != uint8_t:
        core.stop("format", message("{name} writes bits into uint8_t, not {dtype}", name=name, dtype=c_name(dst.dtype)))
    count = counted(core, name, count)
    if count * size % REPEAT:
        core.hazard("alignment of a comparison", message("{name} of {n} elements, {length} bytes, leaves out the last {rest}",
                                                         name=name, n=count, length=count * size, rest=count * size % REPEAT))
        count = count * size // REPEAT * REPEAT // size
    if count <= 0:
        return
    spans = [tensor.span(name, False, count * size) for tensor in (src, *other)]
    write = dst.span(name, True, count // 8)
    out = write.values(core.ub.bytes, uint8_t)
    given = [span.values(core.ub.bytes, src.dtype) for span in spans]
    return core, out, given, [(core.ub, span) for span in spans], [(core.ub, write)]


def Compare(dst, src0, src1, cmpMode: CMPMODE, count: int):
    """Bit i of dst is src0[i] `cmpMode` src1[i]; count elements must fill a multiple of 256 bytes."""
    made = _compare("Compare", dst, src0, cmpMode, count, (src1,))
    if made:
        core, out, (a, b), reads, writes = made

        def run():
            out[...] = np.packbits(cmpMode(a, b), bitorder="little")
        core.issue(V, "Compare", run, reads, writes)


def CompareScalar(dst, src0, scalar, cmpMode: CMPMODE, count: int):
    """Bit i of dst is src0[i] `cmpMode` scalar; count elements must fill a multiple of 256 bytes."""
    made = _compare("CompareScalar", dst, src0, cmpMode, count, ())
    if made:
        core, out, (a,), reads, writes = made
        number = np.asarray(scalar).astype(src0.dtype)

        def run():
            out[...] = np.packbits(cmpMode(a, number), bitorder="little")
        core.issue(V, "CompareScalar", run, reads, writes)


def Select(dst, selMask, src0, src1, selMode: SELMODE, count: int):
    """dst[i] = src0[i] where bit i of selMask is 1, else src1[i], or the scalar src1 in VSEL_TENSOR_SCALAR_MODE."""
    core, size = current(), dst.dtype.itemsize
    need_format(core, "Select", dst.dtype)
    if not counted(core, "Select", count):
        return
    scalar = selMode is SELMODE.VSEL_TENSOR_SCALAR_MODE
    tensors = (src0,) if scalar else (src0, src1)
    scratch = core.platform.unified_buffer - SCRATCH
    if selMode is not SELMODE.VSEL_CMPMASK_SPR and max(pipe.top for pipe in core.pipes) > scratch:
        core.hazard("unified buffer full", message("Select works in the Unified Buffer from byte {start} on, which InitBuffer has "
                                                   "handed out", start=scratch))
    spans = [tensor.span("Select", False, count * size) for tensor in tensors]
    lanes = min(count, REPEAT // size) if selMode is SELMODE.VSEL_CMPMASK_SPR else count
    bits = selMask.span("Select", False, -(-lanes // 8))
    write = dst.span("Select", True, count * size)
    out, packed = write.values(core.ub.bytes, dst.dtype), bits.values(core.ub.bytes, uint8_t)
    given = [span.values(core.ub.bytes, dst.dtype) for span in spans]
    number = np.asarray(src1).astype(dst.dtype) if scalar else None

    def run():
        chosen = np.unpackbits(packed, count=lanes, bitorder="little").astype(bool)
        if lanes < count:
            chosen = np.resize(chosen, count)
        out[...] = np.where(chosen, given[0], number if scalar else given[1])
    core.issue(V, "Select", run, [(core.ub, span) for span in (bits, *spans)], [(core.ub, write)])


def Gather(dst, src, srcOffset, srcBaseAddr: int, count: int):
    """dst[i] = the element of src at byte srcBaseAddr + srcOffset[i]; offsets are uint32_t, in bytes.

    Which bytes it reads is known when it runs: whether they were written is checked for the whole of src.
    """
    core, size = current(), dst.dtype.itemsize
    need_format(core, "Gather", dst.dtype)
    if srcOffset.dtype != uint32_t:
        core.stop("format", message("Gather takes offsets of uint32_t, not {dtype}", dtype=c_name(srcOffset.dtype)))
    if not counted(core, "Gather", count):
        return
    length = src.end - src.start - srcBaseAddr
    read = src.span("Gather", False, length // size * size, offset=srcBaseAddr)
    at = srcOffset.span("Gather", False, count * 4)
    write = dst.span("Gather", True, count * size)
    out, places = write.values(core.ub.bytes, dst.dtype), at.values(core.ub.bytes, uint32_t)
    elements = read.values(core.ub.bytes, dst.dtype)

    def run():
        index = places // size
        inside = index < elements.size
        wrong = places[~inside | (places % size != 0)]
        if wrong.size:
            told = message("Gather takes offset {offset} of {length} bytes of elements of {size}", offset=int(wrong[0]),
                           length=length, size=size)
            core.machine.hazards.add("beyond tensor", told, core.index, where)
        out[...] = elements[np.where(inside, index, 0)]
    where = core.where()
    core.issue(V, "Gather", run, [(core.ub, read), (core.ub, at)], [(core.ub, write)])


def GatherMask(dst, src, pattern: int, count: int) -> int:
    """Pack the elements of a fixed pattern, and return how many: 1 even lanes, 2 odd, 3 to 6 every fourth, 7 all.

    C++ spells the count as `reduceMode = true, mask = count, {1, 1, 8, 0}, rsvdCnt`.
    """
    core, size = current(), src.dtype.itemsize
    need_format(core, "GatherMask", src.dtype)
    if pattern not in range(1, 8):
        core.stop("copy parameters", message("GatherMask has pattern {pattern}, which must lie in 1 to 7", pattern=pattern))
    first, step = {1: (0, 2), 2: (1, 2), 7: (0, 1)}.get(pattern, (pattern - 3, 4))
    kept = len(range(first, counted(core, "GatherMask", count), step))
    if not kept:
        return 0
    read, write = src.span("GatherMask", False, count * size), dst.span("GatherMask", True, kept * size)
    out, given = write.values(core.ub.bytes, dst.dtype), read.values(core.ub.bytes, src.dtype)

    def run():
        out[...] = given[first::step].copy()
    core.issue(V, "GatherMask", run, [(core.ub, read)], [(core.ub, write)])
    return kept


def Brcb(dst, src, repeatTime: int, params=None):
    """Spread each of 8 elements a repeat over one block of 32 bytes."""
    core, size = current(), src.dtype.itemsize
    need_format(core, "Brcb", src.dtype)
    lanes = BLOCK // size
    if repeatTime <= 0:
        return
    read = src.span("Brcb", False, 8 * repeatTime * size)
    write = dst.span("Brcb", True, 8 * repeatTime * BLOCK)
    if write.start < read.end and read.start < write.end:
        core.hazard("overlap", message("Brcb writes into what it reads"))
    out, given = write.values(core.ub.bytes, dst.dtype), read.values(core.ub.bytes, src.dtype)

    def run():
        out[...] = np.repeat(given, lanes)
    core.issue(V, "Brcb", run, [(core.ub, read)], [(core.ub, write)])
