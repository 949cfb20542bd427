"""The explorer of tile programs: owners counted by hand, times and slots by loops, a missing wait by another
formula, lift- out.
"""

import linecache
from functools import partial

import numpy as np
import pytest
from panelled_explorer import marks, panel
from pytest import approx

from aclnn_viz import tiles
from aclnn_viz.explorers import tiles_data
from aclnn_viz.explorers.arrays import XP
from aclnn_viz.explorers.state import StateError
from aclnn_viz.explorers.tiles import subject
from aclnn_viz.explorers.tiles_core import _known, paced
from aclnn_viz.explorers.tiles_data import FAULTS, PROGRAMS, inputs, operator_of, program_of
from aclnn_viz.explorers.tiles_data import State as Opening
from aclnn_viz.explorers.tiles_stage import Scene
from aclnn_viz.pictures.marks import Blocks, Grip, Note, Spots
from aclnn_viz.pictures.text import unmarked

parametrize = pytest.mark.parametrize

show, compute = subject().show, subject().compute
State = partial(Opening, buffers=2, at=0.32)

SMALL = {"rows": 3, "columns": 33, "cores": 4}
BARRIER = {"fault": "hardswish: barrier removed", "schedule": "late"}
MISSING = {"wait": False, "tile": 2}


def notes(data, name):
    return [note.text for note in marks(show(data), name, Note)]


def scene(**state):
    return Scene(XP, compute(State(**state)))


def test_what_is_seen_at_first_is_the_wait_of_v_and_what_it_costs():
    data = compute(Opening())
    found, core = Scene(XP, data), data.core
    own = [k for k, pipe in enumerate(core.pipes) if pipe == tiles.memory.V]
    first = next(k for k in own if core.tile[k] == core.tile[own[-1]] or found.start[k] > 0.2)
    idle = sum(max(0.0, found.start[b] - found.end[a]) for a, b in zip(own, own[1:]) if a >= first)
    assert found.idle == approx(idle) and idle > 0.3 * found.done
    waits = next(
        mark
        for mark in marks(show(data), "timeline", Blocks)
        if mark.words and "waits" in mark.words[0]
    )
    long = np.isfinite(waits.x0)
    assert long.sum() == len(set(core.tile)) - 1  # before each tile but the first
    assert ((waits.x1 - waits.x0)[long] * found.span).sum() == approx(idle, rel=0.05)
    now = found.now / found.span
    assert any(a < now < b for a, b in zip(waits.x0[long], waits.x1[long]))
    assert f"in all {idle:.2f} µs of {found.done:.2f} µs" in unmarked(subject().said(data))


def test_the_owner_of_every_element_is_counted_out():
    """99 float32 elements are 13 blocks of 32 bytes for 4 cores: 4, 3, 3, 3 of them."""
    (part,) = compute(State(**SMALL)).work.owned
    expected = [core for core, blocks in enumerate((4, 3, 3, 3)) for _ in range(8 * blocks)][:99]
    assert part.core.reshape(-1).tolist() == expected
    assert (part.tile == 0).all() and not part.wrong.any()


def test_tiles_are_numbered_by_core_and_cover_what_the_tiling_says():
    data = compute(State(cores=3))
    part, length = data.work.owned[0], data.work.run.tiling.tileLength
    for core in range(3):
        counts = np.bincount(part.tile[part.core == core])
        assert set(counts[:-1]) == {length} and 0 < counts[-1] <= length


@parametrize("time", ["A2", "steps"])
@parametrize("program", PROGRAMS)
@pytest.mark.sampled(6)
def test_times_without_lateness_are_those_of_the_timeline(program, time):
    data = compute(State(program=program, time=time, columns=300))
    if time == "steps":
        assert np.allclose(Scene(XP, data).start, np.array([job.step for job in data.core.jobs]))
    else:
        spans = [span for span in data.times.spans if span.core == 0]
        first = min(span.start for span in spans)
        assert sorted(Scene(XP, data).end) == approx(sorted(s.end - first for s in spans))
    assert np.allclose(Scene(XP, data).end - Scene(XP, data).start, data.core.takes)


@parametrize("wait", [True, False])
@parametrize("late", [0.0, 0.1, 0.7])
def test_a_time_is_the_later_of_two_as_all_instructions_one_by_one_say(late, wait):
    found = scene(late=late, wait=wait)
    core = found.core
    known = _known(core.jobs, found.data.times, 0)
    start, end = paced(core.jobs, known, core.copy, found.late, wait)
    assert np.allclose(found.start, start) and np.allclose(found.end, end)
    assert (start[core.readers[0]] < end[core.copy]) != wait


