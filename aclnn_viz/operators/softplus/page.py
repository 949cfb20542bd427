"""Softplus: out = log(1 + exp(z)) / beta with z = beta * x for each element x of self, and out = x where z > threshold.

At the threshold itself out jumps, by less than exp(-threshold) / beta, and the slope there is that of the logarithm.

Source: aclnnSoftplusBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.activations import sigmoid

AXES = {"self": "p", "out": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self, beta, threshold):
    z = beta * self
    # log(1 + exp(z)), in which neither exponential overflows nor a small one is lost.
    smooth = (xp.clip(z, 0.0, None) + xp.log1p(xp.exp(-xp.abs(z)))) / beta
    return {"out": xp.where(z > threshold, self, smooth)}


def backward(xp, gradOutput, self, beta, threshold):
    z = beta * self
    return {"gradInput": gradOutput * xp.where(z > threshold, xp.ones_like(z), sigmoid(xp, z))}
