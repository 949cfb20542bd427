"""Compute the gradient of a loss of single elements in PyTorch, by autograd, to compare ours with."""

from aclnn_viz.operators.families.losses import MEAN, REDUCTION
from aclnn_viz.operators.peers import narrow


def of_loss(torch, function, gradient, self, reduction, *others, count=None, **more):
    """Return the gradient of `function(self, *others, reduction=..., **more)` for self, in the broadcast shape.

    PyTorch's mean takes one gradient number and its own count. A gradient of many elements, or another `count`, therefore
    needs the unreduced losses.
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
    # the mean of PyTorch takes one upstream number, not a tensor: divide by the count in float64
    if reduction == MEAN and not one:
        leaf, gradient = leaf.detach().double().requires_grad_(), gradient.double()
        others = [None if other is None else other.double() for other in others]
    loss = function(leaf, *others, reduction=REDUCTION.values[reduction] if one else "none", **more)
    (found,) = torch.autograd.grad(
        loss, leaf, gradient.reshape(loss.shape) if one and reduction else gradient.expand(shape)
    )
    return found if one or reduction != MEAN else found / count


#: Autograd in 16 bits: each ATen function rounds its result.
ROUNDED = narrow(
    "every step is rounded to 16 bits", "ATen: one function after the other", "a loss in 16 bits"
)
