"""Formulas of SiLU, forward and backward, as array code to run and prove: y = x * sigmoid(x) of each element x of self.

Source: aclnnSiluBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.activations import sigmoid

AXES = {"self": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self):
    return {"y": self * sigmoid(xp, self)}


def backward(xp, gradOutput, self):
    # sigmoid(-x) instead of 1 - sigmoid(x), which cancels for large x.
    return {"gradInput": gradOutput * sigmoid(xp, self) * (1.0 + self * sigmoid(xp, -self))}
