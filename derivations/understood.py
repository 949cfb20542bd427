"""What the algebra understands: every head has a known meaning, every sum runs over integers."""

from sympy import (
    ITE,
    Add,
    And,
    Expr,
    I,
    Indexed,
    IndexedBase,
    Integer,
    KroneckerDelta,
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

from derivations.expressions import NotUnderstood, fresh_index, is_function, is_index


def as_expression(value, integers=frozenset()):
    """
    Turn a SymPy expression, an int or a fraction into an Expr; `integers` are symbols and arrays granted as such.

    Raises NotUnderstood for strings, floats, truth values, matrices, unknown heads, and sums not known to run from an
    integer to an integer.
    """
    if isinstance(value, bool):
        raise NotUnderstood(f"a truth value: {value}")
    try:
        e = sympify(value, strict=True)
    except Exception as error:  # SymPy raises many kinds for foreign objects; none of them is an expression
        raise NotUnderstood(f"not an expression: {value!r}") from error
    if not isinstance(e, Expr):
        raise NotUnderstood(f"not an expression: {value!r}")
    _require_understood(e, integers)
    return e


def _require_understood(e, integers):
    if is_index(e) or (isinstance(e, Symbol) and e.is_commutative):
        return
    if isinstance(e, (Integer, Rational, NumberSymbol)) or e is I:
        if e.is_finite is not True:
            raise NotUnderstood(f"not a finite number: {e}")
        return
    if isinstance(e, Sum):
        _require_sum(e, integers)
        return
    if isinstance(e, Piecewise):
        if e.has(Sum):
            raise NotUnderstood(f"a sum inside cases: {e}")
        for branch, condition in e.args:
            _require_understood(branch, integers)
            _require_condition(condition, integers)
        return
    if isinstance(e, Indexed):
        if not isinstance(e.base, IndexedBase):
            raise NotUnderstood(f"an array that is not an IndexedBase: {e}")
        children = e.indices
    elif isinstance(e, (Add, Mul, Pow, KroneckerDelta)) or is_function(e):
        children = e.args
    else:
        raise NotUnderstood(f"{type(e).__name__}: {e}")
    for child in children:
        if not isinstance(child, Expr):
            raise NotUnderstood(f"{type(child).__name__} inside {e}")
        _require_understood(child, integers)


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
                raise NotUnderstood(f"a limit that is not known to be an integer: {end} of {variable}")
        if variable.is_integer is False:
            raise NotUnderstood(f"a bound index that is no integer: {variable}")
        integers = integers | {variable}
    _require_understood(e.function, integers)


def is_integer(e, integers):
    """True when `e` is an integer because its atoms are; the atoms or arrays in `integers` are granted to be."""
    if not e.is_integer and integers:
        granted = {a for a in e.atoms(Symbol, Indexed) | e.free_symbols
                   if a in integers or isinstance(a, Indexed) and a.base in integers}
        e = e.xreplace({a: fresh_index() for a in granted})
    return e.is_integer is True
