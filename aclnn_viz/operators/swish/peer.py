"""Swish in PyTorch: the slope of SiLU at beta * self."""

from aclnn_viz.operators.families.activations_peer import wide


def in_torch(torch, gradOutput, self, betaOptional):
    return torch.ops.aten.silu_backward(wide(gradOutput), betaOptional * wide(self))
