"""Arrays with rigorous error bounds: an operator's formulas over them give the rounded values and the largest distance to the
exact ones.

A decision (comparison, floor, rounding, remainder) that the bound cannot make leaves the element *undecided*. Each call that
cannot decide some elements gets its own bit, even and odd bits in turn. Exact numbers that depend on decisions (indices,
conditions) keep their values in three other branches: with the even decisions reversed, the odd ones, and both. So the other
places where a gradient may have landed are known, in either direction. `decisions` are masks of bits, None for none.

An example. Two points lie at u = 1 and u = 2 of a row of four pixels, and each adds 1 to the pixel below it. The first
coordinate is 1/3 times 3: in float32 that is 1 with an error bound, and the exact product could be a little less. Its floor is
1 here, and 0 in other branches; the floor of the second is 2 in all branches.

>>> from aclnn_viz.arrays.bounds import BoundedArrays
>>> from aclnn_viz.arrays.plan import Plan
>>> xp = BoundedArrays(Plan(), "float32")
>>> u = xp.given(np.float32([1.0, 6.0])) / 3.0 * xp.given(np.float32([3.0, 1.0]))
>>> pixel = xp.floor(u)
>>> pixel.data.tolist(), pixel.decisions.tolist()  # the first depends on the decision with mask 2, an odd one
([1.0, 2.0], [2, 0])
>>> pixel.others.tolist()  # reversed: even decisions (changes nothing), odd ones, all
[[1.0, 2.0], [0.0, 2.0], [0.0, 2.0]]

The image has a 1 at pixels 1 and 2. Pixel 1 may have lost its term to pixel 0: both are undecided.

>>> image = xp.scatter_add(xp.zeros((1, 4), np.float32), xp.astype(pixel, xp.int64), xp.ones((1, 2), np.float32))
>>> image.data.tolist(), (image.decisions != 0).tolist()
([[0.0, 1.0, 1.0, 0.0]], [[True, True, False, False]])

A device rounds its inputs, and some coordinates later, to the storage format in a known way: these rounded numbers, the
*anchors*, have the same bits on every device. A bounded run therefore starts again from them, with an error of 0, and
bounds only later steps. The effect of rounding the anchors is certain, so it is computed, not estimated: as the
difference of two runs in float64, `FromAnchors` with the anchors and `ExactArrays` without. An envelope is the sum of
both parts.
"""

from dataclasses import replace
from functools import partial

import numpy as np

from aclnn_viz.arrays.elementary import ULPS, carried, in_numpy_arrays
from aclnn_viz.arrays.functions import ArrayOfParts, is_float, moved_part, spread
from aclnn_viz.arrays.local_errors import (
    SLACK,
    TINY,
    exact_product,
    exact_quotient,
    exact_sum,
    half_ulp,
    over,
    plus,
    times,
)
from aclnn_viz.arrays.plan import SEQUENTIAL
from aclnn_viz.arrays.plan_arrays import PlannedArray, PlannedArrays, common, depth
from aclnn_viz.arrays.sums import columns, sum_axes
from aclnn_viz.dtypes import float_format, round_to

UNKNOWN = np.int64(-1)  # -1 sets all bits: it is unknown on which decisions a number depends
_EVEN, _ODD = np.int64(0x1555555555555555), np.int64(0x2AAAAAAAAAAAAAAA)


def elsewhere(function, ndim: int, *arrays):
    """Return `function` of the arrays' numbers in the three other branches (first axis); None if there are none."""
    if all(x.others is None for x in arrays):
        return None
    return function(
        *(
            x.data
            if x.others is None
            else x.others.reshape((3,) + (1,) * (ndim - x.ndim) + x.shape)
            for x in arrays
        )
    )


def either(*decisions):
    """Return the union of decision masks."""
    given = [d for d in decisions if d is not None]
    if not given:
        return None
    union = given[0]
    for mask in given[1:]:
        union = union | mask
    return union


def unknown(decisions) -> np.ndarray:
    """Return the mask of elements with two even or two odd decisions, which the three branches reverse only together."""
    even, odd = decisions & _EVEN, decisions & _ODD
    return ((even & (even - 1)) | (odd & (odd - 1))) != 0


