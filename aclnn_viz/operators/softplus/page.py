"""Formulas of softplus, forward and backward, as array code to run and prove:
y = log(1 + exp(z)) / beta with z = beta * x, and y = x where z > threshold.

There y jumps, by less than exp(-threshold) / beta; at the threshold itself the slope is that of the logarithm.

Source: aclnnSoftplusBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.activations import sigmoid

AXES = {"self": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self, beta, threshold):
    z = beta * self
    # log(1 + exp(z)), without overflow and without losing a small exponential.
    smooth = (xp.clip(z, 0.0, None) + xp.log1p(xp.exp(-xp.abs(z)))) / beta
    return {"y": xp.where(z > threshold, self, smooth)}


def backward(xp, gradOutput, self, beta, threshold):
    z = beta * self
    return {"gradInput": gradOutput * xp.where(z > threshold, xp.ones_like(z), sigmoid(xp, z))}
