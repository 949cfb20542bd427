"""Formulas of hardtanh, forward and backward, as array code to run and prove:
y = clip(x, min, max) of each x of self; the gradient passes strictly between the ends.

Source: aclnnHardtanhBackward, CANN operator documentation, which includes the ends; the published kernel and its test do not.
"""

AXES = {"self": "p", "y": "p", "gradOutput": "p", "out": "p"}


def forward(xp, self, min, max):
    return {"y": xp.clip(self, min, max)}


def backward(xp, gradOutput, self, min, max):
    return {"out": xp.where((self <= min) | (self >= max), xp.zeros_like(gradOutput), gradOutput)}
