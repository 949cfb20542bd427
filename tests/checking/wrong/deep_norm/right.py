import numpy as np
from checking.wrong.common import wide


def kernel(dy, x, gx, gamma, mean, rstd, alpha):
    shape = mean.size, gamma.size
    g, w = wide(dy).reshape(shape), wide(gamma).reshape(1, -1)
    m, r = (wide(part).reshape(-1, 1) for part in (mean, rstd))
    xhat = (alpha * wide(x).reshape(shape) + wide(gx).reshape(shape) - m) * r
    along = np.mean(g * w, axis=1, keepdims=True)
    along = along + xhat * np.mean(g * w * xhat, axis=1, keepdims=True)
    grad = (r * (g * w - along)).reshape(x.shape)
    return {
        "dxOut": (alpha * grad).astype(x.dtype),
        "dgxOut": grad.astype(x.dtype),
        "dbetaOut": np.sum(g, axis=0).reshape(gamma.shape).astype(np.float32),
        "dgammaOut": np.sum(g * xhat, axis=0).reshape(gamma.shape).astype(np.float32),
    }
