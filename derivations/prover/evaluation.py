"""Evaluate one expression on NumPy arrays: in float64, or with mpmath at any number of digits."""

import math
from collections.abc import Mapping
from contextlib import nullcontext
from functools import reduce

import mpmath
import numpy as np
from sympy import (
    ITE,
    Abs,
    Add,
    And,
    Basic,
    Dummy,
    Expr,
    Indexed,
    KroneckerDelta,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Piecewise,
    Pow,
    S,
    Sum,
    Symbol,
    exp,
    floor,
    log,
)
from sympy.core.relational import Eq, Ge, Gt, Le, Lt, Ne

COMPARISONS = {
    Lt: np.less,
    Le: np.less_equal,
    Gt: np.greater,
    Ge: np.greater_equal,
    Eq: np.equal,
    Ne: np.not_equal,
}


def evaluate(e, values, indices=(), digits=None):
    """
    The values of `e` as an array with one axis for each of `indices`.

    `values` maps names (of arrays, symbols and sizes) to arrays and numbers. `indices` maps the free indices of `e`, in
    the order of the axes, to their lengths. Without `digits` the result is float64; with digits=50 an object array of
    mpmath numbers, computed from the exact values of the inputs.

    Raises KeyError for a name without a value, TypeError for what is no expression or mapping.

    >>> from sympy import IndexedBase, Sum, symbols
    >>> i, j, n = symbols("i j n", integer=True)
    >>> x = IndexedBase("x")
    >>> evaluate(x[i] / Sum(x[j], (j, 0, n - 1)), {"x": [1.0, 3.0], "n": 2}, {i: 2}).tolist()
    [0.25, 0.75]
    """
    _need(isinstance(e, Basic), "evaluate takes a SymPy expression", e, "pass one")
    _need(
        isinstance(values, Mapping) and all(isinstance(name, str) for name in values),
        "values is a dict of arrays and numbers by name",
        values,
        'pass such as {"x": [1.0]}',
    )
    _need(
        indices == () or isinstance(indices, Mapping),
        "indices is a dict of lengths by index",
        indices,
        "pass such as {i: 2}",
    )
    _need(
        digits is None or isinstance(digits, int) and 0 < digits < 10**6,
        "digits is a number of decimal digits, or None",
        digits,
        "pass such as 50",
    )
    indices = dict(indices)
    with mpmath.workdps(digits + 3) if digits else nullcontext():
        evaluator = _Evaluator({symbol.name for symbol in e.atoms(Symbol)}, values, bool(digits))
        axes = tuple(indices)
        result = evaluator.value(e, axes, {index: (0, n) for index, n in indices.items()})
        return np.array(np.broadcast_to(result, [indices[index] for index in axes]))


def _need(holds, asked, value, fix):
    if not holds:
        raise TypeError(f"{asked}: got {type(value).__name__} {value!r:.60}; {fix}")


def _is_number(e):
    """As `is_number`, but for sums, which are computed: SymPy builds all of a sum anew to see what is free in it."""
    if isinstance(e, Sum):
        return False
    return (
        all(map(_is_number, e.args))
        if e.args and type(e).is_number is Expr.is_number
        else e.is_number
    )


