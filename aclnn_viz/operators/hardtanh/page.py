"""Hardtanh: y = clip(x, min, max) of each element x of self; the gradient passes where x is not outside, the ends included.

Source: aclnnHardtanhBackward, CANN operator documentation; the published kernel stops the gradient at the ends, too.
"""

AXES = {"self": "p", "y": "p", "gradOutput": "p", "out": "p"}


def forward(xp, self, min, max):
    return {"y": xp.clip(self, min, max)}


def backward(xp, gradOutput, self, min, max):
    return {"out": xp.where((self < min) | (self > max), xp.zeros_like(gradOutput), gradOutput)}
