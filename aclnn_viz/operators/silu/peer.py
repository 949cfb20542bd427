"""PyTorch's gradient of SiLU, to compare ours with: silu_backward of ATen."""

ATEN = "silu_backward(gradOutput, self)"

DUMPED = {"silu": "input: self, inplace"}
