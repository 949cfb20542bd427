"""Arrays with rigorous error bounds: the value that a plan computes, and how far the exact one can be from it.

A decision (comparison, floor, rounding, remainder) that the bound cannot make marks the element *undecided*; see
`aclnn_viz.arrays.worlds`.
"""

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from aclnn_viz.arrays.local_errors import SLACK, exact_product, exact_quotient, exact_sum, half_ulp, over, times
from aclnn_viz.arrays.planned import PlannedArray, common, is_float
from aclnn_viz.arrays.worlds import UNKNOWN, either, elsewhere, unknown, worlds
from aclnn_viz.dtypes import float_format

LIBRARY_ULPS = 3.0  # exp: NumPy's float32 loops err by at most 2.52 ulp; AscendC documents 1 ulp
# A jump that exceeds this multiple of the errors of both its sides is a jump, not rounding.
CONTINUOUS = 4.0


class BoundedArray(NDArrayOperatorsMixin):
    """What a plan computes, and all that is known of how far the exact numbers are from it. All parts have one shape.

    `value` is as planned: a `PlannedArray`, or a NumPy array of integers or booleans.
    `error` (float64) is at least |value - exact|; None says that every element is exact.
    `variance` (float64) is the expected square of value - exact; None beside an error that is None.
    `decisions` (int64) has a bit for each open decision that an element hangs on; None says that there are none.
    `others` holds exact numbers as they would be had open decisions fallen the other way, in three worlds along a
    first axis of length 3; None says that they are as `value` is. `aclnn_viz.arrays.worlds` explains the two.
    `least` bounds the exact value from below where an exponential overflowed; None says that nothing is known.
    """

    def __init__(self, xp, value, error=None, variance=None, decisions=None, others=None, least=None):
        self.xp, self.value, self.error, self.variance = xp, value, error, variance
        if decisions is not None and others is None:
            decisions = np.where(decisions != 0, UNKNOWN, np.int64(0))
        self.decisions, self.others = decisions, others
        self.least = least

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)
    ndim = property(lambda self: self.value.ndim)
    size = property(lambda self: self.value.size)

    @property
    def data(self) -> np.ndarray:
        return plain(self.value)

    @property
    def wide(self) -> np.ndarray:
        """The value in float64."""
        return self.value.wide if isinstance(self.value, PlannedArray) else self.value.astype(np.float64)

    @property
    def exact(self) -> bool:
        return self.error is None

    def __getitem__(self, index):
        return self.xp._move(lambda a: a[index], self)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method != "__call__" or options:
            return NotImplemented
        floats = [x.dtype for x in inputs if isinstance(x, BoundedArray) and is_float(x)]
        dtype = common(*floats) if floats else None
        inputs = [lift(self.xp, x, dtype) for x in inputs]
        value = ufunc(*(x.value for x in inputs))
        decisions = either(*(x.decisions for x in inputs))
        if all(x.exact for x in inputs) and ufunc is not np.exp:
            others = elsewhere(lambda *there: plain(ufunc(*map(self.xp.planned, there))), value.ndim, *inputs)
            rounds = isinstance(value, PlannedArray) and ufunc in _LOCAL
            error, variance = _LOCAL[ufunc](value, *inputs) if rounds else (None, None)
            result = trimmed(self.xp, value, error, variance, decisions, others)
        else:
            result = _RULES[ufunc](self.xp, value, decisions, *inputs)
        return saturated(result, lambda: ufunc(*(np.asarray(x.wide) for x in inputs)))


def plain(x) -> np.ndarray:
    return x.data if isinstance(x, PlannedArray) else x


def lift(xp, x, dtype) -> BoundedArray:
    """Return an operand as a bounded array; a Python number is rounded to the floating type of the other operands.

    Its error is that rounding. A number that is not a float32 number, such as 0.1 / classes, has perhaps been computed
    in float64 and rounded there: then half a spacing of float64 comes on top.
    """
    if isinstance(x, BoundedArray):
        return x
    if dtype is None or isinstance(x, (np.ndarray, np.generic)) and not is_float(x):
        return BoundedArray(xp, np.asarray(x))
    value = xp.planned(np.asarray(x, np.float64), dtype)
    error = abs(float(value.data) - float(x))
    if float(np.float32(x)) != float(x):  # such as 0.1 / classes: not a short constant, so perhaps rounded before
        error += abs(float(x)) * 2.0**-53
    return BoundedArray(xp, value, *((np.float64(error), np.float64(error**2)) if error else ()))


