"""States reject impossible values, in three parts and beside the right control."""

import pytest

from aclnn_viz.explorers import explore
from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import State
from aclnn_viz.explorers.state import build, changed


def test_what_differs_from_the_defaults_makes_the_same_state_again():
    state = build(State, {"rotate": 30, "paddingMode": 0, "moved": [[1, 2, 0.5, -0.25]]})
    assert changed(state) == {"rotate": 30.0, "paddingMode": 0, "moved": ((1, 2, 0.5, -0.25),)}
    assert build(State, changed(state)) == state and changed(State()) == {}


def test_no_explorer_of_another_name():
    with pytest.raises(
        ValueError, match="no such explorer: got 'conv'; open one of hardswish, .*two_phase"
    ):
        explore("conv")
