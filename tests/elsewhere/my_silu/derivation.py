"""SiLU: the derivative of x / (1 + exp(-x)).

Documented backward: the formula of the page.
"""

from functools import cache

from sympy import Eq, Symbol, diff, exp

from derivations.prover.formulas import Derivation
from derivations.prover.notation import latex
from derivations.prover.tape import Step
from derivations.prover.theorem import Book, Equation

x = Symbol("x", real=True)
book = Book("my_silu")


def sigmoid(x):
    return 1 / (1 + exp(-x))


def definition(x):
    return x * sigmoid(x)


def documented(x, factor=1, inner=1):
    return sigmoid(x) * (1 + factor * x * (1 - inner * sigmoid(x)))


@cache
def derive():
    """Derive the gradient of one entry."""
    slope = diff(definition(x), x)
    steps = (
        Step(
            "Definition",
            Eq(Symbol("y"), definition(x)),
            "x times its sigmoid.",
            latex(definition(x)),
        ),
        Step(
            "Chain rule", Eq(Symbol("d"), slope), "The product rule, entry by entry.", latex(slope)
        ),
    )
    return Derivation(steps)


@book.theorem(
    "The derivative of x sigmoid(x) is the documented one.",
    **{"the product rule forgotten": {"factor": 0}, "half of the sigmoid": {"inner": 2}},
)
def derivative_is_documented(factor=1, inner=1):
    return [Equation(diff(definition(x), x), documented(x, factor, inner))]
