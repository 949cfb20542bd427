"""States reject impossible values, in three parts and beside the right control."""

import pytest

from aclnn_viz.explorers import explore
from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import State
from aclnn_viz.explorers.state import build, changed, controls


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


def test_no_explorer_of_another_name():
    with pytest.raises(
        ValueError, match="no such explorer: got 'conv'; open one of hardswish, .*two_phase"
    ):
        explore("conv")
