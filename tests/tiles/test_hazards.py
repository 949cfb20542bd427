"""The smallest program that shows each hazard, its name and sentence; and the mended program, in silence."""

import re
from pathlib import Path

import numpy as np
import pytest
import smallest
from small_kernels import buffer, gm, queue, ran, sync
from smallest import FLOAT, V_MTE3, V_S, load, store
from tables import table
from together import in_one

from aclnn_viz import tiles
from aclnn_viz.cases import case
from aclnn_viz.checking import check
from aclnn_viz.tiles import KINDS
from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.words import messages

# Kernel, kind, the vendor's name, part of the sentence.
HAZARDS = table("""
unwritten                    | unwritten                 | ErrorRead2   | reads 128 of 256 bytes that nobody wrote
padding                      | padding                   | ErrorRead2   | reads 12 bytes that only pad a copy
beyond_tensor                | beyond tensor             | ErrorWrite2  | writes up to byte 288 of a tensor of 256 bytes
beyond_unified_buffer        | beyond unified buffer     | ErrorWrite2  | reaches byte 196768 of 196608
beyond_global_memory         | beyond global memory      | ErrorRead3   | bytes 800 to 1056 of x, which has 1024
misaligned                   | misaligned                | ErrorWrite4  | from byte 8 on, 8 past a multiple of 32
shortened                    | shortened copy            | -            | 13 elements, 52 bytes, leaves out the last 20 bytes
too_many_blocks              | copy parameters           | -            | blockCount 5000, which must lie in 0 to 4095
missing_wait                 | missing wait              | ErrorSync2   | Adds on PIPE_V reads what DataCopy in line
missing_wait_for_a_reader    | missing wait              | ErrorSync1   | Duplicate on PIPE_V writes what DataCopyPad in line
missing_barrier              | missing barrier           | ErrorSync2   | Adds on PIPE_V reads what Adds in line
missing_scalar_wait          | missing scalar wait       | ErrorSync2   | GetValue on PIPE_S reads what DataCopyPad
missing_wait_after_set_value | missing scalar wait       | ErrorSync2   | Adds on PIPE_V reads what SetValue
used_after_free              | used after FreeTensor     | ErrorWrite1  | Adds uses TQue of line
used_after_enque             | used after EnQue          | ErrorWrite1  | after EnQue and before DeQue
not_freed                    | queue not freed           | ErrorLeak    | finds all 2 blocks of TQue of line
never_freed                  | never freed               | ErrorLeak    | the kernel ends while TQue of line
freed_twice                  | freed twice               | ErrorFree    | that is free
not_initialised              | not initialised           | ErrorBuffer0 | AllocTensor is called for a queue without InitBuffer
another_queue                | another queue             | ErrorBuffer1 | EnQue is given a tensor of TQue
queue_order                  | queue order               | ErrorBuffer2 | EnQue is given a tensor that is enqueued
queue_empty                  | queue empty               | -            | DeQue finds nothing
queue_depth                  | queue depth               | -            | puts tensor 2 into a queue of depth 1
ninth                        | no event id               | -            | FreeTensor needs an id of V_MTE2, all 8 of which are held by lines
ninth_enqueued               | no event id               | -            | EnQue needs an id of MTE2_V, all 8 of which are held by lines
id_of_a_queue                | event id in use           | ErrorSync4   | SetFlag uses id 0 of V_MTE2, which FreeTensor in line
id_of_a_program              | event id in use           | ErrorSync4   | FreeTensor takes id 0 of V_MTE2, which SetFlag in line
id_by_hand                   | event id not allocated    | -            | SetFlag uses id 0 of V_S, which neither
id_of_nobody                 | event id not allocated    | -            | ReleaseEventID gives back id 3 of V_S
id_of_a_queue_given_back     | event id not allocated    | -            | ReleaseEventID gives back id 0 of V_MTE2
id_kept                      | event id not released     | -            | the kernel ends while id 0 of V_S, allocated in line
two_fetched                  | flag set twice            | ErrorSync4   | SetFlag of V_S sets id 0
event_of_the_system          | event                     | -            | SetFlag uses id 6 of V_S, which is the system's
many_buffers                 | too many buffers          | -            | makes 66 buffers of a TPipe that holds 64
no_bytes                     | buffer of no bytes        | -            | 1 blocks of 0 bytes
full                         | unified buffer full       | -            | asks for 2 x 65536 bytes, and 2 x 65536 are taken: 262144 in all, but the buffer has 196608
second_pipe                  | second pipe               | -            | AllocTensor is called for a buffer of an earlier one of 2 TPipes
flag_twice                   | flag set twice            | ErrorSync4   | SetFlag of V_S sets id 0
flag_never_set               | flag unpaired             | ErrorSync3   | WaitFlag waits for id 0 of V_S
flag_left                    | flag unpaired             | ErrorSync3   | the kernel ends while id 3 of V_S is set
ninth_event                  | event                     | -            | id 8 is none of the 8
race                         | race between cores        | -            | DataCopyPad writes 64 elements of y that core 0 writes
tail_over_a_neighbour        | race between cores        | -            | DataCopy writes 3 elements of y that core 0 writes
dirty                        | dirty atomics             | -            | adds to 64 of 64 elements of y that nobody wrote
atomics_left_on              | atomic mode left on       | -            | ends while SetAtomicAdd is on
repeat                       | repeat beyond 255         | -            | has repeatTime 256, taken as 0
stride                       | repeat beyond 255         | -            | has a stride 256, taken as 0
mask                         | mask                      | -            | has mask 65 for 64 lanes of float
format_of_a_call             | format                    | -            | Add takes float, half, int16_t, int32_t, not bfloat16_t
format_of_a_cast             | format                    | -            | Cast from float to bfloat16_t takes CAST_RINT
overlap                      | overlap                   | -            | writes bytes 32 to 160 and reads 0 to 128
overlap_of_repeats           | overlap                   | -            | Adds writes bytes 256 to 768 and reads 0 to 512
running_sum                  | overlap                   | -            | Add writes bytes 0 to 256 and reads 0 to 256
work_buffer_of_the_source    | overlap                   | -            | writes bytes 32 to 96 and reads 0 to 256
work_buffer                  | beyond tensor             | ErrorWrite2  | ReduceSum writes up to byte 64 of a tensor of 32 bytes
block_stride                 | block stride              | -            | Adds writes 8 blocks of each repeat to one place
wrapped                      | integer overflow          | -            | Adds gives a number beyond int32_t
scalar_store                 | data cache                | -            | DataCopyPad reads bytes of y that a scalar unit has written
scalar_load                  | data cache                | -            | GetValue reads bytes of y from the cache
shared_line                  | shared cache line         | -            | SetValue writes to a line of 64 bytes of y beside
comparison                   | alignment of a comparison | -            | 60 elements, 240 bytes, leaves out the last 240
input_overwritten            | input overwritten         | -            | writes to x
deadlock                     | deadlock                  | -            | SyncAll waits for 1 of 2 cores that have ended
""")
BITS = np.dtype(np.uint8)
ON_TWO_CORES = {"race", "shared_line", "tail_over_a_neighbour", "deadlock"}
EACH = pytest.mark.parametrize("name, kind, vendor, text", HAZARDS)


