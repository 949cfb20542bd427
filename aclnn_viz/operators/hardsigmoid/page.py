"""Formulas of hardsigmoid, forward and backward, as array code to run and prove:
y = clip(x / 6 + 1/2, 0, 1), slope 1/6, or 0 from x = -3 down and from x = 3 up.

Source: aclnnHardsigmoidBackward, CANN operator documentation, which prints no formula.
"""

AXES = {"self": "p", "y": "p", "gradOutput": "p", "out": "p"}


def forward(xp, self):
    return {"y": xp.clip(self / 6.0 + 0.5, 0.0, 1.0)}


def backward(xp, gradOutput, self):
    return {
        "out": xp.where((self > -3.0) & (self < 3.0), gradOutput / 6.0, xp.zeros_like(gradOutput))
    }
