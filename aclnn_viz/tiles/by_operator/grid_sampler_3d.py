"""Grid sampler backward in space as an Ascend C kernel, in Python for simulated cores: as that of an image, with a third axis.

    clear:   zeros onto inputGrad (in 16 bits: onto a float workspace); SyncAll
    corners: of each point, the taps of three axes multiplied: 8 voxels at most, 1 for nearest
    taps:    weight * grad -> atomic sum onto the voxel, and the dot product of grad and voxel for gridGrad
    cast:    in 16 bits, SyncAll, then the float workspace is rounded to inputGrad

Axes, taps and stores are shared with the program in the plane. The number of a voxel, (plane * height + row) * width + column,
and a derivative by z are new.
"""

from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel
from aclnn_viz.tiles.by_operator.sampling import GridSamplerGrad, programs


class GridSampler3DGrad(GridSamplerGrad):
    def Corners(self, point):
        """Return the taps of a point inside the image: voxel, weight, and the weight's derivatives by x, y and z."""
        columns = self.Inside(3 * point, self.t.width)
        rows = self.Inside(3 * point + 1, self.t.height)
        planes = self.Inside(3 * point + 2, self.t.depth)
        found = []
        for plane, wz, dz in planes:
            for row, wy, dy in rows:
                for column, wx, dx in columns:
                    voxel = (plane * self.t.height + row) * self.t.width + column
                    found.append((voxel, wz * wy * wx, wz * wy * dx, wz * dy * wx, dz * wy * wx))
        return found


def kernel(gradOutput, x, grid, inputGrad, gridGrad, workspace, tiling):
    op = GridSampler3DGrad()
    op.Init(gradOutput, x, grid, inputGrad, gridGrad, workspace, tiling)
    op.Process()


PROGRAMS = programs("grid_sampler_3d", kernel, "voxel")
