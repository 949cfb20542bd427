"""Threshold: y = x where x > threshold, else a constant, which is 0 here, for each element x of self; with threshold 0 it is ReLU.

Source: aclnnThresholdBackward, CANN operator documentation.
"""

AXES = {"self": "p", "y": "p", "gradOutput": "p", "out": "p"}


def forward(xp, self, threshold):
    return {"y": xp.where(self > threshold, self, xp.zeros_like(self))}


def backward(xp, gradOutput, self, threshold):
    return {"out": xp.where(self > threshold, gradOutput, xp.zeros_like(gradOutput))}
