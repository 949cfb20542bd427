"""The text twin describes the marks: a changed number of a picture changes its text."""

from dataclasses import replace

import numpy as np
import pytest

from aclnn_viz.pictures.marks import Arrows, Bars, Box, Dots, Heat, Line, Note, Rule
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.twin import in_words

ONE, TWO = np.array([1.5]), np.array([2.25])
MARKS = [
    Line(ONE, TWO, label="a"),
    Dots(ONE, TWO),
    Bars(ONE, TWO),
    Arrows(ONE, TWO, TWO, ONE, label="a"),
    Heat(TWO[None], "grey", 0.0, 3.0),
    Rule("x", 1.5, "a"),
    Box(0.0, 0.0, 1.0, 1.0, "a"),
    Note(0.0, 0.0, "a"),
]
OTHER = {"y": ONE, "dx": ONE, "values": ONE[None], "at": 2.25, "label": "b", "text": "b"}


def words(*marks, **axes):
    return "\n".join(in_words([Panel("p", "title", marks, **axes)]))


@pytest.mark.parametrize("mark", MARKS, ids=lambda mark: type(mark).__name__)
def test_another_number_or_word_gives_another_text(mark):
    changed = [
        replace(mark, **{name: value})
        for name, value in OTHER.items()
        if type(getattr(mark, name, None)) is type(value)
        and not (isinstance(value, str) and not getattr(mark, name))
    ]
    assert changed and all(words(one) != words(mark) for one in changed) and "title" in words(mark)


def test_series_with_common_places_are_one_table_and_bars_side_by_side_too():
    x = np.arange(2.0)
    assert words(
        Bars(x - 0.2, x + 5, label="a"),
        Bars(x + 0.2, x + 7, label="b"),
        x=Axis("class", ticks=((0, "zero"),)),
    ).splitlines()[2:] == ["  class  a  b", "  zero   5  7", "  1      6  8"]


def test_many_places_are_said_by_their_extent():
    assert "100 places, from 0 to 99, mean 49.5" in words(
        Line(np.arange(100.0), np.arange(100.0), label="a")
    )
