import numpy as np

from checking.wrong.common import wide


def sources(place, before, after, length):
    yield place + before
    if 0 < place <= before:
        yield before - place
    elif length - 1 - after <= place < length - 1:
        yield before + 2 * (length - 1) - place


def kernel(gradOutput, self, padding):
    left, right, top, bottom = padding
    height, width = self.shape[-2:]
    g = wide(gradOutput)
    out = np.zeros(self.shape, g.dtype)
    for row, column in np.ndindex(height, width):
        for i in sources(row, top, bottom, height):
            for j in sources(column, left, right, width):
                out[..., row, column] += g[..., i, j]
    return out.astype(self.dtype)
