"""Substitution that leaves bound indices alone, under every function that binds one, and the kinds of functions."""

from functools import lru_cache

from sympy import (
    Abs,
    Add,
    Basic,
    Derivative,
    Dummy,
    Function,
    Idx,
    Indexed,
    Integral,
    Lambda,
    Max,
    Min,
    Mod,
    Mul,
    Number,
    Pow,
    Subs,
    Sum,
    Symbol,
    Tuple,
    ceiling,
    cos,
    exp,
    expand,
    expand_mul,
    floor,
    log,
    nan,
    oo,
    sign,
    sin,
    tanh,
    zoo,
)
from sympy.concrete.expr_with_limits import ExprWithLimits
from sympy.core.function import AppliedUndef
from sympy.functions.elementary.piecewise import ExprCondPair
from sympy.logic.boolalg import Boolean

# accepted functions for which no identities are known
UNRULED = (log, sin, cos, tanh, sign, floor, ceiling, Min, Mod)
_FUNCTIONS = (exp, Abs, Max, *UNRULED)
CANONICAL = 10**12  # canonical indices have larger numbers than SymPy's own dummies
_FIRST_NAME = 2 * CANONICAL  # new names have larger numbers than canonical indices
_BINDS_NOTHING = (Add, Mul, Pow, Function, Boolean, ExprCondPair, Tuple)


class NotUnderstood(Exception):
    """The expression lies outside the algebra; nothing is proved about it."""


class TooLarge(NotUnderstood):
    """An expansion has too many terms; another way may still succeed."""


def is_index(e):
    return isinstance(e, Idx)


def is_function(e):
    """Return whether `e` is a pointwise function: equal arguments give equal values, and it binds nothing."""
    return isinstance(e, _FUNCTIONS + (AppliedUndef,)) or getattr(type(e), "pointwise", False)


def fresh_index(name="i"):
    """Return a new integer symbol that equals no other symbol."""
    return Dummy(name, integer=True)


class Names:
    """New names for bound indices, which occur in none of the `expressions`.

    The names are rising numbers, so that equal work gives equal expressions, and caches of SymPy and the normal form apply.
    """

    def __init__(self, *expressions):
        taken = (s.dummy_index for e in expressions for s in e.atoms(Dummy))
        self._number = max(filter(_FIRST_NAME.__le__, taken), default=_FIRST_NAME)

    def __call__(self, v, whole):
        """Return a new name for `v`: an integer if it runs over `whole` numbers only."""
        self._number += 1
        assumptions = (("integer", True),) if whole else _assumptions(v)
        return _numbered(v.name, self._number, assumptions)


@lru_cache(maxsize=4096)
def _numbered(name, number, assumptions):
    return Dummy(name, dummy_index=number, **dict(assumptions))


def substitute(e, mapping, names=None):
    """Replace symbols, or whole entries such as t[r], by expressions.

    Bound indices are renamed, so nothing is captured; the name of an array is never replaced. `names` gives the new names, so
    that they are new beyond `e` and `mapping`, too.

    >>> from sympy import IndexedBase, Sum, symbols
    >>> i, j, n = symbols("i j n", integer=True)
    >>> x = IndexedBase("x")
    >>> substitute(Sum(x[i, j], (j, 0, n)), {i: j}).has(x[j, j])
    False
    """
    if names is None:
        names = Names(
            *(part for part in (e, *mapping, *mapping.values()) if isinstance(part, Basic))
        )
    return _substitute(e, mapping, names, {})


def _substitute(e, mapping, names, memo):
    if e in mapping:
        return mapping[e]
    if e in memo:
        return memo[e]
    if not e.args or is_index(e):
        result = e
    elif isinstance(e, Indexed):
        result = Indexed(e.base, *[_substitute(index, mapping, names, memo) for index in e.indices])
        result = mapping.get(result, result)
    elif isinstance(e, (ExprWithLimits, Lambda, Subs, Derivative)):
        result = _substitute_under_binder(e, mapping, names)
    elif not isinstance(e, _BINDS_NOTHING) and e.free_symbols != set().union(
        *[arg.free_symbols for arg in e.args]
    ):
        raise NotUnderstood(f"{type(e).__name__} binds a symbol: {e}")
    else:
        args = [
            _substitute(arg, mapping, names, memo) if isinstance(arg, Basic) else arg
            for arg in e.args
        ]
        result = e if all(new is old for new, old in zip(args, e.args)) else e.func(*args)
    memo[e] = result
    return result