@parametrize("at", [0.1, 0.32, 0.5, 0.99])
def test_slots_hold_what_was_written_last(at):
    """By a loop over the instructions, each with the tile that its tensor's part has in the order of addresses."""
    found = scene(at=at)
    ends = sorted(zip(found.end, found.core.jobs, found.core.tile), key=lambda one: one[0])
    hold = {}
    for end, job, tile in ends:
        if end <= found.now:
            for memory, span in job.writes:
                if not hasattr(memory, "name"):
                    hold[span.start] = int(tile)
    shown = next(
        mark
        for mark in marks(show(found.data), "machine", Blocks)
        if len(mark.x0) == len(found.core.held)
    )
    assert {
        found.core.slots[slot].start: int(value)
        for slot, x, value in zip(found.core.held[:, 0], shown.x0, shown.values)
        if not np.isnan(x)
    } == hold
    length = found.data.work.run.tiling.tileLength
    for job, tile in zip(found.core.jobs, found.core.tile):
        for memory, span in (*job.reads, *job.writes):
            if hasattr(memory, "name"):
                assert span.start == 4 * length * tile


def test_what_a_missing_wait_makes_wrong_is_what_the_page_makes_of_the_old_tile():
    """V reads the old content of the slot: x of two tiles before, with the gradient of its own tile."""
    data = compute(State(**MISSING))
    given, length = inputs(data.state), data.work.run.tiling.tileLength
    flat = {name: value.reshape(-1) for name, value in given.items()}
    own, old = slice(2 * length, 3 * length), slice(0, length)
    backward = operator_of(data.state).backward
    grad = flat["gradOutput"][own]
    right, stale = (backward(gradOutput=grad, self=flat["self"][at])["out"] for at in (own, old))
    assert data.core.off == ({"out": 0}, {"out": int((right != stale).sum())})
    wrong = Scene(XP, data).wrong
    jobs = [k for k, job in enumerate(data.core.jobs) if wrong[k]]
    assert {int(data.core.tile[k]) for k in jobs} == {2}
    assert data.core.readers[0] == jobs[0] and data.core.jobs[jobs[-1]].pipe == 3


def test_wrong_numbers_spread_through_a_sum():
    data = compute(State(program="rms_norm_atomic", wait=False, tile=2))
    after = data.core.tile[Scene(XP, data).wrong > 0]
    assert after.min() == 2 and after.max() > 2
    assert data.core.off[-1]["dgammaOut"] > 0


def test_the_caption_counts_the_numbers_that_are_wrong():
    data = compute(State(**MISSING, at=0.6))
    wrong = data.core.off[1]["out"]
    said = unmarked(subject().said(data))
    what = "Without the wait V reads tile 3 before its copy ends:"
    assert said == f"{what} {wrong:,} numbers of out are wrong, and nothing says so."


def test_hands_move_the_moment_and_the_end_of_the_copy():
    found = scene(late=0.25)
    moment, end = (
        next(g for g in marks(show(found.data), "timeline", Grip) if g.sets[0] == name)
        for name in ("at", "late")
    )
    for grip in (moment, end):
        low, high, axis = grip.units[0]
        assert axis == 0
        assert low + high * grip.x == approx(getattr(found.data.state, grip.sets[0]))
    assert end.units[1:] == moment.units and scene(at=1.0).now == scene().done
    copies, *_, chain = marks(show(found.data), "timeline", Spots)
    assert chain.sets == ((("wait", False),),) and (("tile", 4),) in copies.sets


def test_what_is_pointed_at_says_its_datum():
    found = scene()
    jobs, data = found.core.jobs, found.data
    texts = marks(show(data), "timeline", Spots)[0].texts
    assert len(texts) == len(jobs)
    for text, job, takes in zip(texts, jobs, found.core.takes):
        assert f"{job.name} in line {job.line}, {takes:.3f} µs" in text
    lines = panel(show(data), "source")
    (spots,) = marks(show(data), "source", Spots)
    assert [job.line for job in jobs if str(job.line) not in dict(lines.y.ticks).values()] == []
    for (_, number), text in zip(lines.y.ticks, spots.texts, strict=True):
        assert text == linecache.getline(jobs[0].file, int(number)).strip()
    ins, outs, slots = marks(show(data), "machine", Spots)
    total = sum(int(text.split(": ")[1].split()[0]) for text in (*ins.texts, *outs.texts))
    assert total == data.work.run.gm_bytes
    for text, block in zip(slots.texts, found.core.slots, strict=True):
        assert text.startswith(f"{block.label}, {block.length} bytes")


