import numpy as np

from checking.wrong.common import wide


def kernel(gradOutput, output, dim):
    g, y = wide(gradOutput), wide(output)
    p = np.exp(y)
    total = np.sum(g * p, axis=dim if y.ndim else None, keepdims=True)
    return (p * (g - total)).reshape(y.shape).astype(output.dtype)
