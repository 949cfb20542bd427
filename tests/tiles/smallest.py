"""The smallest program that shows each hazard; test_hazards.py has the sentences."""

import numpy as np
from small_kernels import NO_PAD, buffer, gm, queue, sync

from aclnn_viz.tiles.ascendc import *  # noqa: F403

FLOAT = np.dtype(np.float32)
V_S, MTE2_V, V_MTE3 = HardEvent.V_S, HardEvent.MTE2_V, HardEvent.V_MTE3


def row(count, size=4):
    return DataCopyExtParams(1, count * size, 0, 0, 0)


def load(x, count=64, length=64):
    """Return a tensor of `length` floats with `count` of x in it, awaited by the vector unit."""
    tensor = buffer(TPipe(), FLOAT, length)
    DataCopyPad(tensor, gm(x), row(count), NO_PAD)
    sync(MTE2_V)
    return tensor


def store(y, tensor, count=64):
    sync(V_MTE3)
    DataCopyPad(gm(y), tensor, row(count))


# ---- one kernel a hazard ---------------------------------------------------------------------------------------------


def unwritten(x, y):
    tensor = buffer(TPipe(), FLOAT, 64)
    Duplicate(tensor, 1.0, 32)
    PipeBarrier(PIPE_V)
    Adds(tensor, tensor, 1.0, 64)


def padding(x, y):
    tensor = load(x, 5)
    Adds(tensor, tensor, 1.0, 8)


def beyond_tensor(x, y):
    pipe = TPipe()
    tensor, _ = buffer(pipe, FLOAT, 64), buffer(pipe, FLOAT, 64)
    Duplicate(tensor, 1.0, 72)


def beyond_unified_buffer(x, y):
    pipe = TPipe()
    buffer(pipe, FLOAT, 49064)
    Duplicate(buffer(pipe, FLOAT, 64), 1.0, 128)


def beyond_global_memory(x, y):
    load(x, 64)
    DataCopyPad(buffer(TPipe(), FLOAT, 64), gm(x)[200], row(64), NO_PAD)


def misaligned(x, y):
    Duplicate(buffer(TPipe(), FLOAT, 64)[2], 1.0, 8)


def shortened(x, y):
    DataCopy(buffer(TPipe(), FLOAT, 64), gm(x), 13)


def too_many_blocks(x, y):
    DataCopy(buffer(TPipe(), FLOAT, 64), gm(x), DataCopyParams(5000, 1, 0, 0))


def missing_wait(x, y):
    tensor = buffer(TPipe(), FLOAT, 64)
    DataCopy(tensor, gm(x), 64)
    Adds(tensor, tensor, 1.0, 64)


def missing_wait_for_a_reader(x, y):
    tensor = load(x)
    store(y, tensor)
    Duplicate(tensor, 0.0, 64)


def missing_barrier(x, y):
    tensor = load(x)
    Adds(tensor, tensor, 1.0, 64)
    Adds(tensor, tensor, 1.0, 64)


def missing_scalar_wait(x, y):
    load(x).GetValue(0)


def missing_wait_after_set_value(x, y):
    tensor = buffer(TPipe(), FLOAT, 8)
    tensor.SetValue(0, 1.0)
    Adds(tensor, tensor, 1.0, 1)


def used_after_free(x, y):
    que = queue(TPipe(), VECIN, 1, 256)
    tensor = que.AllocTensor(FLOAT)
    DataCopy(tensor, gm(x), 64)
    que.EnQue(tensor)
    tensor = que.DeQue(FLOAT)
    que.FreeTensor(tensor)
    Adds(tensor, tensor, 1.0, 64)


def used_after_enque(x, y):
    que = queue(TPipe(), VECIN, 1, 256)
    tensor = que.AllocTensor(FLOAT)
    DataCopy(tensor, gm(x), 64)
    que.EnQue(tensor)
    sync(MTE2_V)
    Adds(tensor, tensor, 1.0, 64)
    que.FreeTensor(que.DeQue(FLOAT))


def not_freed(x, y):
    que = queue(TPipe(), VECIN, 2, 256)
    for _ in range(3):
        que.EnQue(que.AllocTensor(FLOAT))
        que.DeQue(FLOAT)


