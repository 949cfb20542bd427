"""Arrays that round every operation and order every sum like a given kernel, so that an operator's formulas predict its
numbers.
"""

from functools import cache, cached_property, partial

import numpy as np

from aclnn_viz.arrays.elementary import in_numpy_arrays
from aclnn_viz.arrays.functions import ArrayOfParts, Functions, is_float
from aclnn_viz.arrays.plan import PAIRWISE, SEQUENTIAL, SHUFFLED, STORAGE, Plan
from aclnn_viz.arrays.sums import along, columns, sum_axes, tree
from aclnn_viz.dtypes import float_format, round_to


@cache
def common(*dtypes) -> np.dtype:
    """Return the dtype of an operation on these formats: float32 if neither format holds all numbers of the other.

    >>> common("float16", float_format("bfloat16").numpy).name, common("float16", "float64").name
    ('float32', 'float64')
    """
    try:
        return np.result_type(*dtypes)
    except np.exceptions.DTypePromotionError:
        return np.dtype(np.float32)


class PlannedArray(ArrayOfParts):
    """A floating array whose operators round to its format, also with Python numbers, and saturate if the plan does."""

    def __init__(self, data: np.ndarray, plan: Plan):
        self.data, self.plan = data, plan

    @cached_property
    def wide(self) -> np.ndarray:
        """The elements in float64."""
        return self.data.astype(np.float64)

    def applied(self, ufunc, *inputs):
        dtype = common(*(x.dtype for x in inputs if isinstance(x, PlannedArray)))
        result = in_numpy_arrays(ufunc)(
            *(
                x.data.astype(dtype, copy=False)
                if isinstance(x, PlannedArray)
                else round_to(x, dtype)
                for x in inputs
            )
        )
        return PlannedArray(self.plan.settle(result), self.plan) if is_float(result) else result

    def __getitem__(self, index):
        return PlannedArray(self.data[index], self.plan)


class PlannedArrays(Functions):
    """The namespace of a page under a plan, for inputs of the format `storage`.

    >>> xp = PlannedArrays(Plan(compute="bfloat16"), "float32")
    >>> float((xp.ones(1, xp.compute) + 2**-9).data[0])
    1.0
    """

    def __init__(self, plan: Plan, storage):
        self.plan, self.storage = plan, float_format(plan.storage or storage)
        self.compute, self.accumulate = self._dtype(plan.compute), self._dtype(plan.accumulate)
        # pages name this format for coordinates and pixel counts, for which 16 bits are too few
        self.float64 = (
            self._dtype(plan.coordinates)
            if plan.coordinates
            else np.result_type(self.compute, np.float32)
        )
        self.atomics = self._dtype(plan.atomics or plan.accumulate)
        self._random = np.random.default_rng(plan.seed)

    def _dtype(self, name: str) -> np.dtype:
        return (self.storage if name == STORAGE else float_format(name)).numpy

    def _wrap(self, array):
        return PlannedArray(array, self.plan) if is_float(array) else array

    def _move(self, f, *arrays):
        return self._wrap(f(*(x.data if isinstance(x, PlannedArray) else x for x in arrays)))

    def given(self, array: np.ndarray):
        """Return an input in the form that the kernel reads: rounded to the storage format, then to the compute format."""
        if not is_float(array):
            return array
        return self._wrap(round_to(round_to(array, self.plan.storage or array.dtype), self.compute))

    def to_storage(self, x):
        """Return x rounded to the format of the inputs, with the dtype unchanged."""
        return self._wrap(self.plan.settle(round_to(x.data, self.storage)).astype(x.dtype))

    def anchored(self, x):
        """Like `to_storage`, for coordinates; bounds start anew from the result."""
        return self.to_storage(x)

    def astype(self, x, dtype):
        if isinstance(x, PlannedArray) and np.dtype(dtype).kind in "iu":
            with np.errstate(invalid="ignore"):
                return x.data.astype(dtype)
        return self._wrap(round_to(x.data if isinstance(x, PlannedArray) else x, dtype))

    def sum(self, x, axis=None, keepdims=False):
        total = self._total(x, axis, keepdims)
        # a sum over a leading axis keeps the type of sums, as in `NumPyArrays.sum`
        return total if sum_axes(x.ndim, axis)[1] else self.astype(total, x.dtype)

    def mean(self, x, axis=None, keepdims=False):
        total = self._total(x, axis, keepdims)
        count = x.size // max(total.size, 1)
        if not count:
            return self.astype(total * np.nan, x.dtype)
        return self.astype(
            total * (1.0 / count) if self.plan.reciprocal_mean else total / count, x.dtype
        )

    def _total(self, x, axis, keepdims):
        """Return the sum in the accumulation format: inner axes first, then the leading one in its own order."""
        inner, leading = sum_axes(x.ndim, axis)
        total = round_to(x.data, self.accumulate)
        if inner:
            total = along(total, inner, partial(self._added, order=self.plan.order))
        if leading:
            total = along(
                total, leading, partial(self._added, order=self.plan.leading or self.plan.order)
            )
        return self._wrap(total if keepdims else np.squeeze(total, inner + leading))

    def _added(self, terms, order):
        """Return the sum along axis 0."""
        if order == SEQUENTIAL:
            return self._in_turn(terms)
        if order == PAIRWISE:
            return self._tree(terms)
        tiles = np.stack(
            [
                self._tree(terms[at : at + self.plan.tile])
                for at in range(0, len(terms), self.plan.tile)
            ]
        )
        cores = np.stack(
            [
                self._in_turn(part)
                for part in np.array_split(tiles, min(self.plan.cores, len(tiles)))
            ]
        )
        return self._in_turn(self._random.permutation(cores) if order == SHUFFLED else cores)

    def _in_turn(self, terms):
        if not self.plan.saturate:
            return np.add.accumulate(terms, axis=0)[-1]
        total = terms[0]
        for term in terms[1:]:
            total = self.plan.settle(total + term)
        return total

    def _tree(self, terms):
        return tree(terms, self.plan.settle)

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,) in the order of the plan."""
        scatter = self.plan.scatter
        scatter = (
            scatter if isinstance(scatter, str) else scatter.get(self.storage.name, SEQUENTIAL)
        )
        order = self._random.permutation(index.size) if scatter == SHUFFLED else slice(None)
        place = columns(*target.shape, index[order])
        added = round_to(target.data, self.atomics).reshape(-1)
        np.add.at(added, place, round_to(values.data[:, order], self.atomics).reshape(-1))
        return self.astype(self._wrap(self.plan.settle(added.reshape(target.shape))), target.dtype)


def depth(count: int, order: str, plan: Plan) -> int:
    """Return the largest number of additions that a term meets in a sum of `count` terms."""
    tree = max(count - 1, 0).bit_length()
    if order == SEQUENTIAL:
        return max(count - 1, 0)
    if order == PAIRWISE:
        return tree
    tiles = max(-(-count // plan.tile), 1)
    cores = min(plan.cores, tiles)
    inside = max(min(plan.tile, count) - 1, 0).bit_length()
    return inside + -(-tiles // cores) - 1 + cores - 1
