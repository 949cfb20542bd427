"""Hardswish, y = x min(max(x + 3, 0), 6) / 6: derivation and proof of its derivative in three intervals, with kinks at -3 and
3. Documented backward: aclnnHardswishBackward, CANN documentation; ops-nn activation/hard_swish_grad. Its middle interval is
closed, so at both kinks it returns the derivative from inside.
"""

from functools import cache

from sympy import Eq, Max, Min, Piecewise, Rational, S, Symbol, diff

from derivations.cells import cells, left_derivative, right_derivative
from derivations.prover.formulas import Derivation
from derivations.prover.tape import Step
from derivations.prover.theorem import Book, Equation

x = Symbol("x", real=True)
CELLS = LEFT, MIDDLE, RIGHT = tuple(cells(-3, 3))
WHERE = {LEFT: "x = -3 - t, t > 0", MIDDLE: "x = -3 + 6t/(1+t), t > 0", RIGHT: "x = 3 + t, t > 0"}

CHAPTER = 1
book = Book("hardswish")


def hardswish(x):
    return x * Min(Max(x + 3, 0), 6) / 6


def documented_slope(x, offset=Rational(1, 2), closed=True):
    """Return 0, x/3 + 1/2 or 1 by interval; the middle interval is closed, or open as in the operator's second version."""
    outside = (x < -3, x > 3) if closed else (x <= -3, x >= 3)
    return Piecewise((0, outside[0]), (1, outside[1]), (x / 3 + offset, True))


@cache
def derive():
    """
    Derive the slope of hardswish on its three open cells, and its one-sided limits at the kinks.

    >>> len(derive().steps)
    8
    """
    forward = Symbol("y")
    derivative = Symbol("d")
    lines = [
        ("Definition", forward, hardswish(x), "Clamp x + 3 to [0, 6] and multiply by x / 6."),
        ("Left cell, x < -3", derivative, S.Zero, "The clamp gives 0, so y = 0."),
        (
            "Middle cell, -3 < x < 3",
            derivative,
            diff(x * (x + 3) / 6, x).expand(),
            "The clamp gives x + 3, so y = x (x + 3) / 6, a parabola.",
        ),
        ("Right cell, x > 3", derivative, S.One, "The clamp gives 6, so y = x."),
        (
            "Kink at -3",
            Symbol("d_left"),
            left_derivative(hardswish, -3),
            "The left derivative is 0.",
        ),
        (
            "Kink at -3",
            Symbol("d_right"),
            right_derivative(hardswish, -3, 3),
            "The right derivative is -1/2, as documented.",
        ),
        (
            "Kink at 3",
            Symbol("d_left"),
            left_derivative(hardswish, 3, -3),
            "The left derivative is 3/2, as documented.",
        ),
        (
            "Kink at 3",
            Symbol("d_right"),
            right_derivative(hardswish, 3),
            "The right derivative is 1.",
        ),
    ]
    return Derivation(
        tuple(
            Step(title, Eq(left, right, evaluate=False), why) for title, left, right, why in lines
        )
    )


def per_cell(left, right):
    """Return one equation for each open cell."""
    return [Equation(left(cell), right(cell), where=WHERE[cell]) for cell in CELLS]


@book.theorem(
    "At -3 the slope jumps from 0 to -1/2, and the document returns -1/2, the right derivative.",
    {"the slope returned is 0": {"closed": False}, "the slope goes from 0 to 0": {"right": 0}},
)
def kink_at_minus_three(closed=True, right=-Rational(1, 2)):
    return [
        Equation(left_derivative(hardswish, -3), 0),
        Equation(right_derivative(hardswish, -3, 3), right),
        Equation(documented_slope(S(-3), closed=closed), right),
    ]


@book.theorem(
    "At 3 the slope jumps from 3/2 to 1, and the document returns 3/2, the left derivative.",
    {"the slope returned is 1": {"closed": False}, "the slope goes from 1 to 1": {"left": 1}},
)
def kink_at_three(closed=True, left=Rational(3, 2)):
    return [
        Equation(left_derivative(hardswish, 3, -3), left),
        Equation(right_derivative(hardswish, 3), 1),
        Equation(documented_slope(S(3), closed=closed), left),
    ]


@book.theorem(
    "With an open middle interval, as in the second version, the outer derivatives 0 and 1 are returned.",
    {"closed interval": {"closed": True}, "the mean of both slopes": {"share": Rational(1, 2)}},
)
def open_interval_returns_outer_derivatives(closed=False, share=0):
    inner = [right_derivative(hardswish, -3, 3), left_derivative(hardswish, 3, -3)]
    outer = [left_derivative(hardswish, -3), right_derivative(hardswish, 3)]
    return [
        Equation(documented_slope(S(kink), closed=closed), share * a + (1 - share) * b)
        for kink, a, b in zip((-3, 3), inner, outer)
    ]


@book.theorem(
    "The slopes at x and -x add up to 1, at the kinks, too.",
    {"the slope is x / 3": {"offset": 0}, "the two slopes add up to 0": {"total": 0}},
)
def slopes_add_up_to_one(offset=Rational(1, 2), total=1):
    def d(x):
        return documented_slope(x, offset=offset)

    cell_by_cell = per_cell(lambda cell: d(cell.point) + d(-cell.point), lambda cell: S(total))
    return cell_by_cell + [Equation(d(S(3)) + d(S(-3)), total)]


@book.theorem(
    "hardswish(x) - hardswish(-x) = x.", {"plus": {"sign": 1}, "half": {"factor": Rational(1, 2)}}
)
def odd_part_is_half_x(sign=-1, factor=1):
    return per_cell(
        lambda cell: hardswish(cell.point) + sign * hardswish(-cell.point),
        lambda cell: factor * cell.point,
    )


@book.theorem(
    "The only stationary point above -3 is x = -3/2, with value -3/8.",
    {"the point is at -1": {"at": S(-1)}, "the value is -1/2": {"value": -Rational(1, 2)}},
)
def stationary_point(at=-Rational(3, 2), value=-Rational(3, 8)):
    parabola = (Symbol("x", real=True) - at) ** 2 / 6 + value
    return [
        Equation(documented_slope(at), 0),
        Equation(hardswish(at), value),
        Equation(hardswish(MIDDLE.point), parabola.subs(x, MIDDLE.point), where=WHERE[MIDDLE]),
    ]


@book.theorem(
    "The form (2x + 3) / 6 in a kernel's comment is the documented middle piece.",
    {"(2x + 1) / 6": {"three": 1}, "(x + 3) / 6": {"two": 1}},
)
def comment_form_of_the_middle(three=3, two=2):
    return [
        Equation(
            documented_slope(MIDDLE.point), (two * MIDDLE.point + three) / 6, where=WHERE[MIDDLE]
        )
    ]
