"""Run an operator's formulas on NumPy: their functions, with sums that do not lose digits, and scatter_add."""

import numpy as np

from aclnn_viz.arrays.elementary import ERF, ERFC, NUMPY
from aclnn_viz.arrays.functions import Guards
from aclnn_viz.arrays.sums import columns, pairwise, sum_axes

# for more values per channel, scatter_add calls bincount once per channel, not once for all
VALUES_BY_INDEX = 4096
BITS = {np.dtype(f"{kind}{size}"): np.dtype(f"i{size}") for kind in "fi" for size in (4, 8)}


class NumPyArrays(Guards):
    """NumPy with sums in float64, as a tree of neighbours along every axis, and with `scatter_add`.

    A sum over the leading axis (rows, samples, channels) stays in float64: if the driver cut that axis, it is a partial sum,
    which must not be rounded. Every other sum is rounded once, to the type of its terms.
    """

    float64 = np.dtype(np.float64)
    erf, erfc = staticmethod(NUMPY[ERF]), staticmethod(NUMPY[ERFC])
    _total = staticmethod(pairwise)

    def __getattr__(self, name):
        return getattr(np, name)

    def sum(self, x, /, *, axis=None, keepdims=False):
        total = self._total(np.asarray(x, np.float64), axis, keepdims)
        return total if sum_axes(x.ndim, axis)[1] else total.astype(x.dtype)

    def mean(self, x, /, *, axis=None, keepdims=False):
        total = self._total(np.asarray(x, np.float64), axis, keepdims)
        return (total / (x.size // max(total.size, 1))).astype(x.dtype)

    def where(self, condition, x, y, /):
        """Return NumPy's where, computed by blending bits, many elements at a time."""
        kind = getattr(x, "dtype", None)  # a changed page may pass a plain number
        bits = BITS.get(kind)
        if (
            bits is None
            or getattr(y, "dtype", bool) != kind
            or getattr(condition, "dtype", None) != bool
            or not condition.ndim
        ):
            return np.where(condition, x, y)
        x, y = x.view(bits), y.view(bits)
        blended = (x ^ y) & np.negative(condition.view(np.int8))
        blended ^= y
        return blended.view(kind)

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,); equal columns add up."""
        if index.size > VALUES_BY_INDEX:
            added = (
                np.stack([np.bincount(index, row, target.shape[1]) for row in values])
                if len(target)
                else np.zeros(target.shape)
            )
        else:
            added = np.bincount(
                columns(*target.shape, index), values.reshape(-1), target.size
            ).reshape(target.shape)
        return (target + added).astype(target.dtype)
