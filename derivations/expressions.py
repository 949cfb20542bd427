"""The expressions that the index algebra understands, and substitution that cannot capture a bound index."""

from functools import lru_cache

from sympy import (
    Abs,
    Add,
    Basic,
    ConditionSet,
    Dummy,
    Expr,
    Float,
    I,
    Idx,
    Indexed,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Lambda,
    Max,
    Min,
    Mul,
    NumberSymbol,
    Piecewise,
    Pow,
    Rational,
    Sum,
    Symbol,
    ceiling,
    cos,
    exp,
    floor,
    log,
    sign,
    sin,
    sympify,
    tanh,
)
from sympy.core.function import AppliedUndef, FunctionClass

_FUNCTIONS = (exp, log, sin, cos, tanh, Abs, sign, floor, ceiling, Max, Min)
_NOT_INSIDE_CASES = (Sum, Lambda, ConditionSet, FunctionClass, Float)


class NotUnderstood(Exception):
    """The expression lies outside the algebra; nothing is proved about it."""


def as_expression(value):
    """Turn a SymPy expression, an int or a fraction into an Expr; strings, floats, booleans, matrices are refused."""
    if isinstance(value, bool):
        raise NotUnderstood(f"a truth value: {value}")
    try:
        e = sympify(value, strict=True)
    except Exception as error:  # SymPy raises many kinds for foreign objects; none of them is an expression
        raise NotUnderstood(f"not an expression: {value!r}") from error
    if not isinstance(e, Expr):
        raise NotUnderstood(f"not an expression: {value!r}")
    require_understood(e)
    return e


def require_understood(e):
    """Raise NotUnderstood unless every node of `e` is one whose meaning the algebra knows."""
    if is_index(e) or (isinstance(e, Symbol) and e.is_commutative):
        return
    if isinstance(e, (Integer, Rational, NumberSymbol)) or e is I:
        if e.is_finite is not True:
            raise NotUnderstood(f"not a finite number: {e}")
        return
    if isinstance(e, Indexed):
        if not isinstance(e.base, IndexedBase):
            raise NotUnderstood(f"an array that is not an IndexedBase: {e}")
        children = e.indices
    elif isinstance(e, Sum):
        children = [e.function]
        for limit in e.limits:
            if len(limit) != 3 or not (isinstance(limit[0], Symbol) or is_index(limit[0])):
                raise NotUnderstood(f"a sum without lower and upper limit: {e}")
            children += limit[1:]
    elif isinstance(e, Piecewise):
        if e.has(*_NOT_INSIDE_CASES):
            raise NotUnderstood(f"a sum or a float inside cases: {e}")
        return
    elif isinstance(e, (Add, Mul, Pow, KroneckerDelta)) or is_function(e):
        children = e.args
    else:
        raise NotUnderstood(f"{type(e).__name__}: {e}")
    for child in children:
        if not isinstance(child, Expr):
            raise NotUnderstood(f"{type(child).__name__} inside {e}")
        require_understood(child)


def is_index(e):
    return isinstance(e, Idx)


def is_function(e):
    """A function of numbers: equal arguments give equal values, and it binds no index."""
    return isinstance(e, _FUNCTIONS + (AppliedUndef,)) or getattr(type(e), "pointwise", False)


def fresh_index(name="i"):
    """A new integer symbol that equals no other symbol."""
    return Dummy(name, integer=True)


def substitute(e, mapping):
    """
    Replace symbols, or whole entries such as t[r], by expressions.

    Bound indices are renamed on the way, so nothing is captured; the name of an array is never replaced.

    >>> from sympy import IndexedBase, Sum, symbols
    >>> i, j, n = symbols("i j n", integer=True)
    >>> x = IndexedBase("x")
    >>> substitute(Sum(x[i, j], (j, 0, n)), {i: j}).has(x[j, j])
    False
    """
    return _substitute(e, mapping, {})


def _substitute(e, mapping, memo):
    if e in mapping:
        return mapping[e]
    if e in memo:
        return memo[e]
    if not e.args or is_index(e):
        result = e
    elif isinstance(e, Indexed):
        result = Indexed(e.base, *[_substitute(index, mapping, memo) for index in e.indices])
        result = mapping.get(result, result)
    elif isinstance(e, Sum):
        result = _substitute_in_sum(e, mapping)
    else:
        args = [_substitute(arg, mapping, memo) if isinstance(arg, Basic) else arg for arg in e.args]
        result = e if all(new is old for new, old in zip(args, e.args)) else e.func(*args)
    memo[e] = result
    return result


def _substitute_in_sum(e, mapping):
    inner, limits = dict(mapping), []
    for variable, low, high in reversed(e.limits):  # the last limit is the outermost
        low, high = substitute(low, inner), substitute(high, inner)
        fresh = fresh_index(variable.name)
        for key in [key for key in inner if key.has(variable)]:
            del inner[key]
        inner[variable] = fresh
        limits.insert(0, (fresh, low, high))
    return Sum(substitute(e.function, inner), *limits)


def freshen(e):
    """Give every bound index of `e` a name of its own; afterwards plain replacement cannot capture."""
    return substitute(e, {})


@lru_cache(maxsize=4096)
def has_sum(e):
    return e.has(Sum)
