import numpy as np
from checking.wrong.common import wide


def kernel(gradOutput, self, weight):
    g, x, w = wide(gradOutput), wide(self), wide(weight).reshape(-1)
    shaped = w.reshape((1, -1) + (1,) * (x.ndim - 2)) if x.ndim > 1 else w
    below = x <= 0
    terms = np.where(below, g * x, 0)
    axes = tuple(k for k in range(x.ndim) if k != 1 or w.size == 1)
    total = np.sum(terms, axis=axes)
    return {
        "gradInput": np.where(below, g * shaped, g).astype(self.dtype),
        "gradWeight": np.reshape(total, weight.shape).astype(weight.dtype),
    }
