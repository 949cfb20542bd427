"""Ascend C's copies between global memory and the Unified Buffer, on simulated cores: `DataCopy` in blocks of 32 bytes,
`DataCopyPad` in bytes.

Also the waits of pipes and cores: barriers, SyncAll.
"""

from enum import Enum
from typing import NamedTuple

import numpy as np

from aclnn_viz.errors import need
from aclnn_viz.tiles.machine import current
from aclnn_viz.tiles.memory import CACHE, MTE2, MTE3, PIPE_NAMES, S, V
from aclnn_viz.tiles.platforms import BLOCK, c_name
from aclnn_viz.tiles.tensors import GlobalTensor, LocalTensor
from aclnn_viz.words.messages import message


class DataCopyParams(NamedTuple):
    """Blocks of `blockLen` x 32 bytes; gaps, in 32 bytes, are between the end of a block and the next start."""

    blockCount: int = 1
    blockLen: int = 0
    srcGap: int = 0
    dstGap: int = 0


class DataCopyExtParams(NamedTuple):
    """Blocks of `blockLen` bytes; the gap is in bytes in global memory, and in 32 bytes in the Unified Buffer."""

    blockCount: int = 1
    blockLen: int = 0
    srcStride: int = 0
    dstStride: int = 0
    rsv: int = 0


class DataCopyPadExtParams(NamedTuple):
    """Padding of a copy: with `isPad`, `paddingValue` fills `leftPadding` and `rightPadding` elements per block, at most 32
    bytes.
    """

    isPad: bool = False
    leftPadding: int = 0
    rightPadding: int = 0
    paddingValue: float = 0


NO_PAD = DataCopyPadExtParams()


