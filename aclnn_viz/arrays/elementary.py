"""Elementary functions (sqrt, log, expm1, log1p, tanh, erf, erfc) in double-double and in float64 with error bounds, for
certified exact values.

The Array API and NumPy lack `erf` and `erfc`: the ufuncs `ERF` and `ERFC` represent them, so that each number system handles
them like `np.tanh`. The complement erfc(x) = exp(-x**2) w(x) comes from Taylor series of w about the multiples of 1/8, with
coefficients from integers: w' = 2 x w - 2 / sqrt(pi), w(0) = 1.

Source: NIST Digital Library of Mathematical Functions, 4.6, 7.2, 7.6, 7.10.
"""

from functools import lru_cache
from math import erf, erfc, isqrt

import numpy as np

from aclnn_viz.arrays import double_double as dd
from aclnn_viz.arrays.double_double import exp_float64
from aclnn_viz.arrays.local_errors import over, times

ERF, ERFC = np.frompyfunc(erf, 1, 1), np.frompyfunc(erfc, 1, 1)
RELATIVE = 2.0**-84  # relative error bound of each function below, except for underflow
# nodes per unit of x; terms of the series about a node, at most 1/16 from it; x beyond which erfc
# underflows
STEP, TERMS, LAST = 8, 22, 28
BLOCK = 1 << 13  # elements of a block that stays in the cache through the many steps of a series


def _relative(value, exact, least=0.0):
    """Return the error bound: 0 where `exact`, else RELATIVE * |value| + `least` (2**-1070 for tiny values)."""
    return np.where(
        exact,
        0.0,
        RELATIVE * np.abs(value[0]) + np.where(np.abs(value[0]) < 2.0**-900, 2.0**-1070, least),
    )


def _at_zero(a, value):
    """Return (high, low) of an odd function of `a`: `value`, but `a` itself where `a` is a signed 0 or nan."""
    keep = (a[0] == 0.0) | np.isnan(a[0])
    return np.where(keep, a[0], value[0]), np.where(keep, 0.0, value[1])


def sqrt(a):
    """Return the square root; for operands without one, NumPy's result."""
    plain = (a[0] > 0.0) & np.isfinite(a[0])
    value, error = dd.sqrt(
        (np.where(plain, a[0], 1.0), None if a[1] is None else np.where(plain, a[1], 0.0))
    )
    value = np.where(plain, value[0], np.sqrt(a[0])), np.where(plain, value[1], 0.0)
    return value, np.where(plain, error, 0.0)


def expm1(a):
    """Return e**a - 1 by a table, and by a series near 0, where subtracting 1 would lose digits."""
    near = np.abs(a[0]) < 0.5
    inside = np.where(near, a[0], 0.0), None if a[1] is None else np.where(near, a[1], 0.0)
    small = dd.expm1_near_0(inside)
    whole, error = dd.exp(a)
    large, _ = dd.add(whole, (np.float64(-1.0), None))
    value = _at_zero(a, [np.where(near, s, b) for s, b in zip(small, large)])
    value = [np.where(np.isinf(whole[0]), part, v) for part, v in zip((whole[0], 0.0), value)]
    value[1] = np.where(np.isinf(value[0]), 0.0, value[1])
    return tuple(value), np.where(
        near,
        _relative(value, a[0] == 0.0),
        error + RELATIVE * np.abs(value[0]) * np.isfinite(value[0]),
    )


def log1p(a):
    """Return log(1 + a) by the logarithm of a sum, or near 0 by a - a**2 / 2 + a**3 / 3 - a**4 / 4."""
    near = np.abs(a[0]) < 2.0**-26
    inside = np.where(near, a[0], 0.0), np.where(near, 0.0 if a[1] is None else a[1], 0.0)
    # the series is a + a**2 * (-1/2 + tail), and -1/2 + tail is a double-double
    tail = inside[0] * (1.0 / 3.0 - inside[0] * 0.25)
    small = dd.add(
        inside, dd.multiply(dd.multiply(inside, inside)[0], dd.two_sum(np.float64(-0.5), tail))[0]
    )[0]
    total, lost = dd.add((np.float64(1.0), None), a)
    value, error = dd.log(total)
    if lost is not None:
        error = error + np.where(lost > 0.0, over(lost, np.maximum(total[0], 0.0)) * dd.ROOM, 0.0)
    infinite = np.isinf(a[0]) & (a[0] > 0.0)
    value = [
        np.where(near, s, np.where(infinite, edge, part))
        for s, part, edge in zip(small, value, (a[0], 0.0))
    ]
    value = _at_zero(a, value)
    return value, np.where(
        np.isfinite(value[0]), np.where(near, _relative(value, a[0] == 0.0), error), 0.0
    )


