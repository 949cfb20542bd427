"""The number system of truth: the namespace of a page whose arrays are double-doubles with bounds on their errors."""

import numpy as np

from aclnn_viz.arrays import multiples
from aclnn_viz.arrays.functions import Functions, moved_part, spread
from aclnn_viz.arrays.planned import is_float
from aclnn_viz.arrays.precise_array import PreciseArray
from aclnn_viz.arrays.sums import sum_axes, tree


class PreciseArrays(Functions):
    """About 106 bits from additions, multiplications, divisions and square roots of float64 alone.

    `open` tells whether some decision (a comparison, a floor, a rounding) was closer than the error of its operands:
    then the arrays may hold the other outcome, and what the result hangs on must be found out otherwise.

    >>> third = PreciseArrays().given(np.float64([1.0])) / 3.0
    >>> float(third.high[0]), float(third.low[0])
    (0.3333333333333333, 1.850371707708594e-17)
    """

    float64 = np.dtype(np.float64)
    sqrt, log = staticmethod(np.sqrt), staticmethod(np.log)

    def __init__(self):
        self.open = False

    def decided(self, sure: np.ndarray) -> None:
        self.open = self.open or not np.all(sure)

    def given(self, value):
        """An input, or an attribute of a page that is a floating number, as it is."""
        if isinstance(value, np.ndarray):
            return self._wrap(value)
        return self.lifted(value) if isinstance(value, float) else value

    def lifted(self, x) -> PreciseArray:
        """An operand that is a number or a NumPy array."""
        x = np.asarray(x, np.float64)
        return PreciseArray(self, x, multiples=None if x.ndim else multiples.of_number(x))

    def _wrap(self, array):
        if not is_float(array):
            return array
        wide = array.astype(np.float64)
        short = array if array.dtype.itemsize < 8 else array.astype(np.float32)
        known = multiples.of_array(short) if array is short or np.array_equal(short, wide) else None
        return PreciseArray(self, wide, multiples=known)

    def _move(self, f, *arrays):
        if not any(isinstance(x, PreciseArray) for x in arrays):
            return self._wrap(f(*arrays))
        arrays = [x if isinstance(x, PreciseArray) else self.lifted(x) for x in arrays]
        steps = [None if x.multiples is None else x.multiples._replace(step=spread(x.multiples.step, x.shape))
                 for x in arrays]
        return PreciseArray(self, f(*(x.high for x in arrays)), moved_part(f, "low", arrays),
                            moved_part(f, "error", arrays), multiples.joined(*steps, step=f))

    def astype(self, x, dtype):
        """Integers from whole numbers; floating arrays stay as they are, whatever format is asked for."""
        if not isinstance(x, PreciseArray):
            return self._wrap(x.astype(dtype))
        if np.dtype(dtype).kind not in "iu":
            return x
        if not x.exact:
            self.decided(x.error == 0.0)
        with np.errstate(invalid="ignore"):
            whole = x.high.astype(dtype)
            return whole if x.low is None else whole + x.low.astype(dtype)

    def where(self, condition, x, y):
        return self._move(lambda a, b: np.where(condition, a, b), x, y)

    def take(self, x, index, axis=None):
        return self._move(lambda part: np.take(part, index, axis=axis), x)

    def max(self, x, axis=None, keepdims=False):
        inner, leading = sum_axes(x.ndim, axis)
        axes = tuple(sorted(inner + leading))
        terms = self._front(x, axes)
        while len(terms) > 1:
            half = len(terms) // 2
            most = np.maximum(terms[:half], terms[half:2 * half])
            terms = self.concat([most, terms[2 * half:]]) if len(terms) % 2 else most
        return self._move(lambda part: np.expand_dims(part, axes) if keepdims else part, terms[0])

    def sum(self, x, axis=None, keepdims=False):
        if not isinstance(x, PreciseArray):
            return np.sum(x, axis=axis, keepdims=keepdims)
        inner, leading = sum_axes(x.ndim, axis)
        for axes in (inner, leading):
            if axes:
                x = self._added(x, axes)
        return x if keepdims else self._move(lambda part: np.squeeze(part, inner + leading), x)

    def mean(self, x, axis=None, keepdims=False):
        total = self.sum(x, axis, keepdims)
        count = x.size // max(total.size, 1)
        return total / float(count) if count else total * np.nan

    def _front(self, x, axes):
        """The axes, in row order, as one axis that comes first."""
        def moved(part):
            front = np.moveaxis(part, axes, range(len(axes)))
            return front.reshape((int(np.prod(front.shape[:len(axes)], dtype=np.int64)), *front.shape[len(axes):]))
        return self._move(moved, x)

    def _added(self, x, axes):
        terms = self._front(x, axes)
        total = tree(terms, join=self.concat) if len(terms) else self.zeros(terms.shape[1:], np.float64)
        return self._move(lambda part: np.expand_dims(part, axes), total)

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,), the terms of each as a tree."""
        order = np.argsort(index, kind="stable")
        columns, terms = index[order], values[:, order]
        while True:
            first = np.append(True, columns[1:] != columns[:-1])[:columns.size]
            starts = np.flatnonzero(first)
            place = np.arange(columns.size) - np.repeat(starts, np.diff(np.append(starts, columns.size)))
            second = np.flatnonzero(place % 2)  # each is added to its left neighbour
            if not second.size:
                break
            terms = self._put(terms, second - 1, terms[:, second - 1] + terms[:, second])
            kept = np.flatnonzero(place % 2 == 0)
            columns, terms = columns[kept], terms[:, kept]
        return self._put(target, columns, target[:, columns] + terms)

    def _put(self, target, columns, values):
        """`target` with some columns replaced."""
        def replaced(old, new):
            result = np.array(np.broadcast_to(old, target.shape))
            result[:, columns] = new
            return result
        parts = zip((target.high, target.low, target.error), (values.high, values.low, values.error))
        return PreciseArray(self, *(None if old is None and new is None else
                                    replaced(0.0 if old is None else old, 0.0 if new is None else new)
                                    for old, new in parts))
