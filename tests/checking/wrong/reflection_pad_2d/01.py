import numpy as np

from checking.wrong.common import wide


def kernel(gradOutput, self, padding):
    top, bottom, left, right = padding
    height, width = self.shape[-2:]
    g = wide(gradOutput)
    out = np.zeros(self.shape, g.dtype)
    for i, j in np.ndindex(g.shape[-2:]):
        row, column = abs(i - top) % max(2 * height - 2, 1), abs(j - left) % max(2 * width - 2, 1)
        row = min(row, abs(2 * (height - 1) - row))
        column = min(column, abs(2 * (width - 1) - column))
        out[..., row, column] += g[..., i, j]
    return out.astype(self.dtype)
