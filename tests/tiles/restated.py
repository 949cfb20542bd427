"""Programs of the vendor's documents in our own words, each with numbers worked out apart, and bugs set by hand.

Each kernel's docstring names its page under docs/zh of mirror-cann/asc-devkit (api/SIMD-API/基础API unless it says guide). The bugs
in restated.toml were written from what these pages forbid, by somebody who had not read the rules of the machine.
"""

import inspect
import tomllib
from pathlib import Path

import numpy as np
from small_kernels import gm as named
from small_kernels import sync as wait

import aclnn_viz as av
from aclnn_viz.tiles.ascendc import *  # noqa: F403

RIGHT = {}
with Path(__file__).with_suffix(".toml").open("rb") as bugs:
    BUGS = [
        (name, what, *edit)
        for name, edits in tomllib.load(bugs).items()
        for what, edit in edits.items()
    ]
DOUBLE = 2
LEGAL = {  # edits that give right programs, by their text, with reasons
    "work memory too small for what is declared": "a sum of a count does not use it (page ReduceSum, first scheme)",
    "work memory is the result": "the page ReduceSum lets dst and sharedTmpBuffer overlap",
    "dropped before it is written": "the last line is written back when the kernel ends; to clean it is to write it at once (page SetValue)",
    "written back by none": "each core has its line, which is written back when the kernel ends; to clean it is to write it at once",
}


def arrays(*shapes, dtype=np.float32, seed=3):
    """Return small whole numbers, whose sums have the same bits in any order; a length below zero means an
    output of zeros.
    """
    draw = np.random.default_rng(seed)
    return [draw.integers(-8, 9, n).astype(dtype) if n > 0 else np.zeros(-n, dtype) for n in shapes]


def restated(given, want, cores=1, sync="auto"):
    """Register a kernel with its arrays and the expected last array."""

    def keep(kernel):
        RIGHT[kernel.__name__] = kernel, given, want, {"cores": cores, "sync": sync}
        return kernel

    return keep


def edited(name, old, new):
    """Return the kernel with one text replaced, which must occur once."""
    kernel = RIGHT[name][0]
    source = inspect.getsource(kernel)
    source = source[source.index("\ndef ") + 1 :]
    assert source.count(old) == 1, (name, old, source.count(old))
    names = dict(globals())
    exec(compile(source.replace(old, new), f"{name} with {new!r}", "exec"), names)  # noqa: S102
    return names[name]


def loaded(ub, address, count, dtype=float32):
    tile = ub.Alloc(dtype, count)
    DataCopy(tile, named(address, dtype), count)
    return tile


def stored(address, tile, count, dtype=float32):
    wait(HardEvent.V_MTE3)
    DataCopy(named(address, dtype), tile, count)


@restated(lambda: arrays(4096, 4096, -4096, dtype=np.float16), lambda x, y, z: x + y, cores=8)
def add_queues(x, y, z):
    """guide/编程指南: vector programming, a basic vector operator."""
    first = GetBlockIdx() * 512
    xGm, yGm, zGm = named(x, half), named(y, half), named(z, half)
    pipe, inA, inB, out = TPipe(), TQue(VECIN, 1), TQue(VECIN, 1), TQue(VECOUT, 1)
    for queue in (inA, inB, out):
        pipe.InitBuffer(queue, DOUBLE, 256)
    for k in range(4):
        at = first + k * 128
        a, b = inA.AllocTensor(half), inB.AllocTensor(half)
        DataCopy(a, xGm[at], 128)
        DataCopy(b, yGm[at], 128)
        inA.EnQue(a)
        inB.EnQue(b)
        a, b, c = inA.DeQue(half), inB.DeQue(half), out.AllocTensor(half)
        Add(c, a, b, 128)
        out.EnQue(c)
        inA.FreeTensor(a)
        inB.FreeTensor(b)
        c = out.DeQue(half)
        DataCopy(zGm[at], c, 128)
        out.FreeTensor(c)


