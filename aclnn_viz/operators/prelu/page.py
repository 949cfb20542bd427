"""Formulas of PReLU, forward and backward, as array code to run and prove: y = x where x > 0, else weight * x, one weight per channel of x (N, C, P) or for all.

Source: aclnnPreluBackward, CANN operator documentation, which prints weight with the index of the sample in gradInput.
"""

AXES = {
    "self": "n..",
    "weight": ".",
    "y": "n..",
    "gradOutput": "n..",
    "gradInput": "n..",
    "gradWeight": ".",
}


def forward(xp, self, weight):
    return {"y": xp.where(self > 0.0, self, weight[None, :, None] * self)}


def backward(xp, gradOutput, self, weight):
    below = xp.where(self > 0.0, xp.zeros_like(self), self)
    grad = xp.sum(gradOutput * below, axis=(0, 2))
    return {
        "gradInput": xp.where(self > 0.0, gradOutput, gradOutput * weight[None, :, None]),
        "gradWeight": grad if weight.shape == grad.shape else xp.sum(grad, axis=0, keepdims=True),
    }
