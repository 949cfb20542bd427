"""Softplus in PyTorch: one function of ATen."""

ATEN = "softplus_backward(gradOutput, self, beta, threshold)"

DUMPED = {"softplus": "input: self, beta, threshold"}
