"""PyTorch's gradient of scaled masked softmax, to compare ours with: ATen's backward of softmax, then the scale, and 0 where an
element is masked.
"""

from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.peers import narrow
from aclnn_viz.operators.scaled_masked_softmax import page

# Megatron's scaled_masked_softmax.h subtracts two terms that nearly cancel for y near 1
ARRANGEMENTS = (
    changed(page, (("y * (gradOutput - xp.sum(", "gradOutput * y - (y * xp.sum("),)).backward,
)


def in_torch(torch, gradOutput, y, mask, scale, fixTriuMask):
    return (torch.ops.aten._softmax_backward_data(gradOutput, y, -1, y.dtype) * scale).masked_fill(
        mask, 0.0
    )


DIFFERENCES = {
    "torch": (
        narrow(
            "the gradient of softmax is rounded to 16 bits before it is scaled",
            "two functions of ATen, one after the other",
            "softmax in 16 bits, then the scale",
        ),
    )
}
