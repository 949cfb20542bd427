"""Add numbers in a fixed order, a binary tree of neighbours, ((a + b) + (c + d)) + (e + f), so that every machine computes the
same bits.

The tree over consecutive blocks of 2**k terms is the tree over all terms, so the driver, which sums such blocks, gets the same
bits. An Ascend vector core adds neighbours, too.
"""

from functools import lru_cache
from math import prod

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple


@lru_cache(256)
def sum_axes(ndim: int, axis) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return two tuples of the axes of a sum: axes that are added together first, and the axis that is added last.

    The second is (0,) if axis 0 is summed and is not the only axis of the array, else empty: axis 0 counts rows, samples or
    channels, and a kernel sums within each of these before it adds them to each other.

    >>> sum_axes(4, (0, 3)), sum_axes(2, -1), sum_axes(1, None)
    (((3,), (0,)), ((1,), ()), ((0,), ()))
    """
    axes = (
        tuple(range(ndim))
        if axis is None or not ndim
        else tuple(sorted(normalize_axis_tuple(axis, ndim)))
    )
    return (axes[1:], (0,)) if ndim > 1 and 0 in axes else (axes, ())


def tree(terms, settle=lambda sums: sums, join=np.concatenate):
    """Add the terms (count, ...) along axis 0: neighbours first, then neighbours of these; an odd last one waits.

    `settle` is applied to the sums of every level, for hardware that changes the result of an addition; `join` concatenates,
    for terms other than NumPy arrays.
    """
    while len(terms) > 1:
        pairs = len(terms) // 2
        added = settle(terms[0 : 2 * pairs : 2] + terms[1 : 2 * pairs : 2])
        terms = join([added, terms[2 * pairs :]]) if len(terms) % 2 else added
    return terms[0]


def in_front(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return the array with `axes`, in row order, as one leading axis."""
    rest = [axis for axis in range(array.ndim) if axis not in axes]
    return array.transpose(*axes, *rest).reshape(
        prod([array.shape[axis] for axis in axes]), *[array.shape[axis] for axis in rest]
    )


def along(array: np.ndarray, axes: tuple[int, ...], add) -> np.ndarray:
    """Apply `add`, which sums along axis 0, to axes taken together in row order; they stay with length 1."""
    terms = in_front(array, axes)
    total = add(terms) if len(terms) else np.zeros(terms.shape[1:], array.dtype)
    return total.reshape([1 if axis in axes else n for axis, n in enumerate(array.shape)])


def columns(channels: int, length: int, index: np.ndarray) -> np.ndarray:
    """Return the flat positions of the columns `index` in all rows of an array (channels, length)."""
    return (np.arange(channels)[:, np.newaxis] * length + index).reshape(-1)


def pairwise(array: np.ndarray, axis=None, keepdims: bool = False) -> np.ndarray:
    """Return the sum of an array over axes in its own type: the inner axes as one tree, then the leading axis.

    >>> pairwise(np.ones((3, 4), np.float32), axis=0)
    array([3., 3., 3., 3.], dtype=float32)
    """
    inner, leading = sum_axes(array.ndim, axis)
    for axes in (inner, leading):
        if axes:
            array = along(array, axes, tree)
    return array if keepdims else array.squeeze(inner + leading)


class PairwiseSum:
    """A running sum whose terms arrive one by one, as a tree of neighbours."""

    def __init__(self):
        self._levels = []

    def add(self, value):
        for level, held in enumerate(self._levels):
            if held is None:
                self._levels[level] = value
                return
            value, self._levels[level] = held + value, None
        self._levels.append(value)

    def total(self):
        """Return the sum of all terms so far; there must be at least one."""
        parts = [value for value in self._levels if value is not None]
        total = parts[0]
        for part in parts[1:]:
            total = part + total
        return total
