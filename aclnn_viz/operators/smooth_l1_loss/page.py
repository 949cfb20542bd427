"""Formulas of the smooth L1 loss, forward and backward, as array code to run and prove:
d^2 / (2 beta) of d = x - t where |d| < beta, else |d| - beta / 2.

Source: aclnnSmoothL1LossBackward, CANN operator documentation, which prints the derivative for beta = 1.
"""

from aclnn_viz.operators.families.losses import reduced, share, sign

AXES = {"self": "e", "target": "e", "loss": "e", "gradOut": "e", "gradInput": "e"}


def width(beta):
    # for beta = 0 no element lies in the quadratic part; a width of 1 avoids a division by 0
    return beta if beta != 0.0 else 1.0


def forward(xp, self, target, reduction, beta, count):
    d = self - target
    each = xp.where(xp.abs(d) < beta, 0.5 * d * d / width(beta), xp.abs(d) - 0.5 * beta)
    return {"loss": reduced(xp, each, reduction, count)}


def backward(xp, gradOut, self, target, reduction, beta, count):
    d = self - target
    slope = xp.where(xp.abs(d) < beta, d / width(beta), sign(xp, d))
    return {"gradInput": share(gradOut, reduction, count) * slope}
