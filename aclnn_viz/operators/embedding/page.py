"""Formulas of embedding, forward and backward, as array code to run and prove:
y = weight[indices], and each row of weight gets the sum of those rows of the gradient g whose index names it.

Rows of paddingIdx are constants, and with scaleGradByFreq each row is divided by how often its index occurs. The embedding
itself shows neither, so `forward` is a function that has exactly this gradient.

Source: aclnnEmbeddingDenseBackward, CANN operator documentation.
"""

AXES = {"weight": ".e", "indices": ".", "result": ".e", "grad": ".e", "out": ".e"}


def factor(xp, indices, like, numWeights, paddingIdx, scaleGradByFreq):
    """Return the factor of each row's gradient (I, 1)."""
    kept = xp.astype(indices != paddingIdx, like.dtype)
    if scaleGradByFreq:
        ones = xp.ones((1, indices.shape[0]), dtype=like.dtype)
        counts = xp.scatter_add(xp.zeros((1, numWeights), dtype=like.dtype), indices, ones)
        kept = kept / xp.take(counts, indices, axis=1)[0]
    return kept[:, None]


def forward(xp, weight, indices, paddingIdx, scaleGradByFreq):
    rows = xp.take(weight, indices, axis=0)
    return {
        "result": rows * factor(xp, indices, weight, weight.shape[0], paddingIdx, scaleGradByFreq)
    }


def backward(xp, grad, indices, numWeights, paddingIdx, scaleGradByFreq):
    rows = grad * factor(xp, indices, grad, numWeights, paddingIdx, scaleGradByFreq)
    target = xp.zeros((grad.shape[1], numWeights), dtype=grad.dtype)
    return {"out": xp.moveaxis(xp.scatter_add(target, indices, xp.moveaxis(rows, 0, 1)), 0, 1)}
