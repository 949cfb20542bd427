"""The 2D grid sampler, out[p, q] interpolated at the pixel coordinates of grid[p, q]: derivation and proof of both gradients.

On an open cell the sampled pixels (taps X_k, Y_l) do not change and padding is affine, u = s ix + o with s in {-1, 0, 1}:
everything is a polynomial there, and the chain rule gives both gradients. `coordinates` proves s, `interpolation` the weights.
Documented backward: aclnnGridSampler2DBackward, CANN documentation; ops-cv image/grid_sampler2_d_grad. Samples b, channels c,
pixels (h, w), grid points (p, q).
"""

from functools import cache

from sympy import IndexedBase, Integer, KroneckerDelta, S, Sum, Symbol, symbols

from derivations import coordinates, interpolation
from derivations.coordinates import unnormalise
from derivations.interpolation import WEIGHTS, slopes, t
from derivations.prover.expressions import substitute
from derivations.prover.formulas import Derivation
from derivations.prover.gradient import gradient
from derivations.prover.notation import array_symbols, index_symbols, size_symbols
from derivations.prover.tape import Tape
from derivations.prover.theorem import Book, Equation

N, C, H, W, P, Q, K = size_symbols("N C H W P Q K")
b, c, h, w, p, q, k, l = index_symbols("b c h w p q k l")
image, gradOutput, V = array_symbols("input gradOutput V")
X, Y = symbols("X Y", cls=IndexedBase, integer=True)
wx, wy, tx, ty, sx, sy = array_symbols("wx wy tx ty sx sy")
POINT = (b, p, q)
PIXEL, OUTPUT = {b: N, c: C, h: H, w: W}, {b: N, c: C, p: P, q: Q}
PIXELS = [(h, 0, H - 1), (w, 0, W - 1)]
POINTS = [(p, 0, P - 1), (q, 0, Q - 1)]
CHANNELS = (c, 0, C - 1)

CHAPTER, PARTS = 3, (coordinates, interpolation)
# a mode without and a mode with padding: their steps contain the texts of all modes
TEXT_MODES = (0, 0), (0, 1)
book = Book("grid_sampler_2d")


def by_tap(index, values, at):
    """Return values[index] for a symbolic index, with `at` for t."""
    return sum(KroneckerDelta(index, j) * value.subs(t, at) for j, value in enumerate(values))


@cache
def derive(interpolationMode=0, paddingMode=0, alignCorners=False):
    """
    Derive inputGrad and gridGrad for one mode: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection.

    >>> derive(interpolationMode=2).steps[-1].title
    'gridGrad_y as documented'
    """
    tape = _tape(interpolationMode, interpolationMode != 2 and paddingMode != 0, alignCorners)
    return Derivation(tuple(tape.steps), tape)


@cache
def _tape(interpolationMode, pad, alignCorners):
    """Return the tape of all modes with padding, or of all without: on an open cell these agree."""
    weights = WEIGHTS[interpolationMode]
    point, last = dict(zip(POINT, (N, P, Q))), len(weights) - 1
    tape = Tape({C: [c], H: [h], W: [w], P: [p], Q: [q], Integer(len(weights)): [k, l]})
    tape.input("input", PIXEL)
    for axis, size, tap in (("x", W, k), ("y", H, l)):
        _along(tape, axis, size, tap, weights, pad, alignCorners)
    read = Sum(
        KroneckerDelta(h, Y[(l, *POINT)]) * KroneckerDelta(w, X[(k, *POINT)]) * image[b, c, h, w],
        *PIXELS[::-1],
    )
    tape.define(
        "V",
        {b: N, c: C, l: Integer(last + 1), k: Integer(last + 1), p: P, q: Q},
        read,
        "A delta picks the pixel of an index; for an index outside the image it picks nothing: 0.",
        "Read the pixels",
    )
    tape.define(
        "out",
        OUTPUT,
        Sum(wy[(l, *POINT)] * wx[(k, *POINT)] * V[b, c, l, k, p, q], (k, 0, last), (l, 0, last)),
        "Weights of both axes multiply.",
        "Interpolate",
    )
    tape.backward("out", gradOutput[b, c, p, q], ["input", "gx", "gy"], _reasons())
    x_weights, y_weights = at_points(weights, tx), at_points(weights, ty)
    tape.conclude(
        "inputGrad",
        PIXEL,
        documented_input_grad(x_weights, y_weights),
        "input",
        "Every grid point adds gradOutput times a weight to each pixel that the point read: scatter.",
    )
    sums = {
        "x": documented_corner_sum(at_points(slopes(weights), tx), y_weights),
        "y": documented_corner_sum(x_weights, at_points(slopes(weights), ty)),
    }
    for axis, size in (("x", W), ("y", H)):
        s = IndexedBase(f"s{axis}", real=True)[POINT] if pad else S.One
        factor = s * unnormalise(S.Zero, size, alignCorners)[1]
        tape.conclude(
            f"gridGrad_{axis}",
            point,
            factor * sums[axis],
            f"g{axis}",
            "Factors of unnormalisation and padding, times the sum over channels and pixels.",
        )
    return tape