@restated(lambda: arrays(2048, -2048), lambda x, z: x * 2, sync="strict")
def multiply_static(x, z):
    """同步控制/核内同步/SetFlag-WaitFlag(ISASI): two halves of static memory, their flags by hand."""
    ub, xGm, zGm = LocalMemAllocator(), named(x), named(z)
    halves = ub.Alloc(float32, 256), ub.Alloc(float32, 256)
    a, b = 0, 1
    for k in range(8):
        tile = halves[k % 2]
        if k > 1:
            WaitFlag(HardEvent.MTE3_MTE2, k % 2)
        DataCopy(tile, xGm[k * 256], 256)
        SetFlag(HardEvent.MTE2_V, k % 2)
        WaitFlag(HardEvent.MTE2_V, k % 2)
        Muls(tile, tile, 2.0, 256)
        SetFlag(HardEvent.V_MTE3, k % 2)
        WaitFlag(HardEvent.V_MTE3, k % 2)
        DataCopy(zGm[k * 256], tile, 256)
        SetFlag(HardEvent.MTE3_MTE2, k % 2)
    for k in (a, b):
        WaitFlag(HardEvent.MTE3_MTE2, k)


@restated(lambda: arrays(15, -15), lambda x, z: x + 1)
def pad_rows(x, z):
    """数据搬运/DataCopyPad: five rows of three floats, each in 32 bytes of its own."""
    tile, fill = LocalMemAllocator().Alloc(float32, 48), DataCopyPadExtParams(True, 0, 5, 0.0)
    DataCopyPad(tile, named(x), DataCopyExtParams(5, 12, 0, 0, 0), fill)
    wait(HardEvent.MTE2_V)
    Adds(tile, tile, 1.0, 40)
    wait(HardEvent.V_MTE3)
    DataCopyPad(named(z), tile, DataCopyExtParams(5, 12, 0, 0, 0))


@restated(lambda: arrays(13, -8), lambda x, z: np.r_[x.max(), np.zeros(7, np.float32)])
def tail_maximum(x, z):
    """Memory矢量计算/归约计算/ReduceMax and DataCopyPad: a row of 13 floats."""
    ub = LocalMemAllocator()
    tile, most, work = ub.Alloc(float32, 16), ub.Alloc(float32, 8), ub.Alloc(float32, 16)
    DataCopyPad(
        tile, named(x), DataCopyExtParams(1, 52, 0, 0, 0), DataCopyPadExtParams(False, 0, 0, 0)
    )
    wait(HardEvent.MTE2_V)
    Duplicate(most, 0.0, 8)
    ReduceMax(most, tile, work, 13)
    wait(HardEvent.V_MTE3)
    DataCopyPad(named(z), most, DataCopyExtParams(1, 4, 0, 0, 0))


@restated(lambda: arrays(200, -200), lambda x, z: x / x.sum(), sync="strict")
def scalar_divides(x, z):
    """Memory矢量计算/归约计算/ReduceSum, and 资源管理/TPipe/FetchEventID before a scalar read."""
    pipe, queue, sumBuf, workBuf = TPipe(), TQueBind(VECIN, VECOUT, 1), TBuf(VECCALC), TBuf(VECCALC)
    pipe.InitBuffer(queue, 1, 800)
    pipe.InitBuffer(sumBuf, 32)
    pipe.InitBuffer(workBuf, 256)
    tile = queue.AllocTensor(float32)
    DataCopy(tile, named(x), 200)
    number = pipe.FetchEventID(HardEvent.MTE2_V)
    wait(HardEvent.MTE2_V, number)
    sum_ = sumBuf.Get(float32)
    ReduceSum(sum_, tile, workBuf.Get(float32), 200)
    number = pipe.FetchEventID(HardEvent.V_S)
    SetFlag(HardEvent.V_S, number)
    WaitFlag(HardEvent.V_S, number)
    PipeBarrier(PIPE_V)
    Muls(tile, tile, 1.0 / float(sum_.GetValue(0)), 200)
    wait(HardEvent.V_MTE3, pipe.FetchEventID(HardEvent.V_MTE3))
    DataCopy(named(z), tile, 200)
    queue.FreeTensor(tile)


