import numpy as np

from checking.wrong.common import wide


def kernel(gradOutput, self, beta, threshold):
    z = wide(self) * beta
    with np.errstate(over="ignore"):
        e = np.exp(z)
        e = np.where(np.isinf(e), 0, e)
    return (wide(gradOutput) * np.where(z > threshold, 1, e / (1 + e))).astype(self.dtype)
