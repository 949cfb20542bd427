"""Ascend C's library calls on simulated cores (mathematics, rows, broadcasts), and forms of calls that only C++ uses.

Each takes effect as one vector instruction that reads its sources and writes its result and its temporary buffer. A result is
rounded once from float64: the vendor documents no bound for these calls, and their steps, but those of Sigmoid, are not modelled.
Sources: asc-devkit, docs/zh/api/SIMD-API, pages of each call.
"""

import math

import numpy as np

from aclnn_viz.tiles import copies, rows
from aclnn_viz.tiles.machine import current
from aclnn_viz.tiles.memory import V
from aclnn_viz.tiles.platforms import BLOCK
from aclnn_viz.tiles.reductions import CMPMODE
from aclnn_viz.tiles.vector import eight_bits
from aclnn_viz.words.messages import message


def Mathematics(name: str, dst, tmp, count: int, *sources):
    """Compute dst as the function `name` of the sources, tensors or numbers; `tmp` is its temporary buffer, or None."""
    tensors = [source for source in sources if hasattr(source, "block")]

    def compute(*arrays):
        left = iter(arrays)
        steps = rows.FORMULAS["steps"].get(name)
        form = None if steps else np.float64
        values = (np.asarray(next(left), form) if one in tensors else one for one in sources)
        text = steps or rows.FORMULAS["mathematics"][name]
        return (rows.valued(text, dict(zip("abc", values))),)

    _issue(name, [(dst, count)], [(source, count) for source in tensors], compute, tmp)


def _fill(out, values, kept: bool):
    """Write rows of values: the rest of a short row becomes 0 or, if `kept`, stays; a single number fills its row."""
    if values.ndim == 2 and values.size:
        place = out.reshape(len(values), -1)
        if kept:
            place[:, : values.shape[1]] = values
            return
        width = values.shape[1] if values.shape[1] > 1 else None
        place[:, :width] = values
        place[:, width or place.shape[1] :] = 0
    else:
        out[...] = values.reshape(-1)