def branches(decision, here, there, open_):
    """Return (decisions, others) of a call: its result is `here`, and `there` where an open decision is reversed.

    `decision()` returns the bit of the call, if it needs one.
    """
    if not open_.any():
        return None, None
    bit = decision()
    flips = np.array([bit & _EVEN, bit & _ODD, bit]).reshape((3,) + (1,) * here.ndim) != 0
    return np.where(open_, bit, np.int64(0)), np.where(flips & open_, there, here)


# bound for exp: NumPy's float32 loops err by at most 2.52 ulp, AscendC's exp by 1 ulp
LIBRARY_ULPS = 3.0
# Relative error of the exponent in 2**(x * log2(e)), in unit roundoffs: half of one by log2(e), one
# by the product. e**-FARTHEST is 0 in every format.
POWER, FARTHEST = 1.5, 746.0
# Distance of the results of a formula and of its rewritten form, in errors of the first: the second
# may err four times as much, to the other side of the exact number.
DOUBT = 5.0
# a change beyond this multiple of both sides' errors is a jump, not rounding
CONTINUOUS = 4.0


class BoundedArray(ArrayOfParts):
    """The value that a plan computes, and all known bounds of its distance to the exact number. All parts have one shape.

    `value` is as planned: a `PlannedArray`, or a NumPy array of integers or booleans.
    `error` (float64) is at least |value - exact|; None says that every element is exact.
    `variance` (float64) is the expected square of value - exact; None if `error` is None.
    `decisions` (int64) has a bit for each open decision on which an element depends; None for none.
    `others` holds exact numbers with open decisions reversed, in three branches along a first axis of length 3; None
    says that they equal `value`. `aclnn_viz.arrays.bounds` explains both.
    `least` bounds the exact value from below where an exponential overflowed; None if unknown.
    """

    def __init__(
        self, xp, value, error=None, variance=None, decisions=None, others=None, least=None
    ):
        self.xp, self.value, self.error, self.variance = xp, value, error, variance
        if decisions is not None and others is None:
            decisions = np.where(decisions != 0, UNKNOWN, np.int64(0))
        self.decisions, self.others = decisions, others
        self.least = least

    @property
    def data(self) -> np.ndarray:
        return plain(self.value)

    @property
    def wide(self) -> np.ndarray:
        """The value in float64."""
        return (
            self.value.wide
            if isinstance(self.value, PlannedArray)
            else self.value.astype(np.float64)
        )

    @property
    def exact(self) -> bool:
        return self.error is None

    def __getitem__(self, index):
        return self.xp._move(lambda a: a[index], self)

    def applied(self, ufunc, *inputs):
        if not all([isinstance(x, BoundedArray) for x in inputs]):
            floats = [x.dtype for x in inputs if isinstance(x, BoundedArray) and is_float(x)]
            dtype = common(*floats) if floats else None
            inputs = [lift(self.xp, x, dtype) for x in inputs]
        value = ufunc(*[x.value for x in inputs])
        decisions = either(*[x.decisions for x in inputs])
        if all([x.error is None for x in inputs]) and ufunc is not np.exp and ufunc not in ULPS:
            others = elsewhere(
                lambda *there: plain(ufunc(*map(self.xp.planned, there))), value.ndim, *inputs
            )
            rounds = isinstance(value, PlannedArray) and ufunc in _LOCAL
            error, variance = _LOCAL[ufunc](value, *inputs) if rounds else (None, None)
            result = trimmed(self.xp, value, error, variance, decisions, others)
        else:
            result = _RULES[ufunc](self.xp, value, decisions, *inputs)
        return saturated(
            result, lambda: in_numpy_arrays(ufunc)(*(np.asarray(x.wide) for x in inputs))
        )


def plain(x) -> np.ndarray:
    return x.data if isinstance(x, PlannedArray) else x


def lift(xp, x, dtype) -> BoundedArray:
    """Return an operand as a bounded array; a Python number is rounded to the floating type of the other operands.

    Its error is that rounding. A number outside float32, such as 0.1 / classes, may already have been rounded in float64, which
    adds half a float64 spacing.
    """
    if isinstance(x, BoundedArray):
        return x
    if dtype is None or isinstance(x, (np.ndarray, np.generic)) and not is_float(x):
        return BoundedArray(xp, np.asarray(x))
    value = xp.planned(np.asarray(x, np.float64), dtype)
    error = abs(float(value.data) - float(x))
    # a number that float32 does not hold, like 0.1 / classes, may have been rounded to float64
    if float(np.float32(x)) != float(x):
        error += abs(float(x)) * 2.0**-53
    return BoundedArray(xp, value, *((np.float64(error), np.float64(error**2)) if error else ()))


