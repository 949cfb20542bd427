"""Inspectable parts of a run: a smaller Unified Buffer, names of buffers, the order of landing, changed programs."""

import pytest

import aclnn_viz as av
from aclnn_viz.tiles.fault import edited

HARDSWISH = av.tiles.programs("hardswish")[0]
CASE = av.case("hardswish", shape=(3000,)).inputs


def launched(program=HARDSWISH, **how):
    return av.tiles.launch(program, cores=2, **how, **CASE)


def test_a_smaller_unified_buffer_makes_more_tiles_of_the_same_numbers():
    whole, small = launched(), launched(unified_buffer=32768)
    assert small.ub_bytes <= 32768 - 256 and small.tiling.tileLength < whole.tiling.tileLength
    assert not small.hazards and small.outputs["out"].tobytes() == whole.outputs["out"].tobytes()


def test_select_works_in_the_last_8_kib_of_a_smaller_unified_buffer_too():
    forgotten = edited("hardswish", "hardswish", ((" - 8192  # bytes for Select", ""),))
    assert {hazard.kind for hazard in launched(forgotten, unified_buffer=32768).hazards} == {
        "unified buffer full"
    }


@pytest.mark.parametrize("size", [0, 16383, 196609, 32768.0, True])
def test_a_unified_buffer_that_no_core_has_is_refused(size):
    with pytest.raises(
        ValueError,
        match=f"unified_buffer is a number from 16384 to 196608: got {size}; pass an int",
    ):
        launched(unified_buffer=size)


def test_buffers_have_the_names_that_the_program_gives_them():
    blocks = launched().buffers[1]
    assert [block.label for block in blocks] == ["gradQue"] * 2 + ["xQue"] * 2 + ["outQue"] * 2 + [
        "xBuf",
        "slopeBuf",
        "bitsBuf",
        "moreBitsBuf",
    ]
    assert [a.start + a.length for a in blocks[:-1]] == [b.start for b in blocks[1:]]


def test_landing_is_the_order_of_issue_when_eager_and_another_one_when_late():
    eager, late = launched(), launched(schedule="late")
    assert (
        eager.landed == eager.trace
        and late.landed != late.trace
        and set(late.landed) == set(late.trace)
    )


def test_hazardous_are_the_instructions_that_showed_the_hazard():
    run = launched(av.tiles.faults("hardswish")[0].broken("hardswish"))
    by_core = {core: [one for one in run.trace if one.core.index == core] for core in range(2)}
    assert {by_core[core][at].name for core, at, _ in run.hazardous} == {"Adds"}
    assert launched().hazardous == frozenset()


def test_a_changed_program_tells_its_own_lines():
    broken = av.tiles.faults("hardswish")[0].broken("hardswish")
    assert launched(broken).hazards[0].source == "Adds(slope, slope, 0.5, count)"
