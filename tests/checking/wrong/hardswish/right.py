import numpy as np

TILE = 64


def kernel(gradOutput, self):
    x, dy = (part.astype(np.float32).ravel() for part in (self, gradOutput))
    out = np.zeros_like(x)
    count = x.size
    for start in range(0, count, TILE):
        stop = min(start + TILE, count)
        part, grad = (x[start:stop], dy[start:stop])
        out[start:stop] = grad * slope(part)
    return out.reshape(self.shape).astype(self.dtype)


def slope(x):
    sixth = np.float32(1 / 6)
    gate = np.minimum(np.maximum(x + 3, 0), 6) * sixth
    free = (x >= -3) & (x <= 3)
    return np.where(free, x / 3 + np.float32(0.5), gate)
