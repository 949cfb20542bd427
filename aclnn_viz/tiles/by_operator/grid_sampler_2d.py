"""Grid sampler backward as an Ascend C kernel, in Python for simulated cores: the taps of a point in an image; `sampling.py` has what all samplers share."""

from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel
from aclnn_viz.tiles.by_operator.sampling import GridSamplerGrad, programs


class GridSampler2DGrad(GridSamplerGrad):
    def Corners(self, point):
        """Return the taps of a point inside the image: pixel, weight, and the weight's derivatives by x and y."""
        columns = self.Inside(2 * point, self.t.width)
        rows = self.Inside(2 * point + 1, self.t.height)
        return [
            (row * self.t.width + column, wy * wx, wy * dx, dy * wx)
            for row, wy, dy in rows
            for column, wx, dx in columns
        ]


def kernel(gradOutput, x, grid, inputGrad, gridGrad, workspace, tiling):
    op = GridSampler2DGrad()
    op.Init(gradOutput, x, grid, inputGrad, gridGrad, workspace, tiling)
    op.Process()


PROGRAMS = programs("grid_sampler_2d", kernel, "pixel")
