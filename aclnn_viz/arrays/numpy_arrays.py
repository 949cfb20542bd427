"""NumPy as the namespace of a kernel page: the Array API functions, sums that do not lose digits, and scatter_add."""

import numpy as np


class NumPyArrays:
    """NumPy with sums carried in a wider type, and with `scatter_add`.

    Sums of float32 are carried in float64 and rounded once: NumPy adds along a leading axis one term after another,
    which loses a digit for every tenfold length. `wide` is the type that pages name `xp.float64`: where they ask for
    coordinates in float64, a page that runs in an even wider type must not come down to it.
    """

    def __init__(self, wide=np.float64):
        self.float64 = np.dtype(wide)

    def __getattr__(self, name):
        return getattr(np, name)

    def sum(self, x, /, *, axis=None, keepdims=False):
        total = np.sum(x, axis=axis, keepdims=keepdims, dtype=np.promote_types(x.dtype, self.float64))
        return total.astype(x.dtype)

    def mean(self, x, /, *, axis=None, keepdims=False):
        total = np.sum(x, axis=axis, keepdims=keepdims, dtype=np.promote_types(x.dtype, self.float64))
        return (total / (x.size // max(total.size, 1))).astype(x.dtype)

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,); equal columns add up."""
        channels, columns = target.shape
        flat = (np.arange(channels)[:, np.newaxis] * columns + index).reshape(-1)
        if values.dtype == np.longdouble != np.float64:  # bincount carries float64 at most
            added = np.zeros(target.size, values.dtype)
            np.add.at(added, flat, values.reshape(-1))
        else:
            added = np.bincount(flat, weights=values.reshape(-1), minlength=target.size)
        return (target + added.reshape(target.shape)).astype(target.dtype)