def tanh(a):
    """Return (e**2|a| - 1) / (e**2|a| + 1), with the sign of a."""
    sign = np.where(a[0] < 0.0, -1.0, 1.0)
    far = np.abs(a[0]) > 40.0  # tanh is 1 there: 1 - tanh is below 2**-114
    double = (
        np.where(far, 80.0, 2.0 * sign * a[0]),
        None if a[1] is None else np.where(far, 0.0, 2.0 * sign * a[1]),
    )
    e, _ = expm1(double)
    value, _ = dd.divide(e, dd.add(e, (np.float64(2.0), None))[0])
    value = _at_zero(a, [sign * part for part in value])
    return value, np.where(
        np.isnan(value[0]),
        0.0,
        _relative(value, (a[0] == 0.0) | np.isinf(a[0]), np.where(far, 2.0**-113, 0.0)),
    )


def erf_of(a):
    """Return 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to a."""
    near = np.abs(a[0]) < 0.5
    inside = np.where(near, a[0], 0.0), np.where(near, 0.0 if a[1] is None else a[1], 0.0)
    square, total = dd.multiply(inside, inside)[0], (np.float64(0.0), np.float64(0.0))
    for factor in reversed(_erf_series()):
        total = dd.add(factor, dd.multiply(square, total)[0])[0]
    small = dd.multiply(inside, total)[0]
    sign = np.where(a[0] < 0.0, -1.0, 1.0)
    beyond, error = erfc_of((np.abs(a[0]), None if a[1] is None else sign * a[1]))
    large, _ = dd.add((np.float64(1.0), None), (-beyond[0], -beyond[1]))
    value = _at_zero(a, [np.where(near, s, sign * b) for s, b in zip(small, large)])
    return value, np.where(
        np.isnan(value[0]), 0.0, np.where(near, _relative(value, a[0] == 0.0), error + RELATIVE)
    )


def erfc_of(a):
    """Return 1 - erf(a), with full precision for large a."""
    sign = np.where(a[0] < 0.0, -1.0, 1.0)
    x = (
        np.where(np.abs(a[0]) < LAST, sign * a[0], 0.0),
        np.where(np.abs(a[0]) < LAST, 0.0 if a[1] is None else sign * a[1], 0.0),
    )
    node = np.rint(x[0] * STEP)
    t = dd.add(x, (node / -STEP, None))[0]
    terms, rows, total = _coefficients(), node.astype(np.int64), (np.float64(0.0), np.float64(0.0))
    for high, low in reversed(terms):
        total = dd.add((high[rows], low[rows]), dd.multiply(t, total)[0])[0]
    square = dd.multiply(x, x)[0]
    bell, lost = dd.exp((-square[0], -square[1]))
    value, more = dd.multiply(bell, total)
    error = 2.0**-80 * np.abs(value[0]) + lost + (0.0 if more is None else more)
    mirrored, _ = dd.add((np.float64(2.0), None), (-value[0], -value[1]))
    value = [np.where(sign < 0.0, m, v) for m, v in zip(mirrored, value)]
    error = np.where(sign < 0.0, error + 2.0**-100, error)
    outside = ~(np.abs(a[0]) < LAST)
    if np.any(outside):
        value = [
            np.where(outside, edge, part)
            for edge, part in zip(
                (np.where(np.isnan(a[0]), np.nan, np.where(sign < 0.0, 2.0, 0.0)), 0.0), value
            )
        ]
        error = np.where(outside, np.where(np.isfinite(a[0]), 2.0**-1074, 0.0), error)
    return tuple(value), error


def float64_erf(x):
    """Return erf in float64, within 4 units 2**-53 relative."""
    near = np.abs(x) < 0.5
    inside = np.where(near, x, 0.0)
    square, total = inside * inside, 0.0
    for high, _ in reversed(_erf_series()):
        total = high + square * total
    return np.where(near, inside * total, np.copysign(1.0 - float64_erfc(np.abs(x)), x))


def float64_erfc(x):
    """Return erfc in float64, within 16 units 2**-53 relative for normal results."""
    size = np.abs(x)
    kept = np.where(size < LAST, size, 0.0)
    node = np.rint(kept * STEP)
    t, rows, total = kept - node / STEP, node.astype(np.int64), 0.0
    for high, _ in reversed(_coefficients()[:15]):
        total = total * t
        total += high[rows]
    square, rest, _ = dd.two_product(kept, kept)
    value = dd.exp_float64(-square) * (total * (1.0 - rest))
    value = np.where(size < LAST, value, np.where(np.isnan(x), x, 0.0))
    return np.where(x < 0.0, 2.0 - value, value)


