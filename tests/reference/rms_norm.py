"""RMS norm over the trailing axes that gamma covers: y = x rstd gamma, rstd = 1 / sqrt(mean(x^2) + epsilon)."""

import math

from .exact import divide, exact, mp, zeros


def as_rows(x, gamma):
    """Return x as (rows, columns), where gamma has one element per column."""
    leading = x.shape[: x.ndim - gamma.ndim]
    return x.reshape(math.prod(leading), gamma.size)


def forward(*, x, gamma, epsilon=1e-6):
    """Return `y` and `rstd`, whose shape is x's leading axes followed by a 1 for each axis of gamma."""
    x, gamma, epsilon = exact(x), exact(gamma), mp.mpf(epsilon)
    rows, g = as_rows(x, gamma), gamma.ravel()
    y, rstd = zeros(rows.shape), zeros(rows.shape[0])
    for row in range(rows.shape[0]):
        square = mp.zero
        for i in range(g.size):
            square += rows[row, i] ** 2
        rstd[row] = divide(mp.one, mp.sqrt(divide(square, mp.mpf(g.size)) + epsilon))
        for i in range(g.size):
            y[row, i] = rows[row, i] * rstd[row] * g[i]
    return {
        "y": y.reshape(x.shape),
        "rstd": rstd.reshape(x.shape[: x.ndim - gamma.ndim] + (1,) * gamma.ndim),
    }


def backward(*, dy, x, rstd, gamma):
    """Return `dxOut` and `dgammaOut`.

    rstd is used as given, consistent with x or not, with or without trailing 1s. With n columns:
    dx_i = (dy_i gamma_i - x_i rstd Mean) rstd, Mean = 1/n sum_j dy_j gamma_j x_j rstd, and dgamma_i is the sum over
    the rows of dy_i x_i rstd.
    """
    dy, x, rstd, gamma = exact(dy), exact(x), exact(rstd).ravel(), exact(gamma)
    dy_rows, x_rows, g = as_rows(dy, gamma), as_rows(x, gamma), gamma.ravel()
    dx, dgamma = zeros(x_rows.shape), zeros(g.size)
    for row in range(x_rows.shape[0]):
        total = mp.zero
        for j in range(g.size):
            total += dy_rows[row, j] * g[j] * x_rows[row, j] * rstd[row]
        mean = divide(total, mp.mpf(g.size))
        for i in range(g.size):
            dx[row, i] = (dy_rows[row, i] * g[i] - x_rows[row, i] * rstd[row] * mean) * rstd[row]
            dgamma[i] += dy_rows[row, i] * x_rows[row, i] * rstd[row]
    return {"dxOut": dx.reshape(x.shape), "dgammaOut": dgamma.reshape(gamma.shape)}


def terms(*, dy, x, rstd, gamma):
    """Return S of `dxOut` and `dgammaOut`.

    dx_i: |rstd dy_i gamma_i| and, for every column j, |x_i rstd^2| / n |dy_j gamma_j x_j rstd|.
    dgamma_i: |dy_i x_i rstd| of every row.
    """
    dy, x, rstd, gamma = exact(dy), exact(x), exact(rstd).ravel(), exact(gamma)
    dy_rows, x_rows, g = as_rows(dy, gamma), as_rows(x, gamma), gamma.ravel()
    dx, dgamma = zeros(x_rows.shape), zeros(g.size)
    for row in range(x_rows.shape[0]):
        total = mp.zero
        for j in range(g.size):
            total += abs(dy_rows[row, j] * g[j] * x_rows[row, j] * rstd[row])
        for i in range(g.size):
            dx[row, i] = (
                abs(rstd[row] * dy_rows[row, i] * g[i])
                + abs(x_rows[row, i] * rstd[row] ** 2) * total / g.size
            )
            dgamma[i] += abs(dy_rows[row, i] * x_rows[row, i] * rstd[row])
    return {"dxOut": dx.reshape(x.shape), "dgammaOut": dgamma.reshape(gamma.shape)}
