"""Check that the algebra knows an expression: each function has a known meaning, each sum runs over integers."""

from sympy import (
    ITE,
    Add,
    And,
    Dummy,
    Expr,
    I,
    Indexed,
    IndexedBase,
    KroneckerDelta,
    Min,
    Mul,
    Not,
    NumberSymbol,
    Or,
    Piecewise,
    Pow,
    Rational,
    Sum,
    Symbol,
    sympify,
)
from sympy.core.relational import Relational
from sympy.logic.boolalg import BooleanAtom

from derivations.prover.expressions import (
    CANONICAL,
    NotUnderstood,
    fresh_index,
    is_function,
    is_index,
)

_WHOLE, _NATURAL = fresh_index(), Dummy(integer=True, nonnegative=True)


def as_expression(value, integers=frozenset()):
    """Turn a SymPy expression, an int or a fraction into an Expr; `integers` are symbols and arrays granted to be integers.

    Raises NotUnderstood for strings, floats, truth values, matrices, unknown heads and noncommuting objects. It also refuses
    sums that are not known to run from an integer to an integer, and sums over an index with further assumptions.
    """
    if isinstance(value, bool):
        raise NotUnderstood(f"a truth value: {value}")
    try:
        e = sympify(value, strict=True)
    except Exception as error:
        # SymPy raises many kinds of exceptions for foreign objects; none of these is an expression
        raise NotUnderstood(f"not an expression: {value!r}") from error
    if not isinstance(e, Expr):
        raise NotUnderstood(f"not an expression: {value!r}")
    _require_understood(e, integers)
    return e


def _require_understood(e, integers):
    # a class outside SymPy may compare or evaluate in unknown ways
    kind = type(e)
    if not (
        (kind.__module__ or "sympy").startswith("sympy")
        or getattr(kind, "pointwise", False)
        and kind.__eq__ is Expr.__eq__
    ):
        raise NotUnderstood(f"a kind of expression that SymPy does not have: {kind.__name__}")
    if not e.is_commutative:
        raise NotUnderstood(f"{kind.__name__} that does not commute: {e}")
    if isinstance(e, Dummy) and e.dummy_index >= CANONICAL and e not in integers:
        raise NotUnderstood(
            f"a free symbol named as a bound index: {e}; take another symbol for it"
        )
    if is_index(e) or isinstance(e, Symbol):
        return
    if isinstance(e, (Rational, NumberSymbol)) or e is I:
        if e.is_finite is not True:
            raise NotUnderstood(f"not a finite number: {e}")
        return
    if isinstance(e, Sum):
        _require_sum(e, integers)
        return
    if isinstance(e, Piecewise):
        _require_cases(e, integers)
        return
    for child in _children(e, integers):
        if not isinstance(child, Expr):
            raise NotUnderstood(f"{type(child).__name__} inside {e}")
        _require_understood(child, integers)


def _children(e, integers):
    if isinstance(e, Indexed):
        if not isinstance(e.base, IndexedBase) or e.base.label in integers:
            raise NotUnderstood(
                f"an array that is not an IndexedBase, or is named as an index: {e}"
            )
        return e.base.label, *e.indices
    if isinstance(e, (Add, Mul, Pow, KroneckerDelta)) or is_function(e):
        return e.args
    raise NotUnderstood(f"{type(e).__name__}: {e}")


def _require_cases(e, integers):
    if e.has(Sum):
        raise NotUnderstood(f"a sum stands inside a formula that distinguishes cases: {e}")
    for branch, condition in e.args:
        _require_understood(branch, integers)
        _require_condition(condition, integers)


def _require_condition(e, integers):
    if isinstance(e, (And, Or, Not, ITE)):
        for arg in e.args:
            _require_condition(arg, integers)
    elif isinstance(e, Relational):
        for side in e.args:
            _require_understood(side, integers)
    elif not isinstance(e, BooleanAtom):
        raise NotUnderstood(f"a condition of kind {type(e).__name__}: {e}")


def _require_sum(e, integers):
    for limit in reversed(e.limits):  # the last limit is the outermost
        if len(limit) != 3 or not (isinstance(limit[0], Symbol) or is_index(limit[0])):
            raise NotUnderstood(f"a sum without lower and upper limit: {e}")
        variable, *ends = limit
        for end in ends:
            _require_understood(end, integers)
            if not is_integer(end, integers):
                raise NotUnderstood(f"a limit that is not known to be an integer: {limit}")
        require_granted(*limit)
        integers = integers | {variable}
    _require_understood(e.function, integers)


def require_granted(index, first, last):
    """Raise NotUnderstood if `index` has assumptions beyond its range, which SymPy may have used in evaluation."""
    reach = _WHOLE, first + _NATURAL, last - _NATURAL
    granted = all(
        any(getattr(one, f"is_{fact}", None) is value for one in reach)
        for fact, value in index.assumptions0.items()
    )
    low = getattr(index, "lower", None)  # an Idx may have its own range
    if not granted or low is not None and not Min(first - low, index.upper - last).is_nonnegative:
        raise NotUnderstood(
            f"more is declared of {index} than that it is an integer from {first} to {last}"
        )


def is_integer(e, integers):
    """Return True if `e` is an integer because its atoms are; atoms or arrays in `integers` are granted to be."""
    if not e.is_integer and integers:
        granted = {
            a
            for a in e.atoms(Symbol, Indexed) | e.free_symbols
            if a in integers or isinstance(a, Indexed) and a.base in integers
        }
        e = e.xreplace({a: fresh_index() for a in granted})
    return e.is_integer is True
