"""Softmax in PyTorch: one function of ATen, which takes the saved output."""


def in_torch(torch, gradOutput, output, dim):
    return {"out": torch.ops.aten._softmax_backward_data(gradOutput, output, dim, output.dtype)}


DUMPED = {"softmax": "input: self, dim, _stacklevel, dtype"}
