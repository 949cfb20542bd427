"""Formulas of hardswish, forward and backward, as array code to run and prove: y = x * min(max(x + 3, 0), 6) / 6.

Source: aclnnHardswishBackward, CANN operator documentation.
"""

AXES = {"gradOutput": "e", "self": "e", "out": "e"}


def forward(xp, self):
    return {"out": self * xp.clip(self + 3.0, 0.0, 6.0) / 6.0}


def slope(xp, x):
    """Return d y / d x; the middle interval is closed, so -1/2 at x = -3 and 3/2 at x = 3, where y has kinks.

    A nan fails both comparisons and gets the slope 1, as in scalar PyTorch and on Ascend 950.
    """
    inside = x / 3.0 + 0.5
    return xp.where(x < -3.0, xp.zeros_like(x), xp.where(x <= 3.0, inside, xp.ones_like(x)))


FACTORS = {"hardswish": slope}  # elementwise: it can be tested on every number of a 16-bit format


def backward(xp, gradOutput, self):
    return {"out": gradOutput * slope(xp, self)}
