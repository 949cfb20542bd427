import numpy as np
from checking.wrong.common import wide


def kernel(gradOutput, self, padding):
    left, right, top, bottom = padding
    height, width = self.shape[-2:]
    g = wide(gradOutput)
    out = np.zeros(self.shape, g.dtype)
    for i, j in np.ndindex(g.shape[-2:]):
        row, column = abs(i - top), abs(j - left)
        row = min(row, 2 * (height - 1) - row)
        column = min(column, 2 * (width - 1) - column)
        out[..., row, column] += g[..., i, j]
    return out.astype(self.dtype)
