"""The machine's memory of a launch, during it and after it."""

import gc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from judged import same_bits
from small_kernels import buffer, gm, queue, ran

import aclnn_viz as av
from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.memory import Span, UnifiedBuffer, meet

(HARDSWISH,) = av.tiles.programs("hardswish")


def bytes_of(span):
    at = {span.start + k for k in range(span.length)}
    for n, step in zip(span.shape, span.strides):
        at = {k + step * i for k in at for i in range(n)}
    return at


def test_spans_meet_where_they_share_a_byte():
    rng, seen = np.random.default_rng(0), set()
    for _ in range(400):
        some, other = (
            Span(int(rng.integers(40)), int(rng.integers(1, 7)), shape, strides[: len(shape)])
            for shape, strides in (
                (
                    tuple(rng.integers(1, 4, rng.integers(3)).tolist()),
                    (int(rng.integers(5, 30)), int(rng.integers(2, 12))),
                )
                for _ in range(2)
            )
        )
        seen.add((bool(some.shape), bool(other.shape), meet(some, other)))
        assert meet(some, other) == bool(bytes_of(some) & bytes_of(other)), (some, other)
    assert len(seen) == 8


def test_operands_that_were_right_are_looked_at_again():
    def kernel(x, y):
        que = queue(TPipe(), VECIN, 1, 256)
        tensor = que.AllocTensor(float32)
        Duplicate(tensor, 1.0, 64)
        que.FreeTensor(tensor)
        Duplicate(tensor, 1.0, 64)

    assert ran(kernel, sync="auto").kinds == ["used after FreeTensor"]


def reads_what_nobody_wrote(gradOutput, x, out, workspace, tiling):
    tensor = buffer(TPipe(), float32, 48000)
    DataCopy(gm(out), tensor, 64)


@pytest.mark.parametrize("schedule", ["eager", "late"])
def test_a_launch_finds_nothing_of_the_one_before(schedule):
    case = av.case("hardswish", shape=(64,))
    stale = replace(
        HARDSWISH, tiling=lambda platform, **_: Tiling(1), kernel=reads_what_nobody_wrote
    )
    av.tiles.launch(HARDSWISH, cores=1, traced=False, **av.case("hardswish", shape=(20000,)).inputs)
    run = av.tiles.launch(stale, schedule=schedule, traced=False, **case.inputs)
    assert [hazard.kind for hazard in run.hazards] == ["unwritten"] and np.isnan(
        run.outputs["out"]
    ).all()


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("schedule", ["eager", "late", 0])
def test_a_launch_leaves_nothing_that_waits_for_the_collector(schedule, traced):
    case, program, enabled = av.case("rms_norm"), av.tiles.programs("rms_norm")[0], gc.isenabled()
    gc.disable()
    try:
        gc.collect(0)  # objects young from here on are new
        av.tiles.launch(program, schedule=schedule, traced=traced, **case.inputs)
        assert not any(isinstance(thing, UnifiedBuffer) for thing in gc.get_objects(generation=0))
    finally:
        if enabled:
            gc.enable()


def test_launches_of_several_threads_share_what_is_idle():
    case, program = av.case("rms_norm"), av.tiles.programs("rms_norm")[0]
    right = av.tiles.launch(program, **case.inputs).outputs
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(
                lambda seed: av.tiles.launch(program, schedule=seed, traced=False, **case.inputs),
                range(8),
            )
        )
    assert all(same_bits(run.outputs, right) and not run.hazards for run in found)
