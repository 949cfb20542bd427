"""Formulas of log-sigmoid, forward and backward, as array code to run and prove:
y = log(1 / (1 + exp(-x))) of each x of self, with the slope 1 / (1 + exp(x)).

The forward pass saves exp(-|x|) as buffer, which backward must be given and does not need.

Source: aclnnLogSigmoidBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.activations import sigmoid

AXES = {"self": "p", "buffer": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def forward(xp, self):
    buffer = xp.exp(-xp.abs(self))  # the exponent is never positive, so exp cannot overflow
    return {"y": xp.clip(self, None, 0.0) - xp.log1p(buffer), "buffer": buffer}


def backward(xp, gradOutput, self, buffer):
    return {"gradInput": gradOutput * sigmoid(xp, -self)}
