import numpy as np

from checking.wrong.common import wide


def kernel(gradOutput, output, dim):
    g, y = (np.moveaxis(np.atleast_1d(wide(part)), dim, -1) for part in (gradOutput, output))
    out, total = np.zeros_like(y), y.dtype.type(0)
    for row in np.ndindex(y.shape[:-1]):
        total += np.sum(g[row] * y[row])
        out[row] = y[row] * (g[row] - total)
    return np.moveaxis(out, -1, dim).reshape(output.shape).astype(output.dtype)
