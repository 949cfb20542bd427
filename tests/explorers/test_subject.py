"""Explorers made of panels: the browser and the figure get the same panels, and no notice is lost."""

from dataclasses import dataclass

import numpy as np
import pytest

from aclnn_viz.explorers.state import StateError, build, control
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Line
from aclnn_viz.pictures.panels import Panel


@dataclass(frozen=True)
class State:
    slope: float = control(3.0, "slope", "Line", options={3.0: "steep", 0.5: "flat"})


def panels(state):
    return [
        Panel("line", "a line", (Line(np.arange(3.0), state.slope * np.arange(3.0), label="y"),))
    ]


def headline(state):
    return [f"The slope is {state.slope}."]


@pytest.fixture
def line():
    return Subject(
        "line",
        None,
        State,
        None,
        lambda state, backward=None: state,
        panels,
        headline,
        lambda state: (["before"], ["after"]),
        notices=lambda state: ("not measured",),
    )


def test_the_browser_gets_panels_words_and_notices(line):
    arrays, drawn = line.drawn(State())
    assert [text["title"] for text in drawn] == ["a line"]
    assert arrays[drawn[0]["marks"][0]["y"]].tolist() == [0.0, 3.0, 6.0]
    assert line.words(State()) == {
        "caption": "The slope is 3.0.",
        "headline": ["The slope is 3.0."],
        "text": "before\n\na line\n  x  y\n  0  0\n  1  3\n  2  6\nafter",
        "notices": ["not measured"],
    }


def test_the_figure_says_headline_and_notices(line):
    figure = line.figure(State(0.5))
    assert [text.get_text() for text in figure.texts] == ["The slope is 0.5.", "not measured"]
    assert figure.axes[0].lines[0].get_ydata().tolist() == [0.0, 0.5, 1.0]


def test_a_browser_writes_whole_floats_without_their_point():
    made = build(State, {"slope": 3})
    assert made == State() and isinstance(made.slope, float)
    for wrong in (True, 1, "3.0"):
        with pytest.raises(StateError, match="slope must be one of 3.0, 0.5: got"):
            build(State, {"slope": wrong})
