"""NumPy as the namespace of a kernel page: the Array API functions, sums that do not lose digits, and scatter_add."""

import numpy as np

from aclnn_viz.arrays.sums import pairwise, sum_axes


class NumPyArrays:
    """NumPy with sums carried in float64, as a tree of neighbours along every axis, and with `scatter_add`.

    A sum over the leading axis (rows, samples, channels) stays in float64: the driver may have cut that axis, and then
    it is a part of a sum, which must not be rounded. Every other sum is rounded once, to the type of its terms.
    """

    float64 = np.dtype(np.float64)

    def __getattr__(self, name):
        return getattr(np, name)

    def sum(self, x, /, *, axis=None, keepdims=False):
        total = self._total(x, axis, keepdims)
        return total if sum_axes(x.ndim, axis)[1] else total.astype(x.dtype)

    def mean(self, x, /, *, axis=None, keepdims=False):
        total = self._total(x, axis, keepdims)
        return (total / (x.size // max(total.size, 1))).astype(x.dtype)

    def _total(self, x, axis, keepdims):
        return pairwise(np.asarray(x).astype(np.float64, copy=False), axis, keepdims)

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,); equal columns add up."""
        channels, columns = target.shape
        flat = (np.arange(channels)[:, np.newaxis] * columns + index).reshape(-1)
        added = np.bincount(flat, weights=values.reshape(-1), minlength=target.size)
        return (target + added.reshape(target.shape)).astype(target.dtype)
