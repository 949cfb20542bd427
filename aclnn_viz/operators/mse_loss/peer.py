"""PyTorch's gradient of mean squared error, to compare ours with: autograd differentiates PyTorch's mean or single losses."""

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
