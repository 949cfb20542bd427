"""States reject what cannot be shown, in three parts and beside the right control; buffers carry every number."""

import numpy as np
import pytest
from aclnn_viz.explorers import explore
from aclnn_viz.explorers.packing import pack, unpack
from aclnn_viz.explorers.state import StateError, build, changed, controls
from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import State
from together import in_one


@in_one
@pytest.mark.parametrize(
    ("values", "field", "text"),
    [
        (
            {"height": 0},
            "height",
            "height must be a whole number from 1 to 96: got 0; raise it to 1",
        ),
        (
            {"width": 97},
            "width",
            "width must be a whole number from 1 to 96: got 97; lower it to 96",
        ),
        (
            {"width": 2.5},
            "width",
            "width must be a whole number from 1 to 96: got 2.5; type such a number",
        ),
        (
            {"seed": None},
            "seed",
            "seed must be a whole number from 0 to 9999: got nothing; type such a number",
        ),
        (
            {"scale": float("nan")},
            "scale",
            "scale must be a number from 0.05 to 3.0: got nan; type such a number",
        ),
        (
            {"paddingMode": 3},
            "paddingMode",
            "paddingMode must be one of 0, 1, 2: got 3; choose one",
        ),
        (
            {"paddingMode": True},
            "paddingMode",
            "paddingMode must be one of 0, 1, 2: got True; choose one",
        ),
        (
            {"alignCorners": 1},
            "alignCorners",
            "alignCorners must be True or False: got 1; tick or clear the box",
        ),
        ({"row": 16}, "row", "row must be one of the 16 along Hout: got 16; choose 0 to 15"),
        ({"sample": 1}, "sample", "sample must be one of the 1 along N: got 1; choose 0"),
        (
            {"channels": 3, "channel": 3},
            "channel",
            "channel must be one of the 3 along C: got 3; choose 0 to 2",
        ),
        ({"moved": 5}, "moved", "moved must be a list of (row, column, x, y): got 5; pass a list"),
        (
            {"moved": [[0, 99, 0.0, 0.0]]},
            "moved",
            "each moved point is (row, column, x, y), on the grid and finite: got "
            "[0, 99, 0.0, 0.0]; choose a row below 16 and a column below 16",
        ),
        (
            {"moved": [[0, 0, float("inf"), 0.0]]},
            "moved",
            "each moved point is (row, column, x, y), on the grid and finite: "
            "got [0, 0, inf, 0.0]; choose a row below 16 and a column below 16",
        ),
        (
            {"moved": [[0, 0, 10**309, 0.0]]},
            "moved",
            "each moved point is (row, column, x, y), on the grid and finite: "
            f"got [0, 0, {10**309}, 0.0]; choose a row below 16 and a column below 16",
        ),
    ],
)
def test_a_value_that_cannot_be_shown_is_refused_beside_its_control(values, field, text):
    with pytest.raises(StateError) as caught:
        build(State, values)
    assert (caught.value.field, str(caught.value)) == (field, text)


def test_an_unknown_name_is_a_mistake():
    with pytest.raises(TypeError, match="State takes .*: got 'rotation'; use one of these"):
        build(State, {"rotation": 1.0})


def test_what_differs_from_the_defaults_makes_the_same_state_again():
    state = build(State, {"rotate": 30, "paddingMode": 0, "moved": [[1, 2, 0.5, -0.25]]})
    assert changed(state) == {"rotate": 30.0, "paddingMode": 0, "moved": ((1, 2, 0.5, -0.25),)}
    assert build(State, changed(state)) == state and changed(State()) == {}


def test_every_field_but_the_dragged_points_has_a_control_with_its_default():
    described = {control["field"]: control for control in controls(State)}
    assert described.keys() == State.__dataclass_fields__.keys() - {"moved"}
    assert all(
        control["initial"] == getattr(State(), field) for field, control in described.items()
    )
    assert all(control["label"] and control["group"] for control in described.values())


def test_a_buffer_gives_back_what_was_packed():
    arrays = {
        "a": np.arange(6.0).reshape(2, 3),
        "none": np.zeros((0, 4)),
        "flags": np.array([True, False]),
    }
    for name, array in unpack(*pack(arrays)).items():
        np.testing.assert_array_equal(array, arrays[name])


def test_no_explorer_of_another_name():
    with pytest.raises(
        ValueError, match="no such explorer: got 'conv'; open one of hardswish, .*two_phase"
    ):
        explore("conv")