class _Evaluator:
    """Every value is a number or an array that broadcasts over `axes`, the free and bound indices in scope."""

    def __init__(self, names, values, is_exact):
        self.is_exact, self.memo = is_exact, {}
        self.arrays = {name: self._array(value) for name, value in values.items() if name in names}

    def _array(self, value):
        value = np.asarray(value)
        if value.dtype.kind in "iu":
            return value
        return self._applied("mpf", value) if self.is_exact else value.astype(np.float64)

    def _applied(self, name, *values):
        """A function of mpmath for each element of arrays, or that of NumPy."""
        if self.is_exact:
            return np.frompyfunc(getattr(mpmath, name), len(values), 1)(*values)
        return getattr(np, name)(*(np.asarray(value, np.float64) for value in values))

    def _number(self, e):
        if not self.is_exact:
            return np.float64(e.p) / np.float64(e.q) if e.is_Rational else np.float64(e)
        if e.is_Rational:
            return mpmath.mpf(int(e.p)) / int(e.q)
        return mpmath.mpf(str(e.evalf(mpmath.mp.dps + 5)))

    def value(self, e, axes, lengths):
        key = (e, axes, tuple(lengths[a] for a in axes))
        if key not in self.memo:
            self.memo[key] = self._value(e, axes, lengths)
        return self.memo[key]

    def _value(self, e, axes, lengths):
        def value(arg):
            return self.value(arg, axes, lengths)

        if e in axes:
            shape = [1] * len(axes)
            first, length = lengths[e]
            shape[axes.index(e)] = length
            return np.arange(first, first + length).reshape(shape)
        if e.is_Symbol:
            return self.arrays[e.name]
        if e.is_Integer:
            return int(e)
        if _is_number(e):
            return self._number(e)
        if isinstance(e, Indexed):
            return self._entry(self.arrays[e.base.name], [value(index) for index in e.indices], e)
        if isinstance(e, Sum):
            return self._sum(e, axes, lengths)
        if isinstance(e, Add):
            return sum(map(value, e.args[1:]), start=value(e.args[0]))
        if isinstance(e, Mul):
            return math.prod(map(value, e.args[1:]), start=value(e.args[0]))
        if isinstance(e, KroneckerDelta):
            return np.equal(value(e.args[0]), value(e.args[1])).astype(np.int64)
        if isinstance(e, Pow):
            return self._power(value(e.base), e.exp, value)
        if isinstance(e, Piecewise):
            return self._cases(e, value)
        return self._function(e, value)

    def _entry(self, array, indices, e):
        indices = np.broadcast_arrays(*[np.asarray(index, dtype=np.int64) for index in indices])
        for axis, index in enumerate(indices):
            if index.size and (index.min() < 0 or index.max() >= array.shape[axis]):
                raise IndexError(
                    f"evaluate: got an index outside axis {axis} of {e.base.name}, whose length is "
                    f"{array.shape[axis]}; give an array of the size that the sums run over"
                )
        return array[tuple(indices)]

    def _sum(self, e, axes, lengths):
        *inner, (v, low, high) = e.limits
        body = Sum(e.function, *inner) if inner else e.function
        first, last = (int(self.value(limit, (), lengths)) for limit in (low, high))
        if v in axes:  # the same letter is in use outside
            hidden, v = v, Dummy(v.name, integer=True)
            body = body.xreplace({hidden: v})
        total = self.value(body, (*axes, v), {**lengths, v: (first, last - first + 1)})
        total = np.broadcast_to(
            total, np.broadcast_shapes(np.shape(total), (1,) * len(axes) + (last - first + 1,))
        )
        return total.sum(axis=-1)

    def _power(self, base, exponent, value):
        if exponent.is_Integer:
            positive = math.prod([base] * (abs(int(exponent)) - 1), start=base)
        elif abs(exponent) == S.Half:
            positive = self._applied("sqrt", base)
        elif exponent.is_number:
            return self._applied("power", base, self._number(exponent))
        else:
            return self._applied("exp", value(exponent) * self._applied("log", base))
        return positive if exponent > 0 else self._number(S.One) / positive

    def _cases(self, e, value):
        result = mpmath.nan if self.is_exact else np.nan
        for branch, condition in reversed(e.args):
            result = np.where(self._holds(condition, value), value(branch), result)
        return result

    def _holds(self, condition, value):
        if condition in (S.true, S.false):
            return bool(condition)
        if type(condition) in COMPARISONS:
            sides = value(condition.lhs), value(condition.rhs)
            return np.asarray(COMPARISONS[type(condition)](*sides), dtype=bool)
        parts = [self._holds(arg, value) for arg in condition.args]
        if isinstance(condition, ITE):  # what SymPy makes of a comparison with a Piecewise
            return np.where(*parts)
        if isinstance(condition, Not):
            return np.logical_not(parts[0])
        combine = {And: np.logical_and, Or: np.logical_or}[type(condition)]
        return combine.reduce(np.broadcast_arrays(*parts))

    def _function(self, e, value):
        args = [value(arg) for arg in e.args]
        if isinstance(e, (exp, log)):
            return self._applied(type(e).__name__, args[0])
        if isinstance(e, Abs):
            return np.abs(args[0])
        if isinstance(e, floor):
            return self._floor(args[0])
        if isinstance(e, Mod):
            return args[0] - args[1] * self._floor(args[0] / args[1])
        if isinstance(e, (Max, Min)):
            pick = np.maximum if isinstance(e, Max) else np.minimum
            return reduce(pick, args)
        raise KeyError(
            f"evaluate: got the function {type(e).__name__}; give an expression of known functions"
        )

    def _floor(self, value):
        return np.asarray(self._applied("floor", value)).astype(np.int64)
