"""PyTorch's gradient of swish, to compare ours with: silu_backward of ATen at beta * self."""

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.operators.families.activations_peer import wide
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.peers import Difference
from aclnn_viz.operators.swish import page


def in_torch(torch, gradOutput, self, betaOptional):
    return torch.ops.aten.silu_backward(wide(gradOutput), betaOptional * wide(self))


SUBTRACTED = changed(page, (("z * sigmoid(xp, -z)", "z * (1.0 - sigmoid(xp, z))"),)).backward
ARRANGEMENTS = (SUBTRACTED,)
DIFFERENCES = {
    "torch": (
        Difference(
            "1 - sigmoid(z) is subtracted, which cancels where z is large",
            "ATen native/cpu/Activation.cpp, silu_backward_kernel",
            Plan("swish by silu", order=SEQUENTIAL, page=SUBTRACTED),
        ),
    )
}
