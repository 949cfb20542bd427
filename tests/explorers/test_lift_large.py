"""The lifted test and program of the largest states that an explorer shows."""

from contextlib import closing

from panelled_explorer import assert_lifted_test_judges

from aclnn_viz import explore


def test_the_largest_picture_in_float64_passes_its_lifted_test():
    with closing(
        explore(
            "grid_sampler_2d", dtype="float64", height=96, width=96, grid_height=48, grid_width=48
        )
    ) as explorer:
        assert_lifted_test_judges(explorer, "inputGrad")
        # each number of input, grid and gradOutput
        assert explorer.lifted("cpp").count(",") > 96 * 96 + 3 * 48 * 48 - 100
