import numpy as np
from checking.wrong.common import wide


def kernel(gradOutput, y, mask, scale, fixTriuMask):
    g, p = wide(gradOutput), wide(y)
    grad = p * (g - np.sum(g * p, axis=-1, keepdims=True)) * scale
    return np.where(mask, 0, grad).astype(y.dtype)
