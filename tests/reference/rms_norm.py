"""RMS norm over the trailing axes that gamma covers: y = x rstd gamma, rstd = 1 / sqrt(mean(x^2) + epsilon)."""

import math

import numpy as np

from .exact import divide, exact, inverse_root, mp, signed, zeros


def as_rows(x, gamma):
    """Return x as (rows, columns), where gamma has one element per column."""
    leading = x.shape[: x.ndim - gamma.ndim]
    return x.reshape(math.prod(leading), gamma.size)


def forward(*, x, gamma, epsilon=1e-6):
    """Return `y` and `rstd`, whose shape is x's leading axes followed by a 1 for each axis of gamma."""
    x, gamma = exact(x), exact(gamma)
    rows, leading = as_rows(x, gamma), x.shape[: x.ndim - gamma.ndim]
    squares = np.sum(rows**2, axis=1, keepdims=True) / gamma.size
    rstd = inverse_root(squares + mp.mpf(epsilon))
    return {
        "y": (rows * rstd * gamma.ravel()).reshape(x.shape),
        "rstd": rstd.reshape(leading + (1,) * gamma.ndim),
    }


def backward(*, dy, x, rstd, gamma, part=signed):
    """Return `dxOut` and `dgammaOut`.

    rstd is used as given, consistent with x or not, with or without trailing 1s. With n columns:
    dx_i = (dy_i gamma_i - x_i rstd Mean) rstd, Mean = 1/n sum_j dy_j gamma_j x_j rstd, and dgamma_i is the sum over
    the rows of dy_i x_i rstd.
    """
    x, gamma = exact(x), exact(gamma)
    rows, g = as_rows(x, gamma), gamma.ravel()
    dx, dgamma = zeros(rows.shape), zeros(g.size)
    for row, (d, r) in enumerate(zip(as_rows(exact(dy), gamma), exact(rstd).ravel())):
        hat = rows[row] * r
        mean = divide(np.sum(part(d * g * hat)), mp.mpf(g.size))
        dx[row] = (part(d * g) + part(-hat) * mean) * part(r)
        dgamma += part(d * hat)
    return {"dxOut": dx.reshape(x.shape), "dgammaOut": dgamma.reshape(gamma.shape)}


def terms(**inputs):
    """Return S of `dxOut` and `dgammaOut`.

    dx_i: |rstd dy_i gamma_i| and, for every column j, |x_i rstd^2| / n |dy_j gamma_j x_j rstd|.
    dgamma_i: |dy_i x_i rstd| of every row.
    """
    return backward(**inputs, part=abs)