def in_numpy(of_float64, ufunc):
    """Return a function of NumPy arrays from one of float64 arrays; other number systems get the ufunc."""

    def function(x, /):
        if not isinstance(x, (np.ndarray, np.generic, float)):
            return ufunc(x)
        array = np.asarray(x)
        flat, result = (
            array.reshape(-1),
            np.empty(array.size, array.dtype if array.dtype.kind != "i" else np.float64),
        )
        with np.errstate(under="ignore"):
            for at in range(0, flat.size, BLOCK):
                result[at : at + BLOCK] = of_float64(flat[at : at + BLOCK].astype(np.float64))
        return result.reshape(array.shape)[()]

    return function


# SLOPES bounds the slope |f'| of each function between |x| - e and |x| + e, for an error e <= 1.
def _below(x, error):
    return np.maximum(np.abs(x) - error, 0.0)


SLOPES = {
    np.sqrt: lambda x, error: over(0.5, np.sqrt(np.maximum(x - error, 0.0))),
    np.log: lambda x, error: over(1.0, np.maximum(x - error, 0.0)),
    np.expm1: lambda x, error: exp_float64(np.minimum(x + error, 709.0)),
    np.log1p: lambda x, error: over(1.0, np.maximum(1.0 + x - error, 0.0)),
    np.tanh: lambda x, error: np.minimum(1.0, 4.0 * exp_float64(-2.0 * _below(x, error))),
    ERF: lambda x, error: 1.13 * exp_float64(-np.square(_below(x, error))),
    ERFC: lambda x, error: 1.13 * exp_float64(-np.square(_below(x, error))),
}
PRECISE = {
    np.sqrt: sqrt,
    np.log: dd.log,
    np.expm1: expm1,
    np.log1p: log1p,
    np.tanh: tanh,
    ERF: erf_of,
    ERFC: erfc_of,
}
NUMPY = {ERF: in_numpy(float64_erf, ERF), ERFC: in_numpy(float64_erfc, ERFC)}
# bounds of the errors of libraries' functions; NumPy's loops are the least accurate
ULPS = dict.fromkeys(SLOPES, 4.0) | {np.sqrt: 1.0}


def in_numpy_arrays(ufunc):
    """Return the function that computes a ufunc on NumPy arrays: the kit's own for erf and erfc, else the ufunc."""
    return NUMPY.get(ufunc, ufunc)


def carried(ufunc, x, error, beside=0.0):
    """Return the largest change of `ufunc` if its operand, within `beside` of x, moves by at most `error`."""
    with np.errstate(all="ignore"):
        slope = SLOPES[ufunc](x, error + beside) * (1.0 + 2.0**-20)
        return np.where(
            error > 0.0,
            np.where((error <= 1.0) & (slope < np.inf), times(slope, error), np.inf),
            0.0,
        )


@lru_cache
def _erf_series():
    """Return 2 / sqrt(pi) (-1)**n / (n! (2 n + 1)) for each n, as double-doubles."""
    bits, series, power = 220, [], _two_over_root_pi(220)
    for n in range(24):
        series.append(tuple(map(np.float64, dd._pair(power // (2 * n + 1), bits))))
        power = -power // (n + 1)
    return series


@lru_cache
def _coefficients():
    """Return the Taylor coefficients of w = erfc(x) exp(x**2) about each k / 8; axes: term, high or low part, k."""
    bits = 1400  # the recurrence amplifies an error of w by exp(x**2), 2**1131 at x = 28
    slope, nodes, w = _two_over_root_pi(bits), [], 1 << bits
    for k in range(LAST * STEP + 1):
        # c[n] = w^(n)(x) / n! at x = k / STEP: (n + 1) c[n + 1] = 2 x c[n] + 2 c[n - 1]
        terms = [w, 2 * k * w // STEP - slope]
        while len(terms) < TERMS or abs(terms[-1]) >> 3 * len(terms):
            n = len(terms) - 1
            terms.append((2 * k * terms[n] // STEP + 2 * terms[n - 1]) // (n + 1))
        nodes.append([dd._pair(term >> bits - 300, 300) for term in terms[:TERMS]])
        w = sum(term >> 3 * n for n, term in enumerate(terms))
    return np.ascontiguousarray(np.transpose(np.array(nodes), (1, 2, 0)))


def _two_over_root_pi(bits: int) -> int:
    """Return 2 / sqrt(pi), scaled by 2**bits, with pi by Machin's formula."""
    guard = bits + 64

    def arctan(n):
        power, total, k = (1 << guard) // n, 0, 0
        while power:
            total += (power if k % 2 == 0 else -power) // (2 * k + 1)
            power //= n * n
            k += 1
        return total

    pi = 4 * (4 * arctan(5) - arctan(239))
    return (2 << 2 * guard) // isqrt(pi << guard) >> guard - bits
