"""Arrays that mark the elements that depend on a comparison, floor or rounding too close to decide, for which no exact value
may be claimed.

>>> xp = MarkedArrays()
>>> third = xp.given(np.float64([1.0, 2.0])) / 3.0
>>> whole = xp.floor(third * 3.0 + 1e-40)  # of numbers that may be 1 and 2 or a little less
>>> (xp.stack([whole, third]) + 1.0).marks.tolist()
[[True, True], [False, False]]
"""

from functools import partial

import numpy as np

from aclnn_viz.arrays.double_double_arrays import PreciseArray, PreciseArrays
from aclnn_viz.arrays.functions import ArrayOfParts, ExactFunctions, spread


class MarkedArray(ArrayOfParts):
    """`value`, an array of double-doubles or a NumPy array, and `marks`: True where a number depends on an open decision."""

    def __init__(self, xp, value, marks):
        self.xp, self.value, self.marks = xp, value, marks

    @property
    def data(self) -> np.ndarray:
        return self.value.high if isinstance(self.value, PreciseArray) else self.value

    def __getitem__(self, index):
        return self.xp._move(lambda part: np.asarray(part[index]), self)

    def applied(self, ufunc, *inputs):
        return self.xp.noted(lambda xp, *values: ufunc(*values), either, *inputs)


def either(*marks):
    return np.logical_or.reduce(np.broadcast_arrays(*marks))


class _Watched(PreciseArrays):
    """Double-doubles for one operation, which record its undecided elements."""

    unsure = np.False_

    def decided(self, sure) -> None:
        self.unsure = self.unsure | ~np.asarray(sure)


class MarkedArrays(ExactFunctions):
    """The namespace of `PreciseArrays` with marks: same numbers; unmarked elements depend on no open decision."""

    def noted(self, function, marks, *arrays):
        """Return `function(xp, *values)`; its marks are `marks(...)` of the operands' marks, and new ones."""
        xp = _Watched()
        values, before = [], []
        for x in arrays:
            marked = isinstance(x, MarkedArray)
            value = x.value if marked else x
            if isinstance(value, PreciseArray):
                value = PreciseArray(xp, *value.pair, value.error, value.multiples)
            values.append(value)
            before.append(x.marks if marked else np.zeros(np.shape(x), bool))
        result = function(xp, *values)
        now = marks(*before) | xp.unsure
        if not isinstance(result, PreciseArray) and not np.any(now):
            return result
        return MarkedArray(self, result, spread(np.asarray(now), np.shape(result)))

    def _made(self, function):
        return self.noted(function, lambda: np.False_)

    def given(self, value):
        return self._made(lambda xp: xp.given(value))

    def _wrap(self, array):
        return self._made(lambda xp: xp._wrap(array))

    def _move(self, f, *arrays):
        return self.noted(lambda xp, *values: xp._move(f, *values), f, *arrays)

    def astype(self, x, dtype):
        return self.noted(lambda xp, value: xp.astype(value, dtype), either, x)

    def where(self, condition, x, y):
        chosen = getattr(condition, "value", condition)
        return self.noted(
            lambda xp, *values: xp.where(*values),
            lambda open_, a, b: open_ | np.where(chosen, a, b),
            condition,
            x,
            y,
        )

    def take(self, x, index, axis=None):
        places = getattr(index, "value", index)

        def marks(own, open_):
            around = [np.newaxis] * own.ndim
            around[axis or 0] = slice(None)
            return np.take(own, places, axis=axis) | open_[tuple(around)]

        return self.noted(lambda xp, *values: xp.take(*values, axis), marks, x, index)

    def _folded(self, name, x, axis=None, keepdims=False):
        return self.noted(
            lambda xp, value: getattr(xp, name)(value, axis, keepdims),
            partial(np.any, axis=axis, keepdims=keepdims),
            x,
        )

    def sum(self, x, axis=None, keepdims=False):
        return self._folded("sum", x, axis, keepdims)

    def max(self, x, axis=None, keepdims=False):
        return self._folded("max", x, axis, keepdims)

    def scatter_add(self, target, index, values):
        """Add at indices; an open index may mean any place, so it marks all of them."""
        places = getattr(index, "value", index)

        def marks(own, open_, terms):
            marked = own | open_.any()
            np.logical_or.at(marked, (slice(None), places), terms)
            return marked

        return self.noted(lambda xp, *values: xp.scatter_add(*values), marks, target, index, values)
