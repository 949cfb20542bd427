"""Formulas of threshold, forward and backward, as array code to run and prove:
y = x where x > threshold, else a constant, here 0, for each element x of self. With threshold 0 this is ReLU.

Source: aclnnThresholdBackward, CANN operator documentation.
"""

AXES = {"self": "p", "y": "p", "gradOutput": "p", "out": "p"}


def forward(xp, self, threshold):
    return {"y": xp.where(self > threshold, self, xp.zeros_like(self))}


def backward(xp, gradOutput, self, threshold):
    return {"out": xp.where(self > threshold, gradOutput, xp.zeros_like(gradOutput))}
