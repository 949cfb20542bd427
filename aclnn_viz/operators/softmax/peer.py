"""Softmax in PyTorch: one function of ATen, which takes the saved output."""

ATEN = "_softmax_backward_data(gradOutput, output, dim, output.dtype)"

DUMPED = {"softmax": "input: self, dim, _stacklevel, dtype"}
