"""The namespace of a page whose arrays carry rigorous error bounds: a planned one that also tells how wrong it is."""

import numpy as np

from aclnn_viz.arrays.bounded_array import CONTINUOUS, BoundedArray, between, plus, reach, rounding, saturated, trimmed
from aclnn_viz.arrays.functions import moved_part
from aclnn_viz.arrays.local_errors import TINY, half_ulp
from aclnn_viz.arrays.plan import SEQUENTIAL
from aclnn_viz.arrays.planned import PlannedArrays, depth, is_float
from aclnn_viz.arrays.sums import sum_axes
from aclnn_viz.arrays.worlds import UNKNOWN, either, elsewhere, unknown
from aclnn_viz.dtypes import float_format, round_to


class BoundedArrays(PlannedArrays):
    """As `PlannedArrays`, with the same values; its arrays are `BoundedArray`.

    Bounds start from the inputs as rounded to the plan's formats, and anew from anchored numbers, both of which a
    device has to the bit. `anchors` holds the latter (None: as it was), `anchors_moved` says whether either of them
    differs from the exact number; `aclnn_viz.arrays.anchors` tells what that makes of the result.

    >>> from aclnn_viz.arrays.plan import Plan
    >>> xp = BoundedArrays(Plan(), "float32")
    >>> float((xp.ones(1, xp.compute) / 3.0).error[0]) == 2.0**-26  # half a spacing
    True
    """

    def __init__(self, plan, storage):
        super().__init__(plan, storage)
        self._decided = 0
        self.anchors, self.anchors_moved = [], False

    def decision(self) -> np.int64:
        """A bit for the elements that one call cannot decide, even and odd in turn."""
        self._decided = (self._decided + 1) % 60
        return np.int64(1 << self._decided)

    def planned(self, array, dtype=None):
        return super()._wrap(array if dtype is None else round_to(array, dtype))

    def _wrap(self, array):
        return BoundedArray(self, super()._wrap(array)) if is_float(array) else array

    def _move(self, f, *arrays):
        if not any(isinstance(x, BoundedArray) for x in arrays):
            return self._wrap(f(*arrays))
        arrays = [x if isinstance(x, BoundedArray) else BoundedArray(self, x) for x in arrays]
        value = self.planned(f(*(x.data for x in arrays)))
        decisions = moved_part(f, "decisions", arrays, np.int64(0))
        others = None
        if any(x.others is not None for x in arrays):
            others = np.stack([f(*(x.data if x.others is None else x.others[world] for x in arrays))
                               for world in range(3)])
        return trimmed(self, value, moved_part(f, "error", arrays), moved_part(f, "variance", arrays), decisions, others)

    def given(self, array):
        """An input as the kernel reads it; bounds start there."""
        value = super().given(array)
        if is_float(array):
            self.anchors_moved |= not np.array_equal(value.wide, array.astype(np.float64), equal_nan=True)
        return value

    def anchored(self, x):
        """x rounded to storage is where bounds start anew; undecided where x is too uncertain to say how it rounds.

        A device's x lies as far from the exact one as ours does, so within twice the error of ours.
        """
        if x.dtype == self.storage.numpy:
            self.anchors.append(None)
            return x
        value = self.to_storage(x).value
        self.anchors.append(value.wide)
        self.anchors_moved = True
        far = np.float64(0.0) if x.error is None else 2.0 * reach(x)
        low, high = (round_to(x.wide + side, self.storage) for side in (-far, far))
        step = 2.0 * np.maximum(half_ulp(low), half_ulp(high))
        low, high = low.astype(np.float64), high.astype(np.float64)
        return between(self, value, low, high, ~(high - low <= step), x.decisions)

    def to_storage(self, x):
        return self.astype(self.astype(x, self.storage.numpy), x.dtype)

    def astype(self, x, dtype):
        if not isinstance(x, BoundedArray):
            return self._wrap(round_to(x, dtype)) if np.dtype(dtype).kind not in "iu" else x.astype(dtype)
        if np.dtype(dtype).kind in "iu":
            # A number that is not known exactly makes an integer that nothing is known of.
            lost = None if x.error is None or not x.error.any() else np.where(x.error > 0.0, UNKNOWN, np.int64(0))
            with np.errstate(invalid="ignore"):
                others = None if x.others is None else x.others.astype(dtype)
                return trimmed(self, x.data.astype(dtype), None, None, either(x.decisions, lost), others)
        value = self.planned(self.plan.settle(round_to(x.data, dtype)))
        if x.dtype == value.dtype:
            return x
        same = value.wide == x.wide
        error, variance = (None, None) if same.all() else rounding(value.data, same)
        others = None if x.others is None else round_to(x.others, dtype)
        result = trimmed(self, value, plus(x.error, error), plus(x.variance, variance), x.decisions, others)
        return saturated(result, lambda: x.wide)

    def where(self, condition, x, y):
        """Where the condition is undecided the error covers both sides; sides that are apart leave it undecided."""
        if not isinstance(condition, BoundedArray):
            return self._move(lambda a, b: np.where(condition, a, b), x, y)
        x, y = (side if isinstance(side, BoundedArray) else BoundedArray(self, side) for side in (x, y))
        if x.exact and y.exact:
            value = self.planned(np.where(condition.data, x.data, y.data))
            others = elsewhere(np.where, value.ndim, condition, x, y)
            return trimmed(self, value, None, None, either(condition.decisions, x.decisions, y.decisions), others)
        open_ = condition.decisions != 0
        taken, left = self.where(condition.data, x, y), self.where(~condition.data, x, y)
        jump = np.abs(taken.wide - left.wide)
        own, its = (np.float64(0.0) if side.error is None else side.error for side in (taken, left))
        apart = open_ & ~(jump <= CONTINUOUS * (own + its))
        decisions = either(taken.decisions, np.where(apart, condition.decisions, 0),
                           None if left.decisions is None else np.where(open_, left.decisions, 0))
        error = np.where(open_, np.maximum(own, jump + its), own)
        return trimmed(self, taken.value, error, plus(taken.variance, np.zeros(error.shape)), decisions)

    def take(self, x, index, axis=None):
        if not isinstance(index, BoundedArray):
            return super().take(x, index, axis)
        taken = super().take(x, index.data, axis)
        around = [np.newaxis] * taken.ndim
        around[axis or 0] = slice(None)
        mask = np.broadcast_to(index.decisions[tuple(around)], taken.shape)
        return BoundedArray(self, taken.value, taken.error, taken.variance, either(taken.decisions, mask))

    def _total(self, x, axis, keepdims):
        """Every term carries its own error and meets at most `depth` additions: it may grow by (1 + u)**depth."""
        x = self.astype(x, self.accumulate)
        value = super()._total(x, axis, keepdims)
        inner, leading = sum_axes(x.ndim, axis)

        def add(part, function=np.sum):
            return function(np.broadcast_to(part, x.shape), axis=inner + leading, keepdims=keepdims)

        def add_up(part):
            return add(part) * (1.0 + x.size * 2.0**-52)  # whatever the order in which NumPy adds

        counts = [int(np.prod([x.shape[k] for k in axes], dtype=np.int64)) for axes in (inner, leading)]
        orders = self.plan.order, self.plan.leading or self.plan.order
        longest = sum(depth(n, order, self.plan) for n, order in zip(counts, orders))
        error, variance = self._sum_error(x, value, add_up, longest, SEQUENTIAL in orders)
        decisions = None if x.decisions is None else add(x.decisions, np.bitwise_or.reduce)
        return trimmed(self, value.value, error, variance, decisions)

    def _sum_error(self, x, value, add, longest, sequential):
        """The error and the variance of a sum of the terms of x; `add` adds up parts of x that are not negative, in
        float64, and returns at least their sum."""
        unit = float_format(x.dtype).unit_roundoff
        sizes, squares = add(np.abs(x.wide)), add(np.square(x.wide))
        additions = np.maximum(np.floor(add(x.wide != 0.0)) - 1.0, 0.0)  # adding 0 is exact
        if np.max(sizes, initial=0.0) * unit <= 1.0 and np.array_equal(x.wide, np.rint(x.wide)):
            additions = np.zeros_like(additions)  # sums of small integers are exact
        steps = np.minimum(longest, additions)
        growth = np.log1p(unit)
        error = np.where(steps > 0, np.expm1(steps * growth) * sizes + TINY, 0.0)
        if float_format(x.dtype).bits == 16:  # where sums err more than what they sum
            # In whatever order, each addition returns the sum of some terms: at most that of all terms of one sign.
            positive = add(np.maximum(x.wide, 0.0))
            largest = np.maximum(positive, sizes - positive) * np.exp(additions * growth) * (1.0 + 2.0**-40)
            error = np.minimum(error, additions * half_ulp(np.asarray(round_to(largest, x.dtype))))
        # Partial sums of a tree hold 2 S^2 of squares if the terms agree in sign, and steps * sum x^2 if they do not;
        # those of a chain a third and a half of steps times these.
        spread = steps * (np.square(value.wide) / 3.0 + squares / 2.0) if sequential else \
            np.where(steps > 0, 2.0 * np.square(value.wide), 0.0) + steps * squares
        variance = unit**2 / 3.0 * spread
        if x.error is not None:
            error, variance = error + add(x.error), variance + add(x.variance)
        # A partial sum may have overflowed; where it saturates, that shows in nothing but the size of the terms.
        lost = ~(2.0 * sizes < float_format(x.dtype).largest) if self.plan.saturate else ~np.isfinite(value.wide)
        error = np.where(lost, np.inf, error)
        return (error, variance) if error.any() else (None, None)

    def scatter_add(self, target, index, values):
        """As planned; terms may meet all others of their place. Undecided indices mark every place they may mean."""
        values = self.astype(values, self.atomics)
        if np.any(target.data) or not target.exact:  # what is there is one more term of its place
            values = self.concat([values, self.astype(target, values.dtype)], axis=1)
            index = self.concat([index, np.arange(target.shape[1])])
            return self.scatter_add(self.zeros_like(target), index, values)
        place = index.data if isinstance(index, BoundedArray) else index
        value = super().scatter_add(self.astype(target, self.atomics), place, values)
        channels, columns = target.shape
        flat = (np.arange(channels)[:, np.newaxis] * columns + place).reshape(-1)

        def add(part):
            weights = np.broadcast_to(part, values.shape).reshape(-1)
            return np.bincount(flat, weights, channels * columns).reshape(target.shape) * (1.0 + index.size * 2.0**-52)

        error, variance = self._sum_error(values, value, add, index.size, True)
        result = trimmed(self, value.value, error, variance, self._landings(target, index, place, values))
        return self.astype(result, target.dtype)

    def _landings(self, target, index, place, values):
        """The decisions that each element of a scattered sum hangs on."""
        if not isinstance(index, BoundedArray) and values.decisions is None:
            return None
        marks = np.zeros(target.shape, np.int64)
        if values.decisions is not None:
            np.bitwise_or.at(marks, (slice(None), place), np.broadcast_to(values.decisions, values.shape))
        if isinstance(index, BoundedArray):
            for landing in (place, *([] if index.others is None else index.others)):
                np.bitwise_or.at(marks, (slice(None), landing), np.broadcast_to(index.decisions, values.shape))
            if unknown(index.decisions).any():
                marks |= UNKNOWN
        return marks
