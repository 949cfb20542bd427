"""Formulas of scaled masked softmax, forward and backward, as array code to run and prove: softmax of rows of scale * x, in which masked elements (mask true) are -10000.

A row that is masked whole has the same y everywhere: the constant is finite. What is masked is constant, so its gradient is 0.

Source: aclnnScaledMaskedSoftmaxBackward, CANN operator documentation; the constant is that of the vendor's kernel.
"""

MASKED = -10000.0
AXES = {
    "x": "bns.",
    "mask": "bns.",
    "result": "bns.",
    "gradOutput": "bns.",
    "y": "bns.",
    "out": "bns.",
}


def forward(xp, x, mask, scale):
    seen = xp.where(mask, MASKED * xp.ones_like(x), scale * x)
    # the exponent is never positive, so exp cannot overflow
    exp = xp.exp(seen - xp.max(seen, axis=3, keepdims=True))
    return {"result": exp / xp.sum(exp, axis=3, keepdims=True)}


def backward(xp, gradOutput, y, mask, scale):
    grad = y * (gradOutput - xp.sum(gradOutput * y, axis=3, keepdims=True))
    return {"out": xp.where(mask, xp.zeros_like(y), scale * grad)}
