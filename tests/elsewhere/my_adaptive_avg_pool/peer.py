"""One function of ATen, which adds up in 16 bits."""

from aclnn_viz.errors import NotSupported, problem
from aclnn_viz.operators.peers import narrow

DIFFERENCES = {
    "torch": (
        narrow(
            "every step is rounded to 16 bits",
            "ATen native/cpu/AdaptiveAvgPoolKernel.cpp",
            "adaptive average pooling in 16 bits",
            accumulate="storage",
        ),
    )
}
REFUSED = ("PyTorch pools planes that have elements",)


def in_torch(torch, gradOutput, self):
    if not gradOutput.numel() or not self.numel():  # it ends the process for some of these
        raise NotSupported(problem(REFUSED[0], "an empty tensor", "leave such cases out"))
    return torch.ops.aten._adaptive_avg_pool2d_backward(gradOutput, self)
