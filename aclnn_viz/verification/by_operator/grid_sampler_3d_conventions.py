"""Compute the results of the 3D grid sampler where an implementation must choose a value (kinks, ties, special inputs), to
check conventions.toml. Only z is tried: x and y behave as in 2D.
"""

import numpy as np

from aclnn_viz.operators import operator

# the differences 2, 4, 8, 16 make all slopes distinct
VOXELS = np.array([1.0, 3.0, 7.0, 15.0, 31.0])
SIZES = {True: 5, False: 4}  # number of planes, by alignCorners
TRILINEAR, NEAREST = 0, 1
ZEROS, BORDER, REFLECTION = 0, 1, 2


def backward(**given) -> dict:
    """Return both gradients, by default for a column of ones and gradOutput 1 at (0, 0, 0)."""
    one = np.ones((1, 1, 1, 1, 1))
    return operator("grid_sampler_3d").backward(
        **{"gradOutput": one, "input": np.ones((1, 1, 2, 1, 1)), "grid": np.zeros((1, 1, 1, 1, 3))}
        | given
    )


def column(z: float, mode: tuple, planes: int | None = None, grad: float = 1.0) -> list:
    """Return inputGrad of a column of voxels and the z component of gridGrad, for gradOutput `grad` at (0, 0, z)."""
    found = backward(
        gradOutput=np.full((1, 1, 1, 1, 1), grad),
        input=VOXELS[None, None, : planes or SIZES[mode[2]], None, None],
        grid=np.array([[[[[0.0, 0.0, z]]]]]),
        **dict(zip(("interpolationMode", "paddingMode", "alignCorners"), mode)),
    )
    return [*found["inputGrad"].ravel(), found["gridGrad"].ravel()[2]]
