"""Formulas of GeGLU, forward and backward, as array code to run and prove:
halves a and b of x along dim, y = a * gelu(b); the forward pass saves gelu(b).

Source: aclnnGeGluBackward, CANN operator documentation, which prints the gradient of the first half for both.
"""

from aclnn_viz.operators.families.activations import gaussian, gaussian_slope

AXES = {"self": "a..b", "y": "a.b", "gelu": "a.b", "gradOutput": "a.b", "gradInput": "a..b"}
FORMS = "none", "tanh"


def forward(xp, self, approximate):
    saved = gaussian(xp, self[:, 1], FORMS[approximate])
    return {"y": self[:, 0] * saved, "gelu": saved}


def backward(xp, gradOutput, self, gelu, approximate):
    slope = gaussian_slope(xp, self[:, 1], FORMS[approximate])
    return {"gradInput": xp.stack([gradOutput * gelu, gradOutput * self[:, 0] * slope], axis=1)}
