"""PyTorch's gradient of nearest-neighbour interpolation, to compare ours with: one function of ATen, called as PyTorch's
interpolate does.
"""

# REFUSED is imported for its readers: this peer refuses the same calls as the other resamplings
from aclnn_viz.operators.families.resampling_peer import REFUSED, given_scales


def in_torch(torch, gradOut, outputSize, inputSize, scalesH, scalesW):
    scales = given_scales(
        outputSize, inputSize, (scalesH, scalesW) if scalesH > 0.0 and scalesW > 0.0 else (0.0, 0.0)
    )
    return torch.ops.aten.upsample_nearest2d_backward(
        gradOut, list(outputSize), list(inputSize), *scales
    )
