"""Formulas of SELU, forward and backward, as array code to run and prove:
y = scale * x where x > 0, else scale * alpha * (exp(x) - 1), whose slope is made of the saved result y.

Source: aclnnSeluBackward, CANN operator documentation, which omits scale in the derivative and takes x = 0 for positive.
Constants: Klambauer et al., "Self-normalizing neural networks" (2017).
"""

AXES = {"self": "p", "result": "p", "y": "p", "gradOutput": "p", "gradInput": "p"}
ALPHA, SCALE = 1.6732632423543772, 1.0507009873554805
BELOW = SCALE * ALPHA


def forward(xp, self):
    return {"y": xp.where(self > 0.0, SCALE * self, BELOW * xp.expm1(xp.clip(self, None, 0.0)))}


def backward(xp, gradOutput, result):
    return {"gradInput": xp.where(result > 0.0, SCALE * gradOutput, gradOutput * (result + BELOW))}
