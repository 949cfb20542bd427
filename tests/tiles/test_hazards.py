"""The smallest program that shows each hazard, its name and what is said; and the same program mended, in silence."""

from pathlib import Path

import numpy as np
import pytest
from small_kernels import NO_PAD, buffer, gm, queue, ran, sync

from aclnn_viz.tiles import KINDS
from aclnn_viz.tiles.ascendc import *  # noqa: F403

FLOAT = np.dtype(np.float32)
V_S, MTE2_V, V_MTE3 = HardEvent.V_S, HardEvent.MTE2_V, HardEvent.V_MTE3


def row(count, size=4):
    return DataCopyExtParams(1, count * size, 0, 0, 0)


def load(x, count=64, length=64):
    """A tensor of `length` floats with `count` of x in it, awaited by the vector unit."""
    tensor = buffer(TPipe(), FLOAT, length)
    DataCopyPad(tensor, gm(x), row(count), NO_PAD)
    sync(MTE2_V)
    return tensor


def store(y, tensor, count=64):
    sync(V_MTE3)
    DataCopyPad(gm(y), tensor, row(count))


# ---- one kernel a hazard: (kind, vendor's name, part of the sentence, kernel) ---------------------------------------

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
    buffer(pipe, FLOAT, 49000)
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


def ninth(x, y):
    pipe = TPipe()
    for que in [queue(pipe, VECIN, 1, 256) for _ in range(9)]:
        que.AllocTensor(FLOAT)


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


def comparison(x, y):
    tensor = load(x)
    CompareScalar(buffer(TPipe(), uint8_t, 64), tensor, 1.0, CMPMODE.LT, 60)


def input_overwritten(x, y):
    tensor = load(x)
    store(x, tensor)


def deadlock(x, y):
    if GetBlockIdx():
        SyncAll()


HAZARDS = [
    ("unwritten", "ErrorRead2", "reads 128 of 256 bytes that nobody wrote", unwritten),
    ("padding", "ErrorRead2", "reads 12 bytes that only pad a copy", padding),
    ("beyond tensor", "ErrorWrite2", "writes up to byte 288 of a tensor of 256 bytes", beyond_tensor),
    ("beyond unified buffer", "ErrorWrite2", "reaches byte 196512 of 196352", beyond_unified_buffer),
    ("beyond global memory", "ErrorRead3", "bytes 800 to 1056 of x, which has 1024", beyond_global_memory),
    ("misaligned", "ErrorWrite4", "from byte 8 on, 8 past a multiple of 32", misaligned),
    ("shortened copy", "", "13 elements, 52 bytes, leaves out the last 20 bytes", shortened),
    ("copy parameters", "", "blockCount 5000, which must lie in 0 to 4095", too_many_blocks),
    ("missing wait", "ErrorSync2", "Adds on PIPE_V reads what DataCopy in line", missing_wait),
    ("missing wait", "ErrorSync1", "Duplicate on PIPE_V writes what DataCopyPad in line", missing_wait_for_a_reader),
    ("missing barrier", "ErrorSync2", "Adds on PIPE_V reads what Adds in line", missing_barrier),
    ("missing scalar wait", "ErrorSync2", "GetValue on PIPE_S reads what DataCopyPad", missing_scalar_wait),
    ("missing scalar wait", "ErrorSync2", "Adds on PIPE_V reads what SetValue", missing_wait_after_set_value),
    ("used after FreeTensor", "ErrorWrite1", "Adds uses TQue of line", used_after_free),
    ("used after EnQue", "ErrorWrite1", "after EnQue and before DeQue", used_after_enque),
    ("queue not freed", "ErrorLeak", "finds all 2 blocks of TQue of line", not_freed),
    ("never freed", "ErrorLeak", "the kernel ends while TQue of line", never_freed),
    ("freed twice", "ErrorFree", "that is free", freed_twice),
    ("not initialised", "ErrorBuffer0", "AllocTensor is called for a queue without InitBuffer", not_initialised),
    ("another queue", "ErrorBuffer1", "EnQue is given a tensor of TQue", another_queue),
    ("queue order", "ErrorBuffer2", "EnQue is given a tensor that is enqueued", queue_order),
    ("queue empty", "", "DeQue finds nothing", queue_empty),
    ("queue depth", "", "puts tensor 2 into a queue of depth 1", queue_depth),
    ("ninth buffer", "", "takes buffer 9 of position VECIN", ninth),
    ("too many buffers", "", "makes 66 buffers of a TPipe that holds 64", many_buffers),
    ("buffer of no bytes", "", "1 blocks of 0 bytes", no_bytes),
    ("unified buffer full", "", "asks for 2 x 65536 bytes beside 2 x 65536: 262144 of 196352", full),
    ("flag set twice", "ErrorSync4", "SetFlag of V_S sets id 0", flag_twice),
    ("flag unpaired", "ErrorSync3", "WaitFlag waits for id 0 of V_S", flag_never_set),
    ("flag unpaired", "ErrorSync3", "the kernel ends while id 3 of V_S is set", flag_left),
    ("event", "", "id 8 is none of the 8", ninth_event),
    ("race between cores", "", "DataCopyPad writes 64 elements of y that core 0 writes", race),
    ("race between cores", "", "DataCopy writes 3 elements of y that core 0 writes", tail_over_a_neighbour),
    ("dirty atomics", "", "adds onto 64 of 64 elements of y that nobody wrote", dirty),
    ("atomic mode left on", "", "ends while SetAtomicAdd is on", atomics_left_on),
    ("repeat beyond 255", "", "has repeatTime 256, taken as 0", repeat),
    ("repeat beyond 255", "", "has a stride 256, taken as 0", stride),
    ("mask", "", "has mask 65 for 64 lanes of float", mask),
    ("format", "", "Add takes float, half, int16_t, int32_t, not bfloat16_t", format_of_a_call),
    ("format", "", "Cast from float to bfloat16_t takes CAST_RINT", format_of_a_cast),
    ("overlap", "", "writes bytes 32 to 160 and reads 0 to 128", overlap),
    ("alignment of a comparison", "", "60 elements, 240 bytes, leaves out the last 240", comparison),
    ("input overwritten", "", "writes to x", input_overwritten),
    ("deadlock", "", "SyncAll waits for 1 of 2 cores that have ended", deadlock),
]
ON_TWO_CORES = {race, tail_over_a_neighbour, deadlock}


