"""Formulas of GELU, forward and backward, as array code to run and prove:
y = x * Phi(x) of each element x of self, with Phi the distribution function of the normal distribution.

Source: aclnnGeluBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.activations import gaussian, gaussian_slope

AXES = {"self": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self):
    return {"y": gaussian(xp, self, "none")}


def backward(xp, gradOutput, self):
    return {"gradInput": gradOutput * gaussian_slope(xp, self, "none")}
