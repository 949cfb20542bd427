"""Formulas of tanh, forward and backward, as array code to run and prove: y = tanh(x) of each element x; the slope comes from the saved y: 1 - y * y.

Source: aclnnTanhBackward, CANN operator documentation.
"""

AXES = {"self": "p", "output": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self):
    return {"y": xp.tanh(self)}


def backward(xp, gradOutput, output):
    return {"gradInput": gradOutput * (1.0 - output * output)}
