"""Detective cases: one suspect makes the symptom, the others do not, and the contradictions are true."""

import re

import numpy as np
import pytest
from machine import SOAK

import aclnn_viz as av
from aclnn_viz import case, operator
from aclnn_viz.puzzles import detective, detectives, puzzles, tile_detectives, tile_puzzles
from aclnn_viz.puzzles.pictures import picture
from aclnn_viz.puzzles.tiles.detective import outputs_of

EVERY = (*detectives(), *tile_detectives())
ALL = pytest.mark.parametrize("name", [one.name for one in EVERY])


def kind(one):
    return one.symptom.panels[0].name


def test_there_are_enough_of_three_kinds():
    assert {kind(one) for one in detectives()} == {"table", "map", "ulps"}
    assert [one.number for one in detectives()] == [*range(1, 9)]
    assert [one.number for one in tile_detectives()] == [*range(1, 7)]
    names = [one.name for one in (*puzzles(), *tile_puzzles(), *EVERY)]
    assert len(set(names)) == len(names)


@ALL
@pytest.mark.sampled(2)
def test_exactly_one_suspect_makes_the_symptom(name):
    one = detective(name)
    seen = {
        suspect: str(one.show(one.prepared, one.with_fault(suspect))) for suspect in one.suspects
    }
    assert len(one.suspects) >= 4
    assert [suspect for suspect, text in seen.items() if text == str(one.symptom)] == [one.culprit]


@ALL
@pytest.mark.sampled(2)
def test_a_right_kernel_shows_no_symptom(name):
    one = detective(name)
    right = operator(one.operator).backward
    if one in tile_detectives():
        right = outputs_of(av.tiles.programs(one.operator)[0])
    seen = str(one.show(one.prepared, right))
    assert seen != str(one.symptom) and (kind(one) != "table" or "wrong" not in seen)


@ALL
def test_the_right_name_is_explained(name):
    one = detective(name)
    answer, guilty = one.accuse(one.culprit), one._fault(one.culprit)
    shown = guilty.shows if one in tile_detectives() else guilty.exposed_by
    assert answer.right and guilty.story in answer.text and shown in answer.text
    assert "\n  - " in answer.text or one not in tile_detectives()
    assert "✔" in answer._repr_html_()


@pytest.mark.parametrize(
    "name",
    [
        one.name
        for one in EVERY
        # these have slow cases
        if SOAK or not one.operator.startswith("grid")
    ],
)
@pytest.mark.sampled(2)
def test_a_wrong_name_gets_a_reason(name):
    one = detective(name)
    for suspect in sorted({*one.suspects} - {one.culprit})[: None if SOAK else 2]:
        answer = one.accuse(suspect)
        assert not answer.right and answer.text.startswith(f"not {suspect!r}: ")
        assert re.search(
            r"would be (wrong|right) with .*, where this kernel is (right|wrong)|would be .*; this kernel",
            answer.text,
        )
        assert one.culprit not in answer.text


def test_the_reasons_are_true():
    """If a reason names an experiment, a plain comparison with the truth agrees."""
    for one in (
        one for one in detectives() if kind(one) == "table" and (SOAK or one.operator == "rms_norm")
    ):
        tried = 0
        for suspect in set(one.suspects) - {one.culprit}:
            said = re.match(
                r"not .*: (\w+) would be (wrong|right) with (.*), where", one.accuse(suspect).text
            )
            if said and said[3] in dict(one.experiments):
                inputs = case(one.operator, **dict(one.experiments)[said[3]]).inputs
                truth = operator(one.operator).truth(**inputs)[said[1]]
                off = [
                    np.allclose(kernel(**inputs)[said[1]], truth, rtol=1e-5, atol=1e-6)
                    for kernel in (one.kernel, one.with_fault(suspect))
                ]
                assert off == [said[2] == "wrong", said[2] == "right"]
                tried += 1
        assert tried, one.name


@ALL
@pytest.mark.sampled(5)
def test_what_is_shown_does_not_name_the_culprit(name):
    one = detective(name)
    before_the_suspects = str(one).partition("suspects:")[0]
    assert one.culprit not in before_the_suspects and one._fault(one.culprit).story not in str(one)
    assert (
        one.culprit not in repr(one.kernel)
        and one.story in one._repr_html_()
        and len(one.hints) >= 3
    )
    assert one.hint(1) == one.hints[0] and "culprit" not in repr(one) and picture(one).text
    if one in tile_detectives():
        assert one.kernel(cores=2, schedule="late", **case(one.operator).inputs).keys()


@ALL
def test_all_suspects_are_listed_for_nobody_accused(name):
    one = detective(name)
    assert all(repr(suspect) in one.accuse(None).text for suspect in one.suspects)


def test_unknown_names_are_refused():
    with pytest.raises(
        ValueError,
        match="^no such detective case: got 'nobody'; name one of those that progress.. lists$",
    ):
        detective("nobody")
    with pytest.raises(
        ValueError, match="a suspect is one of .*: got 'the butler'; accuse one of them"
    ):
        detective("long_rows").accuse("the butler")
    with pytest.raises(ValueError, match="long_rows has 3 hints: got 4"):
        detective("long_rows").hint(4)
