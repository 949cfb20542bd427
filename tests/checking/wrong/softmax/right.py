import numpy as np
from checking.wrong.common import wide


def kernel(gradOutput, output, dim):
    axis = dim if output.ndim else None
    g, y = wide(gradOutput), wide(output)
    total = np.sum(g * y, axis=axis, keepdims=True)
    return (y * (g - total)).reshape(output.shape).astype(output.dtype)
