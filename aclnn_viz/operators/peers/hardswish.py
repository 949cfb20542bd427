"""Hardswish in PyTorch: one function of ATen."""


def in_torch(torch, gradOutput, self):
    return {"out": torch.ops.aten.hardswish_backward(gradOutput, self)}
