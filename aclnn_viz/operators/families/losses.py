"""Formulas that losses of single elements share: the reduction, each element's share of the gradient, weights, and log(1 +
exp(x)) without overflow.

The loss is `each`, its sum, or its mean, which divides by `count`. Where target has more elements than self, documents differ: L1 and
soft margin divide by the number of losses ("elements of the output"), the squared error by that of self (x.numel(), as ATen does).
The document of smooth L1 does not say; it divides by the number of losses here. Elsewhere target has no more elements than self.
"""

from aclnn_viz.operators.operator import Attribute, Tensor

NONE, MEAN, SUM = 0, 1, 2
REDUCTION = Attribute("int64_t", MEAN, values={NONE: "none", MEAN: "mean", SUM: "sum"})
CHOICE = "float32 or float16 or bfloat16"  # formats that a call may mix, since the library promotes
#: Shape of the incoming gradient: documents want one number for mean and sum; the library takes
#: any shape that broadcasts.
SHAPE = "~*P if reduction = 0 else ~()"
UPSTREAM = Tensor(SHAPE, CHOICE)


def reduced(xp, each, reduction, count):
    """Return the losses of elements, or their sum or mean, as `reduction` says."""
    if reduction == NONE:
        return each
    total = xp.sum(each, keepdims=True)
    return total / count if reduction == MEAN else total


def share(gradient, reduction, count):
    """Return each element's share of the loss's gradient."""
    return gradient / count if reduction == MEAN else gradient


def weighted(each, weight):
    return each if weight is None else each * weight


def sign(xp, x):
    """Return 1, -1, or 0 for a number neither above nor below 0."""
    return xp.where(x > 0.0, xp.ones_like(x), xp.where(x < 0.0, -xp.ones_like(x), xp.zeros_like(x)))


def log1p_exp(xp, x):
    """Return log(1 + exp(x)) without overflow of exp."""
    return xp.log1p(xp.exp(-xp.abs(x))) + xp.maximum(x, 0.0)
