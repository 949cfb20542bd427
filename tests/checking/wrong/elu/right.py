import numpy as np
from checking.wrong.common import wide


def kernel(gradOutput, alpha, scale, inputScale, isResult, selfOrResult):
    g, v = wide(gradOutput), wide(selfOrResult)
    a, s, c = (v.dtype.type(part) for part in (alpha, scale, inputScale))
    curve = v + a * s if isResult else a * s * np.exp(c * np.minimum(v, 0))
    return np.where(v > 0, g * s, g * c * curve).astype(selfOrResult.dtype)
