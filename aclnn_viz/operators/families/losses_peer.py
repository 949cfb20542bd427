"""Compute the gradient of a loss of single elements in PyTorch, by autograd, to compare ours with."""

from aclnn_viz.operators.families.losses import MEAN, REDUCTION
from aclnn_viz.operators.peers import narrow


def of_loss(torch, function, gradient, self, reduction, *others, count=None, **more):
    """The gradient of `function(self, *others, reduction=..., **more)` by self, in the shape to which all are broadcast.

    PyTorch has the mean of a loss alone, so a gradient of many elements meets the losses themselves, and so does a mean
    that divides by another `count` than theirs.
    """
    shape = torch.broadcast_shapes(
        self.shape, gradient.shape, *(other.shape for other in others if other is not None)
    )
    leaf, others = (
        self.expand(shape).clone().requires_grad_(),
        [None if other is None else other.expand(shape) for other in others],
    )
    count = (
        count
        or torch.broadcast_shapes(
            self.shape, *(other.shape for other in others if other is not None)
        ).numel()
    )
    one = gradient.numel() == 1 and leaf.numel() == count
    if reduction == MEAN and not one:  # which PyTorch has not: divided here, and rounded once
        leaf, gradient = leaf.detach().double().requires_grad_(), gradient.double()
        others = [None if other is None else other.double() for other in others]
    loss = function(leaf, *others, reduction=REDUCTION.values[reduction] if one else "none", **more)
    (found,) = torch.autograd.grad(
        loss, leaf, gradient.reshape(loss.shape) if one and reduction else gradient.expand(shape)
    )
    return found if one or reduction != MEAN else found / count


#: Of autograd in 16 bits, where each function of ATen rounds.
ROUNDED = narrow(
    "every step is rounded to 16 bits", "ATen: one function after the other", "a loss in 16 bits"
)