def _issue(name: str, results, sources, function, tmp=None):
    """Issue one instruction: `function` maps the sources' elements to the results'; each is (tensor, elements)."""
    core = current()
    reads = [tensor.part(name, False, count * tensor.dtype.itemsize) for tensor, count in sources]
    writes = [
        tensor.part(
            name, True, count * tensor.dtype.itemsize, align=min(BLOCK, tensor.dtype.itemsize)
        )
        for tensor, count in results
    ]
    works = [] if tmp is None else [tmp.span(name, True, (tmp.end - tmp.start) // BLOCK * BLOCK)]

    def run():
        for (_, out), values in zip(writes, function(*(elements for _, elements in reads))):
            _fill(out, np.asarray(values), name == "TopK")

    core.vector(name, run, [span for span, _ in reads], [*works, *(span for span, _ in writes)])
    return core


def Library(name: str, tmp, made: int, taken: int, *rest):
    """Run a call of rows.py; `rest` holds `made` results and `taken` sources (tensor, elements), then numbers."""
    pairs = [*zip(rest[: 2 * (made + taken) : 2], rest[1 : 2 * (made + taken) : 2])]
    numbers, core = rest[2 * len(pairs) :], current()
    where = core.where()

    def made_of(*arrays):
        try:
            if name in rows.FORMULAS:
                return rows.formula(name, (*arrays, *numbers))
            return getattr(rows, name)(*arrays, *numbers)
        except (ValueError, ArithmeticError):
            said = message("{name} is given sizes that do not fit together", name=name)
            core.hazard("beyond tensor", said, where=where)
            return ()

    _issue(name, pairs[:made], pairs[made:], made_of, tmp)


def Broadcast(dst, src, tmp, *shape: int):
    """Broadcast src to the shape of dst; `shape` holds the dimensions of dst, then those of src."""
    to, of = shape[: len(shape) // 2], shape[len(shape) // 2 :]
    _issue(
        "Broadcast",
        [(dst, math.prod(to))],
        [(src, math.prod(of))],
        lambda x: (np.broadcast_to(x.reshape(of), to),),
        tmp,
    )


def ReduceIndex(name: str, dst, src, tmp, mask: int | tuple[int, int], repeats: int, step: int):
    """Store the largest or smallest element in dst[0], and the bits of its index in dst[1]; the first of equals.

    `mask` is a number of lanes, or two words of bits; with bits an index counts all lanes.
    """
    size, bits = src.dtype.itemsize, None
    if isinstance(mask, tuple):
        bits = np.unpackbits(np.array(mask, np.uint64).view(np.uint8), bitorder="little")
        mask = 256 // size
    if mask * repeats <= 0:
        return

    def compute(x):
        rows = x[np.arange(repeats)[:, None] * (step * BLOCK // size) + np.arange(mask)]
        if bits is not None:
            rows = np.where(bits[:mask], rows, -np.inf if name == "argmax" else np.inf)
        place = int(getattr(np, name)(rows))
        return (
            np.array([rows.reshape(-1)[place], np.array([place], f"u{size}").view(src.dtype)[0]]),
        )

    length = (repeats - 1) * step * BLOCK // size + mask
    core = _issue(
        "ReduceMax" if name == "argmax" else "ReduceMin", [(dst, 2)], [(src, length)], compute, tmp
    )
    clock = core.snapshot(V)  # all pipes wait, because the scalar unit stores the index
    for pipe in range(len(clock)):
        core.wait(pipe, clock)


def WholeReduceIndex(
    name: str,
    dst,
    src,
    mask: int,
    repeats: int,
    dst_step: int,
    block_step: int,
    step: int,
    order: int,
    last: int = 0,
):
    """Store for each repeat the extreme element and its index (order 0), the reverse (1), or the index alone (3).

    `last` is the number of elements in the last repeat, if fewer count there.
    """
    size, lanes = src.dtype.itemsize, BLOCK // src.dtype.itemsize
    if mask * repeats <= 0:
        return
    lane = np.arange(mask)
    at = (
        np.arange(repeats)[:, None] * step * lanes
        + lane // lanes * block_step * lanes
        + lane % lanes
    )
    at[-1, last or mask :] = at[-1, 0]  # unused lanes repeat the first, which wins among equals
    pair = 1 if order == 3 else 2
    eight_bits(current(), "WholeReduce" + name, repeats, "repeatTime")

    core = current()

    def compute(x):
        rows = x[at]
        extreme = np.argmax if name == "Max" else np.argmin
        place, best = extreme(rows, 1), np.array([extreme(rows)], f"u{size}")
        core.extreme = rows.reshape(-1)[best[0]], best.view(src.dtype)[0]
        index = place.astype(f"u{4 if order == 3 else size}").view(
            dst.dtype if order == 3 else src.dtype
        )
        columns = {
            0: (rows[np.arange(repeats), place], index),
            1: (index, rows[np.arange(repeats), place]),
            3: (index,),
        }[order]
        out = held.copy()
        for place, column in enumerate(columns):
            out[place + np.arange(repeats) * dst_step * pair] = column
        return (out,)

    reach = (repeats - 1) * dst_step * pair + pair
    held = dst.part(
        "WholeReduce" + name, True, reach * dst.dtype.itemsize, align=dst.dtype.itemsize
    )[1]
    _issue("WholeReduce" + name, [(dst, reach)], [(src, int(at.max()) + 1)], compute)


def GetReduceRepeatMaxMinSpr(part: int) -> float:
    """Return the register of the last WholeReduceMax or WholeReduceMin: the extreme (0), or its index as bits of the format
    (1).
    """
    core = current()
    core.wait_for("GetReduceRepeatMaxMinSpr")
    if core.extreme is None:
        said = message("{name} is called before WholeReduceMax", name="GetReduceRepeatMaxMinSpr")
        core.stop("unwritten", said)
    return float(core.extreme[part])


def Gatherb(dst, src, offsets, repeats: int, block_step: int, step: int):
    """Gather blocks of 32 bytes at byte offsets, 8 a repeat."""
    lanes = BLOCK // dst.dtype.itemsize
    block = np.arange(repeats)[:, None] * step + np.arange(8) * block_step
    to = (block[..., None] * lanes + np.arange(lanes)).reshape(-1)

    def compute(x, places):
        out = held.copy()
        out[to] = x[(places[:, None] // dst.dtype.itemsize + np.arange(lanes)).reshape(-1)]
        return (out,)

    held = dst.part("Gatherb", True, (int(to.max()) + 1) * dst.dtype.itemsize)[1]
    _issue(
        "Gatherb",
        [(dst, int(to.max()) + 1)],
        [(src, (src.end - src.start) // src.dtype.itemsize), (offsets, repeats * 8)],
        compute,
    )


def Transposed(dst, src, tmp, planes: int, rows: int, columns: int):
    """Transpose each of `planes` matrices of rows x columns, such as 16 x 16 elements, or channels x pixels."""
    count = planes * rows * columns
    _issue(
        "Transpose",
        [(dst, count)],
        [(src, count)],
        lambda x: (x.reshape(planes, rows, columns).transpose(0, 2, 1),),
        tmp,
    )


def CompareRegister(src0, src1, mode: CMPMODE, count: int):
    """Compare one repeat into the register of the core, which GetCmpMask copies and SetCmpMask fills."""
    core = current()

    def compute(a, b):
        core.compared = np.packbits(mode(a, b), bitorder="little")
        return ()

    _issue("Compare", [], [(src0, count), (src1, count)], compute)


def GetCmpMask(dst):
    """Copy the register of a comparison, 16 bytes."""
    core = current()
    _issue(
        "GetCmpMask",
        [(dst, 16)],
        [],
        lambda: (np.resize(np.append(core.compared, np.zeros(16, np.uint8)), 16),),
    )


def SetCmpMask(src):
    """Fill the register of a comparison."""
    core = current()

    def compute(bits):
        core.compared = bits.copy()
        return ()

    _issue("SetCmpMask", [], [(src, 16)], compute)


def Fill(tensor, count: int, value):
    """Fill global memory with a value, and wait (InitOutput)."""
    core, number = current(), np.asarray(value).astype(tensor.dtype)
    span = tensor.span("Fill", True, count * tensor.dtype.itemsize)
    place = span.values(tensor.memory.bytes, tensor.dtype)

    def run():
        place[...] = number

    core.issue(copies.MTE3, "Fill", run, [], [(tensor.memory, span)])


def SetAtomicMax(dtype):
    """Let copies to global memory keep the larger of old and new values."""
    copies.SetAtomicAdd(dtype, np.maximum)


def SetAtomicMin(dtype):
    """Let copies to global memory keep the smaller of old and new values."""
    copies.SetAtomicAdd(dtype, np.minimum)


def GetPhyAddr(tensor) -> int:
    """Return a tensor's address in the Unified Buffer (LocalTensor::GetPhyAddr)."""
    return tensor.start


def Position(name: str):
    """Record a hazard: the queue `name` is at a position outside of the Unified Buffer."""
    current().hazard(
        "queue position",
        message("{name} is at a position outside of the Unified Buffer", name=name),
    )


def Absent(name: str, what: str):
    """Stop the core at a form of a call that the kit does not run."""
    current().stop("format", message("{name}: {what}", name=name, what=what))
