import numpy as np
from checking.wrong.common import wide


def kernel(gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight):
    g, w, x = wide(gradOutput).reshape(-1), wide(weight), np.atleast_2d(self)
    out = np.zeros(x.shape, g.dtype)
    for row, label in enumerate(target.reshape(-1)):
        if label == ignoreIndex or not 0 <= label < x.shape[1]:
            continue
        share = g[row] if reduction == 0 and g.size > 1 else g[0]
        if reduction == 1:
            share = share / wide(totalWeight).reshape(-1)[0]
        out[row, label] = -share * w[label]
    return out.reshape(self.shape).astype(self.dtype)
