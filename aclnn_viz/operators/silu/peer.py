"""Backward of SiLU in PyTorch: one function of ATen."""

ATEN = "silu_backward(gradOutput, self)"

DUMPED = {"silu": "input: self, inplace"}
