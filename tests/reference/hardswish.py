"""Hard swish: y = 0 below -3, x (x + 3) / 6 between, x above 3."""

import numpy as np

from .exact import exact, mp, zeros


def forward(*, self):
    """Return `out`."""
    x = exact(self)
    out = zeros(x.shape)
    for i in np.ndindex(x.shape):
        if x[i] <= -3:
            out[i] = mp.zero
        elif x[i] >= 3:
            out[i] = x[i]
        else:
            out[i] = x[i] * (x[i] + 3) / 6
    return {"out": out}


def derivative(x):
    """The documented derivative: its middle interval is closed, and nan fails both comparisons."""
    if x < -3:
        return mp.zero
    if x <= 3:
        return x / 3 + mp.mpf(1) / 2
    return mp.one


def backward(*, gradOutput, self):
    """Return `out` = gradOutput * derivative(self)."""
    grad, x = exact(gradOutput), exact(self)
    out = zeros(x.shape)
    for i in np.ndindex(x.shape):
        out[i] = grad[i] * derivative(x[i])
    return {"out": out}


def terms(*, gradOutput, self):
    """Return S of `out`: |gradOutput| (|self| / 3 + 1 / 2) for -3 <= self <= 3, elsewhere |out|."""
    grad, x = exact(gradOutput), exact(self)
    out = zeros(x.shape)
    for i in np.ndindex(x.shape):
        if -3 <= x[i] <= 3:
            out[i] = abs(grad[i]) * (abs(x[i]) / 3 + mp.mpf(1) / 2)
        else:
            out[i] = abs(grad[i] * derivative(x[i]))
    return {"out": out}
