"""PyTorch's gradient of hardshrink, to compare ours with: hardshrink_backward of ATen, given 0 for a negative lambd."""


def in_torch(torch, gradOutput, self, lambd):
    return torch.ops.aten.hardshrink_backward(gradOutput, self, max(lambd, 0.0))


DUMPED = {"hardshrink": "input: self, lambd"}
