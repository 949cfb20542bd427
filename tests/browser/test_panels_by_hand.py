"""Panels under the pointer: hints, clicks, and the judge of their pixels; on the explorer of group norm and swish."""

import json

import panel_picture
import pytest

from aclnn_viz.explorers.by_operator.group_norm_swish import State

pytestmark = [
    pytest.mark.needs("chromium"),
    pytest.mark.parametrize("explorer", ["group_norm_swish"], indirect=True),
]


def canvas(explorer, panel):
    return explorer.page.locator(f"[data-panel={panel}] canvas")


def point(explorer, panel, x, y):
    """Where values of the axes are on the canvas."""
    axes = json.loads(canvas(explorer, panel).get_attribute("data-axes"))
    at = panel_picture.Frame(axes).place(float(x), float(y))
    return {"x": float(at[0]), "y": float(at[1])}


def hint(explorer, panel, x, y):
    canvas(explorer, panel).hover(position=point(explorer, panel, x, y))
    return explorer.page.text_content(f"[data-panel={panel}] .ae-hint")


def shown(explorer, state):
    arrays, panels = explorer.subject.drawn(explorer.data(state))
    axes = {
        name: json.loads(said) for name, _, said in explorer.page.evaluate(panel_picture.DESCRIBED)
    }
    return axes, panels, arrays


def test_a_click_on_a_cell_chooses_it(explorer):
    canvas(explorer, "map").click(position=point(explorer, "map", 13.3, 1.8))
    explorer.settle()
    state = explorer.state()
    assert (state.position, state.channel) == (13, 2)
    panel_picture.check(explorer, state)


def test_dragging_chooses_all_the_way_and_stops_at_the_limits(explorer):
    canvas(explorer, "parameters").scroll_into_view_if_needed()
    box = canvas(explorer, "parameters").bounding_box()
    places = [point(explorer, "parameters", x, 20.0) for x in (2, 4, 6, 8, 11.39)]
    explorer.page.mouse.move(box["x"] + places[0]["x"], box["y"] + places[0]["y"])
    explorer.page.mouse.down()
    for place in places:
        explorer.page.mouse.move(box["x"] + place["x"], box["y"] + place["y"])
    explorer.page.mouse.up()
    explorer.settle()
    assert explorer.state().channel == 11 and explorer.problem() == ""


@pytest.mark.parametrize("at", [5.8, 6.2])
def test_a_hint_says_the_channel_of_bars_that_stand_side_by_side(explorer, at):
    """And no coordinate of the drawing: the places of bars are beside the number that they belong to."""
    assert hint(explorer, "parameters", at, 1.0).startswith("channel 6\n")


def test_moving_without_a_button_chooses_nothing(explorer):
    canvas(explorer, "map").hover(position=point(explorer, "map", 3, 3))
    explorer.settle()
    assert explorer.state() == State()


def test_a_cell_tells_its_value(explorer):
    _, panels, arrays = shown(explorer, State())
    value = arrays[panels[0]["marks"][0]["values"]][2, 13]
    words = hint(explorer, "map", 13, 2)
    assert words.startswith("channel 2, position 13: ")
    assert float(words.rsplit(" ", 1)[1]) == pytest.approx(value, rel=1e-3)


def test_series_tell_their_names_and_values(explorer):
    _, panels, arrays = shown(explorer, State())
    marks = {
        mark.get("label"): mark
        for text in panels
        if text["name"] == "parameters"
        for mark in text["marks"]
    }
    words = hint(explorer, "parameters", float(arrays[marks["dgammaOut"]["x"]][5]), 10.0)
    assert words.startswith("channel")
    text = dict(line.split(": ") for line in words.split("\n")[1:])
    assert float(text["dgammaOut"]) == pytest.approx(arrays[marks["dgammaOut"]["y"]][5], rel=1e-3)


def test_outside_the_axes_nothing_is_shown(explorer):
    assert hint(explorer, "map", 13, 2)
    canvas(explorer, "map").hover(position={"x": 2, "y": 2})
    assert explorer.page.locator("[data-panel=map] .ae-hint").is_hidden()


def test_right_numbers_are_found(explorer):
    assert panel_picture.misplaced(explorer, *shown(explorer, State())) == []


def mirrored(array, ends, scale):
    low, high = ends
    return low * high / array if scale == "log" else low + high - array


@pytest.mark.parametrize("panel", ["map", "line", "growth", "parameters"])
def test_numbers_that_are_not_drawn_are_noticed(explorer, panel):
    axes, panels, arrays = shown(explorer, State())
    text = next(one for one in panels if one["name"] == panel)
    wrong = {}
    for mark in text["marks"]:
        if mark["mark"] == "Heat":
            wrong[mark["values"]] = mirrored(
                arrays[mark["values"]], (mark["low"], mark["high"]), "linear"
            )
        elif "x" in mark:
            wrong[mark["y"]] = mirrored(
                arrays[mark["y"]], (text["y"]["low"], text["y"]["high"]), text["y"]["scale"]
            )
    found = panel_picture.misplaced(explorer, axes, [text], {**arrays, **wrong})
    assert [words.split(":")[0] for words in found] == [panel]


def test_bars_that_are_drawn_too_long_are_noticed(explorer):
    axes, panels, arrays = shown(explorer, State())
    text = next(one for one in panels if one["name"] == "parameters")
    shorter = {
        name: 0.7 * array if name.endswith(".y") else array for name, array in arrays.items()
    }
    assert "longer" in panel_picture.misplaced(explorer, axes, [text], shorter)[0]
