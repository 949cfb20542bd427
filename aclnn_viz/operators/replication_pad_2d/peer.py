"""PyTorch's gradient of replication padding, to compare ours with: replication_pad2d_backward of ATen."""

from aclnn_viz.operators.peers import narrow

ATEN = "replication_pad2d_backward(gradOutput, self, padding)"

DIFFERENCES = {
    "torch": (
        narrow(
            "gradients that padding sends to an element are added in 16 bits",
            "ATen native/cpu/PaddingKernel.cpp",
            "padding in 16 bits",
            accumulate="storage",
        ),
    )
}
