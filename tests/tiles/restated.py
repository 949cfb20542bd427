"""Programs of the vendor's documents in our own words, each with numbers worked out apart, and bugs set by hand.

Each kernel's docstring names its page under docs/zh of mirror-cann/asc-devkit (api/SIMD-API/基础API unless it says guide). The bugs
were written from what these pages forbid, by somebody who had not read the rules of the machine: (what, old text, new text).
"""

import inspect

import numpy as np

import aclnn_viz as av
from aclnn_viz.tiles.ascendc import *  # noqa: F403

RIGHT, BUGS = {}, []
DOUBLE = 2
LEGAL = {  # edits that turned out to be right programs, by what they say, and why
    "work memory too small for what is declared": "a sum of a count does not use it (page ReduceSum, first scheme)",
    "work memory is the result": "the page ReduceSum lets dst and sharedTmpBuffer overlap",
    "dropped before it is written": "the last line is written back when the kernel ends; to clean it is to write it at once (page SetValue)",
    "written back by none": "each core has its line, which is written back when the kernel ends; to clean it is to write it at once",
}


def arrays(*shapes, dtype=np.float32, seed=3):
    """Small whole numbers, of which sums in any order have the same bits; a length below zero is that of an output of zeros."""
    draw = np.random.default_rng(seed)
    return [draw.integers(-8, 9, n).astype(dtype) if n > 0 else np.zeros(-n, dtype) for n in shapes]


def restated(given, want, *bugs, cores=1, sync="auto"):
    """Keep a kernel with the arrays it gets, what its last array must hold, and its bugs."""

    def keep(kernel):
        RIGHT[kernel.__name__] = kernel, given, want, {"cores": cores, "sync": sync}
        BUGS.extend((kernel.__name__, *bug) for bug in bugs)
        return kernel

    return keep


def edited(name, old, new):
    """The kernel with one text of it replaced; the text must be there once."""
    kernel = RIGHT[name][0]
    source = inspect.getsource(kernel)
    source = source[source.index("\ndef ") + 1 :]
    assert source.count(old) == 1, (name, old, source.count(old))
    names = dict(globals())
    exec(compile(source.replace(old, new), f"{name} with {new!r}", "exec"), names)  # noqa: S102
    return names[name]


def named(address, dtype=float32, size=None):
    tensor = GlobalTensor(dtype)
    tensor.SetGlobalBuffer(address) if size is None else tensor.SetGlobalBuffer(address, size)
    return tensor


def wait(event, number=0):
    SetFlag(event, number)
    WaitFlag(event, number)


def loaded(ub, address, count, dtype=float32):
    tile = ub.Alloc(dtype, count)
    DataCopy(tile, named(address, dtype), count)
    return tile


def stored(address, tile, count, dtype=float32):
    wait(HardEvent.V_MTE3)
    DataCopy(named(address, dtype), tile, count)


@restated(
    lambda: arrays(4096, 4096, -4096, dtype=np.float16),
    lambda x, y, z: x + y,
    (
        "freed before it is used",
        "Add(c, a, b, 128)",
        "inA.FreeTensor(a)\n        Add(c, a, b, 128)\n        a = inA.AllocTensor(half)",
    ),
    ("put into the other queue", "inB.EnQue(b)", "inA.EnQue(b)"),
    ("every core begins at 0", "first = GetBlockIdx() * 512", "first = 0"),
    ("the last tile is left out", "range(4)", "range(3)"),
    ("not a multiple of 32 bytes", "DataCopy(zGm[at], c, 128)", "DataCopy(zGm[at], c, 120)"),
    (
        "the store writes the next core's first block",
        "DataCopy(zGm[at], c, 128)",
        "DataCopy(zGm[at], c, 144)",
    ),
    (
        "sum written over its input block after it was freed",
        "inB.FreeTensor(b)\n",
        "Add(a, a, b, 128)\n        inB.FreeTensor(b)\n",
    ),
    ("one tile for all: the offset in the loop is missing", "at = first + k * 128", "at = first"),
    ("never freed", "out.FreeTensor(c)", "pass"),
    ("queue of the wrong position", "TQue(VECOUT, 1)", "TQue(VECIN, 1)"),
    ("wrong sum", "Add(c, a, b, 128)", "Add(c, a, a, 128)"),
    cores=8,
)
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


