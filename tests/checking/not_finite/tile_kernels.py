"""Tile programs that leave nan or infinity where the truth is finite."""

from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.program import Program, Tiling

NO_PAD = DataCopyPadExtParams(False, 0, 0, 0)  # noqa: F405


def _tiling(platform, **inputs):
    return Tiling(1, n=inputs["gradOutput"].size)


def _one_tile(compute, gradOutput, other, out, tiling):
    n = tiling.n
    lanes = -(-n // 64) * 64
    given, x, result = (GlobalTensor(float32) for _ in range(3))  # noqa: F405
    given.SetGlobalBuffer(gradOutput), x.SetGlobalBuffer(other), result.SetGlobalBuffer(out)
    pipe = TPipe()  # noqa: F405
    gradQue, xQue, outQue = TQue(VECIN, 1), TQue(VECIN, 1), TQue(VECOUT, 1)  # noqa: F405
    workBuf = TBuf(VECCALC)  # noqa: F405
    for que in (gradQue, xQue, outQue):
        pipe.InitBuffer(que, 1, 4 * lanes)
    pipe.InitBuffer(workBuf, 4 * lanes)
    row = DataCopyExtParams(1, 4 * n, 0, 0, 0)  # noqa: F405
    for que, source in ((gradQue, given), (xQue, x)):
        tile = que.AllocTensor(float32)  # noqa: F405
        DataCopyPad(tile, source, row, NO_PAD)  # noqa: F405
        que.EnQue(tile)
    g, x, o = gradQue.DeQue(float32), xQue.DeQue(float32), outQue.AllocTensor(float32)  # noqa: F405
    compute(g, x, o, workBuf.Get(float32), n)  # noqa: F405
    outQue.EnQue(o)
    o = outQue.DeQue(float32)  # noqa: F405
    DataCopyPad(result, o, row)  # noqa: F405
    outQue.FreeTensor(o), gradQue.FreeTensor(g), xQue.FreeTensor(x)


def _exponential(g, x, o, work, n):
    Exp(work, x, n)  # noqa: F405
    Adds(o, work, 1.0, n)  # noqa: F405
    Div(work, work, o, n)  # noqa: F405
    Muls(o, work, -1.0, n)  # noqa: F405
    Adds(o, o, 1.0, n)  # noqa: F405
    Mul(o, o, x, n)  # noqa: F405
    Adds(o, o, 1.0, n)  # noqa: F405
    Mul(o, o, work, n)  # noqa: F405
    Mul(o, o, g, n)  # noqa: F405


def _logarithm(g, x, o, work, n):
    Mul(work, x, x, n)  # noqa: F405
    Ln(work, work, n)  # noqa: F405
    Exp(work, work, n)  # noqa: F405
    Ln(o, x, n)  # noqa: F405
    Sub(o, o, o, n)  # noqa: F405
    Adds(o, o, 1.0, n)  # noqa: F405
    Sub(o, o, work, n)  # noqa: F405
    Mul(o, o, g, n)  # noqa: F405


def _half_filled(g, x, o, work, n):
    Mul(work, x, x, n - 8)  # noqa: F405
    Muls(work, work, -1.0, n)  # noqa: F405
    Adds(o, work, 1.0, n)  # noqa: F405
    Mul(o, o, g, n)  # noqa: F405


def _program(operator, compute):
    def kernel(gradOutput, other, out, workspace, tiling):
        _one_tile(compute, gradOutput, other, out, tiling)

    return Program(operator, compute.__name__, _tiling, kernel)


exponential = _program("silu", _exponential)
logarithm, half_filled = _program("tanh", _logarithm), _program("tanh", _half_filled)
