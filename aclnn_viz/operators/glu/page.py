"""Formulas of GLU, forward and backward, as array code to run and prove: halves a and b of x along dim, y = a * sigmoid(b).

Source: aclnnGluBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.activations import sigmoid

AXES = {"self": "a..b", "y": "a.b", "gradOut": "a.b", "out": "a..b"}


def forward(xp, self):
    a, b = self[:, 0], self[:, 1]
    return {"y": a * sigmoid(xp, b)}


def backward(xp, gradOut, self):
    a, b = self[:, 0], self[:, 1]
    half = gradOut * sigmoid(xp, b)
    return {"out": xp.stack([half, half * a * sigmoid(xp, -b)], axis=1)}
