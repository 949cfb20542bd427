"""Conventions of the grid sampler in space: those of the 2D sampler axis by axis, shown along z, which only this one has."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import SILENT, Convention, taken

VOXELS = np.array([1.0, 3.0, 7.0, 15.0, 31.0])  # differences 2, 4, 8, 16: no two slopes are alike
SIZES = {True: 5, False: 4}  # planes, by alignCorners
A2 = "ops-cv image/grid_sampler3_d_grad/op_kernel/grid_sampler3_d_grad.h"
READ = "ATen GridSampler.h, read and not run"
ROUND = "round(), without a word on ties"
NOTHING = "nothing about coordinates that are no numbers, or too large"
TRILINEAR, NEAREST = 0, 1
ZEROS, BORDER, REFLECTION = 0, 1, 2


def backward(**given) -> dict:
    """Both gradients for a column of ones and gradOutput 1 at (0, 0, 0), unless others are given."""
    one = np.ones((1, 1, 1, 1, 1))
    return operator("grid_sampler_3d").backward(
        **{"gradOutput": one, "input": np.ones((1, 1, 2, 1, 1)), "grid": np.zeros((1, 1, 1, 1, 3))} | given)


def column(z: float, mode: tuple, planes: int, grad: float) -> list:
    """inputGrad of a column of voxels, then gridGrad by z, for gradOutput `grad` at (0, 0, z)."""
    found = backward(gradOutput=np.full((1, 1, 1, 1, 1), grad), input=VOXELS[None, None, :planes, None, None],
                     grid=np.array([[[[[0.0, 0.0, z]]]]]),
                     **dict(zip(("interpolationMode", "paddingMode", "alignCorners"), mode)))
    return [*found["inputGrad"].ravel(), found["gridGrad"].ravel()[2]]


def row(topic, where, z, mode, returns, document, published, pytorch, why, planes=None, grad=1.0) -> Convention:
    return Convention(topic, f"{where}: inputGrad, and as the last number gridGrad by z",
                      lambda: column(z, mode, planes or SIZES[mode[2]], grad), returns, document, published, why,
                      pytorch=f"{pytorch} ({READ})")


CONVENTIONS = (
    row("kink", "trilinear on the voxel centre 1 of 5, zeros, aligned", -0.5, (TRILINEAR, ZEROS, True),
        [0, 1, 0, 0, 0, 8], "floor picks the voxels 1 and 2", f"the derivative from above ({A2})",
        "the derivative from above", "floor, as printed and as in 2D"),
    row("kink", "trilinear on the last voxel, border, aligned", 1.0, (TRILINEAR, BORDER, True), [0, 0, 0, 0, 1, 0],
        "grid_clip is 0 outside of the border, else 1", f"0 on the border, too ({A2})", "0 on the border, too",
        "the kernels and PyTorch agree: the derivative from outside"),
    row("kink", "trilinear on the last voxel, reflection, aligned", 1.0, (TRILINEAR, REFLECTION, True),
        [0, 0, 0, 0, 1, 0], "1 or -1, times grid_clip", f"grid_clip makes it 0 ({A2})", "0, by clipping",
        "the kernels and PyTorch agree: the mean of both sides"),
    row("kink", "trilinear on the first voxel, border, aligned", -1.0, (TRILINEAR, BORDER, True), [1, 0, 0, 0, 0, 0],
        "grid_clip is 0 outside of the border, else 1", f"0 on the border, too ({A2})", "0 on the border, too",
        "the kernels and PyTorch agree: the derivative from outside"),
    row("tie", "nearest, halfway between the voxels 0 and 1, aligned", -0.75, (NEAREST, ZEROS, True),
        [1, 0, 0, 0, 0, 0], ROUND, f"to even, voxel 0 ({A2})", "to even, voxel 0", "the kernels and PyTorch agree"),
    row("tie", "nearest, halfway between the voxels 1 and 2, aligned", -0.25, (NEAREST, ZEROS, True),
        [0, 0, 1, 0, 0, 0], ROUND, f"to even, voxel 2 ({A2})", "to even, voxel 2", "the kernels and PyTorch agree"),
    row("not finite", "z = nan, trilinear, zeros", np.nan, (TRILINEAR, ZEROS, False), [0] * 5, NOTHING,
        f"becomes -100, outside of the image ({A2})", "reads nothing", "as on Atlas A2"),
    row("not finite", "z = nan, trilinear, border", np.nan, (TRILINEAR, BORDER, False), [0] * 5, NOTHING,
        f"becomes -100: nothing is read ({A2})", "undefined: nan is cast to an integer", "as on Atlas A2"),
    row("not finite", "z = inf, trilinear, border", np.inf, (TRILINEAR, BORDER, False), [0, 0, 0, 1, 0], NOTHING,
        f"clipped to the last voxel, multiplier 0 ({A2})", "clipped to the last voxel", "as in 2D"),
    row("not finite", "z = inf, trilinear, reflection", np.inf, (TRILINEAR, REFLECTION, False), [0] * 5, NOTHING,
        f"becomes -100: nothing is read ({A2})", "undefined: nan is cast to an integer", "as on Atlas A2"),
    row("not finite", "gradOutput = nan at a point far outside, zeros", 9.0, (TRILINEAR, ZEROS, False), [0] * 5, SILENT,
        f"voxels outside are skipped ({A2})", "voxels outside are skipped", "what is not read has no part in it",
        grad=np.nan),
    row("not finite", "z = nan, one voxel, trilinear, reflection, aligned", np.nan, (TRILINEAR, REFLECTION, True),
        [0, 0], NOTHING, f"becomes -100: nothing is read ({A2})", "coordinate 0: the voxel is read", "as in 2D", 1),
    row("not finite", "gradOutput = nan, nearest, on the voxel 1, aligned", -0.5, (NEAREST, ZEROS, True),
        [0, np.nan, 0, 0, 0, 0], "gridGrad is 0", f"0: nearest computes no gradient by the grid ({A2})",
        "0, and nan on the voxel", "the gradient by the grid is 0, not 0 times gradOutput", grad=np.nan),
    row("parameter", "z = 1e10, trilinear, zeros", 1e10, (TRILINEAR, ZEROS, False), [0] * 5, NOTHING,
        f"becomes -100, outside of the image ({A2})", "reads nothing", "it is outside in any case"),
    Convention("parameter", "bicubic", lambda: taken(lambda: backward(interpolationMode=2)), "refused", "0 or 1", "161002",
               "there is no formula for it in space", pytorch="refuses it for 5 axes"),
    row("zero divisor", "one voxel, aligned, reflection: the mirrors coincide", 0.5, (TRILINEAR, REFLECTION, True),
        [1, 0], SILENT, f"coordinate 0, multiplier 0 ({A2})", "coordinate 0, multiplier 0", "as on Atlas A2", 1),
    row("zero divisor", "one voxel, aligned, zeros: D - 1 = 0", 0.5, (TRILINEAR, ZEROS, True), [1, 0],
        "the factor (D - 1) / 2 is 0", "coordinate 0, multiplier 0", "coordinate 0, multiplier 0", "the formula", 1),
    Convention("empty", "no grid points: inputGrad",
        lambda: backward(gradOutput=np.ones((1, 1, 0, 1, 1)), grid=np.zeros((1, 0, 1, 1, 3)))["inputGrad"].ravel(),
        [0, 0], "empty tensors are supported",
               "success at once, and inputGrad is left as it was (ops-cv image/grid_sampler3_d_grad)",
               "an empty sum is 0", pytorch=f"0 ({READ})"),
    Convention("empty", "an image of depth 0", lambda: taken(lambda: backward(input=np.ones((1, 1, 0, 1, 2)))), "refused",
        "D, H, W must not be 0",
               "161002", "there is no voxel to read", pytorch="refuses it"),
)
