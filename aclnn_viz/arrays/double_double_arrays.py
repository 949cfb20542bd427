"""Arrays of double-doubles (about 106 bits) with an error bound per element, for exact values that float64 cannot settle, and
for float64 inputs.
"""

import numpy as np

from aclnn_viz.arrays import double_double as dd
from aclnn_viz.arrays import multiples
from aclnn_viz.arrays.elementary import PRECISE, carried
from aclnn_viz.arrays.functions import (
    ArrayOfParts,
    ExactFunctions,
    is_float,
    moved_part,
    sort_of,
    spread,
)
from aclnn_viz.arrays.local_errors import SLACK, over, plus, times
from aclnn_viz.arrays.sums import in_front, sum_axes, tree

_COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}


class PreciseArray(ArrayOfParts):
    """`high` + `low` is within `error` of the exact number; all are float64 of one shape. A part None means 0.

    `multiples` names the grid of the exact numbers; None if unknown.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, xp, high, low=None, error=None, multiples=None):
        self.xp, self.high, self.low, self.error, self.multiples = xp, high, low, error, multiples

    data = property(lambda self: self.high)
    pair = property(lambda self: (self.high, self.low))

    @property
    def exact(self) -> bool:
        return self.error is None or not self.error.any()

    def __len__(self):
        return len(self.high)

    def __getitem__(self, index):
        return self.xp._move(lambda part: np.asarray(part[index]), self)

    def applied(self, ufunc, *inputs):
        inputs = [x if isinstance(x, PreciseArray) else self.xp.lifted(x) for x in inputs]
        if ufunc in _COMPARISONS:
            return _compare(self.xp, ufunc, *inputs)
        return _RULES[ufunc](self.xp, *inputs)


def _finished(xp, ufunc, operands, value, error):
    """Return an array of the computed parts, with float64's result where it is not finite.

    If an operand is not finite, or the divisor is 0, every arithmetic has the same result, so it is known, unless it depends on
    the sign of a number that may be 0. If finite numbers overflow, nothing is known.
    """
    (high, low), naive = value, ufunc(*(x.high for x in operands))
    finite = np.isfinite(naive)
    if not finite.all() or not np.isfinite(high).all():
        special = np.logical_or.reduce(
            np.broadcast_arrays(*(~np.isfinite(x.high) for x in operands))
        )
        if ufunc is np.divide:
            special = special | (operands[1].high == 0.0)
        for x in operands:
            if x.error is not None:
                special = special & np.isfinite(x.error)
                if ufunc in (np.multiply, np.divide):
                    unsigned = (x.error > 0.0) & (np.abs(x.high) <= x.error * SLACK)
                    special = special & ~(unsigned & ~_any_nan(operands))
        broken = ~finite | ~np.isfinite(high)  # also marks results of which a step overflowed
        high, low = (
            np.where(broken, naive, high),
            np.where(broken, 0.0, 0.0 if low is None else low),
        )
        error = np.where(
            broken, np.where(special & ~finite, 0.0, np.inf), 0.0 if error is None else error
        )
    if error is not None and np.isnan(error).any():
        error = np.where(np.isnan(error), np.inf, error)
    return PreciseArray(xp, high, low, error)


def _any_nan(operands):
    return np.logical_or.reduce(np.broadcast_arrays(*(np.isnan(x.high) for x in operands)))


def _add(xp, a, b):
    value, lost = dd.add(a.pair, b.pair)
    result = _finished(xp, np.add, (a, b), value, plus(a.error, b.error, lost))
    result.multiples = multiples.joined(a.multiples, b.multiples)
    return result


def _negative(xp, a):
    return PreciseArray(xp, -a.high, None if a.low is None else -a.low, a.error, a.multiples)


def _subtract(xp, a, b):
    return _add(xp, a, _negative(xp, b))


def _multiply(xp, a, b):
    for x, scale in ((a, b), (b, a)):
        if (
            scale.ndim == 0
            and scale.low is None
            and scale.error is None
            and abs(np.frexp(scale.high)[0]) == 0.5
        ):
            result = _scaled(xp, x, scale)
            break
    else:
        value, error = dd.multiply(a.pair, b.pair)
        for x, y in ((a, b), (b, a)):
            if x.error is not None:
                error = plus(error, times(np.abs(y.high) * dd.ROOM, x.error))
        if a.error is not None and b.error is not None:
            error = error + times(a.error, b.error)
        result = _finished(xp, np.multiply, (a, b), value, error)
    result.multiples = multiples.product(a.multiples, b.multiples)
    return result


def _scaled(xp, x, scale):
    """Return x times a power of two: exact, unless digits fall below the smallest number."""
    given = [part for part in (x.high, x.low, x.error) if part is not None]
    if scale.high < 1.0 and any(
        np.count_nonzero((np.abs(part * scale.high) < 2.0**-960) & (part != 0.0)) for part in given
    ):
        lost = np.full(x.shape, dd.LOST)
    else:
        lost = None
    high, low, error = (
        None if part is None else part * scale.high for part in (x.high, x.low, x.error)
    )
    return _finished(
        xp,
        np.multiply,
        (x, scale),
        (high, low),
        plus(None if error is None else np.abs(error), lost),
    )


def _divide(xp, a, b):
    value, error = dd.divide(a.pair, b.pair)
    size = np.abs(b.high)
    least = size / dd.ROOM if b.error is None else size / dd.ROOM - b.error * SLACK
    spread = plus(a.error, None if b.error is None else times(np.abs(value[0]) * dd.ROOM, b.error))
    if spread is not None:
        # If the divisor may be 0, the error is infinite, or 0 if neither operand has an error that
        # could change the quotient.
        error = error + np.where(
            least > 0.0, over(spread, least), np.where(spread == 0.0, 0.0, np.inf)
        )
    result = _finished(xp, np.divide, (a, b), value, error)
    if b.low is None and b.error is None:
        result.multiples = multiples.quotient(a.multiples, b.high)
    return result


def _exp(xp, a):
    value, error = dd.exp(a.pair)
    if a.error is not None:
        far = a.error * SLACK
        error = error + times(
            (value[0] + error) * dd.ROOM, np.where(far <= 1.0, far * (1.0 + far), np.inf)
        )
    return _finished(xp, np.exp, (a,), value, error)


def _log(xp, a):
    value, error = dd.log(a.pair)
    if a.error is not None:
        least = a.high / dd.ROOM - a.error * SLACK
        error = error + np.where(
            least > 0.0, over(a.error, least), np.where(a.error > 0.0, np.inf, 0.0)
        )
    return _finished(xp, np.log, (a,), value, error)


def _sqrt(xp, a):
    value, error = dd.sqrt(a.pair)
    # |sqrt a - sqrt b| = |a - b| / (sqrt a + sqrt b), and at most sqrt |a - b|
    if a.error is not None:
        root = value[0] / dd.ROOM
        error = error + np.where(a.error < root, over(a.error, root), np.sqrt(a.error) * dd.ROOM)
    return _finished(xp, np.sqrt, (a,), value, error)


def _elementary(ufunc):
    def rule(xp, a):
        value, error = PRECISE[ufunc](a.pair)
        if a.error is not None:
            error = error + carried(
                ufunc, a.high, a.error * SLACK, 0.0 if a.low is None else np.abs(a.low)
            )
        return PreciseArray(xp, *value, error)

    return rule


def _absolute(xp, a):
    turn = a.high < 0.0  # high alone has the sign of high + low
    return PreciseArray(
        xp,
        np.abs(a.high),
        None if a.low is None else np.where(turn, -a.low, a.low),
        a.error,
        a.multiples,
    )


def _difference(a, b):
    """Return a - b as float64 with the right sign, and the bound on the errors of a and b together (None: exact)."""
    if a.low is None and b.low is None:
        apart = np.where(a.high == b.high, 0.0, a.high - b.high)
    else:
        apart = dd.add(a.pair, (-b.high, None if b.low is None else -b.low))[0][0]
        special = ~(np.isfinite(a.high) & np.isfinite(b.high))
        if special.any():
            apart = np.where(special, np.where(a.high == b.high, 0.0, a.high - b.high), apart)
    error = plus(a.error, b.error)
    return apart, None if error is None else error * SLACK


def _compare(xp, ufunc, a, b):
    apart, error = _difference(a, b)
    if error is not None:
        xp.decided(~((np.abs(apart) <= error) & (error > 0.0) | np.isinf(error)))
    return ufunc(apart, 0.0)


def _extreme(ufunc):
    def rule(xp, a, b):
        apart, error = _difference(a, b)
        first = ufunc(apart, 0.0) == apart  # adding 0 changes a number only if it is a nan
        first |= np.isnan(a.high)
        chosen = xp.where(first, a, b)
        # close operands leave the choice uncertain
        if error is not None and chosen.error is not None:
            ea, eb = (0.0 if x.error is None else x.error for x in (a, b))
            chosen.error = np.where(np.abs(apart) <= error, np.maximum(ea, eb), chosen.error)
        return chosen

    return rule


def _floor(xp, a):
    low = 0.0 if a.low is None else a.low
    high = np.floor(a.high)
    whole = np.where(high == a.high, np.floor(low), 0.0)
    result = PreciseArray(xp, *dd.two_sum(high, np.where(np.isfinite(high), whole, 0.0)))
    if not a.exact:
        below = _subtract(xp, a, result)
        xp.decided(
            (a.error == 0.0) | (below.high > a.error * SLACK) & (below.high < 1.0 - a.error * SLACK)
        )
    special = ~np.isfinite(high)
    return PreciseArray(
        xp, np.where(special, high, result.high), np.where(special, 0.0, result.low)
    )


def _rint(xp, a):
    """Round to the nearest integer, ties to even."""
    below = _floor(xp, PreciseArray(xp, a.high, a.low))
    rest = _difference(
        _subtract(xp, PreciseArray(xp, a.high, a.low), below), PreciseArray(xp, np.float64(0.5))
    )[0]
    half = _scaled(xp, below, PreciseArray(xp, np.float64(0.5)))
    odd = _difference(half, _floor(xp, half))[0] != 0.0
    up = (rest > 0.0) | (rest == 0.0) & odd
    if not a.exact:
        xp.decided((a.error == 0.0) | (np.abs(rest) > a.error * SLACK))
    return _add(xp, below, PreciseArray(xp, up.astype(np.float64)))


def _remainder(xp, a, b):
    """Return a - b floor(a / b)."""
    quotient = a.high / b.high
    whole = PreciseArray(xp, np.where(np.isfinite(quotient), np.floor(quotient), 0.0))
    rest = _subtract(
        xp, PreciseArray(xp, a.high, a.low), _multiply(xp, whole, PreciseArray(xp, b.high, b.low))
    )
    for step, wrong in (
        (1.0, lambda r: (r * np.sign(b.high)) < 0.0),
        (-1.0, lambda r: _difference(rest, b)[0] * np.sign(b.high) >= 0.0),
    ):
        rest = xp.where(
            wrong(rest.high),
            _add(
                xp,
                rest,
                _multiply(xp, PreciseArray(xp, b.high, b.low), PreciseArray(xp, np.float64(step))),
            ),
            rest,
        )
    error = plus(rest.error, a.error)
    if not (a.exact and b.exact):
        error = error + (0.0 if b.error is None else b.error) * np.abs(whole.high)
        far = _difference(PreciseArray(xp, np.abs(b.high)), _absolute(xp, rest))[0]
        xp.decided((error == 0.0) | (np.abs(rest.high) > error * SLACK) & (far > error * SLACK))
    broken = (
        ~np.isfinite(a.high)
        | ~np.isfinite(b.high)
        | (np.abs(quotient) >= 2.0**52)
        | (b.high == 0.0)
    )
    if broken.any():
        rest = xp.where(broken, PreciseArray(xp, np.remainder(a.high, b.high)), rest)
        error = np.where(
            broken & (np.abs(quotient) >= 2.0**52), np.inf, 0.0 if error is None else error
        )
    return PreciseArray(xp, rest.high, rest.low, error)


_RULES = {ufunc: _elementary(ufunc) for ufunc in PRECISE} | {
    np.add: _add,
    np.subtract: _subtract,
    np.multiply: _multiply,
    np.divide: _divide,
    np.exp: _exp,
    np.log: _log,
    np.sqrt: _sqrt,
    np.negative: _negative,
    np.absolute: _absolute,
    np.floor: _floor,
    np.rint: _rint,
    np.remainder: _remainder,
    np.maximum: _extreme(np.maximum),
    np.minimum: _extreme(np.minimum),
    np.isfinite: sort_of(np.isfinite),
    np.isnan: sort_of(np.isnan),
}


class PreciseArrays(ExactFunctions):
    """The namespace of double-doubles, from additions, multiplications, divisions and square roots of float64 alone.

    >>> third = PreciseArrays().given(np.float64([1.0])) / 3.0
    >>> float(third.high[0]), float(third.low[0])
    (0.3333333333333333, 1.850371707708594e-17)
    """

    def given(self, value):
        """Return an input, or a floating attribute of a page, unchanged in value."""
        if isinstance(value, np.ndarray):
            return self._wrap(value)
        return self.lifted(value) if isinstance(value, float) else value

    def lifted(self, x) -> PreciseArray:
        """Return a number or a NumPy array as an operand."""
        x = np.asarray(x, np.float64)
        return PreciseArray(self, x, multiples=None if x.ndim else multiples.of_number(x))

    def _wrap(self, array):
        if not is_float(array):
            return array
        wide = array.astype(np.float64)
        short = array if array.dtype.itemsize < 8 else array.astype(np.float32)
        known = multiples.of_array(short) if array is short or np.array_equal(short, wide) else None
        return PreciseArray(self, wide, multiples=known)

    def _move(self, f, *arrays):
        if not any(isinstance(x, PreciseArray) for x in arrays):
            return self._wrap(f(*arrays))
        arrays = [x if isinstance(x, PreciseArray) else self.lifted(x) for x in arrays]
        steps = [
            None
            if x.multiples is None
            else x.multiples._replace(step=spread(x.multiples.step, x.shape))
            for x in arrays
        ]
        return PreciseArray(
            self,
            f(*(x.high for x in arrays)),
            moved_part(f, "low", arrays),
            moved_part(f, "error", arrays),
            multiples.joined(*steps, step=f),
        )

    def _integers(self, x, dtype):
        if not x.exact:
            self.decided(x.error == 0.0)
        whole = x.high.astype(dtype)
        return whole if x.low is None else whole + x.low.astype(dtype)

    def max(self, x, axis=None, keepdims=False):
        inner, leading = sum_axes(x.ndim, axis)
        axes = tuple(sorted(inner + leading))
        terms = self._front(x, axes)
        while len(terms) > 1:
            half = len(terms) // 2
            most = np.maximum(terms[:half], terms[half : 2 * half])
            terms = self.concat([most, terms[2 * half :]]) if len(terms) % 2 else most
        return self._move(lambda part: np.expand_dims(part, axes) if keepdims else part, terms[0])

    def _total(self, x, inner, leading):
        for axes in (inner, leading):
            if axes:
                x = self._added(x, axes)
        return x

    def _front(self, x, axes):
        return self._move(lambda part: in_front(part, axes), x)

    def _added(self, x, axes):
        terms = self._front(x, axes)
        total = (
            tree(terms, join=self.concat) if len(terms) else self.zeros(terms.shape[1:], np.float64)
        )
        return self._move(lambda part: np.expand_dims(part, axes), total)

    def scatter_add(self, target, index, values):
        """Return `target` (C, M) with `values` (C, P) added at the columns `index` (P,), the terms of each as a tree."""
        order = np.argsort(index, kind="stable")
        columns, terms = index[order], values[:, order]
        while True:
            first = np.append(True, columns[1:] != columns[:-1])[: columns.size]
            starts = np.flatnonzero(first)
            place = np.arange(columns.size) - np.repeat(
                starts, np.diff(np.append(starts, columns.size))
            )
            # of each pair of terms of a place, add the second to the first
            second = np.flatnonzero(place % 2)
            if not second.size:
                break
            terms = self._put(terms, second - 1, terms[:, second - 1] + terms[:, second])
            kept = np.flatnonzero(place % 2 == 0)
            columns, terms = columns[kept], terms[:, kept]
        return self._put(target, columns, target[:, columns] + terms)

    def _put(self, target, columns, values):
        """Return `target` with some columns replaced."""

        def replaced(old, new):
            result = np.array(np.broadcast_to(old, target.shape))
            result[:, columns] = new
            return result

        parts = zip(
            (target.high, target.low, target.error), (values.high, values.low, values.error)
        )
        return PreciseArray(
            self,
            *(
                None
                if old is None and new is None
                else replaced(0.0 if old is None else old, 0.0 if new is None else new)
                for old, new in parts
            ),
        )
