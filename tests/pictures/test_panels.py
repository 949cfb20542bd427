"""Panels as data: the ends and ticks of their axes, and the browser's data."""

import json

import numpy as np
import pytest
from panel_samples import nothing_to_see, sample_panels
from unpacking import unpack

from aclnn_viz.explorers.packing import pack
from aclnn_viz.pictures.marks import Arrows, Band, Bars, Box, Dots, Heat, Line, Note, Rule
from aclnn_viz.pictures.panels import Axis, Panel, described, fitted, limits, ticks

INF = float("inf")


def ends(*marks, **axes):
    return limits(Panel("p", "", marks, **axes))


def a(*values):
    return np.array(values)


@pytest.mark.parametrize(
    ("marks", "x", "y"),
    [
        ([Line(a(0.0, 10.0), a(-1.0, 1.0))], (-0.5, 10.5), (-1.1, 1.1)),
        ([Dots(a(0.0, 10.0), a(0.0, np.nan))], (-0.5, 10.5), (-0.5, 0.5)),
        ([Bars(a(0.0, 20.0), a(4.0, 10.0))], (-1.0, 21.0), (-0.5, 10.5)),
        ([Band(a(0.0, 20.0), a(-10.0, 0.0), a(0.0, 10.0))], (-1.0, 21.0), (-11.0, 11.0)),
        ([Arrows(a(0.0), a(0.0), a(20.0), a(-10.0))], (-1.0, 21.0), (-10.5, 0.5)),
        ([Box(0.0, 0.0, 20.0, 10.0), Note(5.0, -10.0, "low")], (-1.0, 21.0), (-11.0, 11.0)),
        (
            [Line(a(0.0, 20.0), a(0.0, 0.0)), Rule("y", 10.0), Rule("x", 60.0)],
            (-3.0, 63.0),
            (-0.5, 10.5),
        ),
        ([Line(a(0.0, INF), a(-INF, 2.0))], (-0.5, 0.5), (1.5, 2.5)),
        ([], (-0.5 + 0.45, 1.05), (-0.05, 1.05)),
    ],
    ids=lambda value: type(value[0]).__name__ if isinstance(value, list) and value else None,
)
def test_the_ends_hold_all_finite_marks_and_a_twentieth_of_margin(marks, x, y):
    got = ends(*marks)
    assert got[0] == pytest.approx(x) and got[1] == pytest.approx(y)


def test_given_ends_win_and_may_be_inverted():
    got = ends(Line(a(0.0, 9.0), a(0.0, 9.0)), x=Axis(low=5.0, high=-5.0), y=Axis(low=0.0))
    assert got == ((5.0, -5.0), (0.0, 9.45))


def test_room_on_a_log_axis_is_a_share_of_its_decades_and_what_has_no_logarithm_is_left_out():
    (_, _), (low, high) = ends(Line(a(0.0, 1.0, 2.0), a(0.0, 1e-10, 1e10)), y=Axis(scale="log"))
    assert (np.log10(low), np.log10(high)) == pytest.approx((-11, 11))


def test_a_heat_map_has_its_rows_downwards_and_no_margin():
    heat = Heat(np.zeros((3, 5)), "grey", 0.0, 1.0)
    assert ends(heat) == ((-0.5, 4.5), (2.5, -0.5))
    assert ends(heat, y=Axis(low=-0.5, high=2.5))[1] == (-0.5, 2.5)


@pytest.mark.parametrize(
    ("scale", "low", "high", "texts"),
    [
        ("linear", -3, 3, "-3 -2 -1 0 1 2 3"),
        ("linear", 3, -3, "-3 -2 -1 0 1 2 3"),
        ("linear", 0, 1, "0 0.2 0.4 0.6 0.8 1"),
        ("linear", 0, 15, "0 2.5 5 7.5 10 12.5 15"),
        ("linear", 0, 1e-9, "0 2e-10 4e-10 6e-10 8e-10 1e-09"),
        ("linear", 1e6, 1e6 + 1, "1000000 1000000.2 1000000.4 1000000.6 1000000.8 1000001"),
        ("linear", 2, 2, "2"),
        ("linear", -1e300, 1e300, "-1e+300 -5e+299 0 5e+299 1e+300"),
        ("log", 0.5, 2000, "1 10 100 1000"),
        ("log", 1e-12, 5, "1e-12 1e-9 1e-6 0.001 1"),
        ("log", 2, 7, "2 5"),
        ("log", 0.9, 11, "1 10"),
        ("log", 30, 3, "5 10 20"),
    ],
)
def test_ticks_are_round_numbers_or_powers_of_ten_between_the_ends(scale, low, high, texts):
    got = ticks(Axis(scale=scale), float(low), float(high))
    assert [text for _, text in got] == texts.split()
    assert [value for value, _ in got] == pytest.approx([float(text) for text in texts.split()])


def test_cells_are_counted_in_whole_numbers():
    panel = fitted(Panel("p", "", (Heat(np.zeros((3, 15)), "grey", 0.0, 1.0),)))
    assert [text for _, text in panel.y.ticks] == ["0", "1", "2"]
    assert [text for _, text in panel.x.ticks] == "0 3 6 9 12".split()


def test_the_browser_gets_every_number_of_every_mark():
    panels = sample_panels()
    arrays, text = described(panels)
    arrays = unpack(*pack(arrays))
    for panel, one in zip(panels, json.loads(json.dumps(text, allow_nan=False)), strict=True):
        assert (one["name"], one["span"], tuple(one["pick"])) == (
            panel.name,
            panel.span,
            panel.pick,
        )
        assert [(one[axis]["low"], one[axis]["high"]) for axis in "xy"] == [*limits(panel)]
        for mark, drawn in zip(panel.marks, one["marks"], strict=True):
            assert drawn.pop("mark") == type(mark).__name__
            for field, value in drawn.items():
                given = getattr(mark, field)
                if isinstance(given, np.ndarray):
                    np.testing.assert_array_equal(arrays[value], given.astype(np.float32))
                else:
                    assert value == json.loads(json.dumps(given))


def test_lists_and_numpy_scalars_are_taken_too():
    arrays, text = described(
        [Panel("p", "", (Line([0, 1], [2, 3], np.int64(1)), Rule("x", np.float32(0.5))))]
    )
    assert arrays[text[0]["marks"][0]["y"]].tolist() == [2, 3]
    assert text[0]["marks"][1]["at"] == 0.5
    json.dumps(text)


def test_what_has_no_place_is_still_said_in_json():
    _, text = described(nothing_to_see())
    assert json.loads(json.dumps(text, allow_nan=False))[1]["marks"][4]["at"] is None
