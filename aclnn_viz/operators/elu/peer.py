"""Backward of ELU in PyTorch: one function of ATen."""

ATEN = "elu_backward(gradOutput, alpha, scale, inputScale, isResult, selfOrResult)"

DUMPED = {"elu": "input: x, alpha, inplace"}
