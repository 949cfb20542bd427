import numpy as np
from checking.wrong.common import wide


def kernel(gradOut, self, target, reduction, beta):
    d, g = wide(self) - wide(target), wide(gradOut)
    with np.errstate(all="ignore"):
        slope = np.where(np.abs(d) < beta, d / beta, np.sign(d))
    if reduction == 1:
        g = g / max(np.broadcast(d, g).size, 1)
    return (g * slope).astype(self.dtype)
