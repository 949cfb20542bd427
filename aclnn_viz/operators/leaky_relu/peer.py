"""PyTorch's gradient of leaky ReLU, to compare ours with: leaky_relu_backward of ATen."""

ATEN = "leaky_relu_backward(gradOutput, self, negativeSlope, selfIsResult)"

DUMPED = {"leaky_relu": "input: x, negative_slope: negativeSlope, inplace"}
