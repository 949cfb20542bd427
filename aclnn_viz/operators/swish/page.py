"""Formulas of swish, forward and backward, as array code to run and prove: y = x * sigmoid(beta * x) of each x of self; the constant beta gets no gradient.

Source: aclnnSwishBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.activations import sigmoid

AXES = {"self": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self, betaOptional):
    return {"y": self * sigmoid(xp, betaOptional * self)}


def backward(xp, gradOutput, self, betaOptional):
    z = betaOptional * self
    # sigmoid(-z) instead of 1 - sigmoid(z), which cancels for large z.
    return {"gradInput": gradOutput * sigmoid(xp, z) * (1.0 + z * sigmoid(xp, -z))}