@restated(lambda: arrays(192, 192, -192), lambda x, y, z: np.where(x < y, x, y))
def compare_select(x, y, z):
    """Memory矢量计算/比较与选择/Compare and Select: the smaller of two."""
    ub = LocalMemAllocator()
    a, b, out, bits = (
        loaded(ub, x, 192),
        loaded(ub, y, 192),
        ub.Alloc(float32, 192),
        ub.Alloc(uint8_t, 32),
    )
    wait(HardEvent.MTE2_V)
    Compare(bits, a, b, CMPMODE.LT, 192)
    Select(out, bits, a, b, SELMODE.VSEL_TENSOR_TENSOR_MODE, 192)
    stored(z, out, 192)


@restated(lambda: arrays(512, -512, dtype=np.float16), lambda x, z: x * 2 + 1)
def widen_in_place(x, z):
    """Memory矢量计算/类型转换/Cast: half in the upper part of the float's memory, widened downwards, as vendor kernels do."""
    ub = LocalMemAllocator()
    wide, out = ub.Alloc(float32, 512), ub.Alloc(half, 512)
    narrow = wide.ReinterpretCast(half)
    DataCopy(narrow[512], named(x, half), 512)
    wait(HardEvent.MTE2_V)
    Cast(wide, narrow[512], RoundMode.CAST_NONE, 512)
    Muls(wide, wide, 2.0, 512)
    Adds(wide, wide, 1.0, 512)
    Cast(out, wide, RoundMode.CAST_RINT, 512)
    stored(z, out, 512, half)


@restated(lambda: arrays(512, -64), lambda x, z: x.reshape(8, 64).sum(0))
def running_sum(x, z):
    """通用说明和约束, overlap: a result that is the second source with a repeat stride of 0 adds up."""
    ub = LocalMemAllocator()
    a, sum_ = loaded(ub, x, 512), ub.Alloc(float32, 64)
    wait(HardEvent.MTE2_V)
    Duplicate(sum_, 0.0, 64)
    Add(sum_, a, sum_, 64, 8, BinaryRepeatParams(1, 1, 1, 0, 8, 0))
    stored(z, sum_, 64)


@restated(
    lambda: [*arrays(512), np.ones(64, np.float32)],
    lambda x, z: x.reshape(8, 64).sum(0),
    cores=8,
    sync="strict",
)
def atomic_sum(x, z):
    """原子操作/SetAtomicAdd: eight cores add their rows onto an output that one of them sets to zero."""
    ub = LocalMemAllocator()
    a, zeros = ub.Alloc(float32, 64), ub.Alloc(float32, 64)
    DataCopy(a, named(x)[GetBlockIdx() * 64], 64)
    if GetBlockIdx() == 0:
        Duplicate(zeros, 0.0, 64)
        wait(HardEvent.V_MTE3)
        DataCopy(named(z), zeros, 64)
    SyncAll()
    wait(HardEvent.MTE2_MTE3)
    SetAtomicAdd(float32)
    DataCopy(named(z), a, 64)
    SetAtomicNone()
    SyncAll()


@restated(
    lambda: arrays(1024, -64, -8), lambda x, space, z: np.full(8, x.sum()), cores=8, sync="strict"
)
def partial_sums(x, space, z):
    """同步控制/核间同步/SyncAll: a sum through the workspace, a block of 32 bytes for each core."""
    core, ub = GetBlockIdx(), LocalMemAllocator()
    a, work, part, parts = (
        ub.Alloc(float32, 128),
        ub.Alloc(float32, 128),
        ub.Alloc(float32, 8),
        ub.Alloc(float32, 64),
    )
    DataCopy(a, named(x)[core * 128], 128)
    wait(HardEvent.MTE2_V)
    Duplicate(part, 0.0, 8)
    PipeBarrier(PIPE_V)
    ReduceSum(part, a, work, 128)
    wait(HardEvent.V_MTE3)
    DataCopy(named(space)[core * 8], part, 8)
    SyncAll()
    if core == 0:
        DataCopy(parts, named(space), 64)
        wait(HardEvent.MTE2_V, 1)
        ReduceSum(work, parts, a, 64)
        wait(HardEvent.V_S)
        Duplicate(part, float(work.GetValue(0)), 8)
        wait(HardEvent.V_MTE3, 2)
        DataCopy(named(z), part, 8)


