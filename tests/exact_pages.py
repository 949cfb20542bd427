"""Pages at 60 digits: NumPy arrays of mpmath's numbers, and the gradient of a loss by its differences."""

from collections.abc import Callable, Mapping

import mpmath
import numpy as np

from aclnn_viz.arrays.functions import Guards

DIGITS = 60
# about 1e-20: its square, and the rounding of 60 digits divided by it, are below 1e-39
STEP = mpmath.mpf(2) ** -66
FAR = 0.3721  # another number, and not round
mp = mpmath.mp.clone()
mp.dps = DIGITS
for name in "exp expm1 log log1p sqrt sin cos tan tanh sinh cosh floor ceil erf erfc".split():
    # NumPy's functions call it for each element
    setattr(mp.mpf, name, lambda x, f=getattr(mp, name): f(x))
mp.mpf.rint = lambda x: mp.nint(x)  # ties to even
exact = np.frompyfunc(mp.mpf, 1, 1)


class ExactArrays(Guards):
    """NumPy over arrays of exact numbers, in which all floating types are equal."""

    float32 = float64 = np.dtype(object)

    def __getattr__(self, name):
        return getattr(np, name)

    def astype(self, x, dtype):
        return exact(x) if dtype == object and x.dtype != object else x.astype(dtype)

    def clip(self, x, low, high):
        found = np.clip(x, low, high)  # np.clip with float ends
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


def differences(terms: Callable, point: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the gradient of the sum of all `terms(arrays by name)` for each array, in float64; nan at a kink.

    Terms are a list of arrays. Entries without common terms are moved at once.
    """

    def flat(given):
        return np.concatenate([part.reshape(-1) for part in terms(given)])

    found, given = (
        {name: np.empty(array.shape) for name, array in point.items()},
        dict(zip(point, map(exact, point.values()))),
    )
    here = flat(given)
    for name, array in given.items():
        for together in apart(flat, point, name):
            sides = []
            for step in (STEP, -STEP):
                moved = array.copy()
                for at, _ in together:
                    moved[at] += step
                change = (flat(given | {name: moved}) - here) / step
                sides.append([change[reached].sum() for _, reached in together])
            for (at, _), right, left in zip(together, *sides):
                found[name][at] = (
                    (right + left) / 2
                    if abs(right - left) <= 1e-12 * (abs(right) + abs(left) + 1)
                    else np.nan
                )
    return found


def apart(flat: Callable, point: Mapping[str, np.ndarray], name: str) -> list[list]:
    """Return the entries of an array in groups, as (index, the terms that depend on it), without common terms
    in a group.

    In float64, an entry reaches what changes when it is another number, and what is nan when it is nan, which
    shows what rounding would hide.
    """
    array, here, groups = point[name], flat(point), []
    for at in np.ndindex(array.shape):
        reached = np.zeros(here.shape, bool)
        for value in (array[at] + FAR, np.nan):
            moved = array.copy()
            moved[at] = value
            try:
                with np.errstate(all="ignore"):
                    reached |= flat(point | {name: moved}) != here
            except IndexError:  # nan is no place
                reached[:] = True
        for together, taken in groups:
            if not (taken & reached).any():
                together.append((at, reached))
                taken |= reached
                break
        else:
            groups.append(([(at, reached)], reached.copy()))
    return [together for together, _ in groups]
