"""The lifted test and program of the largest states that an explorer shows."""

import pytest

from aclnn_viz import explore


def test_the_largest_picture_in_float64_passes_its_lifted_test():
    explorer = explore(
        "grid_sampler_2d", dtype="float64", height=96, width=96, grid_height=48, grid_width=48
    )
    namespace = {}
    exec(explorer.lifted("test"), namespace)
    namespace["test_kernel_in_this_state"]()
    explorer.close()


@pytest.mark.soak
def test_the_largest_state_has_its_program():
    explorer = explore(
        "grid_sampler_2d", height=96, width=96, grid_height=48, grid_width=48, samples=4, channels=4
    )
    assert (
        explorer.problem == {}
        and explorer.lifted("cpp").count(",") > 4 * (4 * 96 * 96 + 4 * 48 * 48 + 2 * 48 * 48) - 100
    )
    explorer.close()