def shown(name, kind, schedule="eager"):
    """Return the hazard of a kind that a smallest program shows."""
    hazards = ran(getattr(smallest, name), cores=1 + (name in ON_TWO_CORES), schedule=schedule)[0]
    return next(hazard for hazard in hazards if hazard.kind == kind)


@in_one
@EACH
@pytest.mark.parametrize("schedule", ["eager", "late", 1])
def test_each_hazard_is_named_under_any_schedule(name, kind, vendor, text, schedule):
    hazard = shown(name, kind, schedule)
    assert hazard.vendor == vendor.strip("-")
    assert text in hazard.text.replace("core 1", "core 0") and hazard.text.endswith(KINDS[kind].fix)
    assert Path(hazard.file).parent == Path(__file__).parent and hazard.line > 0
    assert hazard.source


def test_every_kind_has_its_smallest_program():
    # these two are tested with declared programs and in C++
    heavy = {
        name for name, kind in KINDS.items() if not kind.warns
    }  # warnings: test_cpp_as_written.py
    assert {kind for _, kind, *_ in HAZARDS} | {"output not written", "program ended"} == heavy


@EACH
def test_each_hazard_is_said_in_chinese_and_read_in_english(name, kind, vendor, text, monkeypatch):
    monkeypatch.setattr(messages, "_chosen", ["zh"])
    hazard = shown(name, kind)
    english = re.compile(r"[a-z]{2,} [a-z]{2,}")  # two words that are no names
    assert "计算核" in str(hazard) and not english.search(str(hazard))
    assert english.search(hazard.text)
    assert f"{hazard.sentence}".startswith(kind) and hazard.text.isascii()


