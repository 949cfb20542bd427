"""Hard swish: y = 0 below -3, x (x + 3) / 6 between, x above 3."""

from .exact import each, mp


def forward(*, self):
    """Return `out`."""
    return {"out": each(lambda x: mp.zero if x <= -3 else x if x >= 3 else x * (x + 3) / 6, self)}


def derivative(x):
    """The documented derivative: its middle interval is closed, and nan fails both comparisons."""
    if x < -3:
        return mp.zero
    return x / 3 + mp.mpf(1) / 2 if x <= 3 else mp.one


def backward(*, gradOutput, self):
    """Return `out` = gradOutput * derivative(self)."""
    return {"out": each(lambda grad, x: grad * derivative(x), gradOutput, self)}


def terms(*, gradOutput, self):
    """Return S of `out`: |gradOutput| (|self| / 3 + 1 / 2) for -3 <= self <= 3, elsewhere |out|."""

    def size(grad, x):
        return abs(grad) * (abs(x) / 3 + mp.mpf(1) / 2 if -3 <= x <= 3 else derivative(x))

    return {"out": each(size, gradOutput, self)}
