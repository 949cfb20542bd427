"""Backward of SELU in PyTorch: ELU with constants, by its result."""

from .page import ALPHA, SCALE


def in_torch(torch, gradOutput, result):
    return torch.ops.aten.elu_backward(gradOutput, ALPHA, SCALE, 1.0, True, result)