def test_what_is_raised_stays_english(monkeypatch):
    monkeypatch.setattr(messages, "_chosen", ["zh"])
    program = tiles.faults("hardswish")[0].broken("hardswish")
    with pytest.raises(
        tiles.HazardError, match="^missing barrier .* put a PipeBarrier between"
    ) as raised:
        program(**case("hardswish", shape=(300,)).inputs)
    assert str(raised.value).isascii() and not str(raised.value.run).isascii()
    assert re.search(
        r"核函数抛出HazardError：缺少屏障.*，计算核\d+，第\d+行",
        str(check("hardswish", program, depth="quick", dtypes=("float32",))),
    )


def test_one_line_is_one_hazard_however_often_it_runs():
    def kernel(x, y):
        tensor = buffer(TPipe(), FLOAT, 64)
        for start in (2, 18, 34):
            Duplicate(tensor[start], 1.0, 8)

    (hazard,) = ran(kernel, cores=4).hazards
    assert (hazard.kind, hazard.times) == ("misaligned", 12)


# ---- right programs show no hazard ----------------------------------------------------------------------------------


def copies_through(x, y):
    tensor = load(x)
    Adds(tensor, tensor, 1.0, 64)
    PipeBarrier(PIPE_V)
    Adds(tensor, tensor, 1.0, 64)
    store(y, tensor)


def ids_of_a_pipe(x, y):
    """Four queues of two blocks hold all ids of V_MTE2; those that are given back can be taken again."""
    smallest.ninth(x, y, queues=4)
    pipe = TPipe()
    smallest.freed(pipe).FreeAllEvent()
    number = pipe.AllocEventID(HardEvent.V_MTE2)
    sync(HardEvent.V_MTE2, number)
    pipe.ReleaseEventID(HardEvent.V_MTE2, number)
    sync(V_S, GetTPipePtr().FetchEventID(V_S))
    store(y, load(x))  # a TPipe without queues: ids by hand


def last_ids(x, y):
    """A TPipe may give 6 and 7, which a program without one must not take."""
    smallest.ninth(x, y, queues=3)
    sync(HardEvent.V_MTE2, GetTPipePtr().FetchEventID(HardEvent.V_MTE2))
    pipe = TPipe()
    held = [pipe.AllocEventID(V_S) for _ in range(7)]
    sync(V_S, held[-1])
    for number in held:
        pipe.ReleaseEventID(V_S, number)


