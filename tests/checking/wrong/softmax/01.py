import numpy as np

from checking.wrong.common import wide

BLOCK = 16


def kernel(gradOutput, output, dim):
    g, y = (np.moveaxis(np.atleast_1d(wide(part)), dim, -1) for part in (gradOutput, output))
    for start in range(0, max(y.shape[-1], 1), BLOCK):
        at = slice(start, start + BLOCK)
        total = np.sum(g[..., at] * y[..., at], axis=-1, keepdims=True)
    out = np.moveaxis(y * (g - total), -1, dim)
    return out.reshape(output.shape).astype(output.dtype)