def trimmed(xp, value, error=None, variance=None, decisions=None, others=None):
    """Make a bounded array of these parts, without decisions that change nothing.

    A decision changes nothing if the exact number is the same in every branch. Integers and booleans without decisions need no
    bound: they are returned as a NumPy array.
    """
    if decisions is not None:
        if others is not None:
            decisions = np.where(
                unknown(decisions) | np.any(others != plain(value), axis=0), decisions, 0
            )
        if not np.count_nonzero(decisions):
            decisions = others = None
    if decisions is None and not isinstance(value, PlannedArray):
        return value
    return BoundedArray(xp, value, error, variance, decisions, others if error is None else None)


def saturated(result, before):
    """Mark elements as unknown where a plan replaced an infinity by the largest number, or a nan by 0.

    `before()` returns the unsaturated numbers in float64.
    """
    if isinstance(result, BoundedArray) and result.xp.plan.saturate and is_float(result):
        clipped = (np.abs(result.wide) == float_format(result.dtype).largest) | np.isnan(before())
        if clipped.any():
            result.error = np.where(clipped, np.inf, 0.0 if result.error is None else result.error)
            result.variance = (
                result.error if result.variance is None else result.variance + 0.0 * clipped
            )
    return result


def rounding(data, exact, ulps=0.5):
    """Return the error and the variance of rounding to numbers of a format, 0 where exact."""
    if np.count_nonzero(exact) == exact.size:
        return None, None
    half = np.where(exact, 0.0, half_ulp(data) * (2.0 * ulps))
    return (half, half * half / 3.0) if half.any() else (None, None)


def _sum_rounding(sign):
    def local(value, a, b):
        return rounding(value.data, exact_sum(value.wide, a.wide, sign * b.wide))

    return local


def _product_rounding(value, a, b):
    return rounding(value.data, exact_product(value.wide, a.wide, b.wide, value.dtype))


def _quotient_rounding(value, a, b):
    ulps = a.xp.plan.division_ulps
    exact = exact_quotient(value.wide, a.wide, b.wide, value.dtype)
    # a division with ulps other than 0.5 may be inexact even for a representable quotient, except
    # by powers of two
    if ulps != 0.5:
        exact &= np.abs(np.frexp(b.wide)[0]) == 0.5
    return rounding(value.data, exact, ulps)


def _remainder_rounding(value, a, b):
    """Return error and variance of a remainder: 0 if the signs of a and b agree, else those of a rounded addition."""
    return rounding(value.data, (a.wide < 0.0) == (b.wide < 0.0))


_LOCAL = {
    np.add: _sum_rounding(1.0),
    np.subtract: _sum_rounding(-1.0),
    np.multiply: _product_rounding,
    np.divide: _quotient_rounding,
    np.remainder: _remainder_rounding,
}


def _add(xp, value, decisions, a, b, sign=1.0):
    error, variance = _sum_rounding(sign)(value, a, b)
    least = (
        x.least
        for x, y in ((a, b), (b, a))
        if sign > 0 and x.least is not None and y.exact and np.all(y.wide >= 0.0)
    )
    return BoundedArray(
        xp,
        value,
        plus(a.error, b.error, error),
        plus(a.variance, b.variance, variance),
        decisions,
        least=next(least, None),
    )


def _multiply(xp, value, decisions, a, b):
    error, variance = _product_rounding(value, a, b)
    for x, y in ((a, b), (b, a)):
        if x.error is not None:
            error = plus(error, times(np.abs(y.wide), x.error))
            variance = plus(variance, np.square(y.wide) * x.variance)
    if a.error is not None and b.error is not None:
        error = error + times(a.error, b.error)
    return BoundedArray(xp, value, error, variance, decisions)


