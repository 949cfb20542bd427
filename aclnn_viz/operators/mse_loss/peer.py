"""Backward of mean squared error in PyTorch: the gradient of its loss, or of the losses that full gradients come from."""

from aclnn_viz.operators.families.losses_peer import ROUNDED, of_loss


def in_torch(torch, gradOutput, self, target, reduction):
    return of_loss(
        torch,
        torch.nn.functional.mse_loss,
        gradOutput,
        self,
        reduction,
        target,
        count=self.numel(),
    )


DIFFERENCES = {"torch": (ROUNDED,)}

DUMPED = {"mse_loss": "input: self, target, size_average!, reduce!, reduction"}
