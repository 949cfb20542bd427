"""A judge of equations that shares nothing with the package: plain loops with mpmath at 30 digits, any function."""

import random
from functools import cache

import mpmath
from sympy import (
    Abs,
    Add,
    And,
    Indexed,
    KroneckerDelta,
    Max,
    Min,
    Mod,
    Mul,
    Piecewise,
    Pow,
    S,
    Sum,
    exp,
    floor,
    log,
    sign,
)
from sympy.core.relational import Eq, Ge, Gt, Le, Lt, Ne

COMPARE = {
    Lt: lambda a, b: a < b,
    Le: lambda a, b: a <= b,
    Gt: lambda a, b: a > b,
    Ge: lambda a, b: a >= b,
    Eq: lambda a, b: a == b,
    Ne: lambda a, b: a != b,
}


# Lengths for symbols, in order: as many as the largest theorem needs.
SIZES = [(2, 3, 4, 2, 3, 2, 3, 2, 2), (3, 2, 2, 4, 2, 3, 2, 2, 3), (4, 3, 2, 3, 2, 2, 2, 3, 2)]


@cache
def named(e):
    """Return all symbols in an expression; SymPy would walk all of it at each call."""
    return frozenset([e]) if e.is_Symbol else frozenset().union(*map(named, e.args))


class Point:
    """Values for all symbols and array entries, drawn at first use and then kept."""

    def __init__(self, seed, in_range, sizes=SIZES[0]):
        self.rng, self.sizes, self.values, self.memo = random.Random(seed), list(sizes), {}, {}
        self.in_range = in_range

    def value(self, e, bound={}):  # noqa: B006
        names = named(e) if bound else ()
        key = (e, tuple([(v, k) for v, k in bound.items() if v in names]))
        if key not in self.memo:
            self.memo[key] = self._value(e, bound)
        return self.memo[key]

    def _value(self, e, bound):
        def value(arg):
            return self.value(arg, bound)

        if e in bound:
            return bound[e]
        if e.is_Symbol:
            return self._drawn(e, e)
        if e.is_Integer:
            return int(e)
        if e.is_Rational:
            return mpmath.mpf(int(e.p)) / int(e.q)
        if isinstance(e, Indexed):
            return self._drawn((e.base, tuple(int(value(i)) for i in e.indices)), e.base)
        if isinstance(e, Add):
            return sum(map(value, e.args))
        if isinstance(e, Mul):
            result = 1
            for arg in e.args:
                result = result * value(arg)
            return result
        if isinstance(e, exp):
            return mpmath.exp(value(e.args[0]))
        if isinstance(e, Pow):
            return mpmath.power(value(e.base), value(e.exp))
        if isinstance(e, KroneckerDelta):
            return int(value(e.args[0]) == value(e.args[1]))
        if isinstance(e, Sum):
            *inner, (v, low, high) = e.limits
            body = Sum(e.function, *inner) if inner else e.function
            return sum(
                self.value(body, {**bound, v: k})
                for k in range(int(value(low)), int(value(high)) + 1)
            )
        if isinstance(e, Piecewise):
            return next(
                value(branch) for branch, condition in e.args if self._holds(condition, value)
            )
        known = {
            log: mpmath.log,
            Abs: abs,
            floor: mpmath.floor,
            Max: max,
            Min: min,
            sign: mpmath.sign,
            Mod: lambda a, b: a - b * mpmath.floor(mpmath.mpf(a) / b),
        }
        return known[type(e)](*map(value, e.args))

    def _holds(self, condition, value):
        if condition in (S.true, S.false):
            return bool(condition)
        if isinstance(condition, And):
            return all(self._holds(arg, value) for arg in condition.args)
        return COMPARE[type(condition)](value(condition.lhs), value(condition.rhs))

    def _drawn(self, key, kind):
        if key not in self.values:
            self.values[key] = self._draw(kind)
        return self.values[key]

    def _draw(self, kind):
        if kind in self.in_range:
            first, last = (int(self.value(S(limit))) for limit in self.in_range[kind])
            return self.rng.randint(first, last)
        symbol = kind if kind.is_Symbol else kind.label
        if symbol.is_integer and symbol.is_positive and kind.is_Symbol:
            return self.sizes.pop(0)
        if symbol.is_integer:
            return self.rng.randint(0, 2)
        number = mpmath.mpf(self.rng.randint(20, 300)) / 97
        return number if symbol.is_positive or self.rng.random() < 0.5 else -number


def difference(equation, seed, **options):
    """Return |left - right| of an equation at one drawn point, relative to the sides."""
    with mpmath.workdps(30):
        point = Point(seed, equation.in_range, **options)
        left, right = point.value(equation.left), point.value(equation.right)
        return abs(left - right) / (1 + abs(left) + abs(right))
