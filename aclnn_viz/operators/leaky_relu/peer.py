"""Leaky ReLU in PyTorch: one function of ATen."""


def in_torch(torch, gradOutput, self, negativeSlope, selfIsResult):
    return {
        "out": torch.ops.aten.leaky_relu_backward(gradOutput, self, negativeSlope, selfIsResult)
    }


DUMPED = {"leaky_relu": "input: x, negative_slope: negativeSlope, inplace"}
