"""Tile programs that leave nan or infinity where the truth is finite."""

from checking.bits.tile_kernels import buffers, load, store, tensor

from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.program import Program, Tiling


def _tiling(platform, **inputs):
    return Tiling(1, n=inputs["gradOutput"].size)


def _one_tile(compute, gradOutput, other, out, n):
    g, x, o, work = buffers(4, -(-n // 64) * 64)
    load(g, tensor(gradOutput), n)
    load(x, tensor(other), n)
    compute(g, x, o, work, n)
    store(tensor(out), o, n)


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
        _one_tile(compute, gradOutput, other, out, tiling.n)

    return Program(operator, compute.__name__, _tiling, kernel)


exponential = _program("silu", _exponential)
logarithm, half_filled = _program("tanh", _logarithm), _program("tanh", _half_filled)
