"""PyTorch's gradient of average pooling, to compare ours with: one function of ATen."""

from aclnn_viz.operators.peers import narrow


def in_torch(
    torch,
    gradOutput,
    self,
    kernelSize,
    stride,
    padding,
    ceilMode,
    countIncludePad,
    divisorOverride,
    cubeMathType,
):
    return torch.ops.aten.avg_pool2d_backward(
        gradOutput,
        self,
        list(kernelSize),
        list(stride),
        list(padding),
        ceilMode,
        countIncludePad,
        divisorOverride or None,
    )


DIFFERENCES = {
    "torch": (
        narrow(
            "gradients that windows give an element are added in 16 bits",
            "ATen native/cpu/AvgPoolKernel.cpp",
            "average pooling in 16 bits",
            accumulate="storage",
        ),
    )
}
