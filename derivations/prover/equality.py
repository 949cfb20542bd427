"""Decide whether two expressions are equal, with the assumptions needed or the reason why not; every theorem asks this."""

from functools import lru_cache

from sympy import KroneckerDelta, Pow, Sum, nan, zoo

from derivations.prover.canonical import is_total
from derivations.prover.expressions import UNRULED, NotUnderstood, TooLarge, multiplied
from derivations.prover.normal_form import normal_form
from derivations.prover.poles import require_no_poles
from derivations.prover.ranges import Ranges
from derivations.prover.rational import is_rationally_zero, operations, terms
from derivations.prover.sentences import SAID, Sentence
from derivations.prover.vocabulary import as_expression, require_granted

# most terms of a rational identity that is expanded after the normal form gave up
MAX_EXPANDED = 30000
MAX_SHOWN = 60  # most operations of a difference that a reason shows


class Answer(int):
    """True when an equation was proved; otherwise False, with the obstacle in the sentence `reason`.

    It is an int, like bool: it compares, adds and hashes like True or False (only `is` differs). `denominators` are the
    divisors of a proved equation that are not known to differ from 0.

    >>> Answer() == True, Answer("a matrix").reason
    (True, 'a matrix')
    """

    def __new__(cls, reason="", denominators=()):
        self = super().__new__(cls, not reason)
        self.reason, self.denominators = reason, denominators
        return self

    def __getnewargs__(self):
        return self.reason, self.denominators

    def __repr__(self):
        return repr(bool(self))


def proves_equal(a, b, *, in_range=None):
    """Return whether two expressions are proved equal for all values, entries and lengths.

    Parameters
    ----------
    a, b : sympy.Expr or int
        Expressions with sums over finite ranges of integers, array entries x[i], Kronecker deltas,
        powers, exponentials and other functions.
    in_range : dict, optional
        `{index: (first, last)}` gives a free index a range, both ends included; by default it has
        none. An IndexedBase as key gives the range to all entries of an array of indices.

    Returns
    -------
    Answer
        True or False, with `.reason`. False means "not proved", never "unequal".

    Raises
    ------
    TypeError
        If `in_range` is not such a mapping.

    Notes
    -----
    Equal means equal wherever both sides are defined: x*y/x equals y. Nothing is proved about floats,
    matrices and other objects, unknown or noncommuting functions, infinite sums, sums with limits not
    known to be integers, sums through possible poles, and indices with assumptions beyond their range,
    such as a positive index that starts at 0.

    Examples
    --------
    >>> from sympy import IndexedBase, KroneckerDelta, Product, Sum, symbols
    >>> i, j, n = symbols("i j n", integer=True)
    >>> x = IndexedBase("x")
    >>> entry = Sum(KroneckerDelta(i, j) * x[j], (j, 0, n - 1))
    >>> proves_equal(entry, x[i]), proves_equal(entry, x[i], in_range={i: (0, n - 1)})
    (False, True)
    >>> proves_equal(Product(i, (i, 1, n)), n).reason
    'not understood: Product: Product(i, (i, 1, n))'
    """
    ranges = Ranges(in_range)
    try:
        return _examined(a, b, ranges)
    except NotUnderstood as refusal:
        return Answer(Sentence(SAID["not understood"], why=_reason(refusal)))
    except Exception as error:
        # SymPy raises many kinds of exceptions when it gives up; none of them is a proof
        return Answer(f"given up: {type(error).__name__}: {error}")


def _reason(refusal):
    known, colon, rest = str(refusal).partition(": ")
    return Sentence("{name}: {what}", name=Sentence(known), what=rest) if colon else Sentence(known)


def _examined(a, b, ranges):
    granted = frozenset(ranges.granted)
    a, b = as_expression(a, granted), as_expression(b, granted)
    for index, ends in ranges.granted.items():
        require_granted(index, *ends)
    return Answer() if a == b else _compared(a, b, ranges)


@lru_cache(maxsize=2048)
def _compared(a, b, ranges):
    require_no_poles(a, ranges)
    require_no_poles(b, ranges)
    try:
        difference = multiplied(normal_form(a, ranges) - normal_form(b, ranges))
    except TooLarge:
        if (a - b).has(Sum, KroneckerDelta) or terms(a - b) > MAX_EXPANDED:
            raise
        # fractions could not be expanded and may stay so
        difference = a - b
    if difference.has(nan, zoo):
        return Answer("not understood: a pole: the difference is not finite")
    if difference == 0 or is_rationally_zero(difference):
        return Answer(denominators=_denominators(a, b))
    if names := sorted({type(node).__name__ for node in difference.atoms(*UNRULED)}):
        values = {"difference": _short(difference), "names": ", ".join(names)}
        return Answer(Sentence(SAID["no identity"], **values))
    return Answer(Sentence(SAID["no rule"], difference=_short(difference)))


def _short(e):
    count = operations(e)
    return str(e) if count <= MAX_SHOWN else f"{len(e.args)} terms of {count} operations"


def _denominators(*expressions):
    """Return the divisors of the expressions that are not known to differ from 0."""
    powers = {p for e in expressions for p in e.atoms(Pow)}
    bases = {p.base for p in powers if not is_total(Pow(p.base, p.exp)) and not is_total(p)}
    return tuple(sorted(bases, key=lambda base: (base.count_ops(), str(base))))
