"""Bound the rounding error of one operation (half a spacing of the result, or nothing when it was exact), and add, multiply and
divide such bounds.

Everything works on float64 copies of numbers of the format, in which the products of two float32 numbers are exact.
Bounds themselves are float64 numbers and are rounded, too. What that loses relatively, `SLACK` gives back wherever a
bound is used; what a product or a quotient of bounds loses below the smallest numbers, `times` and `over` give back.
"""

import numpy as np

from aclnn_viz.dtypes import FLOAT64, float_format

SLACK = 1.0 + 1e-10  # a million additions of bounds, one after another, lose less
TINY = FLOAT64.smallest_subnormal
LOST = 2.0**-1072  # what a product or a quotient can lose to underflow
RESIDUAL = 2.0**-950  # no product above loses anything to underflow, and neither does its residual
_SAFE = 1e-290  # no product or quotient above has lost digits to underflow


def half_ulp(data: np.ndarray) -> np.ndarray:
    """Half the spacing of the array's format at each number, as float64; infinite for inf and nan.

    The power of two below a number is what remains of it when its fraction and sign bits are cleared.
    """
    fmt = float_format(data)
    fraction = fmt.significand_bits - 1
    mask = ((1 << (fmt.bits - 1 - fraction)) - 1) << fraction
    power = (
        (np.ascontiguousarray(data).view(f"i{fmt.bits // 8}") & mask)
        .view(fmt.numpy)
        .reshape(data.shape)
    )
    least = fmt.smallest_subnormal if fmt is FLOAT64 else fmt.smallest_subnormal / 2
    return np.maximum(power.astype(np.float64) * fmt.unit_roundoff, least)


def times(size, error):
    """size * error for a size and a bound, both at least 0: never 0 unless one of them is."""
    return _lifted(size * error, size, error)


def over(error, size):
    """error / size for a bound and a size, both at least 0: never 0 unless the bound is."""
    return _lifted(error / size, error, 1.0)


def _lifted(result, a, b):
    low = result < _SAFE
    return (
        np.where(low & (np.minimum(a, b) > 0.0), result + TINY, result) if np.any(low) else result
    )


def plus(*terms):
    """The sum of those bounds that are not None."""
    given = [term for term in terms if term is not None]
    return sum(given[1:], given[0]) if given else None


def exact_sum(result, a, b) -> np.ndarray:
    """Whether result = a + b without rounding: then either operand is what the other leaves of it."""
    return (result - a == b) & (result - b == a)


def exact_product(result, a, b, dtype) -> np.ndarray:
    """Whether result = a * b without rounding."""
    if np.dtype(dtype) != np.float64:
        return a * b == result
    error = two_product(a, b)[1]
    return (error == 0.0) & ((np.abs(result) > 1e-280) | (a == 0.0) | (b == 0.0))


def exact_quotient(result, a, b, dtype) -> np.ndarray:
    """Whether result = a / b without rounding; in float64 only divisions by powers of two are recognised."""
    if np.dtype(dtype) != np.float64:
        return result * b == a
    in_range = (np.abs(result) > 1e-280) & (np.isfinite(result) | np.isinf(a))
    return ((np.abs(np.frexp(b)[0]) == 0.5) & in_range) | (a == 0.0)


def two_product(a, b):
    """a * b exactly, as (rounded product, residual, what underflow may have taken: an array, or None)."""
    p = a * b
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    e = ((ah * bh - p) + ah * bl + al * bh) + al * bl
    small = np.abs(p) < RESIDUAL
    if not np.any(small):
        return p, e, None
    return p, e, np.where(small & (a != 0.0) & (b != 0.0), LOST, 0.0)


def _halves(a):
    """a as the sum of two numbers of at most 26 bits (Veltkamp)."""
    scaled = a * 134217729.0  # 2**27 + 1
    # it overflows for numbers that do not; those beside them may be the smallest
    if not np.all(np.isfinite(scaled)):
        scale = np.where(np.isfinite(scaled), 1.0, 2.0**30)
        high, low = _halves(np.where(np.isfinite(a), a, 0.0) / scale)
        return high * scale, low * scale
    high = scaled - (scaled - a)
    return high, a - high