def never_freed(x, y):
    queue(TPipe(), VECIN, 1, 256).AllocTensor(FLOAT)


def freed_twice(x, y):
    que = queue(TPipe(), VECIN, 1, 256)
    tensor = que.AllocTensor(FLOAT)
    que.FreeTensor(tensor)
    que.FreeTensor(tensor)


def not_initialised(x, y):
    TQue(VECIN, 1).AllocTensor(FLOAT)


def another_queue(x, y):
    pipe = TPipe()
    one, other = queue(pipe, VECIN, 1, 256), queue(pipe, VECOUT, 1, 256)
    other.EnQue(one.AllocTensor(FLOAT))


def queue_order(x, y):
    que = queue(TPipe(), VECIN, 1, 256, depth=2)
    tensor = que.AllocTensor(FLOAT)
    que.EnQue(tensor)
    que.EnQue(tensor)


def queue_empty(x, y):
    queue(TPipe(), VECIN, 1, 256).DeQue(FLOAT)


def queue_depth(x, y):
    que = queue(TPipe(), VECIN, 2, 256)
    for _ in range(2):
        que.EnQue(que.AllocTensor(FLOAT))
    for _ in range(2):
        que.FreeTensor(que.DeQue(FLOAT))


def ninth(x, y, queues=5):
    """Every freed block waits with an id."""
    pipe = TPipe()
    for que in [queue(pipe, VECIN, 2, 256) for _ in range(queues)]:
        for tensor in [que.AllocTensor(FLOAT) for _ in range(2)]:
            que.FreeTensor(tensor)


def ninth_enqueued(x, y):
    pipe = TPipe()
    for que in [queue(pipe, VECIN, 1, 256) for _ in range(9)]:
        que.EnQue(que.AllocTensor(FLOAT))


def freed(pipe):
    """Return a queue whose block waits with id 0 of V_MTE2."""
    que = queue(pipe, VECIN, 1, 256)
    que.FreeTensor(que.AllocTensor(FLOAT))
    return que


def id_of_a_queue(x, y):
    freed(TPipe())
    SetFlag(HardEvent.V_MTE2, 0)
    WaitFlag(HardEvent.V_MTE2, 0)


def id_of_a_program(x, y):
    """Fetched before, set while FreeTensor takes the lowest free one."""
    pipe = TPipe()
    number = pipe.FetchEventID(HardEvent.V_MTE2)
    SetFlag(HardEvent.V_MTE2, number)
    freed(pipe)
    WaitFlag(HardEvent.V_MTE2, number)


def id_by_hand(x, y):
    freed(TPipe())
    sync(V_S)


def id_kept(x, y):
    sync(V_S, TPipe().AllocEventID(V_S))


def id_of_nobody(x, y):
    TPipe().ReleaseEventID(V_S, 3)


def id_of_a_queue_given_back(x, y):
    pipe = TPipe()
    freed(pipe)
    pipe.ReleaseEventID(HardEvent.V_MTE2, 0)


def two_fetched(x, y):
    pipe = TPipe()
    one, two = (pipe.FetchEventID(V_S) for _ in range(2))
    SetFlag(V_S, one)
    SetFlag(V_S, two)
    WaitFlag(V_S, one)


def many_buffers(x, y):
    pipe = TPipe()
    for _ in range(33):
        queue(pipe, VECIN, 2, 32)


def no_bytes(x, y):
    buffer(TPipe(), FLOAT, 0)


def full(x, y):
    pipe = TPipe()
    queue(pipe, VECIN, 2, 65536)
    queue(pipe, VECOUT, 2, 65536)


def second_pipe(x, y):
    first = queue(TPipe(), VECIN, 1, 256)
    queue(TPipe(), VECIN, 1, 256)
    first.FreeTensor(first.AllocTensor(FLOAT))


def flag_twice(x, y):
    SetFlag(V_S, 0)
    SetFlag(V_S, 0)
    WaitFlag(V_S, 0)


def flag_never_set(x, y):
    WaitFlag(V_S, 0)


def flag_left(x, y):
    SetFlag(V_S, 3)


def ninth_event(x, y):
    SetFlag(V_S, 8)


