"""The lifted test and program of the largest states that an explorer shows."""

from aclnn_viz import explore


def test_the_largest_picture_in_float64_passes_its_lifted_test():
    explorer = explore(
        "grid_sampler_2d", dtype="float64", height=96, width=96, grid_height=48, grid_width=48
    )
    namespace = {}
    exec(explorer.lifted("test"), namespace)
    namespace["test_kernel_in_this_state"]()
    # each number of input, grid and gradOutput
    assert explorer.lifted("cpp").count(",") > 96 * 96 + 3 * 48 * 48 - 100
    explorer.close()
