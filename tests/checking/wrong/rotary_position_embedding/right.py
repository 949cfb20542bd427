import numpy as np
from checking.wrong.common import wide


def rotated(x, mode):
    if mode == 1:
        return np.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
    parts = np.split(x, 4 if mode == 2 else 2, axis=-1)
    pairs = zip(parts[::2], parts[1::2])
    return np.concatenate([part for a, b in pairs for part in (-b, a)], axis=-1)


def added(grad, like):
    axes = tuple(k for k in range(3) if like.shape[k] != grad.shape[k])
    return np.sum(grad, axis=axes, keepdims=True).astype(like.dtype)


def kernel(dy, cos, sin, xOptional, mode):
    g, c, s = wide(dy), wide(cos), wide(sin)
    dx = g * c - rotated(g * s, mode)
    if mode == 3:
        dx = np.stack(np.split(dx, 2, axis=-1), axis=-1).reshape(dy.shape)
    outputs = {"dxOut": dx.astype(dy.dtype)}
    if xOptional is not None:
        x = wide(xOptional)
        if mode == 3:
            x = np.concatenate([x[..., ::2], x[..., 1::2]], axis=-1)
        outputs["dcosOut"] = added(g * x, cos)
        outputs["dsinOut"] = added(g * rotated(x, mode), sin)
    return outputs
