"""Judges of large arrays: whole numbers of any length, scaled by a power of two, in NumPy arrays of Python integers.

Sums and products of short numbers are exact; a product or quotient that is not is cut at the last bit, `bits` behind
the point. Nothing here comes from the kit, and nothing is a floating number but what goes in.
"""

from functools import lru_cache

import numpy as np

# Bits behind the point for inputs of moderate size, of at most 32 bits, and of 64.
FEW, SHORT, LONG = 400, 1000, 3400
# minus the exponents of the sum of cut bits, far below every bound
GRANTED = {FEW: 300, SHORT: 700, LONG: 1200}
STEPS = 8  # bytes of a remainder with tabulated exponentials


class Fixed:
    """An array of numbers `n` / 2**`bits`."""

    __array_ufunc__ = None

    def __init__(self, n, bits):
        self.n, self.bits = np.asarray(n, object), bits

    shape = property(lambda self: self.n.shape)

    def _of(self, other):
        return (
            other
            if isinstance(other, Fixed)
            else Fixed(np.asarray(other, object) << self.bits, self.bits)
        )

    def __add__(self, other):
        return Fixed(self.n + self._of(other).n, self.bits)

    def __sub__(self, other):
        return Fixed(self.n - self._of(other).n, self.bits)

    def __rsub__(self, other):
        return self._of(other) - self

    def __neg__(self):
        return Fixed(-self.n, self.bits)

    def __mul__(self, other):
        if isinstance(other, Fixed):
            return Fixed((self.n * other.n) >> self.bits, self.bits)
        return Fixed(self.n * np.asarray(other, object), self.bits)

    def __truediv__(self, other):
        return Fixed((self.n << self.bits) // self._of(other).n, self.bits)

    __radd__, __rmul__ = __add__, __mul__

    def __rtruediv__(self, other):
        return self._of(other) / self

    def __lt__(self, other):
        return (self.n < self._of(other).n).astype(bool)

    def __le__(self, other):
        return (self.n <= self._of(other).n).astype(bool)

    def __gt__(self, other):
        return ~(self <= other)

    def __ge__(self, other):
        return ~(self < other)

    def __abs__(self):
        return Fixed(np.abs(self.n), self.bits)

    def __getitem__(self, index):
        return Fixed(self.n[index], self.bits)

    def reshape(self, *shape):
        return Fixed(self.n.reshape(*shape), self.bits)

    def sum(self, axis, keepdims=False):
        return Fixed(self.n.sum(axis=axis, keepdims=keepdims), self.bits)

    def floor(self):
        return (self.n >> self.bits).astype(np.int64)

    def nearest(self):
        """Return the nearest integers, ties to even."""
        low = self.n >> self.bits
        rest, half = self.n - (low << self.bits), 1 << (self.bits - 1)
        up = (rest > half) | (rest == half) & ((low & 1) == 1)
        return low.astype(np.int64) + up.astype(np.int64)

    def exp(self):
        bits, (ln2, tables) = self.bits, _exponentials(self.bits)
        k = self.n // ln2
        r = self.n - k * ln2
        total = tables[0][(r >> (bits - 8)).astype(np.int64)]
        for step in range(1, STEPS):
            total = (
                total * tables[step][((r >> (bits - 8 * (step + 1))) & 255).astype(np.int64)]
                >> bits
            )
        r = r & ((1 << (bits - 8 * STEPS)) - 1)
        term, n = total, 0
        while np.any(term > 0):
            n += 1
            term = (term * r >> bits) // n
            total = total + term
        return Fixed(np.where(k >= 0, total << np.maximum(k, 0), total >> np.maximum(-k, 0)), bits)


@lru_cache
def _exponentials(bits):
    """Return ln 2, and the exponentials of all values of each of the first bytes behind the point."""
    more = bits + 40
    ln2 = sum((1 << more) // (n << n) for n in range(1, more)) >> 40
    tables = np.full((STEPS, 256), 1 << bits, object)
    for step in range(STEPS):
        factor, term, n = 0, 1 << more, 0
        while term:
            factor, n = factor + term, n + 1
            term = (term >> 8 * (step + 1)) // n
        power = 1 << more
        for value in range(1, 256):
            power = power * factor >> more
            tables[step, value] = power >> 40
    return ln2, tables


def fixed(array, bits) -> Fixed:
    """Return the numbers of an array of any floating format, exactly (above 2**-bits)."""
    shape = np.shape(array)
    fraction, exponent = np.frexp(np.atleast_1d(np.asarray(array).astype(np.float64)))
    whole = (fraction * 2.0**53).astype(np.int64).astype(object)
    shift = (exponent.astype(np.int64) - 53 + bits).astype(object)
    if exponent.min(initial=0) + bits >= 53:
        return Fixed((whole << shift).reshape(shape), bits)
    return Fixed(
        np.where(shift >= 0, whole << np.maximum(shift, 0), whole >> np.maximum(-shift, 0)).reshape(
            shape
        ),
        bits,
    )


def where(condition, a: Fixed, b) -> Fixed:
    return Fixed(np.where(condition, a.n, a._of(b).n), a.bits)


def beyond(values, bounds, right: Fixed, granted=None) -> np.ndarray:
    """Return where sums of float64 arrays are farther from the right numbers than bounds plus 2**-granted."""
    granted = granted or GRANTED[right.bits]
    with np.errstate(invalid="ignore"):
        finite = np.isfinite(bounds)
    total = sum(
        (fixed(np.where(finite, part, 0.0), right.bits) for part in values[1:]),
        fixed(np.where(finite, values[0], 0.0), right.bits),
    )
    apart = np.abs(total.n - right.n.reshape(total.shape))
    allowed = fixed(np.where(finite, bounds, 0.0), right.bits).n + (1 << (right.bits - granted))
    return finite & (apart > allowed).astype(bool)


def rounded(right: Fixed) -> np.ndarray:
    """Return the numbers in float64."""
    return (right.n / (1 << right.bits)).astype(np.float64)
