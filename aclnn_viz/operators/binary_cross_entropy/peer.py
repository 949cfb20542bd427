"""PyTorch's gradient of binary cross entropy, to compare ours with: autograd differentiates PyTorch's own loss."""

from aclnn_viz.operators.families.losses_peer import ROUNDED, of_loss


def in_torch(torch, gradOutput, self, target, weightOptional, reduction):
    def function(self, target, weight, reduction):
        return torch.nn.functional.binary_cross_entropy(self, target, weight, reduction=reduction)

    return of_loss(torch, function, gradOutput, self, reduction, target, weightOptional)


DIFFERENCES = {"torch": (ROUNDED,)}

DUMPED = {
    "binary_cross_entropy": "input: self, target, weight: weightOptional, size_average!, reduce!, reduction"
}