@restated(
    lambda: arrays(-16, -128),
    lambda note, z: np.repeat(np.arange(8, dtype=np.float32) + 5, 16) * 0 + 5,
    cores=8,
    sync="strict",
)
def note_for_all(note, z):
    """缓存控制/DataCacheCleanAndInvalid: a number that one core's scalar unit writes and all copy in."""
    line, tile = named(note), LocalMemAllocator().Alloc(float32, 16)
    if GetBlockIdx() == 0:
        for k in range(16):
            line.SetValue(k, 5.0)
        DataCacheCleanAndInvalid(line, CacheLine.SINGLE_CACHE_LINE)
    SyncAll()
    DataCopy(tile, line, 16)
    wait(HardEvent.MTE2_MTE3)
    DataCopy(named(z)[GetBlockIdx() * 16], tile, 16)


@restated(lambda: arrays(1024, -1024), lambda x, z: x)
def copy_bind(x, z):
    """TQueBind: from copy to copy, without the vector unit."""
    pipe, queue = TPipe(), TQueBind(VECIN, VECOUT, 1)
    pipe.InitBuffer(queue, 2, 1024)
    for at in range(0, 1024, 256):
        tile = queue.AllocTensor(float32)
        DataCopy(tile, named(x)[at], 256)
        queue.EnQue(tile)
        tile = queue.DeQue(float32)
        DataCopy(named(z)[at], tile, 256)
        queue.FreeTensor(tile)


@restated(lambda: arrays(1280, -1280), lambda x, z: np.abs(x) + 1, sync="strict")
def allocated_ids(x, z):
    """资源管理/TPipe/AllocEventID and ReleaseEventID, ten times in a loop."""
    pipe, buffer = TPipe(), TBuf(VECCALC)
    pipe.InitBuffer(buffer, 512)
    tile = buffer.Get(float32)
    for at in range(0, 1280, 128):
        number, other = pipe.AllocEventID(HardEvent.MTE2_V), pipe.AllocEventID(HardEvent.V_MTE3)
        DataCopy(tile, named(x)[at], 128)
        SetFlag(HardEvent.MTE2_V, number)
        WaitFlag(HardEvent.MTE2_V, number)
        Abs(tile, tile, 128)
        PipeBarrier(PIPE_V)
        Adds(tile, tile, 1.0, 128)
        SetFlag(HardEvent.V_MTE3, other)
        WaitFlag(HardEvent.V_MTE3, other)
        DataCopy(named(z)[at], tile, 128)
        wait(HardEvent.MTE3_MTE2, pipe.FetchEventID(HardEvent.MTE3_MTE2))
        pipe.ReleaseEventID(HardEvent.MTE2_V, number)
        pipe.ReleaseEventID(HardEvent.V_MTE3, other)


