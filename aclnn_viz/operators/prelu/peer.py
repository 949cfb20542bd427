"""PyTorch's gradient of PReLU, to compare ours with: one function of ATen."""

from aclnn_viz.operators.peers import narrow


def in_torch(torch, gradOutput, self, weight):
    gradInput, gradWeight = torch.ops.aten._prelu_kernel_backward(
        gradOutput, self, weight.reshape(-1, *[1] * (self.ndim - 2))
    )
    apart = [k for k in range(self.ndim) if k != 1 or weight.numel() == 1]
    return gradInput, gradWeight.sum(apart).reshape(weight.shape)


DIFFERENCES = {
    "torch": (
        narrow(
            "every step is rounded to 16 bits", "ATen native/cpu/Activation.cpp", "prelu in 16 bits"
        ),
    )
}

DUMPED = {"prelu": "input: self, weight"}
