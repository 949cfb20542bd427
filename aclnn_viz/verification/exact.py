"""Pages at 60 digits: NumPy arrays of mpmath's numbers, and the gradient of a loss by differences of it."""

from collections.abc import Callable, Mapping

import mpmath
import numpy as np

from aclnn_viz.arrays.functions import Guards

DIGITS = 60
STEP = mpmath.mpf(2) ** -66  # about 1e-20: its square, and what rounding leaves of 60 digits divided by it, are below 1e-39
mp = mpmath.mp.clone()
mp.dps = DIGITS
for name in ("exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "floor", "ceil", "erf", "erfc"):
    setattr(mp.mpf, name, lambda x, f=getattr(mp, name): f(x))  # NumPy's functions call it for each element
mp.mpf.rint = lambda x: mp.nint(x)  # ties to even
exact = np.frompyfunc(mp.mpf, 1, 1)


class ExactArrays(Guards):
    """NumPy over arrays of exact numbers, in which every floating type is one and the same."""

    float32 = float64 = np.dtype(object)

    def __getattr__(self, name):
        return getattr(np, name)

    def astype(self, x, dtype):
        return exact(x) if dtype == object and x.dtype != object else x.astype(dtype)

    def clip(self, x, low, high):
        found = np.clip(x, low, high)  # in which an end is a float
        return exact(found) if found.dtype == object else found

    def isnan(self, x):
        return x != x

    def isfinite(self, x):
        return (x - x) == 0

    def erf(self, x):
        return np.frompyfunc(mp.erf, 1, 1)(x)

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,); equal columns add up."""
        total = target.copy()
        np.add.at(total, (slice(None), index), values)
        return total


def differences(loss: Callable, point: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The gradient of `loss(arrays by name)`, a number, by each of the arrays, in float64; nan where it has a kink."""
    point = {name: exact(array) for name, array in point.items()}
    found, here = {name: np.empty(array.shape) for name, array in point.items()}, loss(point)
    for name, array in point.items():
        for at in np.ndindex(array.shape):
            sides = []
            for step in (STEP, -STEP):
                moved = array.copy()
                moved[at] += step
                sides.append((loss(point | {name: moved}) - here) / step)
            right, left = sides
            found[name][at] = (right + left) / 2 if abs(right - left) <= 1e-12 * (abs(right) + abs(left) + 1) else np.nan
    return found
