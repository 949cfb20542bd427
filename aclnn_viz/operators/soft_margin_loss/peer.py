"""The loss in PyTorch, and its gradient by autograd."""

from aclnn_viz.operators.families.losses_peer import ROUNDED, of_loss


def in_torch(torch, gradOutput, self, target, reduction):
    return {
        "out": of_loss(
            torch, torch.nn.functional.soft_margin_loss, gradOutput, self, reduction, target
        )
    }


DIFFERENCES = {"torch": (ROUNDED,)}