def at_their_limits(x, y):
    """Exact fits: 64 buffers, all of the Unified Buffer, 64 lanes, 255 repeats, one block with a stride of 0, no wrap."""
    pipe = TPipe()
    for _ in range(31):
        queue(pipe, VECIN, 2, 32)
    one, rest = (
        buffer(pipe, np.dtype(np.int32), 64),
        buffer(pipe, FLOAT, (196608 - 62 * 32 - 256) // 4),
    )
    Duplicate(one, 2**31 - 2, 64)
    Duplicate(rest, 1.0, 64, 255, 1, 8)
    PipeBarrier(PIPE_V)
    Adds(one, one, 1, 64)
    Adds(rest, rest, 1.0, 8, 1, UnaryRepeatParams(0, 1, 8, 8))
    PipeBarrier(PIPE_V)
    # the tensor without its own memory
    Select(rest[128], rest.ReinterpretCast(BITS), rest, rest[64], SELMODE.VSEL_CMPMASK_SPR, 64)
    for _ in range(2):
        sync(V_S, pipe.FetchEventID(V_S))
        SetAtomicAdd(FLOAT)
        SetAtomicNone()


def by_forms_that_are_legal(x, y):
    pipe = TPipe()
    one, wide, other = TBuf(), buffer(pipe, FLOAT, 16), queue(pipe, VECIN, 2, 64, depth=0)
    pipe.InitBuffer(one, 96)
    low, high = (
        one.GetWithOffset(np.dtype(np.float16), 16, 0),
        one.GetWithOffset(np.dtype(np.float16), 16, 32),
    )
    Duplicate(low, 2.0, 16)
    Duplicate(high, 3.0, 16)
    Duplicate(wide, 1.0, 16)
    PipeBarrier(PIPE_V)
    MulAddDst(wide, low, high, 16)
    PipeBarrier(PIPE_V)
    Axpy(wide, low, 1.0, 16)
    for _ in range(2):
        tile = other.AllocTensor(FLOAT)
        beyond = GlobalTensor(FLOAT)
        beyond.SetGlobalBuffer(x + 64, 16)
        DataCopyPad(tile, beyond, DataCopyParams(1, 64, 0, 0), smallest.NO_PAD)
        other.EnQue(tile)
        other.FreeTensor(other.DeQue(tile))
    number = pipe.FetchEventID(V_MTE3)
    sync(V_MTE3, number)
    DataCopyPad(gm(y), wide, smallest.row(16))


def test_sums_of_products_of_half_are_float():
    assert ran(by_forms_that_are_legal).y[:16].tolist() == [9.0] * 16


@pytest.mark.parametrize(
    "kernel",
    [
        copies_through,
        ids_of_a_pipe,
        last_ids,
        at_their_limits,
        by_forms_that_are_legal,
        lambda x, y: smallest.running_sum(x, y, FLOAT),
        lambda x, y: smallest.scalar_store(x, y, True),
        lambda x, y: smallest.scalar_load(x, y, True),
    ],
)
def test_right_kernels_are_silent_and_give_the_same_bits(kernel):
    found = [ran(kernel, schedule=schedule) for schedule in ("eager", "late", *range(20))]
    assert [one.kinds for one in found] == [[]] * 22 and len(
        {one.y.tobytes() for one in found}
    ) == 1


def called(call):
    """Return the hazards of a call on a tensor of 512 floats, 256 of them 0, and another one of 64."""

    def kernel(x, y):
        pipe = TPipe()
        tensor, other = buffer(pipe, FLOAT, 512), buffer(pipe, FLOAT, 64)
        Duplicate(other, 1.0, 64)
        DataCopyPad(tensor, gm(x), smallest.row(256), smallest.NO_PAD)
        sync(HardEvent.MTE2_V)
        PipeBarrier(PIPE_V)
        eval(call, globals(), {"t": tensor, "s": other})

    return ran(kernel, x=np.zeros(256, np.float32)).hazards


CALLS = table("""
for EQ alone            | Compare(s.ReinterpretCast(BITS), t.ReinterpretCast(int32_t), t[64].ReinterpretCast(int32_t), {}, 64) | CMPMODE.GT | CMPMODE.EQ
into uint8_t, not float | Compare(s.ReinterpretCast({}), t, t[64], CMPMODE.LT, 64) | FLOAT   | BITS
offsets of uint32_t     | Gather(t[64], s, t.ReinterpretCast({}), 0, 64)           | int32_t | uint32_t
pattern 8               | GatherMask(s, t, {}, 64)                                 | 8       | 7
""")


@pytest.mark.parametrize("text, call, wrong, right", CALLS)
def test_what_a_call_does_not_take_is_named_and_what_it_takes_is_silent(text, call, wrong, right):
    (hazard,), none = (called(call.format(how)) for how in (wrong, right))
    assert text in hazard.text and not none


def test_a_kernel_of_no_operator_runs_on_arrays():
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    for schedule in ("eager", "late", 3):
        y[...] = 0
        run = tiles.run(copies_through, x, y, schedule=schedule, sync="strict")
        assert (
            not run.hazards and (y == x + 2).all() and run.outputs["y"] is y and run.gm_bytes == 512
        )
    assert tiles.timeline(run, costs=tiles.Costs.published("A2")).core > 0
    assert {hazard.kind for hazard in tiles.run(smallest.race, x, y, cores=2).hazards} == {
        "race between cores"
    }
    with pytest.raises(ValueError, match="x must be contiguous"):
        tiles.run(copies_through, x[::2], y)


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
    for kernel in (
        smallest.missing_barrier,
        smallest.missing_scalar_wait,
        smallest.missing_wait_after_set_value,
    ):
        assert ran(kernel, sync="auto", schedule="late").kinds == []
    for kernel in (smallest.missing_wait, smallest.missing_wait_for_a_reader):
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
