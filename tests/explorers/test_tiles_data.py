"""The explorer of tile programs: owners, bytes and steps counted out by hand, hazards at their place, lift-out."""

import linecache
import re
from types import SimpleNamespace

import numpy as np
import pytest
from panelled_explorer import assert_fits, panel

from aclnn_viz import tiles
from aclnn_viz.explorers import explore, tiles_data
from aclnn_viz.explorers.state import StateError
from aclnn_viz.explorers.tiles import _gapped, _shown, owners, subject
from aclnn_viz.explorers.tiles_data import FAULTS, PROGRAMS, State, compute, inputs, program_of
from aclnn_viz.explorers.tiles_run import picture
from aclnn_viz.explorers.tiles_time import (
    ACROSS,
    BUFFER_HEIGHT,
    HOLDS,
    READS,
    WRITES,
    _lives,
    lives,
    state_of,
    unified_buffer,
)
from aclnn_viz.pictures.marks import Box, Dots, Heat, Line, Note
from aclnn_viz.tiles.tensors import Block
from aclnn_viz.words.messages import in_language, message

show = subject().show

SMALL = {"rows": 3, "columns": 33, "cores": 4}
BARRIER = {"fault": "hardswish: barrier removed", "schedule": "late"}


def notes(data, name):
    return [mark.text for mark in panel(show(data), name).marks if isinstance(mark, Note)]


def test_the_owner_of_every_element_is_counted_out():
    """99 float32 elements are 13 blocks of 32 bytes for 4 cores: 4, 3, 3, 3 of them, and 3 elements are a tail."""
    (part,) = compute(State(**SMALL)).work.owned
    expected = [core for core, blocks in enumerate((4, 3, 3, 3)) for _ in range(8 * blocks)][:99]
    assert (
        part.core.reshape(-1).tolist() == expected
        and (part.cores == 1).all()
        and (part.tile == 0).all()
    )
    assert np.flatnonzero(part.tail).tolist() == [96, 97, 98] and not part.wrong.any()


def test_tiles_are_numbered_by_core_and_cover_what_the_tiling_says():
    data = compute(State())
    part, length = data.work.owned[0], data.work.run.tiling.tileLength
    for core in range(3):
        counts = np.bincount(part.tile[part.core == core])
        assert set(counts[:-1]) == {length} and 0 < counts[-1] <= length


def test_sums_are_owned_by_all_who_add_and_not_by_who_clears():
    data = compute(State(program="rms_norm_atomic", rows=6, columns=40))
    dx, dgamma = data.work.owned
    assert (dgamma.cores == 3).all() and dx.core.tolist() == [
        [core] * 40 for core in (0, 0, 1, 1, 2, 2)
    ]
    heat = next(mark for mark in owners(data).marks if isinstance(mark, Heat))
    assert "Σ 3 cores" in heat.words
    # whole cells
    assert (owners(data).x.low, owners(data).x.high) == (-0.5, np.shape(heat.values)[1] - 0.5)


def test_bytes_moved_are_those_of_the_least_where_nothing_is_moved_twice():
    assert (compute(State(**SMALL)).work.run.gm_bytes, compute(State(**SMALL)).work.least) == (
        3 * 99 * 4,
    ) * 2
    work = compute(State(program="rms_norm", rows=4, columns=40, cores=2)).work
    # dy, x, dx; gamma and dgamma; each core's dgamma goes to a slot and is read
    matrices, row = 3 * 4 * 40 * 4, 40 * 4
    assert (work.run.gm_bytes, work.least) == (
        matrices + 2 * row + row + 2 * 2 * row,
        matrices + 2 * row,
    )


def test_two_buffers_take_more_memory_and_fewer_steps():
    """Rows that fit are tiles of one size for one buffer or two: the steps that are saved are those of the copies."""
    one, two = (
        compute(State(program="cross_entropy_loss", columns=640, buffers=count)) for count in (1, 2)
    )
    names = [[life.name for life in lives(data)] for data in (one, two)]
    assert (
        "inQue" in names[0] and {"inQue 1", "inQue 2"} <= set(names[1]) and "inQue" not in names[1]
    )
    assert (
        two.work.run.ub_bytes - one.work.run.ub_bytes == 3 * 4 * 640
        and two.work.steps < one.work.steps
    )


