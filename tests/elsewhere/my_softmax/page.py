"""Softmax along an axis: output = exp(x) / sum(exp(x)), gradInput = output * (gradOutput - sum(gradOutput * output)).

Source: aclnnSoftmaxBackward, CANN operator documentation.
"""

AXES = {"x": "a.b", "out": "a.b", "gradOutput": "a.b", "output": "a.b", "gradInput": "a.b"}


def forward(xp, x):
    exp = xp.exp(x - xp.max(x, axis=1, keepdims=True))  # which cannot overflow
    return {"out": exp / xp.sum(exp, axis=1, keepdims=True)}


def backward(xp, gradOutput, output):
    # The saved output, not x: rows that do not sum to 1 are not renormalised.
    return {"gradInput": output * (gradOutput - xp.sum(gradOutput * output, axis=1, keepdims=True))}
