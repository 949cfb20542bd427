"""Ranges of indices, and proofs that an index lies within the limits of a sum."""

from collections.abc import Mapping
from functools import lru_cache

from sympy import Add, Dummy, Expr, Idx, Indexed, IndexedBase, Integer, Mul, Symbol

from derivations.prover.expressions import NotUnderstood, expanded
from derivations.prover.vocabulary import as_expression


class Ranges:
    """Ranges granted by the caller: {index: (first, last)}, both ends included.

    A key is a symbol, or an IndexedBase whose entries are all such indices (class labels, for example). A granted range implies
    that the index is an integer.

    Raises TypeError when `granted` is anything else.
    """

    def __init__(self, granted=None):
        self.granted = _checked({} if granted is None else granted)
        self._key = frozenset(self.granted.items())

    def __eq__(self, other):
        return isinstance(other, Ranges) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def of(self, atom, bounds):
        """Return (first, last) of a symbol or of an array entry, or None; `bounds` are the limits of enclosing sums."""
        if atom in bounds:
            first, last = bounds[atom]
            return (first, last) if is_nonnegative(last - first + 1) else None
        key = atom.base if isinstance(atom, Indexed) else atom
        return self.granted.get(key)

    def contains(self, first, last, e, bounds):
        """Return True if first <= e <= last and e is an integer are proved; None as an end is no limit."""
        enclosure = self._enclosure(e, bounds)
        if enclosure is None:
            return False
        low, high = enclosure
        return (first is None or is_nonnegative(low - first)) and (
            last is None or is_nonnegative(last - high)
        )

    def _enclosure(self, e, bounds):
        """Return an interval [low, high] that contains the integer `e`, or None."""
        low, high = Integer(0), Integer(0)
        for term in Add.make_args(expanded(e)):
            coefficient, atom = term.as_coeff_Mul()
            limits = self.of(atom, bounds) if isinstance(atom, (Symbol, Idx, Indexed)) else None
            if not coefficient.is_Integer or (limits is None and atom.is_integer is not True):
                return None
            first, last = limits or (atom, atom)
            low += coefficient * (first if coefficient > 0 else last)
            high += coefficient * (last if coefficient > 0 else first)
        return low, high


def _checked(granted):
    if not isinstance(granted, Mapping):
        raise TypeError(_problem(granted))
    checked = {}
    for index, limits in granted.items():
        if not isinstance(index, (Symbol, Idx, IndexedBase)):
            raise TypeError(_problem(index))
        try:
            first, last = limits
            checked[index] = (as_expression(first), as_expression(last))
            if not isinstance(index, IndexedBase):
                as_expression(index)  # refuses names that the prover gives to bound indices
        except (TypeError, ValueError, NotUnderstood) as error:
            raise TypeError(_problem(limits)) from error
    return checked


def _problem(got):
    return (
        "in_range maps indices to their first and last value: "
        f"got {got!r}; give {{symbol or IndexedBase: (first, last)}}"
    )


@lru_cache(maxsize=4096)
def is_nonnegative(e):
    """Return True if `e` >= 0 follows from the assumptions of its symbols (positive integers are at least 1)."""
    if not isinstance(e, Expr):
        raise NotUnderstood(f"not an expression: {e!r}")
    at_least_one = {
        s: Dummy(s.name, integer=True, nonnegative=True) + 1
        for s in e.free_symbols
        if s.is_Symbol and s.is_integer and s.is_positive
    }
    shifted = expanded(e.xreplace(at_least_one)) if not e.atoms(Indexed) else e
    return all(_is_nonnegative_monomial(term) for term in Add.make_args(shifted))


def _is_nonnegative_monomial(term):
    coefficient, rest = term.as_coeff_Mul()
    return coefficient.is_nonnegative is True and all(
        f.is_nonnegative is True for f in Mul.make_args(rest)
    )
