"""Forward and backward of GELU: y = x * Phi(x) of each element x of self, with the distribution function of the normal distribution.

Source: aclnnGeluBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.activations import gaussian, gaussian_slope

AXES = {"self": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self):
    return {"y": gaussian(xp, self, "none")}


def backward(xp, gradOutput, self):
    return {"gradInput": gradOutput * gaussian_slope(xp, self, "none")}
