"""Coordinates of the grid sampler along one axis, from [-1, 1] to pixels, clipped or reflected, with proofs of their
derivatives and of the factors at the kinks.

Each function returns the value and the factor by which the gradient is multiplied, as documents and kernels compute them
(aclnnGridSampler2DBackward, CANN documentation; ops-cv image/grid_sampler2_d_grad; ATen GridSampler.h). The theorems say where
that factor is the derivative, and its value at the kinks.
"""

from sympy import Abs, And, Max, Min, Mod, Piecewise, Rational, S, Symbol, diff, expand, floor

from derivations.cells import T, cells, left_derivative, right_derivative, slope
from derivations.prover.theorem import Book, Equation

HALF = Rational(1, 2)
g = Symbol("x", real=True)
size = Symbol("W", integer=True, positive=True)
span = Symbol("L", positive=True)
q = Symbol("q", integer=True, nonnegative=True)

book = Book("grid_sampler_2d")


def unnormalise(x, size, align):
    """Return pixel coordinate and factor; with `align`, -1 and 1 are pixel centres, else the outer edges of pixels."""
    if align:
        return (x + 1) / 2 * (size - 1), (size - 1) / S(2)
    return ((x + 1) * size - 1) / 2, size / S(2)


def clip(u, last, closed=False):
    """Clamp to [0, last]; the factor is 0 outside and, unless `closed` as in the printed formula, at the border."""
    inside = And(u >= 0, u <= last) if closed else And(u > 0, u < last)
    return Min(Max(u, 0), last), Piecewise((1, inside), (0, True))


def reflect(u, low, span):
    """Reflect at low and low + span as often as needed; the factor is -1 after an odd number of reflections."""
    v = u - low
    distance = Abs(v)
    flips = _floor(expand(distance / span))
    rest = distance - flips * span
    odd = Mod(flips, 2)
    side = Piecewise((-1, v < 0), (1, True))
    return low + rest + odd * (span - 2 * rest), side * (1 - 2 * odd)


def _floor(e):
    """Return floor applied twice: SymPy takes integers out of it, but does not evaluate the rest."""
    return floor(e).replace(lambda a: isinstance(a, floor), lambda a: floor(a.args[0]))


def _branches(span):
    """Return (coordinate, value, slope) of every open cell of the reflection; the slope is 1 or -1."""
    tau = T / (1 + T)
    return [
        ((2 * q + tau) * span, tau * span, 1),
        ((2 * q + 1 + tau) * span, span - tau * span, -1),
        (-(2 * q + tau) * span, tau * span, -1),
        (-(2 * q + 1 + tau) * span, span - tau * span, 1),
    ]


_WAVES = ("v = (2q + s)L", "v = (2q + 1 + s)L", "v = -(2q + s)L", "v = -(2q + 1 + s)L")
_WHERE = [f"{wave}, s = t/(1+t), t > 0, integer q >= 0" for wave in _WAVES]


@book.theorem(
    "The factor of the unnormalisation is its derivative: (W - 1)/2 with alignCorners, else W/2.",
    {
        "the slope of the other alignCorners": {"swap": True},
        "the factor is twice as large": {"factor": 2},
    },
)
def unnormalise_factor(swap=False, factor=1):
    return [
        Equation(
            diff(unnormalise(g, size, align)[0], g), factor * unnormalise(g, size, align != swap)[1]
        )
        for align in (True, False)
    ]


@book.theorem(
    "-1 and 1 are the centres of the outer pixels with alignCorners, else their outer edges.",
    {"edges and centres exchanged": {"edge": 0}, "-1 and 1 exchanged": {"sign": -1}},
)
def unnormalise_ends(edge=HALF, sign=1):
    ends = [(sign * S.NegativeOne, -1), (sign * S.One, 1)]
    return [
        Equation(unnormalise(x, size, align)[0], (size - 1) * (1 + side) / 2 + side * margin)
        for align, margin in ((True, HALF - edge), (False, edge))
        for x, side in ends
    ]


@book.theorem(
    "On the open cells of clipping the factor is the derivative: 0, 1, 0.",
    {
        "the factor is 1 outside the image": {"outside": 1},
        "the factor is 0 inside the image": {"inside": 0},
    },
)
def clip_on_cells(outside=0, inside=1):
    where = ("u = -t", "u = Lt/(1+t)", "u = L + t")
    return [
        Equation(slope(lambda u: clip(u, span)[0], cell), factor, where=f"{text}, t > 0")
        for cell, factor, text in zip(cells(0, span), (outside, inside, outside), where)
    ]


@book.theorem(
    "At both borders the factor 0 of the kernels is the derivative from outside; from inside it is 1.",
    {
        "factor 1, as the document prints it": {"at_border": 1},
        "the mean of both slopes": {"at_border": HALF},
    },
)
def clip_at_the_border(at_border=0):
    def value(u):
        return clip(u, span)[0]

    outer = [left_derivative(value, 0), right_derivative(value, span)]
    inner = [right_derivative(value, S.Zero, span), left_derivative(value, span, 0)]
    return [
        Equation(outer[0], at_border),
        Equation(outer[1], at_border),
        Equation(inner[0], 1),
        Equation(inner[1], 1),
        Equation(clip(S.Zero, span)[1], outer[0]),
        Equation(clip(span, span)[1], outer[1]),
    ]


@book.theorem(
    "The clip factor printed as 0 outside the image alone exceeds the factor of the kernels by exactly 1 at both borders.",
    {"the two factors differ by 0": {"by": 0}, "the two factors differ by 1/2": {"by": HALF}},
)
def printed_clip_factor(by=1):
    return [Equation(clip(u, span, closed=True)[1] - clip(u, span)[1], by) for u in (S.Zero, span)]


@book.theorem(
    "In every period, reflection is the triangle wave and its factor is the derivative.",
    {
        "sign lost at an odd number of mirrors": {"flipped": 1},
        "sign of the negative side lost": {"negative": 1},
    },
)
def reflection_on_cells(flipped=-1, negative=-1):
    signs = (1, flipped, negative, flipped * negative)
    equations = []
    for (v, value, _), sign, where in zip(_branches(span), signs, _WHERE):
        reflected, factor = reflect(v, S.Zero, span)
        equations += [
            Equation(reflected, value, where=where),
            Equation(factor, sign, where=where),
            Equation(diff(reflected, T) / diff(v, T), sign, where=where),
        ]
    return equations


@book.theorem(
    "Without alignCorners a flat zone of half a pixel lies on either side of each mirror, by clipping.",
    {
        "the slope is 1 in the flat zone": {"slope_in_zone": 1},
        "the pixel on the mirror": {"margin": HALF},
    },
)
def flat_zone_at_the_mirror(slope_in_zone=0, margin=0):
    last = Symbol("w", integer=True, nonnegative=True)  # W - 1, the last pixel
    s = T / (2 * (1 + T))
    where = "distance to the pixel s = t/(2(1+t)) < 1/2"
    held = [(clip(last + s, last)[0], last + margin), (clip(-s, last)[0], -margin)]
    return [
        e
        for value, expected in held
        for e in (
            Equation(value, expected, where=where),
            Equation(diff(value, T) / diff(s, T), slope_in_zone, where=where),
        )
    ]
