"""Log-softmax in PyTorch: one function of ATen, which takes the saved output."""


def in_torch(torch, gradOutput, output, dim):
    return {"out": torch.ops.aten._log_softmax_backward_data(gradOutput, output, dim, output.dtype)}


DUMPED = {"log_softmax": "input: self, dim, _stacklevel, dtype"}
