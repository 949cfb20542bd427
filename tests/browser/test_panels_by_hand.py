"""Panels under the pointer: hints, clicks, and the judge of their pixels; on the explorer of layer norm."""

import json

import numpy as np
import panel_picture
import pytest
from opened import on

pytestmark = [pytest.mark.needs("chromium"), on("layer_norm")]


def hint(explorer, panel, x, y):
    explorer.canvas(panel).hover(position=explorer.point(panel, x, y))
    return explorer.page.text_content(f"[data-panel={panel}] .ae-hint")


def shown(explorer, panel):
    """Return the axes of all panels by name, a panel as the browser gets it, and all arrays."""
    arrays, panels = explorer.subject.drawn(explorer.data(explorer.state()))
    axes = {
        name: json.loads(said) for name, _, said in explorer.page.evaluate(panel_picture.DESCRIBED)
    }
    return axes, next(one for one in panels if one["name"] == panel), arrays


def test_dragging_chooses_all_the_way(explorer):
    explorer.drag("taken", [(x, 0.1) for x in (2, 4, 6, 8, 11.3)])
    assert explorer.state().element == 11 and explorer.problem() == ""


def test_a_dot_goes_where_the_hand_leads_it(explorer):
    found = explorer.data(explorer.state()).answer
    k = int(np.argmax(found.xhat))
    x, y = found.xhat[k], found.arriving[k]
    explorer.drag("norm", [(x, y - down) for down in np.linspace(0.0, 1.0, 6)])
    after = explorer.data(explorer.state()).answer
    assert explorer.state().element == k
    assert after.arriving[k] == pytest.approx(y - 1.0, abs=0.02)
    panel_picture.check(explorer, explorer.state())
    explorer.reset()


def test_a_hint_says_the_element_of_a_bar_between_two(explorer):
    """The hint has no coordinate of the drawing, because bars lie beside their number."""
    assert hint(explorer, "arrives", 5.8, 0.1).startswith("element 6\n")


def test_moving_without_a_button_chooses_nothing(explorer):
    explorer.reset()
    hint(explorer, "taken", 3, 0.1)
    explorer.settle()
    assert explorer.state() == explorer.subject.state()


def test_outside_the_axes_nothing_is_shown(explorer):
    assert hint(explorer, "taken", 3, 0.1)
    explorer.canvas("taken").hover(position={"x": 2, "y": 2})
    assert explorer.page.locator("[data-panel=taken] .ae-hint").is_hidden()


def mirrored(array, ends):
    low, high = ends["low"], ends["high"]
    return low * high / array if ends.get("scale") == "log" else low + high - array


@pytest.mark.parametrize("panel", ["norm", "arrives", "gradInputOut"])
def test_numbers_that_are_not_drawn_are_noticed(explorer, panel):
    axes, text, arrays = shown(explorer, panel)
    wrong = {}
    for mark in text["marks"]:
        name, ends = ("values", mark) if mark["mark"] == "Heat" else ("y", text["y"])
        if name in mark:
            wrong[mark[name]] = mirrored(arrays[mark[name]], ends)
    found = panel_picture.misplaced(explorer, axes, [text], {**arrays, **wrong})
    assert [words.split(":")[0] for words in found] == [panel]


def test_bars_that_are_drawn_too_long_are_noticed(explorer):
    axes, text, arrays = shown(explorer, "taken")
    bars = next(mark["y"] for mark in text["marks"] if mark["mark"] == "Bars")
    shorter = {**arrays, bars: 0.7 * arrays[bars]}
    assert "longer" in panel_picture.misplaced(explorer, axes, [text], shorter)[0]