def _along(tape, axis, size, tap, weights, pad, alignCorners):
    """Define the pixels and the weights along one axis from the entry of the grid."""
    point = dict(zip(POINT, (N, P, Q)))
    x = tape.input(f"g{axis}", point)
    pixel = tape.define(
        f"i{axis}",
        point,
        unnormalise(x[POINT], size, alignCorners)[0],
        f"From [-1, 1] to pixels along {axis}.",
        f"Unnormalise {axis}",
    )[POINT]
    if pad:
        s, o = (tape.input(f"{name}{axis}", point) for name in "so")
        pixel = tape.define(
            f"u{axis}",
            point,
            s[POINT] * pixel + o[POINT],
            "On an open cell padding is affine with slope s = 1, 0 or -1.",
            f"Pad {axis}",
        )[POINT]
    if weights != WEIGHTS[1]:
        corner = tape.input(f"floor_{axis}", point, integer=True)
        tape.define(
            f"t{axis}",
            point,
            pixel - corner[POINT],
            "Distance of the point from the pixel before it, less than 1.",
            f"Fraction {axis}",
        )
    tape.input(axis.upper(), {tap: Integer(len(weights)), **point}, integer=True)
    fraction = IndexedBase(f"t{axis}", real=True)[POINT]
    tape.define(
        f"w{axis}",
        {tap: Integer(len(weights)), **point},
        by_tap(tap, weights, fraction),
        "Each pixel that is read has one weight.",
        f"Weights {axis}",
    )


def _reasons():
    axes = {
        "i": "Padding scales by its slope.",
        "u": "The fraction is u minus a constant.",
        "t": "Each weight is a polynomial in the fraction.",
        "w": "out is linear in the weights: sum over channels.",
        "g": "Unnormalisation is affine: its slope is (size - 1)/2 or size/2.",
    }
    return {f"{name}{axis}": why for name, why in axes.items() for axis in "xy"} | {
        "out": "gradOutput is given.",
        "V": "Each pixel read counts with its weight.",
        "input": "A pixel may be read by many grid points: add up over all these points.",
    }


def at_points(weights, fraction):
    return [value.subs(t, fraction[POINT]) for value in weights]


def documented_input_grad(x_weights, y_weights):
    def spread(pixel, taps, weights):
        return sum(
            KroneckerDelta(pixel, taps[(j, *POINT)]) * value for j, value in enumerate(weights)
        )

    return Sum(
        gradOutput[b, c, p, q] * spread(h, Y, y_weights) * spread(w, X, x_weights), *POINTS[::-1]
    )


def documented_corner_sum(x_weights, y_weights):
    """Return the sum over channels and pixels of gradOutput times pixel times weights; one axis gives their derivatives."""
    terms = sum(
        x * y * V[b, c, i, j, p, q]
        for j, x in enumerate(x_weights)
        for i, y in enumerate(y_weights)
    )
    return Sum(gradOutput[b, c, p, q] * terms, CHANNELS)


