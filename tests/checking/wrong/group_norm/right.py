import numpy as np
from checking.wrong.common import asked, wide


def kernel(gradOut, input, mean, rstd, gamma, N, C, HxW, group, outputMask):
    shape = (N, group, C // group, HxW)
    g, x = wide(gradOut).reshape(shape), wide(input).reshape(shape)
    m, r = (wide(part).reshape(N, group, 1, 1) for part in (mean, rstd))
    w = 1 if gamma is None else wide(gamma).reshape(group, C // group, 1)
    xhat = (x - m) * r
    along = np.mean(g * w, axis=(2, 3), keepdims=True)
    along = along + xhat * np.mean(g * w * xhat, axis=(2, 3), keepdims=True)
    kind = (input if gamma is None else gamma).dtype
    outputs = {
        "gradInput": (r * (g * w - along)).reshape(input.shape).astype(input.dtype),
        "gradGammaOut": np.sum(g * xhat, axis=(0, 3)).reshape(C).astype(kind),
        "gradBetaOut": np.sum(g, axis=(0, 3)).reshape(C).astype(kind),
    }
    return asked(outputs, outputMask)
