"""PyTorch's gradient of reflection padding, to compare ours with: reflection_pad2d_backward of ATen."""

from aclnn_viz.operators.families.resampling_peer import PADDED

ATEN = "reflection_pad2d_backward(gradOutput, self, padding)"

DIFFERENCES = PADDED
