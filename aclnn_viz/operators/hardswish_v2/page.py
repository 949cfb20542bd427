"""Formulas of hardswish, second version, forward and backward, as array code to run and prove:
y = x * min(max(x + 3, 0), 6) / 6, slope 0 at x = -3 and 1 at x = 3.

Source: aclnnHardswishBackwardV2, CANN operator documentation.
"""

AXES = {"self": "p", "y": "p", "gradOutput": "p", "out": "p"}


def forward(xp, self):
    return {"y": self * xp.clip(self + 3.0, 0.0, 6.0) / 6.0}


def backward(xp, gradOutput, self):
    above = xp.where(self >= 3.0, xp.ones_like(self), self / 3.0 + 0.5)
    return {"out": gradOutput * xp.where(self <= -3.0, xp.zeros_like(self), above)}
