"""Formulas of SwiGLU, forward and backward, as array code to run and prove: halves a and b of x along dim, y = silu(a) * b with silu(a) = a * sigmoid(a).

Source: aclnnSwiGluGrad, CANN operator documentation.
"""

from aclnn_viz.operators.families.activations import sigmoid

AXES = {"x": "a..b", "y": "a.b", "yGrad": "a.b", "out": "a..b"}


def forward(xp, x):
    a, b = x[:, 0], x[:, 1]
    return {"y": a * sigmoid(xp, a) * b}


def backward(xp, yGrad, x):
    a, b = x[:, 0], x[:, 1]
    s = sigmoid(xp, a)
    slope = s * (1.0 + a * sigmoid(xp, -a))  # slope of silu; 1 - s would cancel for large a
    return {"out": xp.stack([yGrad * b * slope, yGrad * a * s], axis=1)}