def _divide(xp, value, decisions, a, b):
    error, variance = _quotient_rounding(value, a, b)
    divisor, quotient = np.abs(b.wide), np.abs(a.wide / b.wide)
    if b.error is None:
        return BoundedArray(
            xp,
            value,
            plus(over(a.error, divisor), error),
            plus(a.variance / np.square(divisor), variance),
            decisions,
        )
    least = divisor - b.error * SLACK
    spread = times(quotient, b.error) + (0.0 if a.error is None else a.error)
    # an overflow in the divisor is harmless: the exact quotient is near 0, too
    if b.least is not None:
        least = np.where(np.isinf(divisor), b.least, least)
        spread = np.where(
            np.isinf(divisor), np.abs(a.wide) + (0.0 if a.error is None else a.error), spread
        )
    variances = np.square(quotient) * b.variance + (0.0 if a.error is None else a.variance)
    variances = np.where(np.isinf(divisor), 0.0, variances / np.square(divisor))
    return BoundedArray(
        xp,
        value,
        plus(np.where(least > 0.0, over(spread, least), np.inf), error),
        plus(variances, variance),
        decisions,
    )


def _exp(xp, value, decisions, a):
    # The bound counts ulps of the exact value, which may lie beyond the next power of two, where an
    # ulp is twice as large: hence the factor.
    error, variance = rounding(
        value.data * value.dtype.type(1 + 2.0**-20), a.wide == 0.0, LIBRARY_ULPS
    )
    if variance is not None:
        variance = variance / LIBRARY_ULPS**2  # one ulp is the usual error, LIBRARY_ULPS the bound
        if xp.plan.rewritten:
            unit = POWER * float_format(value.dtype).unit_roundoff
            moved = np.expm1(unit * np.minimum(np.abs(a.wide), FARTHEST))
            error = error + times(value.wide, moved)
    size, least = value.wide, None
    if np.isinf(size).any():
        # e**700 is finite in float64
        least = np.exp(np.minimum(a.wide - (0.0 if a.error is None else a.error * SLACK), 700.0))
        least = least / SLACK
    if a.error is not None:
        largest = size if error is None else size + error
        error = plus(times(largest, np.expm1(a.error)), error)
        variance = plus(np.square(size) * a.variance, variance)
    return BoundedArray(xp, value, error, variance, decisions, least=least)


def _elementary(ufunc):
    def rule(xp, value, decisions, a):
        error, variance = rounding(
            value.data * value.dtype.type(1 + 2.0**-20), a.wide == 0.0, ULPS[ufunc]
        )
        if a.error is not None:
            error = plus(carried(ufunc, a.wide, a.error * SLACK), error)
            variance = plus(np.square(carried(ufunc, a.wide, np.sqrt(a.variance))), variance)
        return BoundedArray(xp, value, error, variance, decisions)

    return rule


def _same(xp, value, decisions, a):
    return BoundedArray(xp, value, a.error, a.variance, decisions)


def _extreme(xp, value, decisions, a, b):
    """Bound maximum and minimum: the error of the certain winner, or the larger error of both."""
    (ea, va), (eb, vb) = (
        ((0.0, 0.0) if x.error is None else (x.error, x.variance)) for x in (a, b)
    )
    takes_a = value.data == a.data
    sure = np.abs(a.wide - b.wide) > (ea + eb) * SLACK
    error = np.where(sure, np.where(takes_a, ea, eb), np.maximum(ea, eb))
    return BoundedArray(xp, value, error, np.where(takes_a, va, vb) + 0.0 * error, decisions)


def reach(a):
    """Return how far from its value a number may lie when it decides; a margin covers the rounding of value + error."""
    return np.where(a.error > 0.0, a.error * a.xp.doubt + np.abs(a.wide) * 2.0**-52, 0.0)


def _integral(function):
    """Return the rule of floor or rint: the result has no error, but is undecided if the operand allows several."""

    def rule(xp, value, decisions, a):
        far = reach(a)
        low, high = function(a.wide - far), function(a.wide + far)
        return between(xp, value, low, high, high - low > 1.0, decisions)

    return rule


def between(xp, value, low, high, many, earlier):
    """Return the result of a floor or rounding whose operand lies somewhere in an interval.

    `low` and `high` are the results at the ends of the interval. If they agree, the result is exact. If they differ, it depends
    on a new decision: in branches that reverse it, the number is `high` instead of `low`, or `low` instead of `high`. Where
    `many`, further results lie between, and the other branches are unknown. `earlier` are the decisions of the operand.
    """
    there = np.where(low == value.wide, high, low).astype(value.dtype)
    mask, others = branches(xp.decision, value.data, there, low != high)
    if mask is not None:
        mask = np.where(many, UNKNOWN, mask)
    return trimmed(xp, value, None, None, *_behind(earlier, mask, others))