@pytest.mark.parametrize(("kind", "vendor", "text", "kernel"), HAZARDS, ids=[case[3].__name__ for case in HAZARDS])
@pytest.mark.parametrize("schedule", ["eager", "late", 1])
def test_each_hazard_is_named_under_any_schedule(kind, vendor, text, kernel, schedule):
    result = ran(kernel, cores=1 + (kernel in ON_TWO_CORES), schedule=schedule)
    found = next(hazard for hazard in result.hazards if hazard.kind == kind)
    assert found.vendor == vendor
    assert text in found.text.replace("core 1", "core 0") and found.text.endswith(KINDS[kind].fix)
    assert Path(found.file).parent == Path(__file__).parent and found.line > 0
    assert found.source


def test_every_kind_has_its_smallest_program():
    assert {kind for kind, *_ in HAZARDS} | {"output not written"} == set(KINDS)


def test_one_line_is_one_hazard_however_often_it_runs():
    def kernel(x, y):
        tensor = buffer(TPipe(), FLOAT, 64)
        for start in (2, 18, 34):
            Duplicate(tensor[start], 1.0, 8)
    (found,) = ran(kernel, cores=4).hazards
    assert (found.kind, found.times, found.source) == ("misaligned", 12, "Duplicate(tensor[start], 1.0, 8)")


# ---- what is right is not called wrong ------------------------------------------------------------------------------

def copies_through(x, y):
    tensor = load(x)
    Adds(tensor, tensor, 1.0, 64)
    PipeBarrier(PIPE_V)
    Adds(tensor, tensor, 1.0, 64)
    store(y, tensor)


def by_queue(x, y):
    pipe = TPipe()
    into, out = queue(pipe, VECIN, 2, 256), queue(pipe, VECOUT, 2, 256)
    for start in range(0, 256, 64):
        tensor = into.AllocTensor(FLOAT)
        DataCopy(tensor, gm(x)[start], 64)
        into.EnQue(tensor)
        given, result = into.DeQue(FLOAT), out.AllocTensor(FLOAT)
        Adds(result, given, 2.0, 64)
        into.FreeTensor(given)
        out.EnQue(result)
        result = out.DeQue(FLOAT)
        DataCopy(gm(y)[start], result, 64)
        out.FreeTensor(result)


def by_scalar(x, y):
    tensor = load(x)
    sync(V_S)  # which comes after the load, for the vector unit waited for that
    value = tensor.GetValue(3)
    tensor.SetValue(5, value)
    sync(HardEvent.S_V)
    Adds(tensor, tensor, 0.0, 8)
    store(y, tensor, 8)


@pytest.mark.parametrize("kernel", [copies_through, by_queue, by_scalar])
@pytest.mark.parametrize("schedule", ["eager", "late", 1, 2, 3])
def test_right_kernels_are_silent_and_give_the_same_bits(kernel, schedule):
    result, eager = ran(kernel, schedule=schedule), ran(kernel)
    assert result.kinds == [] and result.y.tobytes() == eager.y.tobytes()


def test_a_missing_wait_works_as_written_and_fails_late():
    def kernel(x, y):
        tensor = buffer(TPipe(), FLOAT, 64)
        DataCopy(tensor, gm(x), 64)
        Adds(tensor, tensor, 1.0, 64)
        store(y, tensor)
    eager, late = ran(kernel), ran(kernel, schedule="late")
    assert set(eager.kinds) == set(late.kinds) == {"missing wait"}
    assert eager.y[:3].tolist() == [2, 3, 4] and np.isnan(late.y[:64]).all()


def test_auto_inserts_what_the_compiler_does_and_no_more():
    for kernel in (missing_barrier, missing_scalar_wait, missing_wait_after_set_value):
        assert ran(kernel, sync="auto", schedule="late").kinds == []
    for kernel in (missing_wait, missing_wait_for_a_reader):
        assert ran(kernel, sync="auto").kinds == ["missing wait"]


def test_scalar_reads_are_stale_without_a_wait():
    def kernel(x, y):
        tensor = load(x, length=72)
        Duplicate(tensor, 7.0, 64)
        Duplicate(tensor[64], tensor.GetValue(0), 8)
        store(y, tensor[64], 8)
    assert ran(kernel).y[0] == 7 and np.isnan(ran(kernel, schedule="late").y[0])


def test_a_call_outside_of_a_kernel_is_refused():
    with pytest.raises(RuntimeError, match="start the kernel with av.tiles.launch"):
        GetBlockIdx()
