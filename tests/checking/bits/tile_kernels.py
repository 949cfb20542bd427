"""Tile programs of which a row has other bits on other cores, in another batch, or at another place."""

from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.program import Program, Tiling


def _rows(platform, **inputs):
    rows, columns = inputs["output"].shape
    return Tiling(min(platform.cores, 8), rows=rows, columns=columns)


def _flat(platform, **inputs):
    return Tiling(1, n=inputs["self"].size)


def tensor(address):
    whole = GlobalTensor(float32)  # noqa: F405
    whole.SetGlobalBuffer(address)
    return whole


def buffers(count, length):
    pipe, held = TPipe(), [TBuf(VECCALC) for _ in range(count)]  # noqa: F405
    for buffer in held:
        pipe.InitBuffer(buffer, 4 * length)
    return [buffer.Get(float32) for buffer in held]  # noqa: F405


def load(tile, source, count):
    row = DataCopyExtParams(1, 4 * count, 0, 0, 0)  # noqa: F405
    DataCopyPad(tile, source, row, DataCopyPadExtParams(False, 0, 0, 0))  # noqa: F405
    PipeBarrier(PIPE_ALL)  # noqa: F405


def store(target, tile, count):
    PipeBarrier(PIPE_ALL)  # noqa: F405
    DataCopyPad(target, tile, DataCopyExtParams(1, 4 * count, 0, 0, 0))  # noqa: F405
    PipeBarrier(PIPE_ALL)  # noqa: F405


def parts(gradOutput, output, out, workspace, tiling):
    n, cores = tiling.columns, GetBlockNum()  # noqa: F405
    given, values, result = map(tensor, (gradOutput, output, out))
    g, y, o, work, part, total = buffers(6, -(-n // 64) * 64)
    length = 64 * (1 + tiling.rows // 16) // cores // 8 * 8 + 8
    for row in range(GetBlockIdx(), tiling.rows, cores):  # noqa: F405
        load(g, given[row * n], n)
        load(y, values[row * n], n)
        Mul(o, g, y, n)  # noqa: F405
        Duplicate(total, 0.0, 8)  # noqa: F405
        for start in range(0, n, length):
            ReduceSum(part, o[start], work, min(length, n - start))  # noqa: F405
            PipeBarrier(PIPE_ALL)  # noqa: F405
            Add(total, total, part, 1)  # noqa: F405
        PipeBarrier(PIPE_ALL)  # noqa: F405
        Adds(o, g, -total.GetValue(0), n)  # noqa: F405
        Mul(o, o, y, n)  # noqa: F405
        store(result[row * n], o, n)


def added(gradOutput, output, out, workspace, tiling):
    n, cores, core = tiling.columns, GetBlockNum(), GetBlockIdx()  # noqa: F405
    given, values, result = map(tensor, (gradOutput, output, out))
    g, y, o, work, part = buffers(5, -(-n // 64) * 64)
    for row in range(core, tiling.rows, cores):
        load(g, given[row * n], n)
        load(y, values[row * n], n)
        Mul(o, g, y, n)  # noqa: F405
        store(result[row * n], o, n)
    SyncAll()  # noqa: F405
    first, last = (n * at // cores // 8 * 8 for at in (core, core + 1))
    last = n if core == cores - 1 else last
    for row in range(tiling.rows if last > first else 0):
        load(g, given[row * n], n)
        load(y, values[row * n], n)
        Mul(o, g, y, n)  # noqa: F405
        ReduceSum(part, o[first], work, last - first)  # noqa: F405
        PipeBarrier(PIPE_ALL)  # noqa: F405
        Muls(o, y, -part.GetValue(0), n)  # noqa: F405
        PipeBarrier(PIPE_ALL)  # noqa: F405
        SetAtomicAdd(float32)  # noqa: F405
        store(result[row * n], o, n)
        SetAtomicNone()  # noqa: F405


def behind(gradOutput, self, gradInput, workspace, tiling):
    given, values, result = map(tensor, (gradOutput, self, gradInput))
    g, x, o = buffers(3, 64)
    for start in range(0, tiling.n, 64):
        count = min(64, tiling.n - start)
        load(g, given[start], count)
        load(x, values[start], count)
        Muls(o, x, -1.0, count)  # noqa: F405
        Exp(o, o, count)  # noqa: F405
        Adds(o, o, 1.0, count)  # noqa: F405
        if count == 64:
            Div(o, g, o, count)  # noqa: F405
        else:
            Reciprocal(o, o, count)  # noqa: F405
            Mul(o, o, g, count)  # noqa: F405
        store(result[start], o, count)


parts = Program("softmax", "parts", _rows, parts)
added = Program("softmax", "added", _rows, added)
behind = Program("silu", "behind", _flat, behind)
