"""Right answers to the puzzles on RMS norm; small changes to them give the usual mistakes."""

import numpy as np


def rms_xhat(x, rstd):
    return x * rstd


def rms_row_mean(dy, x, rstd, gamma):
    return np.mean(dy * gamma * x * rstd, axis=-1, keepdims=True)


def rms_dx(dy, x, rstd, gamma):
    xhat = x * rstd
    return (dy * gamma - xhat * np.mean(dy * gamma * xhat, axis=-1, keepdims=True)) * rstd


def rms_dgamma(dy, x, rstd):
    return np.sum(dy * x * rstd, axis=0)


def rms_kernel(dy, x, rstd, gamma):
    wide = np.promote_types(x.dtype, np.float32)
    axes, lead = tuple(range(-gamma.ndim, 0)), tuple(range(x.ndim - gamma.ndim))
    dy, gamma = dy.astype(wide), gamma.astype(wide)
    xhat = x.astype(wide) * rstd
    mean = np.mean(dy * gamma * xhat, axis=axes, keepdims=True)
    dx = (dy * gamma - xhat * mean) * rstd
    return dx.astype(x.dtype), np.sum(dy * xhat, axis=lead)


def rows_of_core(core, rows, cores):
    span = -(-rows // cores)
    return np.clip(rows - core * span, 0, span)


def strip_owner(column, strip, cores):
    return column // strip % cores


def row_traffic(columns, tileLength, itemsize):
    return columns * itemsize * np.where(columns <= tileLength, 3, 5)
