"""PyTorch's gradient of replication padding, to compare ours with: replication_pad2d_backward of ATen."""

from aclnn_viz.operators.families.resampling_peer import PADDED

ATEN = "replication_pad2d_backward(gradOutput, self, padding)"

DIFFERENCES = PADDED