def sampled(to_x, to_y):
    """Return out[b, c, p, q], where `to_x` and `to_y` are the weights of column w and row h."""
    return Sum(image[b, c, h, w] * to_y * to_x, *PIXELS[::-1])


def scattered(to_x, to_y):
    """Return inputGrad."""
    return Sum(gradOutput[b, c, p, q] * to_y * to_x, *POINTS[::-1])


@cache
def derived(mode, name, keep=(), keep_adjoints=()):
    """Return the adjoint of a node from the tape, keeping the intermediates `keep` and the adjoints `keep_adjoints`."""
    tape = derive(*mode).tape
    return tape.inline(tape.adjoint(name, keep_adjoints), keep)


POINT_RANGE = {b: (0, N - 1), p: (0, P - 1), q: (0, Q - 1)}
PIXEL_RANGE = {index: (0, length - 1) for index, length in PIXEL.items()}


@book.theorem(
    "The printed padding factors hold for bilinear alone, though printed for all modes: on bicubic they are wrong by (s - 1).",
    {
        "the padding factor is right on bicubic": {"one": sx[POINT]},
        "bilinear has no padding factor, either": {"linear": S.One},
    },
)
def padding_factors_by_mode(one=S.One, linear=sx[POINT]):
    fraction = IndexedBase("txbar", real=True)[POINT]
    bilinear, bicubic = (derived(mode, "gx", keep_adjoints=("tx",)) for mode in ((0, 2), (2, 0)))
    return [
        Equation(bilinear, linear * W / 2 * fraction, POINT_RANGE),
        Equation(sx[POINT] * bicubic - bicubic, (sx[POINT] - one) * W / 2 * fraction, POINT_RANGE),
    ]


def _any_number_of_taps(of_pixel):
    """Return the sum over points and any number K of taps of gradOutput times weights times a function of the pixel."""
    weighted = wy[(l, *POINT)] * wx[(k, *POINT)] * of_pixel(Y[(l, *POINT)], X[(k, *POINT)])
    return Sum(gradOutput[b, c, p, q] * weighted, (k, 0, K - 1), (l, 0, K - 1), *POINTS)


def _deltas(row, column):
    return KroneckerDelta(h, row) * KroneckerDelta(w, column)


@book.theorem(
    "inputGrad is the transposed map: its product with any image equals the product of gradOutput with the sampled image.",
    {
        "rows and columns exchanged": {"exchange": True},
        "product over one row": {"limits": PIXELS[1:]},
    },
)
def scatter_is_the_transpose_of_gather(exchange=False, limits=PIXELS):
    def read(row, column):
        pixel = image[b, c, w, h] if exchange else image[b, c, h, w]
        return Sum(_deltas(row, column) * pixel, *PIXELS)

    left = Sum(_any_number_of_taps(_deltas) * image[b, c, h, w], *limits)
    return [Equation(left, _any_number_of_taps(read), {b: PIXEL_RANGE[b], c: PIXEL_RANGE[c]})]


ANY_ROWS = Sum(wy[(l, *POINT)] * KroneckerDelta(h, Y[(l, *POINT)]), (l, 0, K - 1))


@book.theorem(
    "With any number of taps anywhere, inputGrad is the derivative of the forward pass by the image.",
    {"of one sample": {"samples": 1}, "rows and columns exchanged": {"exchange": True}},
)
def input_grad_of_any_taps(samples=N, exchange=False):
    row, column = index_symbols("row column")
    to_x = Sum(wx[(k, *POINT)] * KroneckerDelta(w, X[(k, *POINT)]), (k, 0, K - 1))
    loss = Sum(
        gradOutput[b, c, p, q] * sampled(to_x, ANY_ROWS),
        *POINTS[::-1],
        CHANNELS,
        (b, 0, samples - 1),
    )
    documented = substitute(
        scattered(to_x, ANY_ROWS), {h: column, w: row} if exchange else {h: row, w: column}
    )
    return [
        Equation(
            gradient(loss, image[b, c, row, column]),
            documented,
            {b: (0, N - 1), c: (0, C - 1), row: (0, H - 1), column: (0, W - 1)},
            shown=Symbol("inputGrad"),
        )
    ]
