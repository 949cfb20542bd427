import numpy as np

from checking.wrong.common import wide


def kernel(gradOutput, self, negativeSlope, selfIsResult):
    g = wide(gradOutput)
    return np.maximum(g, g * np.float32(negativeSlope)).astype(self.dtype)
