import numpy as np
from checking.wrong.common import sigmoid, wide


def kernel(gradOut, self, dim):
    g, (a, b) = wide(gradOut), np.split(wide(self), 2, axis=dim)
    s = sigmoid(b)
    return np.concatenate([g * s, g * a * s * (1 - s)], axis=dim).astype(self.dtype)
