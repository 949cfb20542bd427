"""Double-double arithmetic, for exact values with proven bounds: a number is the unevaluated sum of two float64 numbers, high +
low, about 106 bits.

Every function takes and returns pairs (high, low) of arrays, where a low part None means 0. With the result it returns a
float64 bound on the error of the operation itself, None for no error. Bounds are measured residuals wherever that is cheap, so
exact results are known to be exact.

Only addition, subtraction, multiplication, division and square root of float64 are used, each in a separate loop that IEEE 754
rounds in only one way: no fused operation, no mathematical library. The tables come from integers. So every machine computes
the same bits.

Sources: T. J. Dekker, A floating-point technique for extending the available precision (1971); M. Joldes, J.-M. Muller, V.
Popescu, Tight and rigorous error bounds for basic building blocks of double-word arithmetic (2017).
"""

from functools import lru_cache
from math import isqrt

import numpy as np

from aclnn_viz.arrays.local_errors import LOST, RESIDUAL, over, times, two_product

UNIT = 2.0**-53
ROOM = 1.0 + 2.0**-40  # factor that covers rounding errors of a bound


def two_sum(a, b):
    """Return a + b exactly, as (rounded sum, residual)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def add(a, b):
    """Return a + b."""
    (ah, al), (bh, bl) = a, b
    s, e = two_sum(ah, bh)
    if al is None and bl is None:
        return (s, e), None
    if al is None or bl is None:
        tail, lost = two_sum(e, bl if al is None else al)
        return two_sum(s, tail), np.abs(lost) * ROOM
    t, f = two_sum(al, bl)
    tail, lost = two_sum(e, t)
    s, tail = two_sum(s, tail)
    tail, more = two_sum(tail, f)
    return two_sum(s, tail), (np.abs(lost) + np.abs(more)) * ROOM


def multiply(a, b):
    """Return a * b."""
    (ah, al), (bh, bl) = a, b
    p, e, lost = two_product(ah, bh)
    if al is None and bl is None:
        return (p, e), lost
    if al is None or bl is None:
        low, other = (bl, ah) if al is None else (al, bh)
        cross, residual, more = two_product(low, other)
        tail, rest = two_sum(e, cross)
        return two_sum(p, tail), _plus((np.abs(residual) + np.abs(rest)) * ROOM, lost, more)
    first, second = ah * bl, al * bh
    sizes = np.abs(first) + np.abs(second)
    tail = e + (first + second)
    crossed = (al != 0.0) & (bh != 0.0) | (bl != 0.0) & (ah != 0.0)
    error = np.where(crossed, 3.0 * UNIT * sizes + UNIT * np.abs(e) + np.abs(al * bl) + LOST, 0.0)
    return two_sum(p, tail), _plus(error * ROOM, lost)


def divide(a, b):
    """Return a / b."""
    (ah, al), (bh, bl) = a, b
    q = ah / bh
    p, e, _ = two_product(q, bh)
    rest, inexact = (ah - p) - e, 0.0  # this remainder is exact, except for underflow
    if al is not None:
        rest, inexact = rest + al, np.abs(al)
    lost = None
    if bl is not None:
        cross = q * bl
        rest, inexact = rest - cross, inexact + np.abs(cross)
        small = (np.abs(cross) < RESIDUAL) & (q != 0.0) & (bl != 0.0)
        lost = over(np.where(small, LOST, 0.0), np.abs(bh)) if np.count_nonzero(small) else None
    size = np.abs(bh)
    # The quotient of a tiny remainder loses digits to underflow, so its bound must not vanish.
    error = times(4.0 * UNIT * ROOM, over(np.abs(rest) + inexact, size))
    more = rest / bh
    if lost is not None:
        error = error + lost
    small = ((np.abs(ah) < RESIDUAL) | (np.abs(q) < RESIDUAL)) & (ah != 0.0)
    if np.count_nonzero(small):
        error = error + np.where(small, LOST * (1.0 + 1.0 / size), 0.0)
    return two_sum(q, more), error


def sqrt(a):
    """Return the square root of a >= 0."""
    high, low = a
    root = np.sqrt(high)
    p, e, _ = two_product(root, root)
    rest = (high - p) - e
    if low is not None:
        rest = rest + low
    tail = np.where(root > 0.0, rest / (2.0 * np.where(root > 0.0, root, 1.0)), 0.0)
    size = np.where(root > 0.0, root, 0.0)
    return two_sum(root, tail), np.where(
        (rest != 0.0) | (high < RESIDUAL) & (high > 0.0),
        4.0 * UNIT**2 * size + 2.0**-530 * (high < RESIDUAL),
        0.0,
    )


STEPS = 4096  # the exponential is 2**(k / STEPS) * exp(t), |t| <= ln 2 / 8192


def exp(a):
    """Return e**a by a table of 2**(k / 4096) and a short series for the rest."""
    high, low = a
    inside = np.minimum(np.maximum(np.where(np.isnan(high), 0.0, high), -760.0), 709.75)
    power, series, exponent = _reduced(
        inside, None if low is None else np.where(inside == high, low, 0.0)
    )
    value, _ = add(power, multiply(power, series)[0])
    half = exponent // 2  # scale in two steps, because 2**1024 and 2**-1080 are out of range
    value = [np.ldexp(np.ldexp(part, half), exponent - half) for part in value]
    tiny = value[0] < 2.0**-960  # underflow may have removed digits of one part or of both
    value = list(two_sum(*value))
    error = (
        np.where(
            high == 0.0, 0.0 if low is None else np.where(low == 0.0, 0.0, 2.0**-102), 2.0**-102
        )
        * value[0]
    )
    error = np.where(tiny, error + 2.0**-1073, error)
    outside = ~(high <= 709.7) | (high < -745.2)
    if np.count_nonzero(outside):
        extreme = np.where(np.isnan(high), np.nan, np.where(high > 0.0, np.inf, 0.0))
        surely = np.isnan(high) | np.isinf(high)
        value = [np.where(outside, extreme, value[0]), np.where(outside, 0.0, value[1])]
        error = np.where(
            outside, np.where(surely, 0.0, np.where(high > 0.0, np.inf, 2.0**-1073)), error
        )
    return tuple(value), error


def _reduced(high, low):
    """Return (p, s, n) with e**a = 2**n p (1 + s) and p = 2**(k / STEPS) from the table."""
    powers_high, powers_low, (c1, c2, c3, c4) = _tables()
    k = np.rint(high * (STEPS / 0.6931471805599453))
    t = high - k * c1, None  # the products of k with c1, c2 and c3 are exact
    for part in (-k * c2, -k * c3, -k * c4):
        t = add(t, (part, None))[0]
    if low is not None:
        t = add(t, (low, None))[0]
    scale = k.astype(np.int64)
    return (powers_high[scale % STEPS], powers_low[scale % STEPS]), _series(t), scale // STEPS


def expm1_near_0(a):
    """Return e**a - 1 for |a| < 1/2; 2**n p - 1 is exact except for the last bits of its low part."""
    (high, low), series, exponent = _reduced(*a)
    power = np.ldexp(high, exponent), np.ldexp(low, exponent)
    return add(add(power, (np.float64(-1.0), None))[0], multiply(power, series)[0])[0]


def exp_float64(x: np.ndarray) -> np.ndarray:
    """Return e**x in float64, within 2.2 units 2**-53 relative, by the same table and a shorter series."""
    ordinary = np.abs(x) < 700.0
    # each half of the power must neither overflow nor vanish before it is multiplied
    if not np.all(ordinary):
        inside = np.where(np.abs(x) < 800.0, x, 0.0)
        return np.where(
            inside == x,
            _exponential(0.5 * inside) * _exponential(0.5 * inside),
            np.where(x > 0.0, np.inf, np.where(x < 0.0, 0.0, np.nan)),
        )
    return _exponential(x)


def _exponential(x):
    powers_high, _, (c1, c2, c3, _) = _tables()
    k = np.rint(x * (STEPS / 0.6931471805599453))
    scale = k.astype(np.int64)
    t = x - k * c1
    k *= c2 + c3
    t -= k
    # t + t * t * (1/2 + t * (1/6 + t / 24)), in place: for large arrays new memory costs more than arithmetic
    series = t * (1.0 / 24.0)
    series += 1.0 / 6.0
    series *= t
    series += 0.5
    series *= t * t
    series += t
    power = powers_high[scale & (STEPS - 1)]
    series *= power
    series += power
    scale >>= STEPS.bit_length() - 1
    return series * _power(scale)


def _power(exponent: np.ndarray) -> np.ndarray:
    """Return 2**exponent for exponents of normal numbers."""
    return ((exponent + 1023) << 52).view(np.float64)


def _series(t):
    """Return exp(t) - 1 for |t| < 2**-13 by seven terms, the first three in double-double."""
    square = multiply(t, t)[0]
    cube = multiply(square, t)[0]
    high = t[0]
    rest = (
        square[0]
        * square[0]
        * (1.0 / 24.0 + high * (1.0 / 120.0 + high * (1.0 / 720.0 + high * (1.0 / 5040.0))))
    )
    sixth = divide(cube, (np.float64(6.0), None))[0]
    total = add(sixth, (rest, None))[0]
    total = add((square[0] * 0.5, square[1] * 0.5), total)[0]
    return add(t, total)[0]


def log(a):
    """Return the natural logarithm of a > 0 by a power 2**(k / 64) near a, and the series of artanh for the quotient."""
    high, low = a
    positive = (high > 0.0) & np.isfinite(high)
    fraction, exponent = np.frexp(np.where(positive, high, 1.0))
    exponent = exponent.astype(np.int64) - 1
    scaled = (
        2.0 * fraction,
        None if low is None else np.ldexp(np.where(positive, low, 0.0), -exponent),
    )
    powers_high, powers_low, _ = _tables()
    # the index of the nearest power to a number in [1, 2]; index 64 is 2
    k = np.searchsorted(powers_high[32::64], scaled[0])
    power = np.append(powers_high[::64], 2.0)[k], -np.append(powers_low[::64], 0.0)[k]
    apart = add(scaled, (-power[0], power[1]))[0]
    s = divide(apart, add(scaled, (power[0], -power[1]))[0])[0]
    square, total = multiply(s, s)[0], (np.float64(0.0), np.float64(0.0))
    for n in range(19, 0, -2):  # series 2 (s + s**3 / 3 + s**5 / 5 + ...)
        total = add(
            divide((np.float64(2.0), None), (np.float64(n), None))[0], multiply(square, total)[0]
        )[0]
    value = multiply(s, total)[0]
    near = (k + 64 * exponent).astype(np.float64) * 64.0
    for part in _log2_parts():
        value = add(multiply((near, None), part)[0], value)[0]
    error = np.where((high == 1.0) & (value[0] == 0.0), 0.0, 2.0**-98 * np.abs(value[0]))
    special = np.where(high == 0.0, -np.inf, np.where(high > 0.0, high, np.nan))
    return (
        (np.where(positive, value[0], special), np.where(positive, value[1], 0.0)),
        np.where(positive, error, 0.0),
    )


@lru_cache
def _tables():
    """Return 2**(k / STEPS) for k = 0 .. STEPS - 1 as double-doubles, and ln 2 / STEPS as four numbers, from integers."""
    bits = 220
    root = 2 << 2 * bits  # 2, and then its repeated square roots, scaled by 2**(2 * bits)
    for _ in range(STEPS.bit_length() - 1):
        root = isqrt(root) << bits
    root >>= bits
    powers, power = [], 1 << bits
    for _ in range(STEPS):
        powers.append(power)
        power = power * root >> bits
    pairs = [_pair(power, bits) for power in powers]
    rest, parts = _log2(bits) // STEPS, []
    # parts of at most 30 bits, because products with k, of up to 23 bits, must be exact
    for place in (40, 70, 100):
        parts.append(float(rest >> (bits - place)) * 2.0**-place)
        rest &= (1 << (bits - place)) - 1
    return (
        np.array([p[0] for p in pairs]),
        np.array([p[1] for p in pairs]),
        (*parts, rest / (1 << bits)),
    )


@lru_cache
def _log2_parts():
    """Return ln 2 / STEPS as a sum of two double-doubles."""
    bits = 300
    step = _log2(bits) // STEPS
    first = _pair(step, bits)
    rest = step - sum(int(part * 2.0**250) << (bits - 250) for part in first)
    return (np.float64(rest / (1 << bits)), None), tuple(np.float64(part) for part in first)


def _log2(bits: int) -> int:
    """Return ln 2, scaled by 2**bits: sum of 1 / (n 2**n)."""
    guard = bits + 40
    return sum((1 << guard) // (n << n) for n in range(1, guard)) >> 40


def _pair(number: int, bits: int) -> tuple[float, float]:
    """Return an integer, scaled by 2**bits, as high + low."""
    high = number / (1 << bits)
    return high, (number - int(high * 2.0**120) * (1 << (bits - 120))) / (1 << bits)


def _plus(error, *more):
    for part in more:
        if part is not None:
            error = error + part
    return error
