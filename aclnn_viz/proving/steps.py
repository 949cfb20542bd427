"""SymPy functions for proofs about arrays: steps (comparisons, rounding), and the arithmetic of indices and axes.

A step is constant except at its jumps.
"""

from fractions import Fraction
from functools import cache, lru_cache
from math import isfinite, pi, sqrt
from numbers import Integral, Real

from sympy import (
    Add,
    Expr,
    Function,
    Indexed,
    Integer,
    KroneckerDelta,
    Mul,
    Rational,
    S,
    Sum,
    Symbol,
    exp,
    expand,
)

from derivations.prover.equality import proves_equal
from derivations.prover.ranges import is_nonnegative

BOOL, INT, REAL = "bool", "int", "real"


class Refused(Exception):
    """A page uses an operation that symbolic arrays lack; nothing is proved about it."""


def replaced(shape, axis, *lengths):
    """Return the shape with these lengths, none or several, in the place of one axis."""
    return (*shape[:axis], *lengths, *shape[axis + 1 :])


class Pieces:
    """Arrays joined along an axis: a scattered array, or an output whose pieces are proved separately."""

    def __init__(self, xp, arrays, axis):
        self.xp, self.arrays, self.axis = xp, arrays, axis % arrays[0].ndim

    @property
    def shape(self):
        first = self.arrays[0].shape
        return replaced(first, self.axis, sum(a.shape[self.axis] for a in self.arrays))

    def __getattr__(self, name):
        raise Refused(f"{name} of joined arrays is not known")


class Step(Function):
    """A function that is constant except for jumps, so its derivative is 0 wherever it exists."""

    pointwise = step = True
    is_real = is_finite = True

    @classmethod
    def eval(cls, e, *others):
        if e.is_Rational and not others:
            return Integer(int(cls.of_number(e)))
        return None


class Truth(Step):
    """An indicator, 0 or 1, which equals its own square. The argument has no positive numeric factor."""

    is_integer = is_nonnegative = True
    _eval_power = lambda self, n: self if n.is_Integer and n.is_positive else None

    @classmethod
    @lru_cache(maxsize=1 << 14)
    def eval(cls, d):
        content, rest = tidy(d)
        if rest.is_Rational:
            return S.One if cls.of_number(rest) else S.Zero
        if rest.is_Add and (rest + 1).func is exp:  # exp(u) - 1 has the sign of u
            return cls((rest + 1).args[0])
        if rest.is_Add and (1 - rest).func is exp:
            return cls(-(1 - rest).args[0])
        if not rest.has(Indexed, Step) and rest.is_integer:
            if is_nonnegative(rest - cls.LOWEST):
                return S.One
            if is_nonnegative(cls.LOWEST - 1 - rest):
                return S.Zero
        return None if rest == d else cls(rest)


class Above(Truth):
    """The indicator of d > 0."""

    LOWEST = 1  # least integer d for which the step is 1
    of_number = staticmethod(lambda d: d > 0)


class AtLeast(Truth):
    """The indicator of d >= 0."""

    LOWEST = 0
    of_number = staticmethod(lambda d: d >= 0)


class Whether(AtLeast):
    """The indicator d >= 0 of a name d that stands for several comparisons; no other indicator is its opposite."""


class Erf(Function):
    """The error function; a float 2 / sqrt(pi) in a page counts as the exact factor of its derivative."""

    pointwise = True
    is_real = is_finite = True
    FACTOR = Rational(repr(2 / sqrt(pi)))
    slope = property(lambda self: self.FACTOR * exp(-(self.args[0] ** 2)))


class Magnitude(Function):
    """The absolute value of an argument in canonical sign, without a numeric factor."""

    pointwise = True
    is_real = is_nonnegative = True

    @classmethod
    def eval(cls, e):
        content, rest = tidy(e)
        if rest.is_Rational:
            return content * abs(rest)
        if rest.could_extract_minus_sign():
            return content * cls(plain(-rest))
        return None if rest == e else content * cls(rest)


class Whole(Step):
    is_integer = True

    @classmethod
    @lru_cache(maxsize=1 << 14)
    def eval(cls, e):
        return e if e.is_integer else super().eval(e)


