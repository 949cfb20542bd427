"""The grid-sampler explorer's own features: dragged points, keys, and modes that a product lacks."""

import panel_picture
import pytest
from opened import on

from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import State, compute

pytestmark = [pytest.mark.needs("chromium"), on("grid_sampler_2d")]


def checked(explorer):
    explorer.settle()
    state = explorer.state()
    panel_picture.check(explorer, state)
    return state


def test_a_point_is_dragged_and_the_last_position_wins(explorer):
    hint = explorer.drag("image", [(15.5 + k / 10, 15.5 - k / 20) for k in range(60)])
    state = checked(explorer)
    ((row, column, gx, gy),) = state.moved
    assert (row, column) == (state.row, state.column)
    # Pointers stand on whole screen pixels, a seventh of a cell.
    assert (gx * 16, gy * 16) == pytest.approx((5.9, -2.95), abs=0.3)
    # the present place of the held point
    assert hint == f"row {row}, column {column}: x {gx:.4g}, y {gy:.4g}"


def test_a_text_that_was_copied_goes_when_the_state_does(explorer):
    explorer.lifted("cell")
    area = explorer.page.locator(".aclnn-explorer textarea")
    assert area.is_visible()
    explorer.set(("paddingMode", 1))
    assert area.is_hidden()
    explorer.lifted("cell")
    explorer.run("explorer.values = {**explorer.values, 'paddingMode': 0}")
    explorer.settle()
    assert area.is_hidden()


def test_keys_move_and_choose_points(explorer):
    canvas = explorer.canvas("image")
    canvas.focus()
    canvas.press("PageDown")
    canvas.press("Shift+ArrowLeft")
    canvas.press("ArrowDown")
    state = checked(explorer)
    was = compute(State()).inputs["grid"][0, 6, 0]
    assert (state.row, state.column) == (6, 0)
    assert state.moved[0][2:] == pytest.approx((was[0] - 1 / 16, was[1] + 0.25 / 16), abs=1e-6)
    canvas.press("Home")
    assert checked(explorer).moved == ()
