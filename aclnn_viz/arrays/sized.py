"""The namespace of a page over float64 arrays with a cheap bound on their errors."""

import numpy as np

from aclnn_viz.arrays import double_double as dd
from aclnn_viz.arrays.functions import ZERO, Functions, spread
from aclnn_viz.arrays.planned import is_float
from aclnn_viz.arrays.sized_array import UNIT, SizedArray, lifted
from aclnn_viz.arrays.sums import sum_axes
from aclnn_viz.dtypes import float_format


class SizedArrays(Functions):
    """The namespace of a page over sized arrays; `open` tells whether some decision was closer than the errors."""

    float64 = np.dtype(np.float64)

    def __init__(self):
        self.open = False

    def decided(self, sure) -> None:
        self.open = self.open or not np.all(sure)

    def given(self, value):
        """An input, or an attribute of a page that is a floating number, as it is."""
        if not isinstance(value, np.ndarray):
            return lifted(self, value) if isinstance(value, float) else value
        if not is_float(value):
            return value
        fmt = float_format(value)
        return SizedArray(self, value.astype(np.float64), None, 0.0, fmt.min_exponent - fmt.significand_bits + 1,
                          2 - fmt.min_exponent, fmt.significand_bits)

    def _wrap(self, array):
        if not is_float(array):
            return array
        array = array.astype(np.float64)
        return self._like(array, lifted(self, array.flat[0])) if array.size and np.all(array == array.flat[0]) \
            else SizedArray(self, array)

    def full_like(self, x, value):
        if not isinstance(x, SizedArray):
            return super().full_like(x, value)
        return self._like(np.broadcast_to(np.float64(value), x.shape), lifted(self, value))

    def _like(self, data, *arrays):
        """`data` with what is known of arrays that it was taken from."""
        bits = [x.bits for x in arrays]
        return SizedArray(self, data, None, max(x.relative for x in arrays), min(x.grain for x in arrays),
                          max(x.top for x in arrays), None if None in bits else max(bits))

    def _move(self, f, *arrays):
        if not any(isinstance(x, SizedArray) for x in arrays):
            return self._wrap(f(*arrays))
        arrays = [x if isinstance(x, SizedArray) else SizedArray(self, np.asarray(x, np.float64)) for x in arrays]
        moved = self._like(f(*(x.data for x in arrays)), *arrays)
        if any(x.absolute is not None for x in arrays):
            moved.absolute, moved.relative = f(*(spread(ZERO, x.shape) if x.exact else x.units
                                                 for x in arrays)), 0.0
        return moved

    def astype(self, x, dtype):
        """Integers from whole numbers; floating arrays stay as they are, whatever format is asked for."""
        if not isinstance(x, SizedArray):
            return self._wrap(x.astype(dtype))
        if np.dtype(dtype).kind not in "iu":
            return x
        self.decided(x.exact)
        with np.errstate(invalid="ignore"):
            return x.data.astype(dtype)

    def where(self, condition, x, y):
        return self._move(lambda a, b: np.where(condition, a, b), x, y)

    def take(self, x, index, axis=None):
        return self._move(lambda part: np.take(part, index, axis=axis), x)

    def sum(self, x, axis=None, keepdims=False):
        if not isinstance(x, SizedArray):
            return np.sum(x, axis=axis, keepdims=keepdims)
        inner, leading = sum_axes(x.ndim, axis)
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
        total = SizedArray(self, data if lost is None else data + lost, units, 0.0, x.grain, x.top + depth)
        return total if keepdims else self._move(lambda part: np.squeeze(part, inner + leading), total)

    def mean(self, x, axis=None, keepdims=False):
        total = self.sum(x, axis, keepdims)
        count = x.size // max(total.size, 1)
        return total / float(count) if count else total * np.nan

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,), one after another."""
        channels, columns = target.shape
        place = (np.arange(channels)[:, np.newaxis] * columns + index).reshape(-1)
        def add(part):
            return np.bincount(place, np.broadcast_to(part, values.shape).reshape(-1), target.size).reshape(target.shape)

        counts = np.bincount(index, minlength=columns)
        more = np.maximum(counts - 1, 0)  # additions of a column
        room = 1.0 + counts * 2.0**-50
        if values.exact or values.absolute is not None and not values.absolute.all():
            # Some terms are exact, and then perhaps their sums.
            sizes = add(np.abs(values.data)) * room
            units = np.where(_add_exactly(values.data, place, sizes), 0.0, more * sizes)
            if not values.exact:
                units += add(values.absolute) * room
        else:
            units = np.abs(values.data) * (more[index] + values.relative)
            if values.absolute is not None:
                units += values.absolute
            units = add(units) * room
        added = SizedArray(self, add(values.data), units, 0.0, values.grain, values.top + int(counts.max(initial=1)))
        return added if not np.any(target.data) and target.exact else target + added


def _add_exactly(terms, place, sizes):
    """Where sums of numbers are exact in any order: all terms are multiples of a number that is not much smaller."""
    bits = np.abs(terms).view(np.int64)
    fraction = bits & ((1 << 52) - 1) | (1 << 52)
    power = (bits & (0x7FF << 52)).view(np.float64)
    last = np.where(terms != 0.0, (fraction & -fraction).astype(np.float64) * (power * 2.0**-52), np.inf)
    least = np.full(sizes.size, np.inf)
    np.minimum.at(least, place, last.reshape(-1))
    return sizes < 2.0**53 * least.reshape(sizes.shape)


def additions(count: int) -> int:
    """The largest number of additions that one of `count` terms meets in `_compensated`.

    That is the first term: where the number of terms is odd, the last one is added to it, too.
    """
    met = 0
    while count > 1:
        met, count = met + 1 + count % 2, count // 2
    return met


def _compensated(terms, lost, axes):
    """The sum along axes, halves added to halves, and the sum of what its additions lost (`lost` comes from earlier)."""
    terms, lost = _first(terms, axes), None if lost is None else _first(lost, axes)
    if not len(terms):
        return np.expand_dims(np.zeros(terms.shape[1:]), axes), None
    while len(terms) > 1:
        half = len(terms) // 2
        odd = terms[2 * half:]
        terms, rest = dd.two_sum(terms[:half], terms[half:2 * half])
        if lost is not None:
            rest += lost[:half] + lost[half:2 * half]
            if odd.size:
                rest[:1] += lost[2 * half:]
        if odd.size:
            terms[:1], more = dd.two_sum(terms[:1], odd)
            rest[:1] += more
        lost = rest
    return np.expand_dims(terms[0], axes), None if lost is None else np.expand_dims(lost[0], axes)


def _first(array, axes):
    """The axes, in row order, as one axis that comes first, in memory, too: what is added then lies in long rows."""
    moved = np.ascontiguousarray(np.moveaxis(array, axes, range(len(axes))))
    return moved.reshape(int(np.prod(moved.shape[:len(axes)], dtype=np.int64)), *moved.shape[len(axes):])


def _folded(array, axes):
    """The sum of numbers that are not negative: halves are added to halves, whatever the order costs."""
    terms = _first(array, axes)
    while len(terms) > 1:
        half = len(terms) // 2
        odd = terms[2 * half:]
        terms = terms[:half] + terms[half:2 * half]
        if odd.size:
            terms[:1] += odd
    return np.expand_dims(terms[0] if len(terms) else np.zeros(terms.shape[1:]), axes)
