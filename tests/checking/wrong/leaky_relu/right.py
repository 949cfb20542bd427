import numpy as np
from checking.wrong.common import wide


def kernel(gradOutput, self, negativeSlope, selfIsResult):
    g = wide(gradOutput)
    return np.where(wide(self) > 0, g, g * negativeSlope).astype(self.dtype)
