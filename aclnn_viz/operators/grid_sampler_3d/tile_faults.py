"""Wrong tile programs of the gradient of the grid sampler in space."""

from aclnn_viz.tiles.fault import WRONG, TileFault

SMALL = {"shape": (2, 2, 3, 4, 5), "grid_shape": (2, 2, 2)}
DEEP = {"shape": (2, 3, 4, 2, 2), "grid_shape": (2, 3, 2)}

FAULTS = (
    TileFault("plane beyond the image", "taps behind the last plane are kept: the last channel's lie nowhere",
              "beyond global memory",
              {"self.Inside(3 * point + 2, self.t.depth)": "self.Inside(3 * point + 2, self.t.depth + 1)"},
              DEEP, schedule="eager"),
    TileFault("numbered as in a square", "the number of a voxel takes the width for the height", WRONG,
              {"(plane * self.t.height + row)": "(plane * self.t.width + row)"},
              {"shape": (2, 2, 3, 5, 4), "grid_shape": (2, 2, 2)}, schedule="eager"),
    TileFault("z before x", "the coordinates of a point are taken as (z, y, x)", WRONG,
              {"columns = self.Inside(3 * point,": "columns = self.Inside(3 * point + 2,",
               "planes = self.Inside(3 * point + 2,": "planes = self.Inside(3 * point,"}, SMALL, schedule="eager"),
    TileFault("grid in pairs", "a point is taken to have two coordinates, as in the plane", WRONG,
              {"columns = self.Inside(3 * point,": "columns = self.Inside(2 * point,"}, SMALL, schedule="eager"),
    TileFault("slope without a weight", "the derivative by z is not multiplied by the weight of the row", WRONG,
              {"dz * wy * wx)": "dz * wx)"}, SMALL, schedule="eager"),
)
