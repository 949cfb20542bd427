"""Formulas of negative log-likelihood of log-probabilities x (N, C), forward and backward, as array code to run and prove: -w_t x_t of a row with target t, 0 if ignored.

"mean" divides the sum of these by totalWeight, the sum of w_t of the rows that are not ignored.

Source: aclnnNLLLossBackward, CANN operator documentation, whose "target(t) = 1" means that t is the class.
"""

NONE, MEAN = 0, 1
AXES = {
    "self": "..",
    "target": ".",
    "weight": ".",
    "loss": ".",
    "weightSum": ".",
    "gradOutput": ".",
    "totalWeight": ".",
    "out": "..",
}


def hits(xp, self, target, ignoreIndex):
    """Return where a column is the class of its row (N, C), and the row is not ignored."""
    return (target[:, None] == xp.arange(self.shape[1], dtype=xp.int64)[None, :]) & (
        target != ignoreIndex
    )[:, None]


def forward(xp, self, target, weight, reduction, ignoreIndex):
    hit = hits(xp, self, target, ignoreIndex)
    found = xp.where(hit, weight[None, :] * xp.ones_like(self), xp.zeros_like(self))
    each = -xp.sum(found * self, axis=1)
    total = xp.sum(xp.sum(found, axis=1), keepdims=True)
    loss = each if reduction == NONE else xp.sum(each, keepdims=True)
    return {"loss": loss / total if reduction == MEAN else loss, "weightSum": total}


def backward(xp, gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight):
    each = gradOutput / totalWeight if reduction == MEAN else gradOutput
    hit = hits(xp, self, target, ignoreIndex)
    return {"out": xp.where(hit, -each[:, None] * weight[None, :], xp.zeros_like(self))}
