"""Cut piecewise functions into cells for proofs: a point of each piece, and the one-sided limits at the kinks between them.

An open cell is the image of 0 < t < oo under a rational map, so that SymPy's assumption "t positive" places a point inside the
cell: Min, Max, Abs, floor and conditions then evaluate automatically, and equality on the cell is equality of fractions in t.
Kinks lie between the cells: only one-sided limits exist there.
"""

from dataclasses import dataclass

from sympy import Expr, Symbol, cancel, diff, oo, sympify, together

T = Symbol("t", positive=True)


@dataclass(frozen=True)
class Cell:
    """The open interval (low, high); as the parameter `T` runs over the positive numbers, `point` runs over the interval."""

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
    """Return the open cells between the given kinks, in rising order.

    >>> [cell.point for cell in cells(0, 1)]
    [-t, t/(t + 1), t + 1]
    """
    ends = [-oo, *map(sympify, kinks), oo]
    return [Cell(low, high) for low, high in zip(ends, ends[1:])]


def on_cell(f, cell):
    """Return the function `f` on the open cell as a function of `T`."""
    return f(cell.point)


def slope(f, cell):
    """Return the derivative of `f` on the open cell as a function of `T`."""
    return diff(on_cell(f, cell), T) / diff(cell.point, T)


def limit_at(expression_on_cell, cell, end):
    """Return the one-sided limit of a fraction in `T` at the `low` or `high` end of its cell.

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
    """Return the derivative of `f` from the left at `kink`; `previous` is the kink before it."""
    cell = Cell(sympify(previous), sympify(kink))
    return limit_at(slope(f, cell), cell, "high")


def right_derivative(f, kink, following=oo):
    """Return the derivative of `f` from the right at `kink`; `following` is the kink after it."""
    cell = Cell(sympify(kink), sympify(following))
    return limit_at(slope(f, cell), cell, "low")
