"""Formulas of sigmoid, forward and backward, as array code to run and prove: y = 1 / (1 + exp(-x)) of each element x; the slope comes from the saved y: y * (1 - y).

Source: aclnnSigmoidBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families import activations

AXES = {"self": "p", "output": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self):
    return {"y": activations.sigmoid(xp, self)}


def backward(xp, gradOutput, output):
    return {"gradInput": gradOutput * output * (1.0 - output)}
