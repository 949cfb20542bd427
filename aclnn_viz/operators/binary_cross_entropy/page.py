"""Formulas of binary cross entropy of probabilities, forward and backward, as array code to run and prove:
y = -w (t log(x) + (1 - t) log(1 - x)), with the gradient g w (x - t) / (x (1 - x)).

Source: aclnnBinaryCrossEntropyBackward, CANN operator documentation; the least divisor is that of the vendor's kernel.
"""

from aclnn_viz.operators.families.losses import reduced, share, weighted

AXES = {
    "self": "e",
    "target": "e",
    "weightOptional": "e",
    "loss": "e",
    "gradOutput": "e",
    "out": "e",
}


def forward(xp, self, target, weightOptional, reduction, count):
    each = -(target * xp.log(self) + (1.0 - target) * xp.log(1.0 - self))
    return {"loss": reduced(xp, weighted(each, weightOptional), reduction, count)}


def backward(xp, gradOutput, self, target, weightOptional, reduction, count):
    slope = (self - target) / xp.guard(self * (1.0 - self), smallest=1e-12)
    return {"out": weighted(share(gradOutput, reduction, count) * slope, weightOptional)}