def trimmed(xp, value, error=None, variance=None, decisions=None, others=None):
    """Make a bounded array of these parts, without the decisions that would change nothing.

    A decision on which an exact number hangs changes nothing if the number is the same in every world. Integers and
    booleans that hang on no decision need no bound: they are returned as a NumPy array.
    """
    if decisions is not None:
        if others is not None:
            decisions = np.where(unknown(decisions) | np.any(others != plain(value), axis=0), decisions, 0)
        if not np.any(decisions):
            decisions = others = None
    if decisions is None and not isinstance(value, PlannedArray):
        return value
    return BoundedArray(xp, value, error, variance, decisions, others if error is None else None)


def saturated(result, before):
    """The array; where a plan has put the largest number for an infinity, or 0 for what is no number, nothing is known
    of the exact value. `before()` returns the numbers that the plan has found, in float64."""
    if isinstance(result, BoundedArray) and result.xp.plan.saturate and is_float(result):
        clipped = (np.abs(result.wide) == float_format(result.dtype).largest) | np.isnan(before())
        if clipped.any():
            result.error = np.where(clipped, np.inf, 0.0 if result.error is None else result.error)
            result.variance = result.error if result.variance is None else result.variance + 0.0 * clipped
    return result


def plus(*terms):
    given = [term for term in terms if term is not None]
    return sum(given[1:], given[0]) if given else None


def rounding(data, exact, ulps=0.5):
    """The error and the variance of rounding to numbers of a format, none where exact."""
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
    if ulps != 0.5:  # such a division may err even where the quotient is a number, but not by a power of two
        exact &= np.abs(np.frexp(b.wide)[0]) == 0.5
    return rounding(value.data, exact, ulps)


def _remainder_rounding(value, a, b):
    """Where the signs differ the divisor has been added, and the sum rounded."""
    return rounding(value.data, (a.wide < 0.0) == (b.wide < 0.0))


_LOCAL = {
    np.add: _sum_rounding(1.0), np.subtract: _sum_rounding(-1.0),
    np.multiply: _product_rounding, np.divide: _quotient_rounding, np.remainder: _remainder_rounding,
}


def _add(xp, value, decisions, a, b, sign=1.0):
    error, variance = _sum_rounding(sign)(value, a, b)
    least = a.least if sign > 0 and b.exact and np.all(b.wide >= 0.0) else None
    return BoundedArray(xp, value, plus(a.error, b.error, error), plus(a.variance, b.variance, variance), decisions,
                        least=least)


def _subtract(xp, value, decisions, a, b):
    return _add(xp, value, decisions, a, b, -1.0)


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
        return BoundedArray(xp, value, plus(over(a.error, divisor), error),
                            plus(a.variance / np.square(divisor), variance), decisions)
    least = divisor - b.error * SLACK
    spread = times(quotient, b.error) + (0.0 if a.error is None else a.error)
    if b.least is not None:  # an overflow in the divisor does no harm: the exact quotient is next to 0, too
        least = np.where(np.isinf(divisor), b.least, least)
        spread = np.where(np.isinf(divisor), np.abs(a.wide) + (0.0 if a.error is None else a.error), spread)
    variances = np.square(quotient) * b.variance + (0.0 if a.error is None else a.variance)
    variances = np.where(np.isinf(divisor), 0.0, variances / np.square(divisor))
    return BoundedArray(xp, value, plus(np.where(least > 0.0, over(spread, least), np.inf), error),
                        plus(variances, variance), decisions)


def _exp(xp, value, decisions, a):
    # The ulps are those of the exact value, which may lie beyond the next power of two.
    error, variance = rounding(value.data * value.dtype.type(1 + 2.0**-20), a.wide == 0.0, LIBRARY_ULPS)
    if variance is not None:
        variance = variance / LIBRARY_ULPS**2  # an ulp is what is expected
    size, least = value.wide, None
    if np.isinf(size).any():
        least = np.exp(np.minimum(a.wide - (0.0 if a.error is None else a.error * SLACK), 700.0))  # e**700 is a number
        least = least / SLACK
    if a.error is not None:
        largest = size if error is None else size + error
        error = plus(times(largest, np.expm1(a.error)), error)
        variance = plus(np.square(size) * a.variance, variance)
    return BoundedArray(xp, value, error, variance, decisions, least=least)


