"""
Interpolation weights of the grid sampler along one axis, as functions of t, the distance from the left pixel.

Bilinear takes pixels floor(u) and floor(u) + 1, bicubic floor(u) - 1 to floor(u) + 2 with Keys' kernel of parameter A
(-3/4 in the documents), nearest the pixel round(u).
"""

from sympy import Abs, IndexedBase, Max, Rational, S, Symbol, diff

from derivations.cells import T
from derivations.prover.theorem import Book, Equation

A, t = Symbol("A", real=True), Symbol("t", real=True)
f = IndexedBase("f", real=True)
k = Symbol("k", integer=True)
q = Symbol("q", integer=True, nonnegative=True)
DOCUMENTED_A = -Rational(3, 4)

book = Book("grid_sampler_2d")


def linear_weights(t):
    """Weights of the left and the right pixel."""
    return [1 - t, t]


def cubic_near(s, a):
    """Keys' kernel for |s| <= 1."""
    return (a + 2) * s**3 - (a + 3) * s**2 + 1


def cubic_far(s, a):
    """Keys' kernel for 1 <= |s| <= 2."""
    return a * s**3 - 5 * a * s**2 + 8 * a * s - 4 * a


def cubic_weights(t, a=A):
    """Weights of the pixels at -1, 0, 1, 2."""
    return [cubic_far(t + 1, a), cubic_near(t, a), cubic_near(1 - t, a), cubic_far(2 - t, a)]


def slopes(weights):
    """Derivatives of weights by t."""
    return [diff(w, t) for w in weights]


