"""Threshold: y = x where x > threshold, else value, for each element x of self; with threshold 0 and value 0 it is ReLU.

Source: aclnnThresholdBackward, CANN operator documentation.
"""

AXES = {"self": "p", "y": "p", "gradOutput": "p", "out": "p"}


def forward(xp, self, threshold, value):
    return {"y": xp.where(self > threshold, self, xp.full_like(self, value))}


def backward(xp, gradOutput, self, threshold):
    return {"out": xp.where(self > threshold, gradOutput, xp.zeros_like(gradOutput))}
