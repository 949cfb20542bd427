"""Float64 arrays with a cheap error bound: the first attempt at certified exact values, for inputs of at most 32 bits.

Through products and quotients one relative error serves a whole array; after a sum each element has its own error. The format
of the inputs (24 bits at most, multiples of 2**-149) shows in advance which products are exact and that none underflows. Sums
are compensated: each collects the errors of its additions, and adds them at the end.
"""

from functools import lru_cache

import numpy as np

from aclnn_viz.arrays import double_double as dd
from aclnn_viz.arrays.elementary import PRECISE, carried
from aclnn_viz.arrays.functions import ZERO, ArrayOfParts, ExactFunctions, is_float, sort_of, spread
from aclnn_viz.arrays.local_errors import TINY, exact_sum
from aclnn_viz.arrays.sums import columns, in_front
from aclnn_viz.dtypes import float_format

UNIT = 2.0**-53
ROOM = 1.0 + 2.0**-20  # factor that covers rounding errors of bounds, and second-order terms
EXP = 5.0  # relative error of exp in UNITs: 2.2, or 4.4 for |x| >= 700 by exp(x / 2)**2
LEAST_EXPONENT = -1074  # float64 numbers are multiples of 2**-1074
_AT_ONCE = 1024  # an array with more elements is first tested by a few of them
_FLOOR = 2.0**-1021  # in UNITs, added to each error: underflow loses at most 2**-1074
# up to this relative error e, in UNITs, 1 / (1 - e) and exp(e) are at most 1 + 1.01 e
_LINEAR = 2.0**-10 / UNIT


class SizedArray(ArrayOfParts):
    """`data`, and a bound of the distance to the exact numbers, in units of 2**-53.

    The bound is `absolute` for each element, or, if that is None, `relative` * |data|; a `relative` of 0 is exact. Every
    element is a multiple of 2**`grain`, below 2**`top`, and has at most `bits` significant bits (None: unknown).
    """

    dtype = np.dtype(np.float64)

    def __init__(
        self, xp, data, absolute=None, relative=0.0, grain=LEAST_EXPONENT, top=1024, bits=None
    ):
        self.xp, self.data, self.absolute, self.relative = (
            xp,
            data,
            absolute,
            relative if absolute is None else 0.0,
        )
        self.grain, self.top, self.bits = grain, top, bits

    exact = property(lambda self: self.absolute is None and not self.relative)

    @property
    def units(self) -> np.ndarray:
        """The bound of each element in units of 2**-53."""
        return self.relative * np.abs(self.data) if self.absolute is None else self.absolute

    @property
    def error(self) -> np.ndarray:
        """The error bound of each element."""
        return (
            np.zeros(self.shape)
            if self.exact
            else UNIT * ROOM * self.units + TINY * (self.units > 0.0)
        )

    def __getitem__(self, index):
        return self.xp._move(lambda part: np.asarray(part[index]), self)

    def applied(self, ufunc, *inputs):
        inputs = [x if isinstance(x, SizedArray) else lifted(self.xp, x) for x in inputs]
        return (
            _RULES[ufunc](self.xp, *inputs)
            if ufunc in _RULES
            else _compare(self.xp, ufunc, *inputs)
        )


def lifted(xp, x):
    x = np.asarray(x, np.float64)
    if x.ndim or not np.isfinite(x):
        return SizedArray(xp, x)
    return SizedArray(xp, x, None, 0.0, *_known(float(x)))


@lru_cache(1024)  # a page uses few numbers, each repeatedly
def _known(x: float) -> tuple[int, int, int]:
    """Return (grain, top, bits) of a number: a multiple of 2**grain, below 2**top, with `bits` significant bits."""
    odd, scale = x.as_integer_ratio()
    trailing = (odd & -odd).bit_length() - 1 if odd else 0
    shift = scale.bit_length() - 1
    return trailing - shift, abs(odd).bit_length() - shift, max(abs(odd).bit_length() - trailing, 1)


def _rounded(exact, data, a, b):
    """Return the relative error, in units, of a result of two exact operands: 0 if `exact(data, a, b)` everywhere, else 1.

    For many elements, a few usually suffice.
    """
    if data.size > _AT_ONCE:
        arrays = np.broadcast_arrays(data, a, b)
        for count in (4, 64):
            if not exact(*(x[tuple(slice(0, count) for _ in data.shape)] for x in arrays)).all():
                return 1.0
    return 0.0 if exact(data, a, b).all() else 1.0


