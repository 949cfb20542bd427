import numpy as np

from checking.wrong.common import wide


def kernel(gradOutput, alpha, scale, inputScale, isResult, selfOrResult):
    g, v = wide(gradOutput), wide(selfOrResult)
    s, c = v.dtype.type(scale), v.dtype.type(inputScale)
    curve = v + s if isResult else s * np.exp(c * np.minimum(v, 0))
    return np.where(v > 0, g * s, g * c * curve).astype(selfOrResult.dtype)
