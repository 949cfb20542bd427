"""PyTorch's gradient of the L1 loss, to compare ours with: autograd differentiates PyTorch's own loss."""

from aclnn_viz.operators.families.losses_peer import of_loss


def in_torch(torch, gradOutput, self, target, reduction):
    return of_loss(torch, torch.nn.functional.l1_loss, gradOutput, self, reduction, target)
