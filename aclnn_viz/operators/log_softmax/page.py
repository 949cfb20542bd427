"""Formulas of log-softmax along an axis, forward and backward, as array code to run and prove:
y = x - log(sum(exp(x))), and dx = g - exp(y) * sum(g).

Source: aclnnLogSoftmaxBackward, CANN operator documentation; that its sum runs along dim follows from log-softmax.
"""

AXES = {"self": "a.b", "result": "a.b", "gradOutput": "a.b", "output": "a.b", "out": "a.b"}


def forward(xp, self):
    # the difference is never positive, so exp cannot overflow
    below = self - xp.max(self, axis=1, keepdims=True)
    return {"result": below - xp.log(xp.sum(xp.exp(below), axis=1, keepdims=True))}


def backward(xp, gradOutput, output):
    # Use the saved output, not x; rows whose exp does not sum to 1 are not renormalised.
    return {"out": gradOutput - xp.exp(output) * xp.sum(gradOutput, axis=1, keepdims=True)}
