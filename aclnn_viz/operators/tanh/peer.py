"""Tanh in PyTorch: one function of ATen."""


def in_torch(torch, gradOutput, output):
    return {"gradInput": torch.ops.aten.tanh_backward(gradOutput, output)}


DUMPED = {"tanh": "input: self"}