def _behind(earlier, mask, others):
    """Return (decisions, others) of a call: its own (`mask`, `others`), and the `earlier` ones of its operand.

    If an earlier decision were reversed, the operand would be an unknown number; so the other branches of such elements are
    unknown.
    """
    if earlier is None:
        return mask, others
    return np.where(earlier != 0, UNKNOWN, 0 if mask is None else mask), others


def _remainder(xp, value, decisions, a, b):
    far = np.zeros(np.shape(a.wide)) if a.error is None else reach(a)
    below, above = a.wide - far, a.wide + far
    open_ = (np.floor(below / b.wide) != np.floor(above / b.wide)) | (
        (below < 0.0) != (above < 0.0)
    )
    if b.error is not None:
        open_ = open_ | (b.error > 0.0)
    error, variance = _remainder_rounding(value, a, b)
    error = np.where(open_, np.abs(b.wide), plus(np.zeros(value.shape), a.error, error))
    decisions = either(decisions, np.where(open_, UNKNOWN, 0) if open_.any() else None)
    return BoundedArray(
        xp, value, error, plus(np.zeros(value.shape), a.variance, variance), decisions
    )


def _compare(xp, value, decisions, a, b):
    error = plus(a.error, b.error)
    open_ = (np.abs(a.wide - b.wide) <= error * xp.doubt) & (error > 0.0)
    return trimmed(
        xp, value, None, None, *_behind(decisions, *branches(xp.decision, value, ~value, open_))
    )


_RULES = {ufunc: _elementary(ufunc) for ufunc in ULPS} | {
    np.add: _add,
    np.subtract: partial(_add, sign=-1.0),
    np.multiply: _multiply,
    np.divide: _divide,
    np.exp: _exp,
    np.negative: _same,
    np.absolute: _same,
    np.maximum: _extreme,
    np.minimum: _extreme,
    np.floor: _integral(np.floor),
    np.rint: _integral(np.rint),
    np.remainder: _remainder,
    np.isfinite: lambda xp, value, decisions, a: value,
    np.isnan: lambda xp, value, decisions, a: value,
    **dict.fromkeys(
        (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal), _compare
    ),
}


