"""Steps: nothing before its waits, one at a time on each pipe, and two buffers overlap where one cannot."""

from dataclasses import replace

import pytest
from small_kernels import gm, queue

import aclnn_viz as av
from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.by_operator import rms_norm


def copying(buffers):
    """Run eight tiles through one inbound queue, one vector instruction and one outbound queue."""

    def kernel(grad, x, out, workspace, tiling):
        pipe = TPipe()
        into, leaving = queue(pipe, VECIN, buffers, 256), queue(pipe, VECOUT, buffers, 256)
        for start in range(0, 512, 64):
            tile = into.AllocTensor(float32)
            DataCopy(tile, gm(x)[start], 64)
            into.EnQue(tile)
            tile, result = into.DeQue(float32), leaving.AllocTensor(float32)
            Muls(result, tile, 2.0, 64)
            into.FreeTensor(tile)
            leaving.EnQue(result)
            result = leaving.DeQue(float32)
            DataCopy(gm(out)[start], result, 64)
            leaving.FreeTensor(result)

    program = av.tiles.Program(
        "hardswish", "copying", lambda platform, **_: Tiling(1), kernel, sync="strict"
    )
    return av.tiles.launch(program, **av.case("hardswish", shape=(512,)).inputs)


def steps(run):
    return max(slot.step for slot in av.tiles.timeline(run)) + 1


def test_two_buffers_let_tiles_overlap():
    """With one buffer each tile's load waits for the last tile's sum; with two it runs beside it."""
    assert (steps(copying(1)), steps(copying(2))) == (17, 10)


@pytest.mark.parametrize("program", rms_norm.PROGRAMS)
def test_steps_follow_the_waits(program):
    run = av.tiles.launch(program, cores=3, **av.case("rms_norm", shape=(9, 20)).inputs)
    found = {}
    for one, slot in zip(sorted(run.trace, key=lambda one: one.epoch), av.tiles.timeline(run)):
        assert (slot.core, slot.name, slot.line) == (one.core.index, one.name, one.where[1])
        found[one.core.index, one.pipe, one.position] = slot.step
    places = [(core, pipe, step) for (core, pipe, _), step in found.items()]
    assert len(set(places)) == len(places)
    for one in run.trace:
        for pipe, position in enumerate(one.horizon):
            assert all(
                found[one.core.index, pipe, k] < found[one.core.index, one.pipe, one.position]
                for k in range(1, position + 1)
            )
    last = max(
        step
        for (core, pipe, position), step in found.items()
        if next(
            one
            for one in run.trace
            if (one.core.index, one.pipe, one.position) == (core, pipe, position)
        ).epoch
        == 0
    )
    assert all(
        found[one.core.index, one.pipe, one.position] > last for one in run.trace if one.epoch == 1
    )


def test_a_run_without_a_trace_has_no_timeline():
    with pytest.raises(ValueError, match="needs the trace of a run"):
        av.tiles.timeline(replace(copying(1), trace=None))
