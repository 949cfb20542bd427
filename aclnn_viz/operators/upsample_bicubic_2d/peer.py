"""PyTorch's gradient of bicubic interpolation, to compare ours with: one function of ATen, called as PyTorch's interpolate
does.
"""

from aclnn_viz.operators.families.resampling_peer import REFUSED, arrangements, given_scales
from aclnn_viz.operators.upsample_bicubic_2d import page

ARRANGEMENTS = arrangements(page)


def in_torch(torch, gradOut, outputSize, inputSize, alignCorners, scalesH, scalesW):
    scales = given_scales(outputSize, inputSize, (scalesH, scalesW))
    return torch.ops.aten.upsample_bicubic2d_backward(
        gradOut, list(outputSize), list(inputSize), alignCorners, *scales
    )
