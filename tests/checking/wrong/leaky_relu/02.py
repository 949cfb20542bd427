import numpy as np

from checking.wrong.common import wide


def kernel(gradOutput, self, negativeSlope, selfIsResult):
    g = wide(gradOutput)
    return np.maximum(g, g * negativeSlope).astype(self.dtype)
