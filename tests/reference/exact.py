"""Numbers of the references: mpmath at 50 digits, in a context of their own."""

import mpmath
import numpy as np

mp = mpmath.mp.clone()  # other users of mpmath keep their precision
mp.dps = 50


def exact(array):
    """Return an object array of the exact values of an array of any floating dtype, or of mpmath numbers."""
    array = np.asarray(array)
    result = zeros(array.shape)
    for index in np.ndindex(array.shape):
        value = array[index]
        result[index] = mp.mpf(value if hasattr(value, "_mpf_") else float(value))
    return result


def each(function, *arrays):
    """Return the values of a function of single numbers at the exact ones of arrays of one shape."""
    return np.vectorize(function, otypes=[object])(*map(exact, arrays))


def zeros(shape):
    """Return an object array of zeros."""
    return np.full(shape, mp.zero, dtype=object)


def signed(term):
    """Return a term of a gradient as it is; `abs` in its place gives the sum of the sizes of all terms."""
    return term


def divide(numerator, denominator):
    """Divide as IEEE 754 does: mpmath raises at a zero denominator."""
    if denominator != 0:
        return numerator / denominator
    return mp.nan if numerator == 0 or mp.isnan(numerator) else mp.inf * mp.sign(numerator)


def inverse_root(array):
    return each(lambda value: divide(mp.one, mp.sqrt(value)), array)
