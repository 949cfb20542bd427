"""The question that everything else asks: are two expressions equal, and under which assumptions?"""

from dataclasses import dataclass

from sympy import PolynomialError, Pow, expand_mul, nan, zoo

from derivations.canonical import is_total
from derivations.expressions import NotUnderstood, as_expression
from derivations.normal_form import normal_form
from derivations.ranges import Ranges
from derivations.rational import is_rationally_zero


@dataclass(frozen=True)
class Evidence:
    """Whether an equation was proved, and what it divides by that is not known to differ from 0."""

    holds: bool
    denominators: tuple = ()


def proves_equal(a, b, *, in_range=None):
    """
    True only when `a` equals `b` for all values of their symbols, all array entries and all lengths of the sums.

    `a` and `b` are SymPy expressions (or integers) with sums over finite ranges, array entries x[i], Kronecker deltas,
    powers, exponentials and other functions. A free index has no range unless `in_range={index: (first, last)}` grants
    one, both ends included; an IndexedBase as key grants it to all entries of an array of indices. Equal means: equal
    wherever both sides are defined, as x*y/x equals y. False means "not proved", never "unequal"; what is not
    understood (floats, infinite sums, matrices, other objects) is not proved.

    Raises TypeError when `in_range` is not such a mapping.

    >>> from sympy import IndexedBase, KroneckerDelta, Sum, symbols
    >>> i, j, n = symbols("i j n", integer=True, positive=True)
    >>> x = IndexedBase("x")
    >>> entry = Sum(KroneckerDelta(i, j) * x[j], (j, 0, n - 1))
    >>> proves_equal(entry, x[i]), proves_equal(entry, x[i], in_range={i: (0, n - 1)})
    (False, True)
    """
    return examine(a, b, in_range).holds


def examine(a, b, in_range=None):
    """Like `proves_equal`, but returns the Evidence."""
    ranges = Ranges(in_range)
    try:
        a, b = as_expression(a), as_expression(b)
        if a == b:
            return Evidence(True)
        difference = expand_mul(normal_form(a, ranges) - normal_form(b, ranges))
        if difference.has(nan, zoo):
            return Evidence(False)
        holds = difference == 0 or is_rationally_zero(difference)
    except (NotUnderstood, PolynomialError, NotImplementedError, RecursionError):
        return Evidence(False)
    return Evidence(holds, _denominators(a, b) if holds else ())


def _denominators(*expressions):
    """What the expressions divide by and is not known to differ from 0."""
    powers = {p for e in expressions for p in e.atoms(Pow)}
    bases = {p.base for p in powers if not is_total(Pow(p.base, p.exp)) and not is_total(p)}
    return tuple(sorted(bases, key=lambda base: (base.count_ops(), str(base))))
