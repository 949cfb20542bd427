"""PyTorch's gradient of log-softmax, to compare ours with: one function of ATen, which takes the saved output."""

ATEN = "_log_softmax_backward_data(gradOutput, output, dim, output.dtype)"

DUMPED = {"log_softmax": "input: self, dim, _stacklevel, dtype"}
