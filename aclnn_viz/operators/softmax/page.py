"""Formulas of softmax along an axis, forward and backward, as array code to run and prove: y = exp(x) / sum(exp(x)), and dx = y * (g - sum(g * y)).

Source: aclnnSoftmaxBackward, CANN operator documentation; that its sum runs along dim follows from softmax.
"""

AXES = {"self": "a.b", "result": "a.b", "gradOutput": "a.b", "output": "a.b", "out": "a.b"}


def forward(xp, self):
    # the exponent is never positive, so exp cannot overflow
    exp = xp.exp(self - xp.max(self, axis=1, keepdims=True))
    return {"result": exp / xp.sum(exp, axis=1, keepdims=True)}


def backward(xp, gradOutput, output):
    # Use the saved output, not x; rows that do not sum to 1 are not renormalised.
    return {"out": output * (gradOutput - xp.sum(gradOutput * output, axis=1, keepdims=True))}