def printed_coefficients(t, a=A, signed=False):
    """
    The bicubic derivative coefficients as printed: minus the derivatives of the weights by t.

    Print takes |-1 - t|, |-t|, |1 - t|, |2 - t|, but the polynomials of the first two need the signed arguments.
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
}  # of each interpolationMode


def hat(s):
    """The tent that linear interpolation puts on each pixel."""
    return Max(0, 1 - Abs(s))


@book.theorem(
    "Bilinear weights are tents: pixels further away than 1 have weight 0.",
    **{"tent of width 2": {"width": 2}, "weights exchanged": {"swap": True}},
)
def linear_weights_are_tents(width=1, swap=False):
    left, right = reversed(linear_weights(T / (1 + T))) if swap else linear_weights(T / (1 + T))
    s = T / (1 + T)
    tent = [
        hat(distance / S(width)) for distance in (s + 1 + q, s, -1 / (1 + T), -1 / (1 + T) - 1 - q)
    ]
    return [
        Equation(value, weight, where="t = s/(1+s), s > 0, integer q >= 0")
        for value, weight in zip(tent, (0, left, right, 0))
    ]


@book.theorem(
    "Bilinear weights add up to 1, their derivatives to 0, and they reproduce straight lines.",
    **{"add up to 2": {"total": 2}, "line through the next pixel": {"offset": 1}},
)
def linear_weights_reproduce_lines(total=1, offset=0):
    weights, b = linear_weights(t), Symbol("b", real=True)
    return [
        Equation(sum(weights), total),
        Equation(sum(slopes(weights)), 0),
        Equation(sum(w * (b + j) for j, w in enumerate(weights)), b + t + offset),
    ]


@book.theorem(
    "The documented corner sums are the derivatives of bilinear interpolation by x and y.",
    **{"x and y exchanged": {"swap": True}, "one corner with the wrong sign": {"sign": -1}},
)
def corner_sums(swap=False, sign=1):
    nw, ne, sw, se, s = (Symbol(name, real=True) for name in ("nw", "ne", "sw", "se", "s"))
    (wl, wr), (wt, wb) = linear_weights(t), linear_weights(s)
    value = nw * wt * wl + ne * wt * wr + sw * wb * wl + se * wb * wr
    gix = -nw * (1 - s) + ne * (1 - s) - sw * s + sign * se * s
    giy = -nw * (1 - t) - ne * t + sw * (1 - t) + sign * se * t
    by_x, by_y = (diff(value, s), diff(value, t)) if swap else (diff(value, t), diff(value, s))
    return [Equation(by_x, gix), Equation(by_y, giy)]


@book.theorem(
    "Bicubic weights add up to 1 and their derivatives to 0, for every A.",
    **{"to 0": {"total": 0}, "A of the far part doubled": {"far": 2}},
)
def cubic_weights_add_up(total=1, far=1):
    near, outer = cubic_weights(t), cubic_weights(t, far * A)
    weights = [outer[0], near[1], near[2], outer[3]]
    return [Equation(sum(weights), total), Equation(sum(slopes(weights)), 0)]


@book.theorem(
    "The documented polynomials at signed distances are minus the derivatives of the bicubic weights.",
    **{"as printed, at absolute distances": {"signed": False}, "plus the derivatives": {"sign": 1}},
)
def cubic_coefficients_need_signed_distances(signed=True, sign=-1):
    return [
        Equation(printed, sign * d)
        for printed, d in zip(printed_coefficients(t, signed=signed), slopes(cubic_weights(t)))
    ]


@book.theorem(
    "Printed with |.|, the first two bicubic coefficients are wrong by -20 A (1 + t) and -4 (A + 3) t.",
    **{"that nothing is wrong": {"wrong": 0}, "the second by -20 A t": {"second": -20 * A * t}},
)
def printed_cubic_coefficients(wrong=1, second=-4 * (A + 3) * t):
    errors = [-20 * A * (1 + t), second, 0, 0]
    return [
        Equation(printed + d, wrong * error)
        for printed, d, error in zip(printed_coefficients(t), slopes(cubic_weights(t)), errors)
    ]


@book.theorem(
    "For A = -3/4 at t = 0 the printed coefficients are 63/4, 0, -3/4, 0; the first should be 3/4.",
    **{"without |.|": {"signed": True}, "A = -1/2": {"a": -Rational(1, 2)}},
)
def printed_cubic_coefficients_at_zero(signed=False, a=DOCUMENTED_A):
    printed = printed_coefficients(S.Zero, a, signed)
    right = [-d.subs(t, 0) for d in slopes(cubic_weights(t, DOCUMENTED_A))]
    return [
        Equation(value, want)
        for value, want in zip(printed, (Rational(63, 4), 0, -Rational(3, 4), 0))
    ] + [Equation(right[0], Rational(3, 4))]


@book.theorem(
    "Bicubic interpolation and its derivative are continuous at every pixel, so it has no kinks.",
    **{"pixels one further": {"shift": 2}, "weights of A and -A": {"a": -A}},
)
def cubic_is_smooth(shift=1, a=A):
    def at(value, first, weights):
        return sum(w.subs(t, value) * f[first + j] for j, w in enumerate(weights))

    left, right = cubic_weights(t, a), cubic_weights(t)
    return [
        Equation(at(1, k - 1, w), at(0, k - 1 + shift, v))
        for w, v in ((left, right), (slopes(left), slopes(right)))
    ]


@book.theorem(
    "At a pixel the bicubic derivative is -A (f[k+1] - f[k-1]).",
    **{"A": {"factor": A}, "1/2, for every A": {"factor": Rational(1, 2)}},
)
def cubic_slope_at_a_pixel(factor=-A):
    slope = sum(diff(w, t).subs(t, 0) * f[k - 1 + j] for j, w in enumerate(cubic_weights(t)))
    return [Equation(slope, factor * (f[k + 1] - f[k - 1]))]


@book.theorem(
    "Bicubic misses a straight line by (2A + 1) t (1 - t)(2t - 1): only A = -1/2 reproduces lines.",
    **{"reproduces it": {"factor": 0}, "by twice as much": {"factor": 2}},
)
def cubic_misses_lines(factor=1):
    value = sum((j - 1) * w for j, w in enumerate(cubic_weights(t)))
    return [Equation(value - t, factor * (2 * A + 1) * t * (1 - t) * (2 * t - 1))]


@book.theorem(
    "Bicubic weights are symmetric: t and 1 - t exchange their order.",
    **{"without exchange": {"reverse": False}, "t and -t": {"mirror": -t}},
)
def cubic_weights_are_symmetric(reverse=True, mirror=1 - t):
    mirrored = [w.subs(t, mirror) for w in cubic_weights(t)]
    return [
        Equation(w, v)
        for w, v in zip(cubic_weights(t), reversed(mirrored) if reverse else mirrored)
    ]
