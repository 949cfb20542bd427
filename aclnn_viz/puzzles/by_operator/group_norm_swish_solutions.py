"""Right answers to the puzzles on group norm and swish; small changes to them give the usual mistakes."""

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