def _substitute_under_binder(e, mapping, names):
    if isinstance(e, ExprWithLimits):
        return _substitute_in_limits(e, mapping, names)
    if isinstance(e, Lambda):
        inner, fresh = _rebound(mapping, e.variables, names)
        return Lambda(tuple(fresh), substitute(e.expr, inner, names))
    if isinstance(e, Subs):
        inner, fresh = _rebound(mapping, e.variables, names)
        at = tuple(substitute(at, mapping, names) for at in e.point)
        return Subs(substitute(e.expr, inner, names), tuple(fresh), at)
    return _substitute_in_derivative(e, mapping, names)


def _substitute_in_derivative(e, mapping, names):
    """Substitute in a derivative; its variable is also the point, so another symbol may replace it, but no value."""
    inner, fresh = _rebound(mapping, tuple(dict.fromkeys(e.variables)), names)
    moved = substitute(e.expr, inner, names)
    places = {
        new: substitute(v, mapping, names) for v, new in zip(dict.fromkeys(e.variables), fresh)
    }
    if len(set(places.values())) < len(places) or not all(
        isinstance(place, Symbol) and not moved.has(place) for place in places.values()
    ):
        raise NotUnderstood(f"a derivative at a value: {e} at {mapping}")
    return Derivative(moved, *[(inner[v], count) for v, count in e.variable_count]).xreplace(places)


def _substitute_in_limits(e, mapping, names):
    inner, limits = dict(mapping), []
    for variable, *ends in reversed(e.limits):  # the last limit is the outermost
        if not ends:
            raise NotUnderstood(f"{type(e).__name__} without limits: {e}")
        ends = [substitute(end, inner, names) for end in ends]
        whole = not e.has(Integral) and all(end.is_integer for end in ends)
        inner, (fresh,) = _rebound(inner, (variable,), names, whole)
        limits.insert(0, (fresh, *ends))
    return e.func(substitute(e.function, inner, names), *limits)


def _rebound(mapping, variables, names, whole=False):
    """Return the mapping inside a binder and the new names of its bound symbols, integers only if `whole`."""
    if not all(isinstance(v, (Symbol, Idx)) for v in variables):
        raise NotUnderstood(f"bound, but not a symbol: {variables}")
    fresh = [names(v, whole) for v in variables]
    kept = {key: value for key, value in mapping.items() if not key.has(*variables)}
    return {**kept, **dict(zip(variables, fresh))}, fresh


def _assumptions(v):
    return (
        ()
        if isinstance(v, Idx)
        else tuple(pair for pair in v.assumptions0.items() if pair[0] != "commutative")
    )


def insert(e, mapping, names=None):
    """Like `substitute`, for values at which `e` must be defined.

    Raises NotUnderstood if a divisor of `e`, or an argument of its logarithms, becomes 0.
    """
    for node in e.atoms(Pow, log, Mod):
        base = node.base if isinstance(node, Pow) else node.args[-1]
        may_divide = not isinstance(node, Pow) or not node.exp.is_nonnegative
        if may_divide and base.has(*mapping) and expand(substitute(base, mapping)) == 0:
            raise NotUnderstood(
                f"a pole: {node} at {', '.join(f'{v} = {value}' for v, value in mapping.items())}"
            )
    result = substitute(e, mapping, names)
    if result.has(nan, zoo, oo, -oo):
        raise NotUnderstood(f"not finite: {e} at {mapping}")
    return result


def freshen(e, names=None):
    """Give every bound index of `e` a unique name; afterwards plain replacement cannot capture."""
    return substitute(e, {}, names)


@lru_cache(maxsize=8192)
def expanded(e):
    """Return `expand(e)`, without the call for sums of multiples of symbols, which it leaves unchanged."""
    if all(isinstance(term.as_coeff_Mul()[1], (Symbol, Number)) for term in Add.make_args(e)):
        return e
    return expand(e)


def multiplied(e):
    """Return `e` with products of sums multiplied out, one level deep."""
    return Add(
        *[
            expand_mul(term) if any(f.is_Add for f in Mul.make_args(term)) else term
            for term in Add.make_args(e)
        ]
    )


@lru_cache(maxsize=4096)
def has_sum(e):
    return e.has(Sum)