def _add(xp, a, b, sign=1.0):
    data = a.data + b.data if sign > 0 else a.data - b.data
    known = min(a.grain, b.grain), max(a.top, b.top) + 1
    if a.exact and b.exact:
        return SizedArray(
            xp,
            data,
            None,
            _rounded(lambda r, x, y: exact_sum(r, x, sign * y), data, a.data, b.data),
            *known,
        )
    units = np.abs(data)
    for x in (a, b):
        if not x.exact:
            units += x.units
    return SizedArray(xp, data, units, 0.0, *known)


def _multiply(xp, a, b):
    data, relative, units = a.data * b.data, a.relative + b.relative, None
    bits = a.bits + b.bits if a.bits and b.bits else None
    if a.exact and b.exact and bits is None and 1 not in (a.bits, b.bits):
        relative = _rounded(lambda r, x, y: dd.two_product(x, y)[1] == 0.0, data, a.data, b.data)
    elif (bits is None or bits > 53) and 1 not in (a.bits, b.bits):
        relative, bits = relative + 1.0, None
    if a.absolute is not None and b.absolute is not None:
        units = (np.abs(b.data) + UNIT * b.absolute) * a.absolute + np.abs(a.data) * b.absolute
        units += np.abs(data)
    elif a.absolute is not None or b.absolute is not None:
        own, other = (a, b) if a.absolute is not None else (b, a)
        units = own.absolute * np.abs(other.data)
        if relative:
            units += relative * np.abs(data)
    grain = a.grain + b.grain
    if grain < LEAST_EXPONENT and np.count_nonzero(small := _small(data, a, b)):
        units, bits = (relative * np.abs(data) if units is None else units) + _FLOOR * small, None
    return SizedArray(xp, data, units, relative, max(grain, LEAST_EXPONENT), a.top + b.top, bits)


def _divide(xp, a, b):
    data = a.data / b.data
    if (
        b.bits == 1 and b.exact and b.ndim == 0 and a.grain - b.top > LEAST_EXPONENT
    ):  # division by a power of two is exact
        return SizedArray(
            xp,
            data,
            None if a.absolute is None else a.absolute / abs(b.data),
            a.relative,
            a.grain - b.top,
            a.top - b.grain,
            a.bits,
        )
    if a.exact and b.exact:
        relative = _rounded(_exact_quotient, data, a.data, b.data)
        if not relative:
            return SizedArray(xp, data)
    relative, units = 1.01 * (a.relative + b.relative) + 1.0, None
    if a.absolute is not None or b.absolute is not None:
        units, size = relative * np.abs(data), np.abs(b.data)
        if a.absolute is not None:
            units = units + 1.01 * a.absolute / size
        if b.absolute is not None:
            units = units + 1.01 * np.abs(data) * b.absolute / size
            units = np.where(b.absolute <= _LINEAR * size, units, np.inf)
    if np.count_nonzero(small := _small(data, a)):
        units = (relative * np.abs(data) if units is None else units) + _FLOOR * small
    return SizedArray(xp, data, units, relative)


def _small(data, *operands):
    """Return the mask of results below 2**-1020 in size of which no operand is exactly 0."""
    small = np.abs(data) < 2.0**-1020
    if small.any():
        for x in operands:
            small = small & ((x.data != 0.0) | (x.units > 0.0))
    return small


def _exact_quotient(q, x, y):
    p, e, lost = dd.two_product(q, y)
    return (p == x) & (e == 0.0) & (True if lost is None else lost == 0.0)


def _exp(xp, a):
    data, units = dd.exp_float64(a.data), None
    if not a.exact:
        near = a.units
        units = data * (1.01 * near + EXP)
        if np.count_nonzero(near > _LINEAR):
            units = np.where(near <= _LINEAR, units, np.inf)
    if np.count_nonzero((data < 2.0**-1020) & np.isfinite(a.data)):
        units = (EXP * data if units is None else units) + _FLOOR
    return SizedArray(xp, data, units, EXP)


def _elementary(ufunc):
    def rule(xp, a):
        (data, _), error = PRECISE[ufunc]((a.data, None))
        # bounds of the omitted low part and of the function's error
        units = np.abs(data) + error * (ROOM / UNIT) + _FLOOR
        if not a.exact:
            units = units + carried(ufunc, a.data, a.error) * (ROOM / UNIT)
        return SizedArray(xp, data, units)

    return rule