def test_a_hazard_is_shown_at_its_line_and_its_instructions():
    data = compute(State(**BARRIER))
    (hazard,), wrong = data.hazards, [job for job in data.core.jobs if job.hazardous]
    assert hazard.kind == "missing barrier" and hazard.source == "Adds(slope, slope, 0.5, count)"
    assert {(job.name, job.line) for job in wrong} == {("Adds", hazard.line)} and len(wrong) == 6
    assert [text for text in notes(data, "source") if text.startswith("✗")] == [
        f"✗ {hazard.source}"
    ]
    stripes = [data.core.jobs[k] for k in np.flatnonzero(Scene(XP, data).wrong)]
    stores = [job for job in stripes if job.name == "DataCopyPad"]
    assert len(stripes) == 6 + len(stores) and stores and data.work.owned[0].wrong.any()
    silent = compute(State(**BARRIER | {"schedule": "eager"}))
    assert silent.hazards and "all numbers are right" in show(silent).headline[1]


@parametrize("program", ["hardswish", "grid_sampler_3d", "grid_sampler_3d_atomic"])
def test_the_line_of_an_instruction_is_the_one_that_issued_it(program):
    """Also if a program takes its lines from the program that it extends."""
    data = compute(State(program=program, rows=4, columns=60))
    for job in data.core.jobs:
        assert job.name.split()[0] in linecache.getline(job.file, job.line)


@parametrize("key", [key for k, key in enumerate(FAULTS) if k % 12 == 0])
def test_a_fault_shows_as_its_entry_says_or_the_headline_says_where_it_does(key):
    fault = FAULTS[key]
    dtype = fault.case.get("dtype", "float32")
    data = compute(State(program=key.partition(":")[0], fault=key, dtype=dtype))
    shown = fault.shows in {hazard.kind for hazard in data.hazards} or any(
        part.wrong.any() for part in data.work.owned
    )
    last = show(data).headline[-1]
    assert (f"Symptom: {fault.shows}" in last) == shown
    assert shown or f"The mistake does not show here ({fault.shows}), but does with " in last


def test_a_fault_of_another_program_is_refused():
    with pytest.raises(
        StateError,
        match="fault of layer_norm must be one of 'none', .*: got 'hardswish: barrier removed'; choose",
    ):
        State(program="layer_norm", fault="hardswish: barrier removed")
    for key in FAULTS:
        State(program=key.partition(":")[0], fault=key)
    assert len(FAULTS) == sum(
        len(tiles.faults(op)) for op in {program.operator for program in PROGRAMS.values()}
    )


def test_a_core_without_work_says_so():
    data = compute(State(rows=1, columns=8, cores=4, core=3))
    assert notes(data, "timeline") == ["core 3 gets nothing to do"] == [subject().said(data)]
    fault = "hardswish: tile length planned for one buffer"
    data = compute(State(fault=fault, unified_buffer=32768))
    assert notes(data, "timeline") == ["core 0 stops before its first instruction"]


@parametrize("time", ["A2", "steps"])
def test_nothing_claims_to_be_measured(time):
    shown = show(compute(State(time=time)))
    label = panel(shown, "timeline").x.label
    assert "nothing was measured" in shown.notices[0] and "nothing was measured" in shown.text
    said = {"A2": "µs, from published rates, not measured", "steps": "steps: an order, no cycles"}
    assert label == said[time]
    assert "emulated" in panel(shown, "machine").title


def test_the_program_of_a_state_is_the_kits_own_unless_something_is_changed():
    assert program_of(State()) is tiles.programs("hardswish")[0]
    one, two = (compute(State(buffers=count)).work.run.tiling.tileLength for count in (1, 2))
    assert one > two


def test_going_back_and_forth_between_programs_runs_each_once(monkeypatch):
    states = [State(**SMALL, program=name) for name in [*PROGRAMS][:6]]
    before, launched = [compute(state).work for state in states], []
    monkeypatch.setattr(tiles_data.tiles, "launch", lambda *given, **how: launched.append(how))
    assert [compute(state).work for state in states] == before and launched == []


def test_what_is_written_to_inputs_is_not_seen_in_the_next_run():
    given = inputs(State(**SMALL))
    assert given["self"].any()
    given["self"][...] = 0
    assert inputs(State(**SMALL))["self"].any()


def test_a_run_that_is_kept_leaves_its_memories_to_the_next():
    tiles_data._work.cache_clear()
    used = {
        one.core.ub.bytes.ctypes.data
        for state in (State(**SMALL), State(**SMALL, schedule="late"))
        for one in tiles_data.ran(state).run.trace
    }
    assert len(used) == 4  # cores of both runs
