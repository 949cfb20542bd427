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
sigmoid = 1 / (1 + exp(-x))
y = x * sigmoid
slope = diff(y, x)
book = Book("my_silu")


@cache
def derive():
    """Derive the gradient of one entry."""
    return Derivation(
        (
            Step("Definition", Eq(Symbol("y"), y), "x times its sigmoid.", latex(y)),
            Step("Chain rule", Eq(Symbol("d"), slope), "The product rule.", latex(slope)),
        )
    )


@book.theorem(
    "The derivative of x sigmoid(x) is the documented one.",
    {"the product rule forgotten": {"factor": 0}, "half of the sigmoid": {"inner": 2}},
)
def derivative_is_documented(factor=1, inner=1):
    return [Equation(slope, sigmoid * (1 + factor * x * (1 - inner * sigmoid)))]
