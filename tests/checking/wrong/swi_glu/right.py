import numpy as np
from checking.wrong.common import sigmoid, wide


def kernel(yGrad, x, dim):
    g, (a, b) = wide(yGrad), np.split(wide(x), 2, axis=dim)
    s = sigmoid(a)
    da, db = g * b * s * (1 + a * (1 - s)), g * a * s
    return np.concatenate([da, db], axis=dim).astype(x.dtype)
