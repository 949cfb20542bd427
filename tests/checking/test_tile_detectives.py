"""Detective cases on tiles: one suspect makes the symptom, the others do not, and what contradicts them is true."""

import re

import pytest
from machine import SOAK

import aclnn_viz as av
from aclnn_viz.puzzles import detective, detectives, tile_detectives
from aclnn_viz.puzzles.pictures import picture
from aclnn_viz.puzzles.tiles.detective import outputs_of
from aclnn_viz.tiles import faults

ALL = pytest.mark.parametrize("name", [one.name for one in tile_detectives()])


def test_there_are_enough_of_them():
    assert len(tile_detectives()) >= 6 and len(
        {one.name for one in (*detectives(), *tile_detectives())}
    ) == len(detectives()) + len(tile_detectives())
    assert [one.number for one in tile_detectives()] == list(range(1, len(tile_detectives()) + 1))


@ALL
@pytest.mark.sampled(1)
def test_exactly_one_suspect_makes_the_symptom_and_the_right_program_none(name):
    one = detective(name)
    seen = {
        suspect: str(one.show(one.prepared, one.with_fault(suspect))) for suspect in one.suspects
    }
    assert len(one.suspects) >= 4
    assert [suspect for suspect, text in seen.items() if text == str(one.symptom)] == [one.culprit]
    right = str(one.show(one.prepared, outputs_of(av.tiles.programs(one.operator)[0])))
    assert "wrong" not in right and "wrong" in str(one.symptom) and "right" in str(one.symptom)


@ALL
@pytest.mark.sampled(2)
def test_names_are_answered(name):
    one = detective(name)
    guilty = next(fault for fault in faults(one.operator) if fault.name == one.culprit)
    answer = one.accuse(one.culprit)
    assert (
        answer.right
        and guilty.story in answer.text
        and guilty.shows in answer.text
        and "\n  - " in answer.text
    )
    for suspect in [suspect for suspect in one.suspects if suspect != one.culprit][
        : None if SOAK else 1
    ]:
        answer = one.accuse(suspect)
        assert not answer.right and answer.text.startswith(f"not {suspect!r}: ")
        assert re.search(
            r"would be (wrong|right) with .*, where this kernel is (right|wrong)|would be .*; this kernel",
            answer.text,
        )


@ALL
@pytest.mark.sampled(2)
def test_it_shows_as_text_and_as_a_picture_and_can_be_run(name):
    one = detective(name)
    assert one.title in str(one) and one.story in str(one) and str(one.symptom) in str(one)
    assert one.culprit not in "".join(one.hints) and len(set(one.hints)) >= 3
    assert picture(one).text
    assert one.kernel(cores=2, schedule="late", **av.case(one.operator).inputs).keys()