class BoundedArrays(PlannedArrays):
    """The namespace of `PlannedArrays` with bounds: same values, but its arrays are `BoundedArray`.

    Bounds start from inputs rounded to the plan's formats, and again from anchored numbers, which a device has to the bit, too.
    `anchors` holds the latter (None: unchanged), `anchors_moved` says whether any of both differs from the exact number;
    `aclnn_viz.arrays.bounds` explains the consequence.

    >>> from aclnn_viz.arrays.plan import Plan
    >>> xp = BoundedArrays(Plan(), "float32")
    >>> float((xp.ones(1, xp.compute) / 3.0).error[0]) == 2.0**-26  # half a spacing
    True
    """

    def __init__(self, plan, storage):
        super().__init__(plan, storage)
        self._decided = 0
        self.doubt = DOUBT if plan.rewritten else SLACK
        self.anchors, self.anchors_moved = [], False

    def decision(self) -> np.int64:
        """Return the bit of a new decision, for the elements that a call leaves undecided; even and odd bits alternate."""
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
            others = np.stack(
                [
                    f(*(x.data if x.others is None else x.others[branch] for x in arrays))
                    for branch in range(3)
                ]
            )
        return trimmed(
            self,
            value,
            moved_part(f, "error", arrays),
            moved_part(f, "variance", arrays),
            decisions,
            others,
        )

    def given(self, array):
        """Return an input in the form that the kernel reads; bounds start there."""
        value = super().given(array)
        if is_float(array) and (self.plan.storage or not np.can_cast(array.dtype, self.compute)):
            self.anchors_moved |= not np.array_equal(
                value.wide, array.astype(np.float64), equal_nan=True
            )
        return value

    def anchored(self, x):
        """Round x to storage and start bounds anew there; elements with uncertain rounding become undecided.

        A device's x is as far from the exact one as ours, so within twice our error of ours.
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
            return (
                self._wrap(round_to(x, dtype))
                if np.dtype(dtype).kind not in "iu"
                else x.astype(dtype)
            )
        if np.dtype(dtype).kind in "iu":
            # an integer made from an inexact number is unknown
            lost = (
                None
                if x.error is None or not x.error.any()
                else np.where(x.error > 0.0, UNKNOWN, np.int64(0))
            )
            with np.errstate(invalid="ignore"):
                others = None if x.others is None else x.others.astype(dtype)
                return trimmed(
                    self, x.data.astype(dtype), None, None, either(x.decisions, lost), others
                )
        if x.dtype == dtype:
            return x
        value = self.planned(self.plan.settle(round_to(x.data, dtype)))
        same = value.wide == x.wide
        error, variance = (None, None) if same.all() else rounding(value.data, same)
        others = None if x.others is None else round_to(x.others, dtype)
        result = trimmed(
            self, value, plus(x.error, error), plus(x.variance, variance), x.decisions, others
        )
        return saturated(result, lambda: x.wide)

    def where(self, condition, x, y):
        """Return x or y by a condition; where that is open, the error covers both, and distant ones stay undecided."""
        if not isinstance(condition, BoundedArray):
            return self._move(lambda a, b: np.where(condition, a, b), x, y)
        x, y = (
            side if isinstance(side, BoundedArray) else BoundedArray(self, side) for side in (x, y)
        )
        if x.exact and y.exact:
            value = self.planned(np.where(condition.data, x.data, y.data))
            others = elsewhere(np.where, value.ndim, condition, x, y)
            return trimmed(
                self,
                value,
                None,
                None,
                either(condition.decisions, x.decisions, y.decisions),
                others,
            )
        open_ = condition.decisions != 0
        taken, left = self.where(condition.data, x, y), self.where(~condition.data, x, y)
        jump = np.abs(taken.wide - left.wide)
        own, its = (np.float64(0.0) if side.error is None else side.error for side in (taken, left))
        apart = open_ & ~(jump <= CONTINUOUS * (own + its))
        decisions = either(
            taken.decisions,
            np.where(apart, condition.decisions, 0),
            None if left.decisions is None else np.where(open_, left.decisions, 0),
        )
        error = np.where(open_, np.maximum(own, jump + its), own)
        return trimmed(
            self, taken.value, error, plus(taken.variance, np.zeros(error.shape)), decisions
        )

    def take(self, x, index, axis=None):
        if not isinstance(index, BoundedArray):
            return super().take(x, index, axis)
        taken = super().take(x, index.data, axis)
        around = [np.newaxis] * taken.ndim
        around[axis or 0] = slice(None)
        mask = np.broadcast_to(index.decisions[tuple(around)], taken.shape)
        return BoundedArray(
            self, taken.value, taken.error, taken.variance, either(taken.decisions, mask)
        )

    def _total(self, x, axis, keepdims):
        """Bound a sum: every term carries its error and meets at most `depth` additions, so it may grow by (1 + u)**depth."""
        x = self.astype(x, self.accumulate)
        value = super()._total(x, axis, keepdims)
        inner, leading = sum_axes(x.ndim, axis)

        def add(part, function=np.add):
            return function.reduce(spread(part, x.shape), axis=inner + leading, keepdims=keepdims)

        def add_up(part):
            # the factor covers any order in which NumPy adds
            return add(part) * (1.0 + x.size * 2.0**-52)

        counts = [
            int(np.prod([x.shape[k] for k in axes], dtype=np.int64)) for axes in (inner, leading)
        ]
        orders = self.plan.order, self.plan.leading or self.plan.order
        longest = sum(depth(n, order, self.plan) for n, order in zip(counts, orders))
        error, variance = self._sum_error(x, value, add_up, longest, SEQUENTIAL in orders)
        decisions = None if x.decisions is None else add(x.decisions, np.bitwise_or)
        return trimmed(self, value.value, error, variance, decisions)

    def _sum_error(self, x, value, add, longest, sequential):
        """Return error and variance of a sum of the terms of x.

        `add` sums nonnegative parts of x in float64, rounded up.
        """
        unit = float_format(x.dtype).unit_roundoff
        sizes, squares = add(np.abs(x.wide)), add(np.square(x.wide))
        additions = np.maximum(np.floor(add(x.wide != 0.0)) - 1.0, 0.0)  # adding 0 is exact
        if sizes.max(initial=0.0) * unit <= 1.0 and (x.wide == np.rint(x.wide)).all():
            additions = np.zeros_like(additions)  # sums of small integers are exact
        steps = np.minimum(longest, additions)
        growth = np.log1p(unit)
        error = np.where(steps > 0, np.expm1(steps * growth) * sizes + TINY, 0.0)
        if float_format(x.dtype).bits == 16:  # the sizes of partial sums may give a smaller bound
            # In any order, each addition returns the sum of some terms: at most the sum of all
            # terms of one sign.
            positive = add(np.maximum(x.wide, 0.0))
            largest = (
                np.maximum(positive, sizes - positive)
                * np.exp(additions * growth)
                * (1.0 + 2.0**-40)
            )
            error = np.minimum(error, additions * half_ulp(np.asarray(round_to(largest, x.dtype))))
        # Estimate of the sum of the squares of all partial sums. A first part is for terms of one
        # sign, with the total S: 2 S^2 in a tree, steps * S^2 / 3 in a chain. A second part is for
        # terms of both signs: steps * sum x^2 in a tree, half of this in a chain.
        spread = (
            steps * (np.square(value.wide) / 3.0 + squares / 2.0)
            if sequential
            else np.where(steps > 0, 2.0 * np.square(value.wide), 0.0) + steps * squares
        )
        variance = unit**2 / 3.0 * spread
        if x.error is not None:
            error, variance = error + add(x.error), variance + add(x.variance)
        # A partial sum may have overflowed; after saturation only the size of the terms shows it.
        lost = (
            ~(2.0 * sizes < float_format(x.dtype).largest)
            if self.plan.saturate
            else ~np.isfinite(value.wide)
        )
        error = np.where(lost, np.inf, error)
        return (error, variance) if error.any() else (None, None)

    def scatter_add(self, target, index, values):
        """Add as planned; terms may meet all others of their place, and undecided indices mark every place that they may mean."""
        values = self.astype(values, self.atomics)
        # the present element of a place is one more term of its sum
        if np.any(target.data) or not target.exact:
            values = self.concat([values, self.astype(target, values.dtype)], axis=1)
            index = self.concat([index, np.arange(target.shape[1])])
            return self.scatter_add(self.zeros_like(target), index, values)
        place = index.data if isinstance(index, BoundedArray) else index
        value = super().scatter_add(self.astype(target, self.atomics), place, values)
        flat = columns(*target.shape, place)

        def add(part):
            weights = np.broadcast_to(part, values.shape).reshape(-1)
            return np.bincount(flat, weights, target.size).reshape(target.shape) * (
                1.0 + index.size * 2.0**-52
            )

        error, variance = self._sum_error(values, value, add, index.size, True)
        result = trimmed(
            self, value.value, error, variance, self._landings(target, index, place, values)
        )
        return self.astype(result, target.dtype)

    def _landings(self, target, index, place, values):
        """Return the decisions on which each element of a scattered sum depends."""
        if not isinstance(index, BoundedArray) and values.decisions is None:
            return None
        marks = np.zeros(target.shape, np.int64)
        if values.decisions is not None:
            np.bitwise_or.at(
                marks, (slice(None), place), np.broadcast_to(values.decisions, values.shape)
            )
        if isinstance(index, BoundedArray):
            for landing in (place, *([] if index.others is None else index.others)):
                np.bitwise_or.at(
                    marks, (slice(None), landing), np.broadcast_to(index.decisions, values.shape)
                )
            if unknown(index.decisions).any():
                marks |= UNKNOWN
        return marks


class ExactArrays(BoundedArrays):
    """The arithmetic of a plan in float64 without rounding to storage: bounded, and almost exact."""

    def __init__(self, plan, storage):
        super().__init__(
            replace(
                plan,
                compute="float64",
                accumulate="float64",
                coordinates=None,
                atomics=None,
                saturate=False,
            ),
            storage,
        )

    def given(self, array):
        return self._wrap(array.astype(np.float64)) if is_float(array) else array

    def to_storage(self, x):
        return x

    anchored = to_storage


class FromAnchors(ExactArrays):
    """The arithmetic of `ExactArrays`, but starting from the inputs and anchors of a bounded run under the same plan."""

    def __init__(self, plan, storage, run: BoundedArrays):
        super().__init__(plan, storage)
        self._run, self._next = run, iter(run.anchors)

    def given(self, array):
        if not is_float(array):
            return array
        return self._wrap(
            round_to(
                round_to(array, self._run.plan.storage or array.dtype), self._run.compute
            ).astype(np.float64)
        )

    def anchored(self, x):
        anchor = next(self._next)
        return x if anchor is None else self._wrap(anchor)