@restated(
    lambda: arrays(2048, -2048),
    lambda x, z: x * 2,
    ("the vector unit does not wait for the copy", "WaitFlag(HardEvent.MTE2_V, k % 2)", "pass"),
    (
        "set before the work it stands for",
        "Muls(tile, tile, 2.0, 256)\n        SetFlag(HardEvent.V_MTE3, k % 2)",
        "SetFlag(HardEvent.V_MTE3, k % 2)\n        Muls(tile, tile, 2.0, 256)",
    ),
    ("an id kept for the system", "    a, b = 0, 1", "    a, b = 6, 7"),
    ("copied in before the copy out has read", "if k > 1:", "if k > 2:"),
    ("both halves are the same", "tile = halves[k % 2]", "tile = halves[0]"),
    (
        "one id for both halves",
        "WaitFlag(HardEvent.MTE3_MTE2, k % 2)",
        "WaitFlag(HardEvent.MTE3_MTE2, 0)",
    ),
    ("the last two flags stay set", "for k in (a, b):", "for k in (a,):"),
    (
        "waits for the wrong event",
        "WaitFlag(HardEvent.V_MTE3, k % 2)",
        "WaitFlag(HardEvent.MTE2_V, k % 2)",
    ),
    sync="strict",
)
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


@restated(
    lambda: arrays(15, -15),
    lambda x, z: x + 1,
    (
        "length in elements",
        "DataCopyPad(tile, named(x), DataCopyExtParams(5, 12, 0, 0, 0), fill)",
        "DataCopyPad(tile, named(x), DataCopyExtParams(5, 3, 0, 0, 0), fill)",
    ),
    ("rows packed, as they are not", "Adds(tile, tile, 1.0, 40)", "Adds(tile, tile, 1.0, 15)"),
    (
        "a gap in the buffer that the sum does not skip",
        "DataCopyPad(tile, named(x), DataCopyExtParams(5, 12, 0, 0, 0), fill)",
        "DataCopyPad(tile, named(x), DataCopyExtParams(5, 12, 0, 1, 0), fill)",
    ),
    ("nothing behind each row", "True, 0, 5, 0.0", "False, 0, 0, 0"),
    (
        "rows one after the other in 32 bytes each",
        "DataCopyPad(named(z), tile, DataCopyExtParams(5, 12, 0, 0, 0))",
        "DataCopyPad(named(z), tile, DataCopyExtParams(5, 12, 0, 20, 0))",
    ),
    (
        "whole blocks over the end of the tensor",
        "DataCopyPad(named(z), tile, DataCopyExtParams(5, 12, 0, 0, 0))",
        "DataCopy(named(z), tile, 16)",
    ),
)
def pad_rows(x, z):
    """数据搬运/DataCopyPad: five rows of three floats, each in 32 bytes of its own."""
    tile, fill = LocalMemAllocator().Alloc(float32, 48), DataCopyPadExtParams(True, 0, 5, 0.0)
    DataCopyPad(tile, named(x), DataCopyExtParams(5, 12, 0, 0, 0), fill)
    wait(HardEvent.MTE2_V)
    Adds(tile, tile, 1.0, 40)
    wait(HardEvent.V_MTE3)
    DataCopyPad(named(z), tile, DataCopyExtParams(5, 12, 0, 0, 0))


@restated(
    lambda: arrays(13, -8),
    lambda x, z: np.r_[x.max(), np.zeros(7, np.float32)],
    (
        "the maximum takes the lanes behind the tail",
        "ReduceMax(most, tile, work, 13)",
        "ReduceMax(most, tile, work, 16)",
    ),
    (
        "work memory is the source",
        "ReduceMax(most, tile, work, 13)",
        "ReduceMax(most, tile, tile, 13)",
    ),
)
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


@restated(
    lambda: arrays(200, -200),
    lambda x, z: x / x.sum(),
    ("the scalar reads before the sum is there", "WaitFlag(HardEvent.V_S, number)", "pass"),
    (
        "the sum is divided by the count",
        "Muls(tile, tile, 1.0 / float(",
        "Muls(tile, tile, 1.0 / 200 / float(",
    ),
    (
        "a number by hand that a queue holds",
        "number = pipe.FetchEventID(HardEvent.V_S)",
        "number = 1",
    ),
    (
        "work memory too small for what is declared",
        "pipe.InitBuffer(workBuf, 256)",
        "pipe.InitBuffer(workBuf, 32)",
    ),
    ("the tile divided without what ends the sum", "sum_ = sumBuf.Get(float32)", "sum_ = tile"),
    sync="strict",
)
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


