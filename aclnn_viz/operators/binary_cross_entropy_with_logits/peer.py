"""PyTorch's gradient of binary cross entropy of logits, to compare ours with: autograd differentiates PyTorch's own loss."""

from aclnn_viz.operators.families.losses_peer import ROUNDED, of_loss


def in_torch(torch, gradOutput, self, target, weightOptional, posWeightOptional, reduction):
    def function(self, target, weight, positive, reduction):
        return torch.nn.functional.binary_cross_entropy_with_logits(
            self, target, weight, pos_weight=positive, reduction=reduction
        )

    return of_loss(
        torch, function, gradOutput, self, reduction, target, weightOptional, posWeightOptional
    )


DIFFERENCES = {"torch": (ROUNDED,)}

DUMPED = {
    "binary_cross_entropy_with_logits": "input: self, target, weight: weightOptional, size_average!, reduce!, reduction, pos_weight: posWeightOptional"
}
