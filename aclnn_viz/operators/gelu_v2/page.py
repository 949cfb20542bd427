"""Formulas of GELU, forward and backward, as array code to run and prove:
y = x * Phi(x) of each element x of self, or the approximation of it by a tanh.

Source: aclnnGeluBackwardV2, CANN operator documentation, which prints no backward formula for "tanh".
"""

from aclnn_viz.operators.families.activations import gaussian, gaussian_slope

AXES = {"self": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self, approximate):
    return {"y": gaussian(xp, self, approximate)}


def backward(xp, gradOutput, self, approximate):
    return {"gradInput": gradOutput * gaussian_slope(xp, self, approximate)}
