"""Explorers whose data and panels are functions over `xp`: they look at no number that moves, and the picture is the same."""

import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from moving_arrays import Moving, MovingArrays, moving, state_that_moves, still
from together import in_one

from aclnn_viz import operator, operators
from aclnn_viz.explorers import default, explorers, subject_of
from aclnn_viz.explorers.arrays import XP
from aclnn_viz.explorers.state import build, controls
from aclnn_viz.operators import registry
from aclnn_viz.pictures.panels import described

STATES = {op.name: ({},) for op in operators()} | tomllib.loads(
    Path(__file__).with_name("states.toml").read_text("utf-8")
)["moving"]
# Explorers of what only Python knows, and why: nothing is drawn of a number that moves but what Python decided of it.
RECORDS = {
    "two_phase": "the calls of a program on an emulator, and the memory that they leave: every control is a choice or a size",
    "tiles": "the instructions of a run; the step and the core that are looked at choose among its events",
    "numeric_error": "verdicts: envelopes over intervals, standards and reruns decide which elements are drawn, and where the axis is cut",
}


def parts(name, values):
    """(state, what kernels make of it, its data as a function, the module of its picture) of an explorer."""
    explorer = registry.module("explorer", name)
    if explorer is None:
        op = operator(name)
        state = build(default.state_of(op), values)
        return state, default.gathered(op, state), default.data, default
    held = import_module(f"{explorer.__name__}_data")
    state = build(held.State, values)
    return state, held.gathered(state), held.data, explorer


def pictures(name, values):
    """(the picture of arrays that move, the picture of NumPy's) of one state, each as panels and sentences."""
    state, given, data, explorer = parts(name, values)
    with np.errstate(all="ignore"):
        both = (
            data(MovingArrays(), state_that_moves(state), **moving(given)),
            data(XP, state, **given),
        )
        return [
            (
                still([*explorer.panels(each)]),
                [said for said in still(explorer.headline(each)) if said],
            )
            for each in both
        ]


def test_every_explorer_is_tried_or_named():
    assert (
        RECORDS.keys() | STATES.keys()
        == {*explorers(), *(op.name for op in operators())} - {"zoom"}
        and not RECORDS.keys() & STATES.keys()
    )


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_no_number_that_moves_but_those_of_inputs(name):
    moving_controls = {
        c["field"]
        for c in controls(subject_of(name).state)
        if c["kind"] == "real" or c.get("below")
    }
    assert (
        moving_controls
        == {"two_phase": set(), "tiles": {"core"}, "numeric_error": {"gradient", "values"}}[name]
    )


def is_seen(mark, arrays) -> bool:
    """Whether a described mark has a place: what is not there has nan (None) in all of them."""
    place = next((mark[name] for name in ("x", "at", "x0") if name in mark), 0.0)
    places = np.asarray(arrays.get(place, place) if isinstance(place, str) else place, np.float64)
    return not places.size or bool(np.isfinite(places).any())


@pytest.mark.parametrize(
    ("name", "values"),
    [(name, values) for name, many in STATES.items() for values in many],
    ids=str,
)
@pytest.mark.sampled(10)
def test_the_picture_looks_at_no_number_that_moves(name, values):
    (panels, sentences), (same_panels, same_sentences) = pictures(name, values)
    arrays, text = described(panels)
    wanted, plain = described(same_panels)
    assert sentences == same_sentences and [panel["title"] for panel in text] == [
        panel["title"] for panel in plain
    ]
    for panel, other in zip(text, plain):
        seen = [mark for mark in panel["marks"] if is_seen(mark, arrays)]
        assert [mark["mark"] for mark in seen] == [mark["mark"] for mark in other["marks"]]
        for mark, its in zip(seen, other["marks"]):
            for field in mark:
                one, two = (
                    of.get(each[field], each[field])
                    if isinstance(each[field], str)
                    else each[field]
                    for of, each in ((arrays, mark), (wanted, its))
                )
                same = (
                    np.array_equal(one, two, equal_nan=True)
                    if isinstance(one, np.ndarray)
                    else one == two
                )
                assert same, (panel["name"], field)
        assert [panel[axis] for axis in "xy"] == [other[axis] for axis in "xy"]


@in_one
@pytest.mark.parametrize(
    "look",
    [
        float,
        int,
        bool,
        str,
        "{:.3g}".format,
        np.asarray,
        np.sqrt,
        range,
        lambda x: x + np.ones(2) > 1 and 1,
        lambda x: np.ones(3)[x],
        lambda x: x[x > 0],
        lambda x: max(x, 1.0),
        lambda x: x.item(),
    ],
)
def test_a_number_that_moves_is_kept_from_whoever_looks_at_it(look):
    with pytest.raises((TypeError, AttributeError, IndexError)):
        look(Moving(np.float64(2.0)))


def test_a_panel_that_looks_is_rejected(monkeypatch):
    explorer = import_module("aclnn_viz.explorers.by_operator.hardswish")
    right = explorer._slope
    for wrong in (
        lambda data: float(data.x),
        lambda data: 1 if data.x > 0 else 2,
        lambda data: f"{data.x:.3g}",
    ):
        monkeypatch.setattr(explorer, "_slope", lambda data: (wrong(data), right(data))[1])
        with pytest.raises(TypeError, match="a number that moves is not known here"):
            pictures("hardswish", {})
