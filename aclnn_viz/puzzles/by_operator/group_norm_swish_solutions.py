"""Right answers to the puzzles on group norm and swish; changed in a place or two, they become the usual mistakes."""

import math

import numpy as np


def swish_slope(z, swishScale):
    t = swishScale * z
    sigmoid = 0.5 * (1 + np.tanh(t / 2))
    return sigmoid * (1 + t * (1 - sigmoid))


def gn_xhat(x, mean, rstd, numGroups):
    shape = (len(x), numGroups, -1)
    return ((x.reshape(shape) - mean[..., None]) * rstd[..., None]).reshape(x.shape)


def gn_means(dxhat, xhat, numGroups):
    shape = (len(xhat), numGroups, -1)
    return np.mean((dxhat * xhat).reshape(shape), axis=-1), np.mean(dxhat.reshape(shape), axis=-1)


def gn_dx(dxhat, xhat, rstd):
    along = np.mean(dxhat * xhat, axis=-1, keepdims=True)
    shift = np.mean(dxhat, axis=-1, keepdims=True)
    return (dxhat - xhat * along - shift) * rstd


def gn_parameters(dz, xhat):
    return np.sum(dz * xhat, axis=(0, 2)), np.sum(dz, axis=(0, 2))


def gn_kernel(
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
    wide = np.promote_types(x.dtype, np.float32)
    shape = (len(x), numGroups, x.shape[1] // numGroups, math.prod(x.shape[2:]))
    dy4, x4 = dy.astype(wide).reshape(shape), x.astype(wide).reshape(shape)
    scale, offset = (
        gamma.astype(wide).reshape(numGroups, -1, 1),
        beta.astype(wide).reshape(numGroups, -1, 1),
    )
    mean, rstd = mean.astype(wide)[..., None, None], rstd.astype(wide)[..., None, None]
    xhat = (x4 - mean) * rstd
    t = swishScale * (xhat * scale + offset)
    tail = np.exp(-np.abs(t))
    large, small = 1 / (1 + tail), tail / (1 + tail)
    dz = dy4 * np.where(t < 0, small, large) * (1 + t * np.where(t < 0, large, small))
    dxhat = dz * scale
    along = np.mean(dxhat * xhat, axis=(2, 3), keepdims=True)
    shift = np.mean(dxhat, axis=(2, 3), keepdims=True)
    out = {"dxOut": ((dxhat - xhat * along - shift) * rstd).reshape(x.shape).astype(x.dtype)}
    sums = {"dgammaOut": np.sum(dz * xhat, axis=(0, 3)), "dbetaOut": np.sum(dz, axis=(0, 3))}
    asked = {"dgammaOut": dgammaIsRequire, "dbetaOut": dbetaIsRequire}
    return out | {
        name: total.reshape(-1).astype(gamma.dtype) for name, total in sums.items() if asked[name]
    }
