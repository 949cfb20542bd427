"""Hardswish in PyTorch: one function of ATen, which has the slopes of the second version at -3 and 3."""


def in_torch(torch, gradOutput, self):
    return {"out": torch.ops.aten.hardswish_backward(gradOutput, self)}
