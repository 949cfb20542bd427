"""Formulas of mean squared error, forward and backward, as array code to run and prove: (x - t)^2, gradient g * 2 * (x - t), for "mean" over the elements of x.

Source: aclnnMseLossBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.losses import reduced, share

AXES = {"self": "e", "target": "e", "loss": "e", "gradOutput": "e", "out": "e"}


def forward(xp, self, target, reduction, count):
    return {"loss": reduced(xp, (self - target) * (self - target), reduction, count)}


def backward(xp, gradOutput, self, target, reduction, count):
    return {"out": share(gradOutput, reduction, count) * 2.0 * (self - target)}