def DataCopy(dst, src, params: int | DataCopyParams):
    """Copy whole blocks of 32 bytes: `count` elements, rounded DOWN to 32 bytes, or as given by DataCopyParams."""
    core = current()
    if not isinstance(params, DataCopyParams):
        length = int(params) * dst.dtype.itemsize
        if rest := length % BLOCK:
            core.hazard(
                "shortened copy",
                message(
                    "DataCopy of {n} elements, {length} bytes, leaves out the last {rest} bytes",
                    n=params,
                    length=length,
                    rest=rest,
                ),
            )
        params = DataCopyParams(1, length // BLOCK)
    for field, value in params._asdict().items():
        _need("DataCopy", field, value, 4095 if field == "blockCount" else 65535)
    length = params.blockLen * BLOCK
    if params.blockCount and length:
        steps = length + params.srcGap * BLOCK, length + params.dstGap * BLOCK
        _copy("DataCopy", dst, src, params.blockCount, length, *steps)


def DataCopyPad(dst, src, params: DataCopyExtParams, pad: DataCopyPadExtParams | None = None):
    """Copy blocks of any number of bytes. In the Unified Buffer each block begins at a multiple of 32 bytes.

    The lanes behind a block that is no multiple of 32 bytes hold no data unless `pad` fills them.
    """
    core, size, most = current(), dst.dtype.itemsize, (2097151, 2**32 - 1)
    # the older parameters have the same units in 16-bit fields
    if isinstance(params, DataCopyParams):
        params, most = DataCopyExtParams(*params), (65535, 65535)
    need(
        params,
        DataCopyExtParams,
        "DataCopyPad takes DataCopyExtParams",
        "pass DataCopyExtParams(1, bytes, 0, 0, 0)",
    )
    count, length, *strides, _ = params
    for field, value, largest in zip(params._fields, params, (4095, *most, most[1])):
        _need("DataCopyPad", field, value, largest)
    if length % size:
        core.stop(
            "copy parameters",
            message(
                "DataCopyPad moves {length} bytes, no multiple of the {size} of an element: blockLen "
                "counts bytes",
                length=length,
                size=size,
            ),
        )
    if not count or not length:
        return
    pad = pad or NO_PAD
    left, right = pad.leftPadding * size, pad.rightPadding * size
    row = -(-(left + length + right) // BLOCK) * BLOCK
    if isinstance(src, LocalTensor):
        if any(pad):
            core.stop(
                "copy parameters", message("DataCopyPad pads copies into the Unified Buffer alone")
            )
        steps = row + strides[0] * BLOCK, length + strides[1]
        _copy("DataCopyPad", dst, src, count, length, *steps)
        return
    for side, past in (("leftPadding", left), ("rightPadding", right)):
        _need("DataCopyPad", side, past // size, BLOCK // size)
    if size == 8:
        _need("DataCopyPad", "paddingValue", pad.paddingValue, 0)
    steps = length + strides[0], row + strides[1] * BLOCK
    _copy("DataCopyPad", dst, src, count, length, *steps, left, row, pad)


def _need(name: str, field: str, value, largest: int):
    if not 0 <= value <= largest:
        current().stop(
            "copy parameters",
            message(
                "{name} has {field} {value}, which must lie in 0 to {most}",
                name=name,
                field=field,
                value=value,
                most=largest,
            ),
        )


def _pipe(core, name: str, dst, src) -> int:
    """Return the pipe of a copy between two tensors of one format."""
    if dst.dtype != src.dtype:
        core.stop(
            "format",
            message(
                "{name} copies {old} to {new}",
                name=name,
                old=c_name(src.dtype),
                new=c_name(dst.dtype),
            ),
        )
    if isinstance(src, LocalTensor):
        return V if isinstance(dst, LocalTensor) else MTE3
    if isinstance(dst, GlobalTensor):
        core.stop("format", message("{name} copies from global memory to global memory", name=name))
    return MTE2


def _copy(name, dst, src, count, length, src_step, dst_step, left=0, row=None, pad=NO_PAD):
    """Move `count` blocks of `length` bytes; a padded block fills `row` bytes of dst, its data from `left` on."""
    core = current()
    pipe = _pipe(core, name, dst, src)
    read, write = (
        tensor.span(name, writing, span, *(((count,), (step,)) if count > 1 else ()))
        for tensor, writing, span, step in (
            (src, False, length, src_step),
            (dst, True, row or length, dst_step),
        )
    )
    data = write._replace(start=write.start + left, length=length)
    source, target = (
        read.values(src.memory.bytes, src.dtype),
        data.values(dst.memory.bytes, dst.dtype),
    )
    atomic = pipe == MTE3 and core.atomic is not None
    if atomic and core.atomic != dst.dtype:
        core.stop(
            "format",
            message(
                "{name} adds {dtype} while SetAtomicAdd is on for {other}",
                name=name,
                dtype=c_name(dst.dtype),
                other=c_name(core.atomic),
            ),
        )
    combine = core.combine if atomic else None
    fillers = [
        write._replace(start=start, length=end - start)
        for start, end in (
            (write.start, data.start),
            (data.start + length, write.start + write.length),
        )
        if end > start
    ]
    # Lanes behind a block repeat its first element unless a padding value is given.
    padded = pad.isPad and pad.leftPadding + pad.rightPadding
    value = np.asarray(pad.paddingValue).astype(dst.dtype) if padded else source[..., :1]
    lanes = [filler.values(dst.memory.bytes, dst.dtype) for filler in fillers]

    def run():
        if combine is None:
            np.copyto(target, source)
        else:
            combine(target, source, out=target)
        for lane in lanes:
            lane[...] = value

    core.issue(
        pipe,
        name + " (atomic)" * atomic,
        run,
        [(src.memory, read)],
        [(dst.memory, write)],
        padding=() if padded else [(dst.memory, filler) for filler in fillers],
        atomic=atomic,
    )


PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3, PIPE_ALL = S, V, MTE2, MTE3, None


def PipeBarrier(pipe: int | None):
    """Let all earlier instructions of a pipe, or of all (PIPE_ALL), finish before later ones. C++: `PipeBarrier<PIPE_V>()`."""
    core = current()
    if pipe == S:
        core.stop(
            "event",
            message(
                "PipeBarrier does not take {pipe}, which is in order by itself", pipe=PIPE_NAMES[S]
            ),
        )
    if not core.skipped(True):
        core.barrier(pipe)


def SyncAll(*workspaces):
    """Wait until every core has reached this call and finished earlier instructions, this core's pipes included (inferred).

    Optional `workspaces` lie in global memory and in the Unified Buffer, 32 bytes per core (asc-devkit, SyncAll).
    """
    core = current()
    for workspace in workspaces:
        workspace.span("SyncAll", True, len(core.machine.cores) * BLOCK)
    if not core.skipped(True):
        core.barrier()
        core.machine.meet(core)


def _paired(name: str, workspace, buffer, block: int, event: int):
    """Finish the core's earlier instructions before IBSet or IBWait; return the core and the key of the flag."""
    core = current()
    if buffer is not None:
        buffer.span(name, True, BLOCK)
        workspace.span(name, True, (len(core.machine.cores) * event + block + 1) * BLOCK)
    core.barrier()
    return core, (workspace.memory, workspace.start, block, event)


def IBSet(*arguments):
    """Set a flag for another core when all earlier instructions are finished. C++: `IBSet(gm, ub, blockIdx, eventID)`."""
    core, key = _paired("IBSet", *arguments)
    core.wait_for("IBSet")
    core.machine.flags[key] = core.epoch


def IBWait(*arguments):
    """Wait for a flag of another core, and clear it. C++: `IBWait(gm, ub, blockIdx, eventID)`."""
    core, key = _paired("IBWait", *arguments)
    core.machine.meet(core, key)


class CacheLine(Enum):
    """The extent of DataCacheCleanAndInvalid: one line of 64 bytes, or all lines."""

    SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE = range(2)


def DataCacheCleanAndInvalid(tensor: GlobalTensor, lines: CacheLine):
    """Write back the scalar unit's stores, and drop them from its cache. C++: the second argument is a template's."""
    core = current()
    if lines is CacheLine.ENTIRE_DATA_CACHE:
        core.clean(core.cached)
    else:
        core.clean([tensor.memory], tensor.start // CACHE)


def SetAtomicAdd(dtype, combine=np.add):
    """Let copies to global memory add to its contents, until SetAtomicNone. C++: `SetAtomicAdd<float>()`."""
    core = current()
    if c_name(dtype) not in core.platform.arch.formats["SetAtomicAdd"]:
        core.stop("format", message("SetAtomicAdd is called for {dtype}", dtype=c_name(dtype)))
    core.atomic, core.combine = np.dtype(dtype), combine


def SetAtomicNone():
    """Let copies to global memory overwrite again."""
    current().atomic = None


def GetBlockIdx() -> int:
    """Return the number of this core, from 0."""
    return current().index


def GetBlockNum() -> int:
    """Return the number of cores of the launch."""
    return len(current().machine.cores)
