"""Bound the rounding error of one operation (half a spacing of the result, or 0 if it was exact), and add, multiply and divide
such bounds.

All functions work on float64 copies of numbers of the format, in which products of two float32 numbers are exact. Bounds are
float64 numbers and are rounded, too. `SLACK` restores their relative loss wherever a bound is used; `times` and `over` restore
what a product or a quotient loses to underflow.
"""

import numpy as np

from aclnn_viz.dtypes import FLOAT64, float_format

SLACK = 1.0 + 1e-10  # covers the rounding of a million successive additions of bounds
TINY = FLOAT64.smallest_subnormal
LOST = 2.0**-1072  # the most that a product or a quotient can lose to underflow
RESIDUAL = 2.0**-950  # no product of larger numbers, nor its residual, loses digits to underflow
_SAFE = 1e-290  # no product or quotient of larger size has lost digits to underflow


def half_ulp(data: np.ndarray) -> np.ndarray:
    """Return half the spacing of the array's format at each number, as float64; infinite for inf and nan.

    Clearing fraction and sign bits of a number leaves the power of two below it.
    """
    fmt = float_format(data)
    fraction = fmt.significand_bits - 1
    mask = ((1 << (fmt.bits - 1 - fraction)) - 1) << fraction
    power = (data.view(f"i{fmt.bits // 8}") & mask).view(fmt.numpy)
    least = fmt.smallest_subnormal if fmt is FLOAT64 else fmt.smallest_subnormal / 2
    return np.maximum(power.astype(np.float64) * fmt.unit_roundoff, least)


def times(size, error):
    """Return size * error for a size and a bound, both at least 0; never 0 unless a factor is 0."""
    return _lifted(size * error, size, error)


def over(error, size):
    """Return error / size for a bound and a size, both at least 0; never 0 unless the bound is 0."""
    return _lifted(error / size, error, 1.0)


def _lifted(result, a, b):
    low = result < _SAFE
    return (
        np.where(low & (np.minimum(a, b) > 0.0), result + TINY, result)
        if np.count_nonzero(low)
        else result
    )


def plus(*terms):
    """Return the sum of the bounds that are not None."""
    total = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


def exact_sum(result, a, b) -> np.ndarray:
    """Return whether result = a + b without rounding: each operand is then the result minus the other."""
    return (result - a == b) & (result - b == a)


def exact_product(result, a, b, dtype) -> np.ndarray:
    """Return whether result = a * b without rounding."""
    if np.dtype(dtype) != np.float64:
        return a * b == result
    error = two_product(a, b)[1]
    return (error == 0.0) & ((np.abs(result) > 1e-280) | (a == 0.0) | (b == 0.0))


def exact_quotient(result, a, b, dtype) -> np.ndarray:
    """Return whether result = a / b without rounding; in float64 only divisions by powers of two are recognised."""
    if np.dtype(dtype) != np.float64:
        return result * b == a
    in_range = (np.abs(result) > 1e-280) & (np.isfinite(result) | np.isinf(a))
    return ((np.abs(np.frexp(b)[0]) == 0.5) & in_range) | (a == 0.0)


def two_product(a, b):
    """Return a * b exactly as (rounded product, residual, bound of the loss to underflow: an array or None)."""
    p = a * b
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    e = ((ah * bh - p) + ah * bl + al * bh) + al * bl
    small = np.abs(p) < RESIDUAL
    if not np.count_nonzero(small):
        return p, e, None
    return p, e, np.where(small & (a != 0.0) & (b != 0.0), LOST, 0.0)


def _halves(a):
    """Return a as the sum of two numbers of at most 26 bits (Veltkamp)."""
    scaled = a * 134217729.0  # 2**27 + 1 splits a number into two halves (Veltkamp)
    # scale only the large numbers, whose product overflows; scaling would lose digits of tiny
    # ones
    if not np.isfinite(scaled).all():
        scale = np.where(np.isfinite(scaled), 1.0, 2.0**30)
        high, low = _halves(np.where(np.isfinite(a), a, 0.0) / scale)
        return high * scale, low * scale
    high = scaled - (scaled - a)
    return high, a - high
