"""Backward of hardshrink in PyTorch: one function of ATen, which takes a negative lambd as it is."""


def in_torch(torch, gradOutput, self, lambd):
    return torch.ops.aten.hardshrink_backward(gradOutput, self, max(lambd, 0.0))


DUMPED = {"hardshrink": "input: self, lambd"}
