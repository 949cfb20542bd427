"""Judges of the references: numerical differentiation, and agreement to its accuracy."""

import numpy as np

from .exact import exact, mp, zeros

STEP = mp.mpf("1e-15")
# A central difference errs by STEP^2 = 1e-30 times a third derivative, and by 1e-50 / STEP = 1e-35 of rounding.
TOLERANCE = mp.mpf("1e-24")


def uniform(seed, *shape, low=-2.0, high=2.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def differentiate(loss, array):
    """The gradient of a scalar function of one array by central differences, element by element."""
    array = exact(array)
    gradient = zeros(array.shape)
    for index in np.ndindex(array.shape):
        up, down = array.copy(), array.copy()
        up[index] += STEP
        down[index] -= STEP
        gradient[index] = (loss(up) - loss(down)) / (2 * STEP)
    return gradient


def dot(a, b):
    return sum((x * y for x, y in zip(exact(a).ravel(), exact(b).ravel(), strict=True)), mp.zero)


def agree(actual, expected, tolerance=TOLERANCE):
    actual, expected = exact(actual), exact(expected)
    assert actual.shape == expected.shape
    for a, e in zip(actual.ravel(), expected.ravel()):
        assert (
            a == e or (mp.isnan(a) and mp.isnan(e)) or abs(a - e) <= tolerance * max(1, abs(e))
        ), (a, e)
