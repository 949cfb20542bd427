"""The smallest program that shows each hazard, its name and what is said; and the same program mended, in silence."""

import re
from pathlib import Path

import numpy as np
import pytest
import smallest
from small_kernels import buffer, gm, queue, ran, sync
from smallest import FLOAT, V_S, load, store

from aclnn_viz import tiles
from aclnn_viz.cases import case
from aclnn_viz.tiles import KINDS
from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.words import speech

# Kind, the vendor's name, part of the sentence, kernel.
HAZARDS = [
    ("unwritten", "ErrorRead2", "reads 128 of 256 bytes that nobody wrote", smallest.unwritten),
    ("padding", "ErrorRead2", "reads 12 bytes that only pad a copy", smallest.padding),
    ("beyond tensor", "ErrorWrite2", "writes up to byte 288 of a tensor of 256 bytes", smallest.beyond_tensor),
    ("beyond unified buffer", "ErrorWrite2", "reaches byte 196512 of 196352", smallest.beyond_unified_buffer),
    ("beyond global memory", "ErrorRead3", "bytes 800 to 1056 of x, which has 1024", smallest.beyond_global_memory),
    ("misaligned", "ErrorWrite4", "from byte 8 on, 8 past a multiple of 32", smallest.misaligned),
    ("shortened copy", "", "13 elements, 52 bytes, leaves out the last 20 bytes", smallest.shortened),
    ("copy parameters", "", "blockCount 5000, which must lie in 0 to 4095", smallest.too_many_blocks),
    ("missing wait", "ErrorSync2", "Adds on PIPE_V reads what DataCopy in line", smallest.missing_wait),
    ("missing wait", "ErrorSync1", "Duplicate on PIPE_V writes what DataCopyPad in line",
     smallest.missing_wait_for_a_reader),
    ("missing barrier", "ErrorSync2", "Adds on PIPE_V reads what Adds in line", smallest.missing_barrier),
    ("missing scalar wait", "ErrorSync2", "GetValue on PIPE_S reads what DataCopyPad", smallest.missing_scalar_wait),
    ("missing scalar wait", "ErrorSync2", "Adds on PIPE_V reads what SetValue", smallest.missing_wait_after_set_value),
    ("used after FreeTensor", "ErrorWrite1", "Adds uses TQue of line", smallest.used_after_free),
    ("used after EnQue", "ErrorWrite1", "after EnQue and before DeQue", smallest.used_after_enque),
    ("queue not freed", "ErrorLeak", "finds all 2 blocks of TQue of line", smallest.not_freed),
    ("never freed", "ErrorLeak", "the kernel ends while TQue of line", smallest.never_freed),
    ("freed twice", "ErrorFree", "that is free", smallest.freed_twice),
    ("not initialised", "ErrorBuffer0", "AllocTensor is called for a queue without InitBuffer",
     smallest.not_initialised),
    ("another queue", "ErrorBuffer1", "EnQue is given a tensor of TQue", smallest.another_queue),
    ("queue order", "ErrorBuffer2", "EnQue is given a tensor that is enqueued", smallest.queue_order),
    ("queue empty", "", "DeQue finds nothing", smallest.queue_empty),
    ("queue depth", "", "puts tensor 2 into a queue of depth 1", smallest.queue_depth),
    ("ninth buffer", "", "takes buffer 9 of position VECIN", smallest.ninth),
    ("too many buffers", "", "makes 66 buffers of a TPipe that holds 64", smallest.many_buffers),
    ("buffer of no bytes", "", "1 blocks of 0 bytes", smallest.no_bytes),
    ("unified buffer full", "", "asks for 2 x 65536 bytes beside 2 x 65536: 262144 of 196352", smallest.full),
    ("second pipe", "", "AllocTensor is called for a buffer of an earlier one of 2 TPipes", smallest.second_pipe),
    ("flag set twice", "ErrorSync4", "SetFlag of V_S sets id 0", smallest.flag_twice),
    ("flag unpaired", "ErrorSync3", "WaitFlag waits for id 0 of V_S", smallest.flag_never_set),
    ("flag unpaired", "ErrorSync3", "the kernel ends while id 3 of V_S is set", smallest.flag_left),
    ("event", "", "id 8 is none of the 8", smallest.ninth_event),
    ("race between cores", "", "DataCopyPad writes 64 elements of y that core 0 writes", smallest.race),
    ("race between cores", "", "DataCopy writes 3 elements of y that core 0 writes", smallest.tail_over_a_neighbour),
    ("dirty atomics", "", "adds onto 64 of 64 elements of y that nobody wrote", smallest.dirty),
    ("atomic mode left on", "", "ends while SetAtomicAdd is on", smallest.atomics_left_on),
    ("repeat beyond 255", "", "has repeatTime 256, taken as 0", smallest.repeat),
    ("repeat beyond 255", "", "has a stride 256, taken as 0", smallest.stride),
    ("mask", "", "has mask 65 for 64 lanes of float", smallest.mask),
    ("format", "", "Add takes float, half, int16_t, int32_t, not bfloat16_t", smallest.format_of_a_call),
    ("format", "", "Cast from float to bfloat16_t takes CAST_RINT", smallest.format_of_a_cast),
    ("overlap", "", "writes bytes 32 to 160 and reads 0 to 128", smallest.overlap),
    ("alignment of a comparison", "", "60 elements, 240 bytes, leaves out the last 240", smallest.comparison),
    ("input overwritten", "", "writes to x", smallest.input_overwritten),
    ("deadlock", "", "SyncAll waits for 1 of 2 cores that have ended", smallest.deadlock),
]
ON_TWO_CORES = {smallest.race, smallest.tail_over_a_neighbour, smallest.deadlock}


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


@pytest.mark.parametrize(("kind", "vendor", "text", "kernel"), HAZARDS, ids=[case[3].__name__ for case in HAZARDS])
def test_each_hazard_is_said_in_chinese_and_read_in_english(kind, vendor, text, kernel, monkeypatch):
    monkeypatch.setattr(speech, "_chosen", ["zh"])
    found = next(hazard for hazard in ran(kernel, cores=1 + (kernel in ON_TWO_CORES)).hazards if hazard.kind == kind)
    english = re.compile(r"[a-z]{2,} [a-z]{2,}")  # two words that are no names
    assert "计算核" in str(found) and not english.search(str(found)) and english.search(found.text)
    assert f"{found.sentence}".startswith(kind) and found.text.isascii()


def test_what_is_raised_stays_english(monkeypatch):
    monkeypatch.setattr(speech, "_chosen", ["zh"])
    program = tiles.faults("hardswish")[0].broken("hardswish")
    with pytest.raises(tiles.HazardError, match="^missing barrier .* put a PipeBarrier between") as raised:
        program(**case("hardswish", shape=(300,)).inputs)
    assert str(raised.value).isascii() and not str(raised.value.run).isascii()


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
    for kernel in (smallest.missing_barrier, smallest.missing_scalar_wait, smallest.missing_wait_after_set_value):
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