def _same(xp, value, decisions, a):
    return BoundedArray(xp, value, a.error, a.variance, decisions)


def _extreme(xp, value, decisions, a, b):
    """maximum and minimum: where one operand surely wins its error counts, elsewhere the larger error does."""
    (ea, va), (eb, vb) = (((0.0, 0.0) if x.error is None else (x.error, x.variance)) for x in (a, b))
    takes_a = value.data == a.data
    sure = np.abs(a.wide - b.wide) > (ea + eb) * SLACK
    error = np.where(sure, np.where(takes_a, ea, eb), np.maximum(ea, eb))
    return BoundedArray(xp, value, error, np.where(takes_a, va, vb) + 0.0 * error, decisions)


def reach(a):
    """How far the exact number can be from the value, with room for the rounding of value + error itself."""
    return np.where(a.error > 0.0, a.error * SLACK + np.abs(a.wide) * 2.0**-52, 0.0)


def _integral(function):
    """floor and rint: the result is exact, if perhaps that of the other outcome."""
    def rule(xp, value, decisions, a):
        far = reach(a)
        low, high = function(a.wide - far), function(a.wide + far)
        return between(xp, value, low, high, high - low > 1.0, decisions)
    return rule


def between(xp, value, low, high, many, earlier):
    """The result of a floor or of a rounding whose operand is only known to lie in an interval.

    `low` and `high` are what the ends of the interval give. Where they agree, the result is decided and exact. Where
    they differ, the result hangs on a new decision: in the worlds in which it falls the other way the number is `high`
    instead of `low`, or `low` instead of `high`. Where `many`, there may be further numbers between the two, and
    nothing is known of the other worlds. `earlier` are the decisions that the operand itself hangs on.
    """
    there = np.where(low == value.wide, high, low).astype(value.dtype)
    mask, others = worlds(xp.decision, value.data, there, low != high)
    if mask is not None:
        mask = np.where(many, UNKNOWN, mask)
    return trimmed(xp, value, None, None, *_behind(earlier, mask, others))


def _behind(earlier, mask, others):
    """Join the decisions of this call (`mask`, with its `others`) to the `earlier` ones of its inexact operand.

    Had an earlier decision fallen the other way, the operand would be another number, nobody knows which: so nothing
    is known of the result in the other worlds wherever the operand hangs on a decision.
    """
    if earlier is None:
        return mask, others
    return np.where(earlier != 0, UNKNOWN, 0 if mask is None else mask), others


def _remainder(xp, value, decisions, a, b):
    far = np.zeros(np.shape(a.wide)) if a.error is None else reach(a)
    below, above = a.wide - far, a.wide + far
    open_ = (np.floor(below / b.wide) != np.floor(above / b.wide)) | ((below < 0.0) != (above < 0.0))
    if b.error is not None:
        open_ = open_ | (b.error > 0.0)
    error, variance = _remainder_rounding(value, a, b)
    error = np.where(open_, np.abs(b.wide), plus(np.zeros(value.shape), a.error, error))
    decisions = either(decisions, np.where(open_, UNKNOWN, 0) if open_.any() else None)
    return BoundedArray(xp, value, error, plus(np.zeros(value.shape), a.variance, variance), decisions)


def _compare(xp, value, decisions, a, b):
    error = plus(a.error, b.error)
    open_ = (np.abs(a.wide - b.wide) <= error * SLACK) & (error > 0.0)
    return trimmed(xp, value, None, None, *_behind(decisions, *worlds(xp.decision, value, ~value, open_)))


_RULES = {
    np.add: _add, np.subtract: _subtract, np.multiply: _multiply, np.divide: _divide, np.exp: _exp,
    np.negative: _same, np.absolute: _same, np.maximum: _extreme, np.minimum: _extreme,
    np.floor: _integral(np.floor), np.rint: _integral(np.rint), np.remainder: _remainder,
    np.isfinite: lambda xp, value, decisions, a: value, np.isnan: lambda xp, value, decisions, a: value,
    **dict.fromkeys((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal), _compare),
}