@restated(
    lambda: arrays(192, 192, -192),
    lambda x, y, z: np.where(x < y, x, y),
    (
        "bits of whole repeats are missing",
        "Compare(bits, a, b, CMPMODE.LT, 192)",
        "Compare(bits, a, b, CMPMODE.LT, 160)",
    ),
    ("the other way round", "Select(out, bits, a, b,", "Select(out, bits, b, a,"),
    ("place for the bits of half as many", "ub.Alloc(uint8_t, 32)", "ub.Alloc(uint8_t, 16)"),
    (
        "the first repeat's bits for all",
        "SELMODE.VSEL_TENSOR_TENSOR_MODE",
        "SELMODE.VSEL_CMPMASK_SPR",
    ),
    (
        "data where Select works itself",
        "ub = LocalMemAllocator()",
        "ub = LocalMemAllocator()\n    ub.Alloc(float32, 47000)",
    ),
)
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


@restated(
    lambda: arrays(512, -512, dtype=np.float16),
    lambda x, z: x * 2 + 1,
    (
        "widened in place from its start",
        "DataCopy(narrow[512], named(x, half), 512)",
        "DataCopy(narrow, named(x, half), 512)",
    ),
    (
        "the source of the cast is the start",
        "Cast(wide, narrow[512], RoundMode.CAST_NONE, 512)",
        "Cast(wide, narrow, RoundMode.CAST_NONE, 512)",
    ),
    (
        "bits for a conversion",
        "Cast(out, wide, RoundMode.CAST_RINT, 512)",
        "Muls(out, narrow, 1.0, 512)",
    ),
    (
        "scaled with a factor in the wrong place",
        "Adds(wide, wide, 1.0, 512)\n    ",
        "PipeBarrier(PIPE_V)\n    ",
    ),
)
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


@restated(
    lambda: arrays(512, -64),
    lambda x, z: x.reshape(8, 64).sum(0),
    ("not zero before", "Duplicate(sum_, 0.0, 64)", "pass"),
    (
        "added on the next row, too",
        "Add(sum_, a, sum_, 64, 8, BinaryRepeatParams(1, 1, 1, 0, 8, 0))",
        "Add(a[64], a, a[64], 64, 7, BinaryRepeatParams(1, 1, 1, 8, 8, 8)); Muls(sum_, a[448], 1.0, 64)",
    ),
    (
        "a sum of sources that each repeat begins anew",
        "BinaryRepeatParams(1, 1, 1, 0, 8, 0)",
        "BinaryRepeatParams(1, 1, 1, 0, 8, 8)",
    ),
    ("an accumulator of Div", "Add(sum_, a, sum_, 64, 8, ", "Div(sum_, a, sum_, 64, 8, "),
    (
        "the accumulator as first source",
        "Add(sum_, a, sum_, 64, 8, BinaryRepeatParams(1, 1, 1, 0, 8, 0))",
        "Add(sum_, sum_, a, 64, 8, BinaryRepeatParams(1, 1, 1, 0, 0, 8))",
    ),
)
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
    ("switched off nowhere", "SetAtomicNone()\n    SyncAll", "SyncAll"),
    (
        "zeros meet the sums",
        "SyncAll()\n    wait(HardEvent.MTE2_MTE3)",
        "wait(HardEvent.MTE2_MTE3)",
    ),
    ("every core zeroes", "if GetBlockIdx() == 0:", "if True:"),
    ("no core zeroes, on memory that holds something", "if GetBlockIdx() == 0:", "if False:"),
    ("not added but stored", "SetAtomicAdd(float32)", "pass"),
    ("added in another type", "SetAtomicAdd(float32)", "SetAtomicAdd(int32_t)"),
    (
        "one core does not come to the meeting",
        "SetAtomicNone()\n    SyncAll()",
        "SetAtomicNone()\n    if GetBlockIdx() < 7: SyncAll()",
    ),
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
    lambda: arrays(1024, -64, -8),
    lambda x, space, z: np.full(8, x.sum()),
    ("nobody waits for the others", "SyncAll()", "pass"),
    ("slots of four bytes in blocks of 32", "space)[core * 8], part, 8)", "space)[core], part, 8)"),
    (
        "reads one slot too few",
        "DataCopy(parts, named(space), 64)",
        "DataCopy(parts, named(space), 56)",
    ),
    ("adds up what lies between the slots", "Duplicate(part, 0.0, 8)", "pass"),
    ("adds before all have come in", "wait(HardEvent.MTE2_V, 1)", "pass"),
    ("stores before it has added", "wait(HardEvent.V_MTE3, 2)", "pass"),
    ("every core writes the result", "if core == 0:", "if core < 2:"),
    cores=8,
    sync="strict",
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
    ("written to no memory", "DataCacheCleanAndInvalid(line, CacheLine.SINGLE_CACHE_LINE)", "pass"),
    ("nobody waits", "SyncAll()", "pass"),
    ("read into the cache before", "SyncAll()", "line.GetValue(0)\n    SyncAll()"),
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


