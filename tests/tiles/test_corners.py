"""Unusual programs and shapes: counts of zero, places before a tensor, cores without work."""

import tomllib
from pathlib import Path

import pytest
from judged import judged
from small_kernels import NO_PAD, buffer, gm, ran
from smallest import FLOAT, load, row, store
from tables import table
from together import in_one

import aclnn_viz as av
from aclnn_viz.tiles.ascendc import *  # noqa: F403


def nothing_at_all(x, y):
    """Counts, masks, repeats and lengths of zero do nothing, and barriers without instructions wait for none."""
    tensor = load(x)
    Adds(tensor, tensor, 1.0, 0)
    Duplicate(tensor, 1.0, 0, 1, 1, 8)
    Duplicate(tensor, 1.0, 64, 0, 1, 8)
    ReduceSum(tensor, tensor, tensor, 0)
    ReduceSum(tensor, tensor, tensor, 64, 0, 8)
    DataCopy(tensor, gm(x), 0)
    DataCopyPad(gm(y), tensor, DataCopyExtParams(1, 0, 0, 0, 0))
    DataCopyPad(tensor, gm(x), DataCopyExtParams(0, 32, 0, 0, 0), NO_PAD)
    for pipe in (PIPE_V, PIPE_MTE2, PIPE_MTE3, PIPE_ALL):
        PipeBarrier(pipe)
    SyncAll()
    SyncAll()


def test_nothing_is_no_hazard():
    for cores in (1, 48):
        result = ran(nothing_at_all, cores=cores, schedule=0)
        assert result.kinds == [] and result.y.tobytes() == b"\xff" * 1024


CALLS = table("""
beyond tensor   | Adds is given -64 elements, which C++ takes as 4294967232 | Adds(t, t, 1.0, -64)
beyond tensor   | ReduceSum is given -1 elements                            | ReduceSum(t, t, t, -1)
beyond tensor   | Select is given -1 elements                               | Select(t, t.ReinterpretCast(uint8_t), t, 0.0, SELMODE.VSEL_TENSOR_SCALAR_MODE, -1)
beyond tensor   | CompareScalar is given -64                                | CompareScalar(t.ReinterpretCast(uint8_t), t, 0.0, CMPMODE.LT, -64)
mask            | has mask -5 for 64 lanes                                  | Duplicate(t, 1.0, -5, 1, 1, 8)
mask            | has mask 100 for 64 lanes of float                        | ReduceSum(t, t, t, 100, 1, 8)
beyond tensor   | ReduceSum is given -1                                     | ReduceSum(t, t, t, 64, -1, 8)
copy parameters | blockLen -1, which must lie                               | DataCopy(t, t, -8)
""")


def fewer_than_none(call):
    def kernel(x, y):
        eval(call, globals(), {"t": load(x)})

    return kernel


def before_its_block(x, y):
    pipe = TPipe()
    buffer(pipe, FLOAT, 64)
    Duplicate(buffer(pipe, FLOAT, 64)[-8], 1.0, 8)


def before_global_memory(x, y):
    DataCopyPad(gm(y)[-8], load(x), row(8))


def gap(source, target):
    def kernel(x, y):
        DataCopyPad(
            buffer(TPipe(), FLOAT, 64),
            gm(x)[64],
            DataCopyExtParams(2, 32, source, target, 0),
            NO_PAD,
        )

    return kernel


def wait_before_set(x, y):
    WaitFlag(HardEvent.V_MTE3, 0)
    SetFlag(HardEvent.V_MTE3, 0)


def fewer_syncs(x, y):
    SyncAll()
    if GetBlockIdx() == 0:
        SyncAll()


@in_one
@pytest.mark.parametrize(
    ("kind", "text", "kernel"),
    [
        *((kind, text, fewer_than_none(call)) for kind, text, call in CALLS),
        ("copy parameters", "srcStride -64, which must lie", gap(-64, 0)),
        ("copy parameters", "dstStride -1, which must lie", gap(0, -1)),
        ("beyond tensor", "Duplicate writes from 32 bytes before TBuf of line", before_its_block),
        ("beyond global memory", "bytes -32 to 0 of y", before_global_memory),
        ("flag unpaired", "nobody has set", wait_before_set),
        ("deadlock", "SyncAll waits for 1 of 2 cores that have ended", fewer_syncs),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_be_meant_is_named(kind, text, kernel):
    for schedule in ("eager", 0):
        result = ran(kernel, cores=2 if kernel is fewer_syncs else 1, schedule=schedule)
        assert any(hazard.kind == kind and text in hazard.text for hazard in result.hazards), (
            result.hazards
        )


@pytest.mark.parametrize("reader", [0, 1])
@pytest.mark.parametrize("schedule", ["eager", "late", 0, 1])
def test_a_core_that_reads_by_the_scalar_unit_meets_one_that_writes(reader, schedule):
    """Whichever core comes first."""

    def kernel(x, y):
        if GetBlockIdx() == reader:
            gm(y).GetValue(3)
        else:
            store(y, load(x), 8)

    assert "race between cores" in ran(kernel, cores=2, schedule=schedule).kinds


def test_a_core_that_reads_what_it_has_written_meets_nobody():
    def kernel(x, y):
        place = gm(y)[128 * GetBlockIdx()]
        place.SetValue(0, 1.0)
        place.SetValue(1, place.GetValue(0))

    assert ran(kernel, cores=2).kinds == []


@pytest.mark.parametrize("between", [False, True])
def test_a_scalar_read_hides_no_missing_wait(between):
    """Global memory is read by one pipe and written by another; in between the scalar unit looks at it, too."""

    def kernel(x, y):
        pipe = TPipe()
        a, b = buffer(pipe, FLOAT, 64), buffer(pipe, FLOAT, 64)
        Duplicate(b, 1.0, 8)
        PipeBarrier(PIPE_ALL)
        DataCopyPad(a, gm(y), row(8), NO_PAD)
        if between:
            gm(y).GetValue(0)
        DataCopyPad(gm(y), b, row(8))

    assert "missing wait" in ran(kernel).kinds


TINY = tomllib.loads((Path(__file__).parent / "tiny.toml").read_text("utf-8"))


@pytest.mark.parametrize(
    "program",
    [program for op in TINY for program in av.tiles.programs(op)],
    ids=lambda program: program.name,
)
@pytest.mark.sampled(4)
def test_three_elements_on_48_cores_and_tails_of_one(program):
    for options in TINY[program.operator]:
        judged(
            program, av.case(program.operator, dtype="bfloat16", **options), cores=48, schedule=0
        )
