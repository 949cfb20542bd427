"""Formulas of Leaky ReLU, forward and backward, as array code to run and prove:
y = x where x > 0, else negativeSlope * x, for each element x.

Backward is given x, or y if selfIsResult: where negativeSlope is not negative, both have one sign.

Source: aclnnLeakyReluBackward, CANN operator documentation.
"""

AXES = {"x": "p", "y": "p", "given": "p", "gradOutput": "p", "self": "p", "out": "p"}


def forward(xp, x, negativeSlope, selfIsResult):
    y = xp.where(x > 0.0, x, negativeSlope * x)
    return {"y": y, "given": y if selfIsResult else x}


def backward(xp, gradOutput, self, negativeSlope, selfIsResult):
    return {"out": xp.where(self > 0.0, gradOutput, gradOutput * negativeSlope)}