def test_a_buffer_is_written_then_keeps_its_data_then_is_read():
    data = compute(State())
    life = next(life for life in lives(data) if life.name == "gradQue 1")
    assert [state_of(life, step)[0] for step in (0, 1, 8, 9)] == [WRITES, HOLDS, HOLDS, READS]
    # filled to its end by the first tile
    assert state_of(life, 0)[1] == 4 * data.work.run.tiling.tileLength


def test_a_hazard_is_shown_at_its_step_its_line_and_its_numbers():
    data = compute(State(**BARRIER))
    (hazard,), wrong = data.hazards, [job for job in data.jobs if job.hazardous]
    assert hazard.kind == "missing barrier" and hazard.source == "Adds(slope, slope, 0.5, count)"
    # one a tile
    assert {(job.name, job.line) for job in wrong} == {("Adds", hazard.line)} and len(wrong) == 3
    before = {job.step: job.name for job in data.jobs if job.name == "Muls"}
    assert all(before.get(job.step - 1) == "Muls" for job in wrong)
    assert sum(text.startswith("✗") for text in notes(data, "pipes")) == 3 and "✗" in notes(
        data, "program"
    )
    assert data.work.owned[0].wrong.any() and "wrong number" in [
        mark.label for mark in owners(data).marks if isinstance(mark, Dots)
    ]
    silent = compute(State(**BARRIER | {"schedule": "eager"}))
    assert (
        silent.hazards
        and not silent.work.owned[0].wrong.any()
        and "all numbers are right" in show(silent).headline[1]
    )


@pytest.mark.parametrize("program", ["hardswish", "grid_sampler_3d", "grid_sampler_3d_atomic"])
def test_the_line_of_a_step_is_the_one_that_issued_it(program):
    """Also where a program takes its lines from the one that it extends."""
    data = compute(State(program=program, rows=4, columns=60))
    for job in data.jobs:
        assert job.name.split()[0] in linecache.getline(job.file, job.line)
    step = data.jobs[-1].step
    shown = notes(compute(State(program=program, rows=4, columns=60, step=step)), "program")
    assert any(data.jobs[-1].name in text for text in shown)


@pytest.mark.parametrize(
    "fault", ["hardswish: freed twice", "hardswish: barrier removed", "rms_norm: gamma not awaited"]
)
def test_no_innocent_instruction_is_marked(fault):
    data = compute(State(program=fault.partition(":")[0], fault=fault))
    guilty = {hazard.line for hazard in data.hazards}
    assert (
        guilty
        and {job.line for jobs in data.work.jobs.values() for job in jobs if job.hazardous}
        <= guilty
    )


def test_only_the_instruction_that_meets_the_hazard_is_marked():
    data = compute(State(program="rms_norm", fault="rms_norm: gamma not awaited", core=1))
    line = data.hazards[0].line
    assert {job.hazardous for job in data.jobs if job.line == line} == {True, False}


@pytest.mark.parametrize("key", [key for k, key in enumerate(FAULTS) if k % 12 == 0])
def test_a_fault_shows_as_its_entry_says_or_the_headline_says_where_it_does(key):
    fault = FAULTS[key]
    data = compute(
        State(program=key.partition(":")[0], fault=key, dtype=fault.case.get("dtype", "float32"))
    )
    shown = fault.shows in {hazard.kind for hazard in data.hazards} or any(
        part.wrong.any() for part in data.work.owned
    )
    assert (f"It shows as: {fault.shows}" in show(data).headline[-1]) == shown
    assert (
        shown or f"It does not show here ({fault.shows}): it does with " in show(data).headline[-1]
    )


def test_most_faults_show_in_the_first_state():
    """Those of the program that is shown first: all but one."""
    first = [key for key in FAULTS if key.startswith(f"{State.program}:")]
    dtype = {key: FAULTS[key].case.get("dtype", "float32") for key in first}
    silent = [
        key
        for key in first
        if "It does not show" in show(compute(State(fault=key, dtype=dtype[key]))).headline[-1]
    ]
    assert silent == ["hardswish: lanes behind the tail"]  # its tiles end with whole repeats


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
    assert "core 3 gets nothing to do" in notes(data, "pipes") and data.work.run.cores == 1


