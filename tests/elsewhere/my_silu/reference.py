"""SiLU in scalar loops at 50 digits."""

import mpmath
import numpy as np

mp = mpmath.mp.clone()
mp.dps = 50


def exact(array):
    """Return an object array of the exact values of an array."""
    return np.vectorize(lambda value: mp.mpf(float(value)), otypes=[object])(np.asarray(array))


def forward(*, self):
    return {"out": np.vectorize(lambda x: x / (1 + mp.exp(-x)), otypes=[object])(exact(self))}


def backward(*, gradOutput, self):
    def one(dy, x):
        e = mp.exp(-x)
        return dy * (1 + e + x * e) / (1 + e) ** 2

    return {"gradInput": np.vectorize(one, otypes=[object])(exact(gradOutput), exact(self))}
