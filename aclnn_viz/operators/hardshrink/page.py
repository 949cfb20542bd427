"""Formulas of hardshrink, forward and backward, as array code to run and prove:
y = x where |x| > lambd, else 0, for each x of self; a negative lambd counts as 0.

Source: aclnnHardshrinkBackward, CANN operator documentation.
"""

AXES = {"self": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}


def beyond(xp, x, lambd):
    return xp.abs(x) > (lambd if lambd > 0.0 else 0.0)


def forward(xp, self, lambd):
    return {"y": xp.where(beyond(xp, self, lambd), self, xp.zeros_like(self))}


def backward(xp, gradOutput, self, lambd):
    return {"gradInput": xp.where(beyond(xp, self, lambd), gradOutput, xp.zeros_like(gradOutput))}
