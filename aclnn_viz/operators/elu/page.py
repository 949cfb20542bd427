"""Formulas of ELU, forward and backward, as array code to run and prove: y = scale * x where x > 0, else alpha * scale * (exp(inputScale * x) - 1).

Backward is given x, or y if isResult: then exp(inputScale * x) comes from y, and alpha must not be negative.

Source: aclnnEluBackward, CANN operator documentation.
"""

AXES = {"x": "p", "y": "p", "given": "p", "gradOutput": "p", "selfOrResult": "p", "gradInput": "p"}


def forward(xp, x, alpha, scale, inputScale, isResult):
    below = alpha * scale * xp.expm1(inputScale * xp.clip(x, None, 0.0))
    y = xp.where(x > 0.0, scale * x, below)
    return {"y": y, "given": y if isResult else x}


def backward(xp, gradOutput, selfOrResult, alpha, scale, inputScale, isResult):
    v = selfOrResult
    curve = (
        v + alpha * scale
        if isResult
        else alpha * scale * xp.exp(inputScale * xp.clip(v, None, 0.0))
    )
    return {"gradInput": xp.where(v > 0.0, gradOutput * scale, gradOutput * inputScale * curve)}