@restated(
    lambda: arrays(1024, -1024),
    lambda x, z: x,
    ("freed twice", "queue.FreeTensor(tile)", "queue.FreeTensor(tile); queue.FreeTensor(tile)"),
    (
        "taken out twice",
        "tile = queue.DeQue(float32)",
        "tile = queue.DeQue(float32); tile = queue.DeQue(float32)",
    ),
    (
        "used while it is in the queue",
        "tile = queue.DeQue(float32)\n        DataCopy(named(z)[at], tile, 256)",
        "DataCopy(named(z)[at], tile, 256)\n        tile = queue.DeQue(float32)",
    ),
    ("never put in", "queue.EnQue(tile)", "pass"),
    ("not out of memory", "InitBuffer(queue, 2, 1024)", "InitBuffer(queue, 2, 100000)"),
)
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


@restated(
    lambda: arrays(1280, -1280),
    lambda x, z: np.abs(x) + 1,
    ("never given back", "pipe.ReleaseEventID(HardEvent.MTE2_V, number)", "pass"),
    (
        "given back before it is waited for",
        "WaitFlag(HardEvent.MTE2_V, number)",
        "pipe.ReleaseEventID(HardEvent.MTE2_V, number)\n        WaitFlag(HardEvent.MTE2_V, pipe.AllocEventID(HardEvent.MTE2_V))",
    ),
    (
        "given back as another event's",
        "pipe.ReleaseEventID(HardEvent.MTE2_V, number)",
        "pipe.ReleaseEventID(HardEvent.V_MTE3, number)",
    ),
    (
        "set once more",
        "SetFlag(HardEvent.V_MTE3, other)",
        "SetFlag(HardEvent.V_MTE3, other); SetFlag(HardEvent.V_MTE3, other)",
    ),
    (
        "the next copy in does not wait",
        "wait(HardEvent.MTE3_MTE2, pipe.FetchEventID(HardEvent.MTE3_MTE2))",
        "pass",
    ),
    sync="strict",
)
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


@restated(
    lambda: arrays(1000, -8),
    lambda x, z: np.full(8, x.sum()),
    ("the tail is left out", "Add(a, a, a[512], 488)", "pass"),
    ("one halving too few", "while n > 64:", "while n > 128:"),
    ("no wait between the halvings", "PipeBarrier(PIPE_V)\n    WholeReduceSum", "WholeReduceSum"),
    ("reads its own half anew", "Add(a, a, a[n // 2], n // 2)", "Add(a, a, a[n // 4], n // 2)"),
    sync="strict",
)
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


@restated(
    lambda: arrays(512, -512),
    lambda x, z: np.exp(x) / np.exp(x).sum(),
    ("computed before it has come in", "    given.DeQue(float32)\n", ""),
    (
        "sum over its source",
        "ReduceSum(work, out, work[8], 512)",
        "ReduceSum(out, out, work[8], 512); ReduceSum(work, out, work[8], 512)",
    ),
)
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
    ("the scalar unit reads what is still being copied", "wait(HardEvent.MTE2_S)", "pass"),
    ("copied out before it is written", "wait(HardEvent.S_MTE3)", "pass"),
    ("more than 32 bits hold", "* 100 + k", "* 2**29 + k"),
    ("a place behind the end", "range(64)", "range(65)"),
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


@restated(
    lambda: arrays(512, 64, -512),
    lambda x, y, z: np.r_[y, x[64:]],
    ("no barrier between two copies in", "PipeBarrier(PIPE_MTE2)", "pass"),
    ("no barrier between two copies out", "PipeBarrier(PIPE_MTE3)", "PipeBarrier(PIPE_MTE2)"),
)
def copied_over(x, y, z):
    """数据搬运/DataCopy: a copy onto a part of what another copied."""
    tile = LocalMemAllocator().Alloc(float32, 512)
    DataCopy(tile, named(x), 512)
    PipeBarrier(PIPE_MTE2)
    DataCopy(tile, named(y), 64)
    wait(HardEvent.MTE2_MTE3)
    DataCopy(named(z), tile, 512)
    PipeBarrier(PIPE_MTE3)
    DataCopy(named(z), tile, 64)


