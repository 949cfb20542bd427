import numpy as np
from checking.wrong.common import wide


def kernel(gradOutput, output, dim):
    g, y = wide(gradOutput), wide(output)
    total = np.sum(g, axis=dim if y.ndim else None, keepdims=True)
    return (g - np.exp(y) * total).reshape(y.shape).astype(output.dtype)
