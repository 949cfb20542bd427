"""Backward of the L1 loss in PyTorch: autograd differentiates its function."""

from aclnn_viz.operators.families.losses_peer import of_loss


def in_torch(torch, gradOutput, self, target, reduction):
    return of_loss(torch, torch.nn.functional.l1_loss, gradOutput, self, reduction, target)