@restated(
    lambda: arrays(1024, -1024),
    lambda x, z: np.maximum(x, 0) - 1,
    ("off a block of the buffer", "Relu(tile, tile, 128)", "Relu(tile[1], tile[1], 127)"),
    ("read back before it was stored", "wait(HardEvent.MTE3_MTE2, 3)", "pass"),
    (
        "read back into what is still being stored",
        "wait(HardEvent.MTE3_MTE2, 3)",
        "wait(HardEvent.V_MTE2, 3)",
    ),
    (
        "waits before it sets",
        "SetFlag(HardEvent.MTE2_V, 5)\n        WaitFlag(HardEvent.MTE2_V, 5)",
        "WaitFlag(HardEvent.MTE2_V, 5)\n        SetFlag(HardEvent.MTE2_V, 5)",
    ),
    (
        "a barrier of the scalar unit",
        "PipeBarrier(PIPE_ALL)\n        DataCopy",
        "PipeBarrier(PIPE_S)\n        DataCopy",
    ),
    (
        "a barrier of one pipe for all",
        "PipeBarrier(PIPE_ALL)\n        DataCopy",
        "PipeBarrier(PIPE_MTE3)\n        DataCopy",
    ),
    ("the scalar unit writes, nobody waits", "wait(HardEvent.S_V, 1)", "pass"),
    ("the scalar unit writes what is being read", "wait(HardEvent.V_S, 2)", "pass"),
    (
        "starts in another core's part",
        "first, tile = GetBlockIdx() * 256",
        "first, tile = GetBlockIdx() * 255",
    ),
    (
        "the last core ends too late",
        "range(0, 256, 128)",
        "range(0, 256 + 128 * (GetBlockIdx() == 3), 128)",
    ),
    cores=4,
    sync="strict",
)
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
    ("two cores in one line of the cache", "core * 16", "core * 8"),
    (
        "dropped before it is written",
        "line.SetValue(k, core + 1.0)",
        "DataCacheCleanAndInvalid(line, CacheLine.SINGLE_CACHE_LINE); line.SetValue(k, core + 1.0)",
    ),
    ("a line that begins in the middle of another's", "core * 16", "core * 16 + 8 * (core == 3)"),
    ("written back by none", "DataCacheCleanAndInvalid(line, CacheLine.ENTIRE_DATA_CACHE)", "pass"),
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


@restated(
    lambda: arrays(16, -16),
    lambda x, z: x + 7,
    (
        "reads its old line again",
        "DataCacheCleanAndInvalid(given, CacheLine.ENTIRE_DATA_CACHE)",
        "pass",
    ),
    ("reads before the store has arrived", "wait(HardEvent.MTE3_S)", "pass"),
    sync="strict",
)
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


@restated(
    lambda: arrays(40000, -40000, dtype=np.float16),
    lambda x, z: x,
    (
        "a length of 16 bits",
        "DataCopyExtParams(1, 80000, 0, 0, 0),",
        "DataCopyParams(1, 80000, 0, 0),",
    ),
    (
        "more blocks than 4095",
        "DataCopyExtParams(1, 80000, 0, 0, 0))",
        "DataCopyExtParams(5000, 16, 0, 0, 0))",
    ),
    ("more than the buffer", "Alloc(half, 40000)", "Alloc(half, 100000)"),
)
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


@restated(
    lambda: arrays(300, -300),
    lambda x, z: 1 / (1 + np.exp(-x)),
    ("a factor of the wrong sign", "Muls(work, a, -1.0, 300)", "Muls(work, a, 1.0, 300)"),
    (
        "the constant is written over",
        "Duplicate(one, 1.0, 304)\n    Muls",
        "Duplicate(one, 1.0, 304)\n    Duplicate(one, 0.0, 304)\n    Muls",
    ),
    ("two names for one buffer", "oneBuf.Get(float32)", "workBuf.Get(float32)"),
    ("a constant for 200 lanes", "Duplicate(one, 1.0, 304)", "Duplicate(one, 1.0, 200)"),
    (
        "bytes for elements in InitBuffer",
        "pipe.InitBuffer(workBuf, 1216)",
        "pipe.InitBuffer(workBuf, 304)",
    ),
)
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
    """What shows a kernel wrong under one of the schedules: a hazard's kind, an error, other numbers, or ""."""
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