class Floor(Whole):
    of_number = staticmethod(lambda e: e.p // e.q)


class Ceil(Whole):
    of_number = staticmethod(lambda e: -(-e.p // e.q))


class Nearest(Whole):
    """Rounding to the nearest integer, ties to even."""

    of_number = staticmethod(lambda e: round(Fraction(e.p, e.q)))


class Truncated(Whole):
    of_number = staticmethod(int)


class Digit(Step):
    """The index along the k-th of several lengths that were flattened into one axis: a digit of the flat index."""

    is_integer = True

    @classmethod
    def eval(cls, *_):
        return None


TRUTHS = Above, AtLeast, Whether


@lru_cache(maxsize=1 << 14)
def tidy(e):
    """Return (positive number, rest) with e = number * rest, multiplied out unless it is a sum over indices."""
    e = plain(e)
    if e.is_Rational:
        return S.One, e
    content, rest = e.primitive() if e.is_Add else e.as_coeff_Mul()
    content, rest = (content, rest) if content > 0 else (-content, plain(-rest))
    for s in (s for s in rest.free_symbols if s.is_Symbol and s.is_positive and not s.is_integer):
        if all(s in Mul.make_args(term) for term in Add.make_args(rest)):
            content, rest = content * s, plain(rest / s)
    return content, rest


@lru_cache(maxsize=1 << 14)
def plain(e):
    return e if e.has(Sum) else expand(e)


def negated(c):
    """Return 1 - c, for a comparison its opposite."""
    if isinstance(c, TRUTHS) and not isinstance(c, Whether):
        return (Above if isinstance(c, AtLeast) else AtLeast)(-c.args[0])
    return 1 - c


def exact(value):
    """Return a number as its exact decimal value."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, Integral):
        return Integer(int(value))
    if isinstance(value, Real) and isfinite(value):
        return Rational(repr(float(value)))
    raise Refused(f"{value!r} is no finite number")


def generic(axes, letter="i"):
    """Return an index of an array with these axes: for each axis a tuple with a symbol for each of its lengths."""
    return tuple(
        tuple(Symbol(f"{letter}{at}_{k}", integer=True) for k in range(len(axis)))
        for at, axis in enumerate(axes)
    )


def flat(index, lengths):
    number = S.Zero
    for i, n in zip(index, lengths):
        number = number * n + i
    return number


def fitted(index, have, want):
    """Convert the index of an axis split into the lengths `have` to that of the same axis split into `want`."""
    if have == want or not want:
        return index if want else ()
    number = expand(flat(index, have))
    return (
        (number,)
        if len(want) == 1
        else tuple(Digit(number, Integer(k), *want) for k in range(len(want)))
    )


def same_length(a, b):
    return a == b or expand(Mul(*a) - Mul(*b)) == 0


def broadcast(*several):
    rank = max(map(len, several), default=0)
    found = []
    for together in zip(*(((),) * (rank - len(axes)) + axes for axes in several)):
        longest = max(together, key=lambda axis: (bool(axis), len(axis)))
        if not all(not axis or same_length(axis, longest) for axis in together):
            raise Refused(
                "axes of the lengths "
                + " and ".join(dict.fromkeys(str(Mul(*axis)) for axis in together))
                + " meet"
            )
        found.append(longest)
    return tuple(found)


def equal(a, b):
    """Return 1 if two numbers are equal, else 0; numbers other than integers are equal if neither exceeds the other."""
    if a.is_integer and b.is_integer:
        return KroneckerDelta(a, b)
    return AtLeast(a - b) * AtLeast(b - a)


@lru_cache(maxsize=1 << 14)
def chosen(c, a, b):
    """Return c*a + (1-c)*b, or one formula if a and b agree for the sign that c compares."""
    if isinstance(c, TRUTHS):
        d, w = c.args[0], Symbol("#w", real=True)
        size = Magnitude(d)
        if isinstance(size, Magnitude) and (a.has(size) or b.has(size)):
            above, below = _in(a.xreplace({size: w}), d, w), _in(b.xreplace({size: -w}), d, w)
            if _same(above, below):
                # `above` and `below` contain the same exponential
                return (above if size.args[0] == d else below).xreplace({w: d})
        a, b = a.xreplace({c: S.One}), b.xreplace({c: S.Zero})
    return c * a + negated(c) * b


def _in(e, d, w):
    """Return `e` with d replaced by w, and -d by -w."""
    return e.xreplace({d: w, plain(-d): -w})


@cache
def _same(a, b):
    return bool(proves_equal(a, b))
