"""
Piecewise functions, cell by cell.

An open cell is the image of 0 < t < oo under a rational map, so that SymPy's assumption "t positive" places a point
inside the cell: Min, Max, Abs, floor and conditions then evaluate by themselves, and equality on the cell is equality
of fractions in t. Kinks lie between the cells: there only one-sided limits exist.
"""

from dataclasses import dataclass
from functools import lru_cache

from sympy import (
    Abs,
    Add,
    Expr,
    Max,
    Min,
    Rational,
    Symbol,
    cancel,
    diff,
    expand,
    floor,
    fraction,
    oo,
    sympify,
    together,
)
from sympy.core.relational import Ge, Gt, Le, Lt

from derivations.prover.functions import round_half_even

T = Symbol("t", positive=True)


@dataclass(frozen=True)
class Cell:
    """The open interval (low, high); `point` runs through it as the parameter `T` runs through the positive numbers."""

    low: Expr
    high: Expr

    @property
    def point(self):
        if self.low == -oo:
            return self.high - T
        if self.high == oo:
            return self.low + T
        return self.low + (self.high - self.low) * T / (1 + T)


def cells(*kinks):
    """
    The open cells between the given kinks, in rising order.

    >>> [cell.point for cell in cells(0, 1)]
    [-t, t/(t + 1), t + 1]
    """
    ends = [-oo, *map(sympify, kinks), oo]
    return [Cell(low, high) for low, high in zip(ends, ends[1:])]


def on_cell(f, cell):
    """The function `f` on the open cell, as a function of `T`."""
    return f(cell.point)


def slope(f, cell):
    """The derivative of `f` on the open cell, as a function of `T`."""
    return diff(on_cell(f, cell), T) / diff(cell.point, T)


def limit_at(expression_on_cell, cell, end):
    """
    The one-sided limit of a fraction in `T` at the `low` or `high` end of its cell.

    Raises ValueError when the limit is infinite.

    >>> cell = Cell(sympify(0), sympify(2))
    >>> limit_at(slope(lambda x: x**2, cell), cell, "high")
    4
    """
    infinite_parameter = (end == "high") == (cell.low != -oo)
    e = expression_on_cell.subs(T, 1 / T) if infinite_parameter else expression_on_cell
    value = cancel(together(e)).subs(T, 0)
    if value.is_finite is False:
        raise ValueError(
            f"limit_at: got an infinite limit of {expression_on_cell}; give a function that is bounded "
            "near the kink"
        )
    return value


def left_derivative(f, kink, previous=-oo):
    """The derivative of `f` from the left at `kink`; `previous` is the kink before it."""
    cell = Cell(sympify(previous), sympify(kink))
    return limit_at(slope(f, cell), cell, "high")


def right_derivative(f, kink, following=oo):
    """The derivative of `f` from the right at `kink`; `following` is the kink after it."""
    cell = Cell(sympify(kink), sympify(following))
    return limit_at(slope(f, cell), cell, "low")


def settle(e, known=None):
    """
    Decide every floor, rounding, maximum, absolute value and case in `e` whose outcome is the same on a whole cell.

    `known` says what symbols are made of, {symbol: expression}: 0 < j < L is known as L = j + r + 1 with r >= 0. What
    cannot be decided stays as it is.

    >>> from sympy import Max, floor, symbols
    >>> j = symbols("j", integer=True, nonnegative=True)
    >>> settle(floor(j + T / (1 + T)) + Max(-j - T / (1 + T) - 1, 0))
    j
    """
    return _settle(e, tuple((known or {}).items()))


@lru_cache(maxsize=4096)
def _settle(e, known):
    if not e.args or e.is_Indexed:
        return e
    args = [_settle(arg, known) for arg in e.args]
    if isinstance(e, (floor, round_half_even)):
        return _integer_near(e.func, args[0], known)
    # What follows is decided here first: SymPy would look for the same much longer.
    if isinstance(e, (Max, Min)):
        return _extreme(e.func, args, known)
    if isinstance(e, Abs):
        side = _sign(args[0], known)
        return e.func(*args) if side is None else side * args[0]
    if isinstance(e, (Lt, Le, Gt, Ge)):
        side = _sign(args[0] - args[1], known)
        return e.func(*args) if side is None else e.func(side, 0)
    return e.func(*args)


@lru_cache(maxsize=4096)
def _sign(e, known):
    """1, 0 or -1 when `e` has that sign on the whole cell, as all its terms show; else None."""
    ends = [expand(part) for part in fraction(together(e.xreplace(dict(known))))]
    if ends[0] == 0:
        return 0
    signs = [
        next(
            (
                side
                for side in (1, -1)
                if all((side * term).is_nonnegative for term in Add.make_args(part))
                and any((side * term).is_positive for term in Add.make_args(part))
            ),
            None,
        )
        for part in ends
    ]
    return None if None in signs else signs[0] * signs[1]


def _extreme(extreme, args, known):
    side = 1 if extreme is Max else -1
    for best in args:
        if all(best == other or (_sign(side * (best - other), known) or 0) > 0 for other in args):
            return best
    return extreme(*args)


def _integer_near(rounding, e, known):
    """floor or rounding of `e`: its integer terms, and the integer that the others come to."""
    whole, rest = [], []
    for term in Add.make_args(expand(e)):
        (whole if term.is_integer else rest).append(term)
    # where the interval of numbers that become 0 begins
    low = 0 if rounding is floor else -Rational(1, 2)
    for candidate in (0, -1, 1, -2):
        if not rest or (
            _sign(Add(*rest) - candidate - low, known) == 1
            and _sign(candidate + low + 1 - Add(*rest), known) == 1
        ):
            return Add(*whole, candidate)
    return rounding(e)