@restated(lambda: arrays(1000, -8), lambda x, z: np.full(8, x.sum()), sync="strict")
def half_interval(x, z):
    """guide, operator practice: a sum by halving, the tail onto the front at first."""
    ub = LocalMemAllocator()
    a, sum_, out, n = loaded(ub, x, 1000), ub.Alloc(float32, 8), ub.Alloc(float32, 8), 512
    wait(HardEvent.MTE2_V)
    Add(a, a, a[512], 488)
    while n > 64:
        PipeBarrier(PIPE_V)
        Add(a, a, a[n // 2], n // 2)
        n //= 2
    PipeBarrier(PIPE_V)
    WholeReduceSum(sum_, a, 64, 1, 1, 1, 8)
    wait(HardEvent.V_S)
    Duplicate(out, float(sum_.GetValue(0)), 8)
    stored(z, out, 8)


@restated(lambda: arrays(512, -512), lambda x, z: np.exp(x) / np.exp(x).sum())
def in_place(x, z):
    """TQue: a depth of 0 for tensors in place."""
    pipe, given, made, small = TPipe(), TQue(VECIN, 0), TQue(VECOUT, 1), TBuf(VECCALC)
    pipe.InitBuffer(given, 1, 2048)
    pipe.InitBuffer(made, 1, 2048)
    pipe.InitBuffer(small, 2080)
    tile = given.AllocTensor(float32)
    DataCopy(tile, named(x), 512)
    given.EnQue(tile)
    given.DeQue(float32)
    out, work = made.AllocTensor(float32), small.Get(float32)
    Exp(out, tile, 512)
    ReduceSum(work, out, work[8], 512)
    wait(HardEvent.V_S, GetTPipePtr().FetchEventID(HardEvent.V_S))
    Muls(out, out, 1.0 / float(work.GetValue(0)), 512)
    given.FreeTensor(tile)
    made.EnQue(out)
    out = made.DeQue(float32)
    DataCopy(named(z), out, 512)
    made.FreeTensor(out)


@restated(
    lambda: [*arrays(64, dtype=np.int32), np.zeros(64, np.int32)],
    lambda x, z: x * 100 + np.arange(64),
    sync="strict",
)
def scalar_loop(x, z):
    """guide, performance: the loop of the scalar unit that vectors replace."""
    tile = LocalMemAllocator().Alloc(int32_t, 64)
    DataCopy(tile, named(x, int32_t), 64)
    wait(HardEvent.MTE2_S)
    for k in range(64):
        tile.SetValue(k, tile.GetValue(k) * 100 + k)
    wait(HardEvent.S_MTE3)
    DataCopy(named(z, int32_t), tile, 64)


@restated(lambda: arrays(512, 64, -512), lambda x, y, z: np.r_[y, x[64:]])
def copied_over(x, y, z):
    """数据搬运/DataCopy: a copy onto a part of an earlier copy."""
    tile = LocalMemAllocator().Alloc(float32, 512)
    DataCopy(tile, named(x), 512)
    PipeBarrier(PIPE_MTE2)
    DataCopy(tile, named(y), 64)
    wait(HardEvent.MTE2_MTE3)
    DataCopy(named(z), tile, 512)
    PipeBarrier(PIPE_MTE3)
    DataCopy(named(z), tile, 64)


@restated(lambda: arrays(1024, -1024), lambda x, z: np.maximum(x, 0) - 1, cores=4, sync="strict")
def stored_twice(x, z):
    """同步控制/核内同步/PipeBarrier(ISASI) and events of the scalar unit: through global memory and back."""
    first, tile = GetBlockIdx() * 256, LocalMemAllocator().Alloc(float32, 128)
    for at in range(0, 256, 128):
        DataCopy(tile, named(x)[first + at], 128)
        SetFlag(HardEvent.MTE2_V, 5)
        WaitFlag(HardEvent.MTE2_V, 5)
        Relu(tile, tile, 128)
        wait(HardEvent.V_MTE3)
        DataCopy(named(z)[first + at], tile, 128)
        wait(HardEvent.MTE3_MTE2, 3)
        DataCopy(tile, named(z)[first + at], 128)
        wait(HardEvent.MTE2_S, 4)
        tile.SetValue(0, tile.GetValue(0) + 1)
        wait(HardEvent.S_V, 1)
        Adds(tile, tile, -1.0, 128)
        wait(HardEvent.V_S, 2)
        tile.SetValue(0, tile.GetValue(0) - 1)
        PipeBarrier(PIPE_ALL)
        DataCopy(named(z)[first + at], tile, 128)
        PipeBarrier(PIPE_ALL)


@restated(
    lambda: arrays(-128),
    lambda z: np.repeat(np.arange(8, dtype=np.float32) + 1, 16),
    cores=8,
    sync="strict",
)
def lines_of_cores(z):
    """技术附录/Scalar读写数据: each core writes a line of 64 bytes of its own."""
    core = GetBlockIdx()
    line = named(z)[core * 16]
    for k in range(16):
        line.SetValue(k, core + 1.0)
    DataCacheCleanAndInvalid(line, CacheLine.ENTIRE_DATA_CACHE)


@restated(lambda: arrays(16, -16), lambda x, z: x + 7, sync="strict")
def scalar_after_copy(x, z):
    """技术附录/Scalar读写数据: the scalar unit reads what a copy has just changed."""
    given, tile = named(x), LocalMemAllocator().Alloc(float32, 16)
    given.GetValue(0)
    DataCopy(tile, given, 16)
    wait(HardEvent.MTE2_V)
    Adds(tile, tile, 7.0, 16)
    wait(HardEvent.V_MTE3)
    DataCopy(given, tile, 16)
    wait(HardEvent.MTE3_S)
    DataCacheCleanAndInvalid(given, CacheLine.ENTIRE_DATA_CACHE)
    tile.SetValue(0, given.GetValue(0))
    wait(HardEvent.S_MTE3)
    DataCopy(named(z), tile, 16)


@restated(lambda: arrays(40000, -40000, dtype=np.float16), lambda x, z: x)
def long_copy(x, z):
    """数据搬运/DataCopyPad: more than 65535 bytes in one block, which the older parameters cannot say."""
    tile = LocalMemAllocator().Alloc(half, 40000)
    DataCopyPad(
        tile,
        named(x, half),
        DataCopyExtParams(1, 80000, 0, 0, 0),
        DataCopyPadExtParams(False, 0, 0, 0),
    )
    wait(HardEvent.MTE2_MTE3)
    DataCopyPad(named(z, half), tile, DataCopyExtParams(1, 80000, 0, 0, 0))


@restated(lambda: arrays(300, -300), lambda x, z: 1 / (1 + np.exp(-x)))
def sigmoid(x, z):
    """TBuf, and Memory矢量计算: Exp, Adds, Div with a tail."""
    pipe, queue, out, oneBuf, workBuf = (
        TPipe(),
        TQue(VECIN, 1),
        TQue(VECOUT, 1),
        TBuf(VECCALC),
        TBuf(VECCALC),
    )
    for held in ((queue, 1, 1216), (out, 1, 1216), (oneBuf, 1216)):
        pipe.InitBuffer(*held)
    pipe.InitBuffer(workBuf, 1216)
    a, one, work = queue.AllocTensor(float32), oneBuf.Get(float32), workBuf.Get(float32)
    DataCopyPad(
        a, named(x), DataCopyExtParams(1, 1200, 0, 0, 0), DataCopyPadExtParams(False, 0, 0, 0)
    )
    queue.EnQue(a)
    a, made = queue.DeQue(float32), out.AllocTensor(float32)
    Duplicate(one, 1.0, 304)
    Muls(work, a, -1.0, 300)
    Exp(work, work, 300)
    Adds(work, work, 1.0, 300)
    Div(made, one, work, 300)
    queue.FreeTensor(a)
    out.EnQue(made)
    made = out.DeQue(float32)
    DataCopyPad(named(z), made, DataCopyExtParams(1, 1200, 0, 0, 0))
    out.FreeTensor(made)


def shown(kernel, given, want, how, schedules) -> str:
    """Return the sign of a wrong kernel under one of the schedules: a hazard's kind, an error, other numbers, or ""."""
    for schedule in schedules:
        held = given()
        wanted = want(*held)
        try:
            run = av.tiles.run(kernel, *held, schedule=schedule, **how)
        except Exception as error:
            return f"raises {type(error).__name__}"
        if run.hazards:
            return f"hazard: {run.hazards[0].kind}"
        if not np.allclose(held[-1], wanted, rtol=2e-3):  # a half keeps 11 bits
            return "other numbers"
    return ""
