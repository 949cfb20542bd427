"""Grid sampler backward as an Ascend C kernel, in Python for simulated cores: the taps of a point in an image; `sampling.py` has what all samplers share."""

from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel
from aclnn_viz.tiles.by_operator.sampling import (
    PLAN,
    F,
    GridSamplerGrad,
    atomic_tiling,
    tiling,
)


class GridSampler2DGrad(GridSamplerGrad):
    def Corners(self, point):
        """Return the taps of a point inside the image: pixel, weight, and the weight's derivatives by x and y."""
        columns = self.Axis(F(self.gridGm.GetValue(2 * point)), self.t.width)
        rows = self.Axis(F(self.gridGm.GetValue(2 * point + 1)), self.t.height)
        return [
            (int(row) * self.t.width + int(column), wy * wx, wy * dx, dy * wx)
            for row, wy, dy in rows
            if 0 <= row < self.t.height
            for column, wx, dx in columns
            if 0 <= column < self.t.width
        ]


def kernel(gradOutput, x, grid, inputGrad, gridGrad, workspace, tiling):
    op = GridSampler2DGrad()
    op.Init(gradOutput, x, grid, inputGrad, gridGrad, workspace, tiling)
    op.Process()


PROGRAMS = (
    Program(
        "grid_sampler_2d",
        "grid_sampler_2d",
        tiling,
        kernel,
        PLAN,
        text="one image a core: the sums onto a pixel come in the order of the points",
    ),
    Program(
        "grid_sampler_2d",
        "grid_sampler_2d_atomic",
        atomic_tiling,
        kernel,
        PLAN,
        deterministic=False,
        text="points dealt to all cores, which add onto the same pixels in whatever order they arrive",
    ),
)
