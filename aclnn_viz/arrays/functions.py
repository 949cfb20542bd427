"""Array API functions that only move or create elements, written once for all array classes whose elements have several parts
(number, error bound).

A part is an array itself, such as the values, their low digits, or the bounds of their errors.
"""

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from aclnn_viz.arrays.elementary import ERF, ERFC
from aclnn_viz.arrays.sums import sum_axes

ZERO = np.float64(0.0)


def is_float(array) -> bool:
    return array.dtype.kind not in "iub"


def spread(part, shape):
    """Return one part of an array in the array's shape; the check avoids a slow broadcast_to."""
    return part if part.shape == shape else np.broadcast_to(part, shape)


def moved_part(f, name: str, arrays, nothing=ZERO):
    """Apply a function that only moves elements, such as a reshape, to one part of each array (such as its bound).

    Return None if no array has that part.
    """
    parts = [getattr(x, name) for x in arrays]
    if all([part is None for part in parts]):
        return None
    return f(
        *(spread(nothing if part is None else part, x.shape) for part, x in zip(parts, arrays))
    )


def sort_of(test):
    """Return the rule of `isnan` or `isfinite`; elements without a finite error bound count as undecided."""

    def rule(xp, a):
        if not a.exact:
            xp.decided(np.isfinite(a.error))
        return test(a.data)

    return rule


class ArrayOfParts(NDArrayOperatorsMixin):
    """An array whose elements have several parts; `data` holds the numbers, and `applied` evaluates a ufunc."""

    shape = property(lambda self: self.data.shape)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: self.data.ndim)
    size = property(lambda self: self.data.size)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return NotImplemented if method != "__call__" or options else self.applied(ufunc, *inputs)


class Guards:
    """A mixin that defines `guard` in terms of `clip`."""

    def guard(self, x, smallest=-np.inf, largest=np.inf):
        """Return x limited to `smallest` and `largest`, only to keep numbers finite; a proof may ignore it."""
        if np.isinf(largest):
            return self.maximum(x, smallest)
        return self.minimum(x, largest) if np.isinf(smallest) else self.clip(x, smallest, largest)


class Functions(Guards):
    """Array API functions in terms of NumPy ufuncs, which dispatch on the array, and of two methods of a namespace.

    `_wrap(ndarray)` makes floating elements arrays of the namespace; `_move(f, *arrays)` applies a NumPy function that only
    moves elements to every part of the arrays. Integers and booleans stay NumPy arrays.
    """

    int64, nan = np.int64, np.nan
    abs, exp, floor, isfinite, isnan, remainder, maximum, minimum = map(
        staticmethod,
        (np.abs, np.exp, np.floor, np.isfinite, np.isnan, np.remainder, np.maximum, np.minimum),
    )
    sqrt, log, expm1, log1p, tanh, erf, erfc = map(
        staticmethod, (np.sqrt, np.log, np.expm1, np.log1p, np.tanh, ERF, ERFC)
    )
    round = staticmethod(np.rint)  # np.rint rounds ties to even

    def clip(self, x, low=None, high=None):
        x = x if low is None else np.maximum(x, low)
        return x if high is None else np.minimum(x, high)

    def reshape(self, x, shape):
        return self._move(lambda a: a.reshape(shape), x)

    def moveaxis(self, x, source, destination):
        return self._move(lambda a: np.moveaxis(a, source, destination), x)

    def where(self, condition, x, y):
        return self._move(lambda a, b: np.where(condition, a, b), x, y)

    def take(self, x, index, axis=None):
        return self._move(lambda part: part.take(index, axis), x)

    def concat(self, arrays, axis=0):
        return self._move(lambda *parts: np.concatenate(parts, axis=axis), *arrays)

    def stack(self, arrays, axis=0):
        return self._move(lambda *parts: np.stack(parts, axis=axis), *arrays)

    def zeros(self, shape, dtype):
        return self._wrap(np.zeros(shape, dtype))

    def ones(self, shape, dtype):
        return self._wrap(np.ones(shape, dtype))

    def arange(self, stop, dtype):
        return self._wrap(np.arange(stop, dtype=dtype))

    def full_like(self, x, value):
        return self._wrap(np.full(x.shape, value, x.dtype))

    def zeros_like(self, x):
        return self.full_like(x, 0)

    def ones_like(self, x):
        return self.full_like(x, 1)


class ExactFunctions(Functions):
    """The base class of namespaces for truth, whose arrays bound their distance to the exact numbers.

    A namespace has `_total(x, inner, leading)`, the sum with the axes kept, and `_integers(x, dtype)` of whole numbers.
    `open` is true if some decision (a comparison, a floor, a rounding) was closer than the error of its operands. The arrays
    may then hold the other outcome, and dependent results need another computation.
    """

    float64 = np.dtype(np.float64)

    def __init__(self):
        self.open = False

    def decided(self, sure) -> None:
        self.open = self.open or not np.all(sure)

    def astype(self, x, dtype):
        """Convert whole numbers to integers; floating arrays are unchanged by any floating format."""
        if not isinstance(x, ArrayOfParts):
            return self._wrap(x.astype(dtype))
        if np.dtype(dtype).kind not in "iu":
            return x
        with np.errstate(invalid="ignore"):
            return self._integers(x, dtype)

    def sum(self, x, axis=None, keepdims=False):
        if not isinstance(x, ArrayOfParts):
            return np.sum(x, axis=axis, keepdims=keepdims)
        inner, leading = sum_axes(x.ndim, axis)
        total = self._total(x, inner, leading)
        return (
            total if keepdims else self._move(lambda part: np.squeeze(part, inner + leading), total)
        )

    def mean(self, x, axis=None, keepdims=False):
        total = self.sum(x, axis, keepdims)
        count = x.size // max(total.size, 1)
        return total / float(count) if count else total * np.nan
