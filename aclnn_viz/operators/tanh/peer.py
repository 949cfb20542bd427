"""Tanh in PyTorch: one function of ATen."""

ATEN = "tanh_backward(gradOutput, output)"

DUMPED = {"tanh": "input: self"}