def test_a_program_that_cannot_begin_says_why():
    data = compute(State(fault="hardswish: planned for one buffer", unified_buffer=32768))
    assert data.hazards[0].kind == "unified buffer full" and "32896 of 32768" in " ".join(
        notes(data, "words")
    )
    assert "core 0 stops before its first instruction" in notes(data, "pipes")


def test_lines_of_the_program_are_shown_around_those_at_work():
    assert _shown([50], 200) == list(range(45, 56))
    assert _shown([5, 90], 200) == [3, 4, 5, 6, 7, None, 88, 89, 90, 91, 92]
    assert _gapped([1, 2, 4]) == [1, 2, None, 4]
    data = compute(State(step=10))
    source = [text for text in notes(data, "program") if "DataCopyPad" in text or "Muls" in text]
    assert {job.line for job in data.jobs if job.step == 10} <= {
        int(text) for _, text in panel(show(data), "program").y.ticks
    }
    assert len(source) >= 3  # three pipes at once


def test_buffers_without_a_name_are_told_apart_in_the_chosen_language():
    block = Block(message("{kind} of line {line}", kind="TQue", line=17), "", 0, 32)
    work = SimpleNamespace(run=SimpleNamespace(cores=1, buffers=[[block, block]]), jobs={})
    with in_language("zh"):
        assert [str(life.name) for life in _lives.__wrapped__(work, 0)] == [
            "第17行的TQue 1",
            "第17行的TQue 2",
        ]


def test_names_of_instructions_have_the_room_for_which_they_were_cut():
    # in a narrow window the timeline is scrolled
    assert panel(show(compute(State())), "pipes").least == ACROSS


def test_nothing_claims_to_be_measured():
    shown = show(compute(State()))
    assert "no cycles: nothing was measured" in shown.notices[0]
    assert (
        "no cycles: nothing was measured" in panel(show(compute(State())), "pipes").title
        and "nothing was measured" in shown.text
    )


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sampled(4)
def test_the_panels_fit(name):
    for time in ("steps", "A2"):
        assert_fits(
            show(compute(State(program=name, step=9999, rows=16, columns=5, cores=20, time=time)))
        )


STATED = ["us", "critical", "waits", "roofline"]


@pytest.mark.parametrize("cores", [1, 3])
def test_stated_times_are_drawn_where_the_timeline_puts_them(cores):
    data = compute(State(time="A2", rows=3 * cores, cores=cores, core=cores - 1))
    boxes = [mark for mark in panel(show(data), "us").marks if isinstance(mark, Box)]
    spans = [span for span in data.times.spans if span.core == cores - 1]
    assert sorted(box.x1 for box in boxes) == sorted(span.end for span in spans)
    rows = [
        sorted((box.x0, box.x1) for box in boxes if box.y0 == row)
        for row in {box.y0 for box in boxes}
    ]
    assert all(a[1] <= b[0] + 1e-9 for row in rows for a, b in zip(row, row[1:])) and len(rows) == 3
    # what cannot be predicted is not filled
    assert {box.filled for box in boxes} == ({True} if cores == 1 else {True, False})
    (line,) = (mark for mark in panel(show(data), "us").marks if isinstance(mark, Line))
    assert (line.x[0], line.x[-1]) == (data.times.path[0].start, max(span.end for span in spans))
    parts = [mark.x1 for mark in panel(show(data), "critical").marks]
    assert sum(parts) / parts[0] == pytest.approx(
        data.times.path[-1].end / 8.65
        if cores == 1
        else (8.65 + sum(data.times.critical.values())) / 8.65
    )
    (dot,) = (mark for mark in panel(show(data), "roofline").marks if isinstance(mark, Dots))
    assert dot.y[0] * data.times.core * 1e3 / dot.x[0] == pytest.approx(data.work.run.gm_bytes)


