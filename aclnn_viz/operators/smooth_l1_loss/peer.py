"""PyTorch's gradient of the smooth L1 loss, to compare ours with: autograd differentiates PyTorch's own loss."""

from aclnn_viz.operators.families.losses_peer import of_loss


def in_torch(torch, gradOut, self, target, reduction, beta):
    return of_loss(
        torch, torch.nn.functional.smooth_l1_loss, gradOut, self, reduction, target, beta=beta
    )


DUMPED = {"smooth_l1_loss": "input: self, target, size_average!, reduce!, reduction, beta"}
