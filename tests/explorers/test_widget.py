"""The widget without a browser: state in, picture out, the last good picture stays, everything is released."""

import gc
import sys
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from machine import SOAK
from unpacking import unpack

from aclnn_viz import case, operator
from aclnn_viz.explorers import explore
from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import State, compute
from aclnn_viz.explorers.device import DeviceOfState
from aclnn_viz.explorers.state import StateError, build, changed
from aclnn_viz.explorers.subject import Subject


@pytest.fixture
def explorer():
    made = explore("grid_sampler_2d")
    yield made
    made.close()


def move(explorer, **values):
    explorer.values = {**explorer.values, **values}


def shown(explorer):
    return unpack(explorer.picture["index"], explorer.picture["buffer"])


def test_the_picture_is_that_of_the_state(explorer):
    values = {"rotate": 40.0, "paddingMode": 1, "row": 3, "column": 2}
    move(explorer, **values)
    data = compute(State(**values))
    arrays, panels = explorer.subject.drawn(data)
    for name, array in shown(explorer).items():
        np.testing.assert_array_equal(array, np.asarray(arrays[name], np.float32), err_msg=name)
    assert (
        panels == explorer.picture["panels"]
        and explorer.subject.words(data).items() <= explorer.words.items()
    )
    assert (
        explorer.picture["for"] == explorer.words["for"] == explorer.values
        and explorer.problem == {}
    )


def test_the_picture_leaves_before_its_words_are_made(explorer, monkeypatch):
    sent = []
    monkeypatch.setattr(
        explorer, "send_state", lambda key: sent.append(key if isinstance(key, str) else [*key])
    )
    monkeypatch.setattr(
        Subject, "words", lambda self, data: sent.append("made") or {"text": str(data.out)}
    )
    move(explorer, rotate=40.0)
    assert sent == ["values", ["picture"], "made", "words"]


NONE = {"caption": "", "headline": [], "text": "", "notices": []}


def test_words_that_cannot_be_made_leave_the_picture_and_none_of_another_state(
    explorer, monkeypatch
):
    monkeypatch.setattr(Subject, "words", lambda self, data: 1 / 0)
    move(explorer, rotate=40.0)
    assert explorer.picture["for"] == explorer.values
    assert explorer.words == {"for": explorer.values} | NONE
    assert explorer.problem == {"": "ZeroDivisionError: division by zero"}
    assert explorer._repr_mimebundle_()[0]["text/plain"] == f"{explorer!r}\n\n"