def test_what_pipes_wait_for_is_said_in_percent_in_the_picture_and_its_words():
    data = compute(State(time="A2", program="rms_norm", rows=4, columns=700, cores=1))
    (heat,) = panel(show(data), "waits").marks
    part = round(100 * data.times.waits["V"]["MTE2"] / data.times.core)
    assert (
        heat.values[1, 0] == part > 0
        and f"{part} %" in heat.words
        and f"V waits for MTE2: {part} % of core time" in show(data).text
    )
    assert np.nansum(heat.values, axis=1).max() <= 100


def test_every_panel_of_time_says_that_it_was_not_measured_in_either_picture():
    data = compute(State(time="A2"))
    for shown in (show(data), picture(data.times)):
        titles = {each.name: each.title for each in shown.panels}
        assert [name for name in titles if name in STATED] == STATED and "pipes" not in titles
        assert (
            all("stated, not measured" in titles[name] for name in STATED)
            and "nothing was measured" in shown.notices[0]
        )
        assert data.times.sentence in shown.headline and all(
            f"{span.start:.3f} .. {span.end:.3f}" in shown.text
            for span in data.times.spans
            if (span.core, span.pipe) == (0, "V")
        )


@pytest.mark.parametrize(
    "state",
    [
        {"rows": 1, "columns": 8, "cores": 4, "core": 3},
        {"fault": "hardswish: planned for one buffer", "unified_buffer": 32768},
    ],
)
def test_a_core_without_instructions_has_no_times(state):
    data = compute(State(time="A2", **state))
    assert "core " in " ".join(notes(data, "us")) and not [
        mark for mark in panel(show(data), "us").marks if isinstance(mark, Box)
    ]


@pytest.fixture
def explorer():
    made = explore(
        "tiles",
        program="rms_norm",
        fault="rms_norm: sum not awaited",
        schedule="late",
        columns=60,
        step=20,
    )
    yield made
    made.close()


def test_a_lifted_test_judges_a_program(explorer):
    text, namespace = explorer.lifted("test"), {}
    exec(text, namespace)
    namespace["test_the_program_in_this_state"]()
    namespace["PROGRAM"] = tiles.programs("rms_norm")[0]  # the right one shows no hazard
    with pytest.raises(AssertionError):
        namespace["test_the_program_in_this_state"]()


def test_the_program_of_a_state_is_the_kits_own_unless_something_is_changed():
    assert program_of(State()) is tiles.programs("hardswish")[0]
    one, two = (compute(State(buffers=count)).work.run.tiling.tileLength for count in (1, 2))
    assert one > two


def test_boxes_of_the_unified_buffer_end_where_the_machine_says():
    data = compute(State())
    ends = [mark.x1 for mark in panel(show(data), "unified_buffer").marks if isinstance(mark, Box)]
    assert max(ends) * 1024 == pytest.approx(data.work.run.ub_bytes)
    assert re.search(r"gradQue 1: \d+ bytes from 0 on", show(data).text)


@pytest.mark.parametrize("program", ["rms_norm", "cross_entropy_loss", "group_norm_swish"])
def test_no_edge_of_a_buffer_crosses_a_name_and_the_axis_has_more_than_one_number(program):
    drawn = unified_buffer(
        compute(State(program=program, rows=4, columns=16, cores=2)), whole=False
    )
    edges = [
        edge
        for mark in drawn.marks
        if isinstance(mark, Box) and mark.y1 <= 1
        for edge in (mark.x0, mark.x1)
    ]
    names = [mark for mark in drawn.marks if isinstance(mark, Note)]
    apart = [
        abs(edge - name.x) * BUFFER_HEIGHT / drawn.x.high - 3 * len(name.text)
        for name in names
        for edge in edges
    ]
    assert min(apart) > 0 and len(names) > 2 and len(drawn.x.ticks) > 1


def test_going_back_and_forth_between_programs_runs_each_once(monkeypatch):
    states = [State(**SMALL, program=name) for name in [*PROGRAMS][:12]]
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
        for state in (State(**SMALL, step=1), State(**SMALL, schedule="late"))
        for one in compute(state).work.run.trace
    }
    assert len(used) == 4  # of as many cores, in both runs
