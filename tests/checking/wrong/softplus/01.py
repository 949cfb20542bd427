import numpy as np

from checking.wrong.common import sigmoid, wide


def kernel(gradOutput, self, beta, threshold):
    z = wide(self) * beta
    return (wide(gradOutput) * np.where(np.logaddexp(z, 0) > threshold, 1, sigmoid(z))).astype(
        self.dtype
    )
