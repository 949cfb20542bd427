import numpy as np
from checking.wrong.common import sigmoid, wide


def kernel(gradOutput, self, beta, threshold):
    z = wide(self) * beta
    return (wide(gradOutput) * np.where(z > threshold, 1, sigmoid(z))).astype(self.dtype)