def _of_sign(ufunc):
    """Return the rule of a function that changes signs alone."""
    return lambda xp, a: SizedArray(
        xp, ufunc(a.data), a.absolute, a.relative, a.grain, a.top, a.bits
    )


def _apart(a, b):
    """Return the difference, and the mask where its sign is certain."""
    apart = a.data - b.data
    if a.exact and b.exact:
        return apart, True
    far = UNIT * ROOM * (a.units + b.units)
    return apart, (np.abs(apart) > far) | np.isnan(apart) & np.isfinite(far)


def _compare(xp, ufunc, a, b):
    xp.decided(_apart(a, b)[1])
    return ufunc(a.data, b.data)


def _extreme(ufunc):
    def rule(xp, a, b):
        data, sure = ufunc(a.data, b.data), _apart(a, b)[1]
        if np.all(sure) and a.shape == data.shape and np.all(data == a.data):
            return a
        chosen = xp.where((data == a.data) | np.isnan(a.data), a, b)
        if chosen.absolute is not None:
            chosen.absolute = np.where(sure, chosen.absolute, np.maximum(a.units, b.units))
        return chosen

    return rule


def _integral(function):
    def rule(xp, a):
        data = function(a.data)
        if not a.exact:
            far = 2.0 * UNIT * a.units
            xp.decided(function(a.data - far) == function(a.data + far))
        return SizedArray(xp, data, None, 0.0, 0, max(a.top, 0) + 1)

    return rule


def _remainder(xp, a, b):
    data, units = np.remainder(a.data, b.data), a.units
    if not (a.exact and b.exact):
        far = 2.0 * UNIT * units
        xp.decided(
            (np.abs(data) > far) & (np.abs(b.data - data) > far) & b.exact | (far == 0.0) & b.exact
        )
    if a.exact and np.all((a.data >= 0.0) == (b.data >= 0.0)):
        return SizedArray(xp, data)
    return SizedArray(xp, data, units + np.abs(data))


_RULES = {ufunc: _elementary(ufunc) for ufunc in PRECISE} | {
    np.add: _add,
    np.subtract: lambda xp, a, b: _add(xp, a, b, -1.0),
    np.multiply: _multiply,
    np.divide: _divide,
    np.exp: _exp,
    np.negative: _of_sign(np.negative),
    np.absolute: _of_sign(np.absolute),
    np.floor: _integral(np.floor),
    np.rint: _integral(np.rint),
    np.remainder: _remainder,
    np.maximum: _extreme(np.maximum),
    np.minimum: _extreme(np.minimum),
    np.isfinite: sort_of(np.isfinite),
    np.isnan: sort_of(np.isnan),
}


