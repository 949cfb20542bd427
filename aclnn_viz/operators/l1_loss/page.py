"""Formulas of the absolute error, forward and backward, as array code to run and prove:
|x - t|, gradient g * sign(x - t), 0 at a tie and where a number is nan.

Source: aclnnL1LossBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.losses import reduced, share, sign

AXES = {"self": "e", "target": "e", "loss": "e", "gradOutput": "e", "gradInput": "e"}


def forward(xp, self, target, reduction, count):
    return {"loss": reduced(xp, xp.abs(self - target), reduction, count)}


def backward(xp, gradOutput, self, target, reduction, count):
    return {"gradInput": share(gradOutput, reduction, count) * sign(xp, self - target)}
