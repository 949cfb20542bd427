"""PyTorch's gradient of swish, to compare ours with: silu_backward of ATen at beta * self."""

from aclnn_viz.operators.families.activations_peer import wide
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.swish import page


def in_torch(torch, gradOutput, self, betaOptional):
    return torch.ops.aten.silu_backward(wide(gradOutput), betaOptional * wide(self))


# 1 - sigmoid(z), as in SiLU's peer, cancels for large z
ARRANGEMENTS = (changed(page, (("z * sigmoid(xp, -z)", "z * (1.0 - sigmoid(xp, z))"),)).backward,)
