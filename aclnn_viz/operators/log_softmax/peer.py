"""Backward of log-softmax in PyTorch: one function of ATen, which takes the saved output."""

ATEN = "_log_softmax_backward_data(gradOutput, output, dim, output.dtype)"

DUMPED = {"log_softmax": "input: self, dim, _stacklevel, dtype"}
