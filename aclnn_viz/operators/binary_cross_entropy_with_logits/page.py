"""Formulas of binary cross entropy of logits, forward and backward, as array code to run and prove: -w (p t log(s) + (1 - t) log(1 - s)), s = 1 / (1 + exp(-x)).

Source: aclnnBinaryCrossEntropyWithLogitsBackward, CANN operator documentation, which prints no formula.
"""

from aclnn_viz.operators.families.losses import log1p_exp, reduced, share, weighted

AXES = {
    "self": "e",
    "target": "e",
    "weightOptional": "e",
    "posWeightOptional": "e",
    "loss": "e",
    "gradOutput": "e",
    "out": "e",
}


def forward(xp, self, target, weightOptional, posWeightOptional, reduction, count):
    hit = weighted(target, posWeightOptional)
    # With s = sigmoid(x): -log(s) = log(1 + exp(-x)), -log(1 - s) = log(1 + exp(-x)) + x. The right
    # sides neither cancel nor overflow.
    each = (hit + 1.0 - target) * log1p_exp(xp, -self) + (1.0 - target) * self
    return {"loss": reduced(xp, weighted(each, weightOptional), reduction, count)}


def backward(xp, gradOutput, self, target, weightOptional, posWeightOptional, reduction, count):
    hit = weighted(target, posWeightOptional)
    slope = (hit + 1.0 - target) / (1.0 + xp.exp(-self)) - hit
    return {"out": weighted(share(gradOutput, reduction, count) * slope, weightOptional)}
