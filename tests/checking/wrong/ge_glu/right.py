import numpy as np
from checking.wrong.common import erf, wide


def slope(x, approximate):
    one = x.dtype.type
    if not approximate:
        cdf = (1 + erf(x * one(0.7071067811865476))) / 2
        return cdf + x * np.exp(-x * x / 2) * one(0.3989422804014327)
    inner, c = one(0.7978845608028654) * (x + one(0.044715) * x**3), one(0.7978845608028654)
    t = np.tanh(inner)
    return (1 + t) / 2 + x * (1 - t) * (1 + t) / 2 * c * (1 + one(0.134145) * x * x)


def kernel(gradOutput, self, gelu, dim, approximate):
    g, (a, b) = wide(gradOutput), np.split(wide(self), 2, axis=dim)
    out = np.concatenate([g * wide(gelu), g * a * slope(b, approximate)], axis=dim)
    return out.astype(self.dtype)
