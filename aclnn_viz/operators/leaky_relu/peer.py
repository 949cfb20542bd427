"""Backward of leaky ReLU in PyTorch: one function of ATen."""

ATEN = "leaky_relu_backward(gradOutput, self, negativeSlope, selfIsResult)"

DUMPED = {"leaky_relu": "input: x, negative_slope: negativeSlope, inplace"}
