"""SiLU: the derivative of x / (1 + exp(-x)).

Documented backward: the formula of the page.
"""

from functools import cache

from sympy import Eq, IndexedBase, Symbol, diff, exp

from derivations.prover.formulas import Derivation, Formula
from derivations.prover.notation import index_symbols, latex, size_symbols
from derivations.prover.tape import Step
from derivations.prover.theorem import Book, Equation

n = size_symbols("n")
i = index_symbols("i")
x = Symbol("x", real=True)
gradOutput, this = IndexedBase("gradOutput", real=True), IndexedBase("self", real=True)
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
    out = gradOutput[i] * documented(this[i])
    return Derivation(
        steps, None, lambda: [Formula("gradInput", out, {i: n}, {"gradOutput": (n,), "self": (n,)})]
    )


@book.theorem(
    "The derivative of x sigmoid(x) is the documented one.",
    **{"the product rule forgotten": {"factor": 0}, "half of the sigmoid": {"inner": 2}},
)
def derivative_is_documented(factor=1, inner=1):
    return [Equation(diff(definition(x), x), documented(x, factor, inner))]
