"""Interpolation weights of the grid sampler along one axis, as functions of t, the distance from the left pixel, with proofs of
their sums and derivatives.

Bilinear takes pixels floor(u) and floor(u) + 1, bicubic floor(u) - 1 to floor(u) + 2 with Keys' kernel of parameter A (-3/4 in
the documents), nearest the pixel round(u).
"""

from sympy import Rational, S, Symbol, diff

from derivations.prover.theorem import Book, Equation

A, t = Symbol("A", real=True), Symbol("t", real=True)
DOCUMENTED_A = -Rational(3, 4)

book = Book("grid_sampler_2d")


def linear_weights(t):
    """Return the weights of the left and the right pixel."""
    return [1 - t, t]


def cubic_near(s, a):
    """Return Keys' kernel for |s| <= 1."""
    return (a + 2) * s**3 - (a + 3) * s**2 + 1


def cubic_far(s, a):
    """Return Keys' kernel for 1 <= |s| <= 2."""
    return a * s**3 - 5 * a * s**2 + 8 * a * s - 4 * a


def cubic_weights(t, a=A):
    """Return the weights of the pixels at -1, 0, 1, 2."""
    return [cubic_far(t + 1, a), cubic_near(t, a), cubic_near(1 - t, a), cubic_far(2 - t, a)]


def slopes(weights):
    """Return the derivatives of weights by t."""
    return [diff(w, t) for w in weights]


def printed_coefficients(t, a=A, signed=False):
    """Return the bicubic derivative coefficients as printed: minus the derivatives of the weights by t.

    The printed formula uses |-1 - t|, |-t|, |1 - t|, |2 - t|, but the polynomials of the first two need signed arguments.
    """
    s = [-1 - t, -t, 1 - t, 2 - t] if signed else [1 + t, t, 1 - t, 2 - t]
    return [
        (-3 * a * s[0] - 10 * a) * s[0] - 8 * a,
        (-3 * (a + 2) * s[1] - 2 * (a + 3)) * s[1],
        (3 * (a + 2) * s[2] - 2 * (a + 3)) * s[2],
        (3 * a * s[3] - 10 * a) * s[3] + 8 * a,
    ]


WEIGHTS = {
    0: linear_weights(t),
    1: [S.One],
    2: cubic_weights(t, DOCUMENTED_A),
}  # by interpolationMode: nearest, bilinear, bicubic


@book.theorem(
    "The documented polynomials at signed distances are minus the derivatives of the bicubic weights.",
    {
        "as printed, at absolute distances": {"signed": False},
        "the polynomials equal the derivatives": {"sign": 1},
    },
)
def cubic_coefficients_need_signed_distances(signed=True, sign=-1):
    return [
        Equation(printed, sign * d)
        for printed, d in zip(printed_coefficients(t, signed=signed), slopes(cubic_weights(t)))
    ]


@book.theorem(
    "Printed with |.|, the first two bicubic coefficients are wrong by -20 A (1 + t) and -4 (A + 3) t.",
    {"there is no error": {"wrong": 0}, "the second by -20 A t": {"second": -20 * A * t}},
)
def printed_cubic_coefficients(wrong=1, second=-4 * (A + 3) * t):
    errors = [-20 * A * (1 + t), second, 0, 0]
    return [
        Equation(printed + d, wrong * error)
        for printed, d, error in zip(printed_coefficients(t), slopes(cubic_weights(t)), errors)
    ]