class SizedArrays(ExactFunctions):
    """The namespace of a page over sized arrays."""

    def given(self, value):
        """Return an input, or a floating attribute of a page, as an operand."""
        if not isinstance(value, np.ndarray):
            return lifted(self, value) if isinstance(value, float) else value
        if not is_float(value):
            return value
        fmt = float_format(value)
        return SizedArray(
            self,
            value.astype(np.float64),
            None,
            0.0,
            fmt.min_exponent - fmt.significand_bits + 1,
            2 - fmt.min_exponent,
            fmt.significand_bits,
        )

    def _wrap(self, array):
        if not is_float(array):
            return array
        array = array.astype(np.float64)
        return (
            self._like(array, lifted(self, array.flat[0]))
            if array.size and np.all(array == array.flat[0])
            else SizedArray(self, array)
        )

    def full_like(self, x, value):
        if not isinstance(x, SizedArray):
            return super().full_like(x, value)
        return self._like(np.broadcast_to(np.float64(value), x.shape), lifted(self, value))

    def _like(self, data, *arrays):
        """Return `data` with the bounds of the arrays from which its elements come."""
        bits = [x.bits for x in arrays]
        return SizedArray(
            self,
            data,
            None,
            max(x.relative for x in arrays),
            min(x.grain for x in arrays),
            max(x.top for x in arrays),
            None if None in bits else max(bits),
        )

    def _move(self, f, *arrays):
        if not any(isinstance(x, SizedArray) for x in arrays):
            return self._wrap(f(*arrays))
        arrays = [
            x if isinstance(x, SizedArray) else SizedArray(self, np.asarray(x, np.float64))
            for x in arrays
        ]
        moved = self._like(f(*(x.data for x in arrays)), *arrays)
        if any(x.absolute is not None for x in arrays):
            moved.absolute, moved.relative = (
                f(*(spread(ZERO, x.shape) if x.exact else x.units for x in arrays)),
                0.0,
            )
        return moved

    def _integers(self, x, dtype):
        self.decided(x.exact)
        return x.data.astype(dtype)

    def _total(self, x, inner, leading):
        data, lost, depth = x.data, None, 0
        for axes in (inner, leading):
            if axes:
                data, lost = _compensated(data, lost, axes)
                depth += additions(int(np.prod([x.shape[k] for k in axes])))
        units = np.abs(x.data)
        units *= depth**2 * 2.0 * UNIT + x.relative
        if x.absolute is not None:
            units += x.absolute
        units = _folded(units, inner + leading) + np.abs(data)
        return SizedArray(
            self, data if lost is None else data + lost, units, 0.0, x.grain, x.top + depth
        )

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,), one after another."""
        place = columns(*target.shape, index)

        def add(part):
            weights = np.broadcast_to(part, values.shape).reshape(-1)
            added = np.bincount(place, weights, target.size).reshape(target.shape)
            # without weights, bincount returns integers
            return added.astype(np.float64, copy=False)

        counts = np.bincount(index, minlength=target.shape[1])
        more = np.maximum(counts - 1, 0)  # number of additions in each column
        slack = 1.0 + counts * 2.0**-50
        if values.exact or values.absolute is not None and not values.absolute.all():
            # if some terms are exact, some sums may be exact, too
            sizes = add(np.abs(values.data)) * slack
            units = np.where(_add_exactly(values.data, place, sizes), 0.0, more * sizes)
            if not values.exact:
                units += add(values.absolute) * slack
        else:
            units = np.abs(values.data) * (more[index] + values.relative)
            if values.absolute is not None:
                units += values.absolute
            units = add(units) * slack
        added = SizedArray(
            self,
            add(values.data),
            units,
            0.0,
            values.grain,
            values.top + int(counts.max(initial=1)),
        )
        return added if not np.any(target.data) and target.exact else target + added


def _add_exactly(terms, place, sizes):
    """Return the mask of sums that are exact in any order: all terms are multiples of more than the sum * 2**-53."""
    bits = np.abs(terms).view(np.int64)
    fraction = bits & ((1 << 52) - 1) | (1 << 52)
    power = (bits & (0x7FF << 52)).view(np.float64)
    last = np.where(
        terms != 0.0, (fraction & -fraction).astype(np.float64) * (power * 2.0**-52), np.inf
    )
    least = np.full(sizes.size, np.inf)
    np.minimum.at(least, place, last.reshape(-1))
    return sizes < 2.0**53 * least.reshape(sizes.shape)


def additions(count: int) -> int:
    """Return the largest number of additions that one of `count` terms meets in `_compensated`.

    The first term meets the most: for an odd number of terms, the last one is added to it, too.
    """
    met = 0
    while count > 1:
        met, count = met + 1 + count % 2, count // 2
    return met


def _compensated(terms, lost, axes):
    """Return the sum along axes, halves added to halves, and the sum of its rounding errors, including earlier ones in `lost`."""
    terms, lost = _first(terms, axes), None if lost is None else _first(lost, axes)
    if not len(terms):
        return np.expand_dims(np.zeros(terms.shape[1:]), axes), None
    while len(terms) > 1:
        half = len(terms) // 2
        odd = terms[2 * half :]
        terms, rest = dd.two_sum(terms[:half], terms[half : 2 * half])
        if lost is not None:
            rest += lost[:half] + lost[half : 2 * half]
            if odd.size:
                rest[:1] += lost[2 * half :]
        if odd.size:
            terms[:1], more = dd.two_sum(terms[:1], odd)
            rest[:1] += more
        lost = rest
    return np.expand_dims(terms[0], axes), None if lost is None else np.expand_dims(lost[0], axes)


def _first(array, axes):
    """Return the axes, in row order, as one leading axis, contiguous so that additions run over long rows."""
    return np.ascontiguousarray(in_front(array, axes))


def _folded(array, axes):
    """Return the sum of nonnegative numbers by adding halves to halves, in any order."""
    terms = _first(array, axes)
    while len(terms) > 1:
        half = len(terms) // 2
        odd = terms[2 * half :]
        terms = terms[:half] + terms[half : 2 * half]
        if odd.size:
            terms[:1] += odd
    return np.expand_dims(terms[0] if len(terms) else np.zeros(terms.shape[1:]), axes)
