"""PyTorch's gradient of ELU, to compare ours with: elu_backward of ATen."""

ATEN = "elu_backward(gradOutput, alpha, scale, inputScale, isResult, selfOrResult)"

DUMPED = {"elu": "input: x, alpha, inplace"}
