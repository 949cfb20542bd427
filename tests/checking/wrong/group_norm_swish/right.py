import numpy as np
from checking.wrong.common import sigmoid, wide


def kernel(
    dy,
    mean,
    rstd,
    x,
    gamma,
    beta,
    numGroups,
    dataFormatOptional,
    swishScale,
    dgammaIsRequire,
    dbetaIsRequire,
):
    channels, space = x.shape[1], int(np.prod(x.shape[2:]))
    shape = (len(x), numGroups, channels // numGroups, space)
    count = max(shape[2] * space, 1)
    xs, g = wide(x).reshape(shape), wide(dy).reshape(shape)
    m, r = (wide(part).reshape(*shape[:2], 1, 1) for part in (mean, rstd))
    w, b = (wide(part).reshape(numGroups, shape[2], 1) for part in (gamma, beta))
    hat = (xs - m) * r
    z = hat * w + b
    turn = swishScale * z
    gate = sigmoid(turn)
    d = g * (gate + np.where(gate > 0, turn * gate * sigmoid(-turn), 0))
    along = np.sum(d * w, axis=(2, 3), keepdims=True) / count
    along = along + hat * np.sum(d * w * hat, axis=(2, 3), keepdims=True) / count
    outputs = {"dxOut": (r * (d * w - along)).reshape(x.shape).astype(x.dtype)}
    if dgammaIsRequire:
        outputs["dgammaOut"] = np.sum(d * hat, axis=(0, 3)).reshape(channels).astype(gamma.dtype)
    if dbetaIsRequire:
        outputs["dbetaOut"] = np.sum(d, axis=(0, 3)).reshape(channels).astype(beta.dtype)
    return outputs