def test_an_interrupt_between_picture_and_words_leaves_no_words_of_another_state(
    explorer, monkeypatch
):
    monkeypatch.setattr(Subject, "words", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        move(explorer, rotate=40.0)
    monkeypatch.undo()
    assert explorer.picture["for"]["rotate"] == 40.0
    assert explorer.words == {"for": explorer.values} | NONE
    move(explorer, rotate=41.0)
    assert explorer.words["for"] == explorer.values and explorer.words["text"]


def test_who_observes_the_picture_may_move_on_and_reads_its_own_words(explorer):
    def run_on(change):
        read.append(explorer._repr_mimebundle_()[0]["text/plain"])
        if explorer.values["row"] == 1:
            move(explorer, row=2)

    read = []
    explorer.observe(run_on, "picture")
    move(explorer, row=1)
    assert (
        explorer.picture["for"]["row"]
        == explorer.words["for"]["row"]
        == explorer.data.state.row
        == 2
    )
    assert ["row=1" in text and "Chosen point (1, " in text for text in read] == [True, False]
    assert ["row=2" in text and "Chosen point (2, " in text for text in read] == [False, True]


@pytest.mark.parametrize(
    "values",
    [{}, {"height": 1, "width": 1, "grid_height": 1, "grid_width": 1, "row": 0, "column": 0}],
)
def test_a_picture_of_any_size_fills_a_segment_of_the_loopback(explorer, values):
    move(explorer, **values)
    assert len(explorer.picture["buffer"]) > 65_483 and explorer.problem == {}


def test_a_value_that_does_not_fit_stops_no_other(explorer):
    move(explorer, height=12)
    move(explorer, height=0, width=1000)
    assert [*explorer.problem] == ["height", "width"] and explorer.problem["height"].endswith(
        "raise it to 1. The picture shows 12."
    )
    move(explorer, paddingMode=0, seed=None)
    assert {*explorer.problem} == {"height", "width", "seed"}
    assert explorer.data.state == State(
        height=12, paddingMode=0
    ) and explorer.data.inputGrad.shape == (12, 32)
    move(explorer, height=13, width=32, seed=0)
    assert explorer.problem == {} and explorer.data.inputGrad.shape == (13, 32)


def test_where_no_field_can_give_way_the_last_picture_stays(explorer):
    def refused(state, backward):
        raise StateError("dtype", "nothing", "all", "wait")

    before, explorer.subject = explorer.data, replace(explorer.subject, compute=refused)
    move(explorer, rotate=50.0)
    assert explorer.problem == {"dtype": "nothing: got all; wait"} and explorer.data is before


@pytest.mark.soak
def test_many_changes_leave_memory_flat(explorer):
    move(explorer, grid_height=6, grid_width=6)

    def changes(count):
        for k in range(count):
            move(explorer, rotate=float(k % 170), height=20 + k // 10 % 3)
        gc.collect()
        return sys.getallocatedblocks()

    count = 1000 if SOAK else 40
    # What Python keeps for speed grows ever more slowly, and its tables double now and then; a leak of half an object
    # a change grows in every round.
    rounds = (changes(count) for _ in range(25))
    assert any(after - before < count / 2 for before, after in pairwise(rounds))


def test_closing_releases_the_device_and_the_data_and_can_be_repeated():
    explorer = explore("grid_sampler_2d")
    explorer.close()
    explorer.close()
    assert (
        explorer.data is None
        and explorer._device._open is None
        and explorer._device._thread is None
    )


def test_a_device_is_kept_open_until_another_is_named_and_says_what_it_refuses():
    runs, given = DeviceOfState(lambda state: operator("hardswish")), case("hardswish").inputs
    state = SimpleNamespace(device="host")
    for _ in range(2):
        outputs, _ = runs.backward(state, given)
        opened = runs._open
        np.testing.assert_array_equal(
            outputs["out"], operator("hardswish").backward(**given)["out"]
        )
    assert runs._open is opened
    with pytest.raises(StateError, match="self = DOUBLE") as refused:
        runs.backward(state, case("hardswish", dtype="float64").inputs)
    assert refused.value.field == "device" and runs._open is None
    with pytest.raises(StateError):
        runs.backward(SimpleNamespace(device="no such"), given)
    runs.close()


def test_values_that_are_missing_have_their_defaults(explorer):
    explorer.values = {"rotate": np.float32(40.0), "row": np.int64(3)}
    assert explorer.problem == {} and explorer.data.state == State(rotate=40.0, row=3)
    assert (
        explorer.values == explorer.picture["for"] == {**explorer.initial, "rotate": 40.0, "row": 3}
    )


def test_reset_leads_to_the_state_in_which_it_was_opened():
    explorer = explore("group_norm_swish", swishScale=2.0)
    move(explorer, swishScale=1.0)
    assert explorer.initial["swishScale"] == 2.0 and explorer.data.state.swishScale == 1.0
    explorer.close()


def test_an_unknown_value_is_refused_and_nothing_changes(explorer):
    before = explorer.values
    with pytest.raises(TypeError, match="State takes .*: got 'rotation'; use one of these"):
        move(explorer, rotation=3.0)
    assert explorer.values is before and explorer.problem == {}


def test_an_export_of_another_kind_is_refused(explorer):
    with pytest.raises(
        ValueError,
        match="a state is exported as link, cell, test, cpp, png or svg: got 'jpg'; choose one",
    ):
        explorer.lifted("jpg")


@pytest.mark.parametrize("kind", ["cell", "png"])
def test_the_browser_shows_in_words_why_nothing_is_lifted_out(kind, monkeypatch):
    never = explore("two_phase")
    sent = []
    never.data = None  # as after opening it in a state that it cannot show
    monkeypatch.setattr(never, "send", lambda content, buffers=None: sent.append(content))
    never._asked(never, {"lift": kind}, [])
    never.close()
    assert sent == [
        {
            "lift": kind,
            "problem": "what is exported must have a picture: got a state without one; open "
            "the explorer, in a state that it can show",
        }
    ]


def test_a_viewer_without_widgets_gets_the_call_and_the_words(explorer):
    move(explorer, rotate=12.0)
    plain = explorer._repr_mimebundle_()[0]["text/plain"]
    assert repr(explorer) == 'av.explore("grid_sampler_2d", rotate=12.0)'
    assert plain == f"{explorer!r}\n\n{explorer.words['text']}"
    explorer.close()
    assert repr(explorer) == 'av.explore("grid_sampler_2d")'


def test_what_differs_from_the_defaults_makes_the_same_state_again():
    state = build(State, {"rotate": 30, "paddingMode": 0, "moved": [[1, 2, 0.5, -0.25]]})
    assert changed(state) == {"rotate": 30.0, "paddingMode": 0, "moved": ((1, 2, 0.5, -0.25),)}
    assert build(State, changed(state)) == state and changed(State()) == {}


def test_no_explorer_of_another_name():
    with pytest.raises(
        ValueError, match="no such explorer: got 'conv'; open one of hardswish, .*two_phase"
    ):
        explore("conv")
