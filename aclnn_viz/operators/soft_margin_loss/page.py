"""Formulas of the soft margin loss, forward and backward, as array code to run and prove:
log(1 + exp(-t * x)), and the gradient -g * t / (1 + exp(t * x)).

Source: aclnnSoftMarginLossBackward, CANN operator documentation, which prints no formula.
"""

from aclnn_viz.operators.families.losses import log1p_exp, reduced, share

AXES = {"self": "e", "target": "e", "loss": "e", "gradOutput": "e", "out": "e"}


def forward(xp, self, target, reduction, count):
    return {"loss": reduced(xp, log1p_exp(xp, -target * self), reduction, count)}


def backward(xp, gradOutput, self, target, reduction, count):
    # exp(-t x) / (1 + exp(-t x)) would be nan where exp overflows.
    return {"out": -share(gradOutput, reduction, count) * target / (1.0 + xp.exp(target * self))}
