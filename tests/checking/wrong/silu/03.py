import numpy as np

from checking.wrong.common import sigmoid, wide

TILE = 16


def kernel(gradOutput, self):
    x, g = wide(self).ravel(), wide(gradOutput).ravel()
    out = np.zeros_like(x)
    for tile in range(max(x.size // TILE, 1)):
        at = slice(tile * TILE, tile * TILE + TILE)
        s = sigmoid(x[at])
        out[at] = g[at] * s * (1 + x[at] * (1 - s))
    return out.reshape(self.shape).astype(self.dtype)