def event_of_the_system(x, y):
    sync(V_S, 6)


def race(x, y):
    store(y, load(x))


def tail_over_a_neighbour(x, y):
    """Five elements a core, rounded up to eight."""
    tensor = load(x)
    sync(V_MTE3)
    DataCopy(gm(y)[5 * GetBlockIdx()], tensor, 8)


def dirty(x, y):
    tensor = load(x)
    SetAtomicAdd(FLOAT)
    store(y, tensor)
    SetAtomicNone()


def atomics_left_on(x, y):
    SetAtomicAdd(FLOAT)


def repeat(x, y):
    Duplicate(buffer(TPipe(), FLOAT, 64), 1.0, 64, 256, 1, 8)


def stride(x, y):
    tensor = load(x)
    Adds(tensor, tensor, 1.0, 64, 1, UnaryRepeatParams(1, 1, 256, 8))


def mask(x, y):
    Duplicate(buffer(TPipe(), FLOAT, 64), 1.0, 65, 1, 1, 8)


def format_of_a_call(x, y):
    pipe = TPipe()
    tensor = buffer(pipe, bfloat16_t, 64)
    Add(tensor, tensor, tensor, 64)


def format_of_a_cast(x, y):
    pipe = TPipe()
    Cast(buffer(pipe, bfloat16_t, 64), buffer(pipe, FLOAT, 64), RoundMode.CAST_NONE, 64)


def overlap(x, y):
    tensor = load(x)
    Adds(tensor[8], tensor, 1.0, 32)


def overlap_of_repeats(x, y):
    """The second repeat reads what the first has written."""
    tensor = load(x, 192, 192)
    Adds(tensor[64], tensor, 1.0, 64, 2, UnaryRepeatParams())


def running_sum(x, y, dtype=np.dtype(np.int16)):
    pipe = TPipe()
    total, tensor = buffer(pipe, dtype, 128), buffer(pipe, dtype, 512)
    Duplicate(total, 0, 128)
    Duplicate(tensor, 1, 512)
    PipeBarrier(PIPE_V)
    Add(total, tensor, total, 256 // dtype.itemsize, 4, BinaryRepeatParams(1, 1, 1, 0, 8, 0))


def block_stride(x, y):
    tensor = load(x)
    Adds(tensor, tensor, 1.0, 64, 1, UnaryRepeatParams(0, 1, 8, 8))


def work_buffer(x, y, tensor=None, tmp=0, length=40):
    tensor = load(x, 128, 128 + length)
    ReduceSum(tensor[128], tensor, tensor[tmp or 128 + length - 8], 64, 2 * (length // 8), 0)


def work_buffer_of_the_source(x, y):
    work_buffer(x, y, tmp=8)


def wrapped(x, y):
    tensor = buffer(TPipe(), np.dtype(np.int32), 64)
    Duplicate(tensor, 2**31 - 1, 64)
    PipeBarrier(PIPE_V)
    Adds(tensor, tensor, 1, 64)


def scalar_store(x, y, clean=False):
    gm(y).SetValue(0, 1.0)
    if clean:
        DataCacheCleanAndInvalid(gm(y), CacheLine.SINGLE_CACHE_LINE)
    sync(HardEvent.S_MTE2)
    DataCopyPad(buffer(TPipe(), FLOAT, 8), gm(y), row(1), NO_PAD)


def scalar_load(x, y, clean=False):
    tensor = load(x)
    for _ in range(2):
        store(y, tensor, 8)
        PipeBarrier(PIPE_MTE3)
        sync(HardEvent.MTE3_S)
        if not clean:
            gm(y).GetValue(0)
    if clean:
        DataCacheCleanAndInvalid(gm(y), CacheLine.ENTIRE_DATA_CACHE)
    gm(y).GetValue(1)


def shared_line(x, y):
    gm(y).SetValue(GetBlockIdx(), 1.0)


def comparison(x, y):
    tensor = load(x)
    CompareScalar(buffer(TPipe(), uint8_t, 64), tensor, 1.0, CMPMODE.LT, 60)


def input_overwritten(x, y):
    tensor = load(x)
    store(x, tensor)


def deadlock(x, y):
    if GetBlockIdx():
        SyncAll()
