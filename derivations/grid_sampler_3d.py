"""
Grid sampler in 3D: the 2D sampler with one more axis; x, y, z of the grid belong to columns, rows, planes.

Documented backward: aclnnGridSampler3DBackward, CANN documentation; ops-cv image/grid_sampler3_d_grad. Samples b,
channels c, pixels (e, h, w) = (plane, row, column), grid points (o, p, q).
"""

from functools import cache
from math import prod

from sympy import Eq, IndexedBase, Integer, KroneckerDelta, S, Sum, Symbol

from derivations.interpolation import linear_weights, slopes, t
from derivations.prover.axis import spread, taps
from derivations.prover.expressions import substitute
from derivations.prover.formulas import Derivation, Formula
from derivations.prover.gradient import gradient
from derivations.prover.notation import index_symbols, size_symbols
from derivations.prover.tape import Step
from derivations.prover.theorem import Book, Equation

N, C, D, H, W, O, P, Q, K = size_symbols("N C D H W O P Q K")
b, c, e, h, w, o, p, q, k, d = index_symbols("b c e h w o p q k d")
image, grid, gradOutput = (IndexedBase(name, real=True) for name in ("input", "grid", "gradOutput"))
AXES = {"x": (w, W), "y": (h, H), "z": (e, D)}
POINT, POINTS = (b, o, p, q), [(q, 0, Q - 1), (p, 0, P - 1), (o, 0, O - 1)]
PIXELS = {index: (index, 0, size - 1) for index, size in AXES.values()}
RANGE = {b: (0, N - 1), c: (0, C - 1)}
ANY = {
    index: Sum(
        IndexedBase(f"w{axis}", real=True)[(k, *POINT)]
        * KroneckerDelta(index, IndexedBase(axis.upper(), integer=True)[(k, *POINT)]),
        (k, 0, K - 1),
    )
    for axis, (index, _) in AXES.items()
}
INSIDE = {
    IndexedBase(axis.upper(), integer=True): (0, size - 1) for axis, (_, size) in AXES.items()
}
CHAPTER, book = 7, Book("grid_sampler_3d")


def corner(to):
    """The weight of a pixel: the product of those of its column, row and plane, {index: weight}."""
    return to[w] * to[h] * to[e]


def sampled(to, limits=PIXELS):
    return Sum(image[b, c, e, h, w] * corner(to), *limits.values())


def gathered(slope, limits=PIXELS):
    return Sum(
        gradOutput[b, c, o, p, q] * image[b, c, e, h, w] * slope, *limits.values(), (c, 0, C - 1)
    )


def scattered(to):
    return Sum(gradOutput[b, c, o, p, q] * corner(to), *POINTS)


def _closed(*mode):
    """Weights and their derivatives by the grid along each axis, {index: expression}."""
    to, by = {}, {}
    for axis, (index, size) in enumerate(AXES.values()):
        pixels, weights, moving = taps(grid[(*POINT, axis)], size, *mode)
        to[index], by[index] = spread(index, pixels, weights), spread(index, pixels, moving)
    return to, by


@cache
def derive(interpolationMode=0, paddingMode=0, alignCorners=False):
    """
    Derive inputGrad and gridGrad for one mode: 0 trilinear, 1 nearest; 0 zeros, 1 border, 2 reflection.

    >>> sorted(derive(interpolationMode=1).formulas())
    ['gridGrad', 'inputGrad']
    """
    named = {
        index: IndexedBase(f"w{axis}", real=True)[(index, *POINT)]
        for axis, (index, _) in AXES.items()
    }
    moving = IndexedBase("wxbar", real=True)[(w, *POINT)]
    lines = [
        ("Interpolate", Symbol("out"), sampled(named), "Weights of the three axes multiply."),
        (
            "Gradient of the image",
            Symbol("inputGrad"),
            scattered(named),
            "out is linear in the image: scatter.",
        ),
        (
            "Gradient of the grid",
            Symbol("gridGrad"),
            gathered(corner({**named, w: moving})),
            "By one coordinate: the weight of its axis gives way to its derivative, here that of x.",
        ),
    ]
    steps = tuple(
        Step(title, Eq(left, right, evaluate=False), why) for title, left, right, why in lines
    )
    return Derivation(steps, None, lambda: _formulas(interpolationMode, paddingMode, alignCorners))


def _formulas(*mode):
    to, by = _closed(*mode)
    slope = sum(
        KroneckerDelta(d, axis) * corner({**to, index: by[index]}) for axis, index in enumerate(to)
    )
    leaves = {
        "gradOutput": (N, C, O, P, Q),
        "input": (N, C, D, H, W),
        "grid": (N, O, P, Q, Integer(3)),
    }
    return [
        Formula("inputGrad", scattered(to), {b: N, c: C, e: D, h: H, w: W}, leaves),
        Formula("gridGrad", gathered(slope), {b: N, o: O, p: P, q: Q, d: Integer(3)}, leaves),
    ]


@book.theorem(
    "Whatever the weights are, what holds by x holds by y and by z with the names of the axes exchanged.",
    **{"sizes kept": {"sizes": False}, "weights kept": {"weights": False}},
)
def axes_exchange_for_any_weights(sizes=True, weights=True):
    of = {index: IndexedBase(f"w{axis}", real=True) for axis, (index, _) in AXES.items()}
    to, by = (
        {index: base[(index, *POINT, *order)] for index, base in of.items()} for order in ((), (1,))
    )
    equations = []
    for index, size in (AXES["y"], AXES["z"]):
        names = {w: index, index: w}
        names |= {W: size, size: W} if sizes else {}
        names |= {of[w]: of[index], of[index]: of[w]} if weights else {}
        for left, right in (
            (sampled(to), sampled(to)),
            (gathered(corner({**to, w: by[w]})), gathered(corner({**to, index: by[index]}))),
        ):
            transposed = left.xreplace(
                {image[b, c, e, h, w]: image[tuple(names.get(i, i) for i in (b, c, e, h, w))]}
            )
            equations.append(Equation(transposed.xreplace(names), right))
    return equations


@book.theorem(
    "With any number of taps anywhere, inputGrad is the derivative of the forward pass by the volume.",
    **{"of one sample": {"samples": 1}, "planes and columns exchanged": {"exchange": True}},
)
def input_grad_of_any_taps(samples=N, exchange=False):
    plane, row, column = index_symbols("plane row column")
    loss = Sum(
        gradOutput[b, c, o, p, q] * sampled(ANY), *POINTS, (c, 0, C - 1), (b, 0, samples - 1)
    )
    places = {e: column, h: row, w: plane} if exchange else {e: plane, h: row, w: column}
    return [
        Equation(
            gradient(loss, image[b, c, plane, row, column]),
            substitute(scattered(ANY), places),
            {**RANGE, plane: (0, D - 1), row: (0, H - 1), column: (0, W - 1)},
            shown=Symbol("inputGrad"),
        )
    ]


@book.theorem(
    "When all taps lie inside, inputGrad adds up to gradOutput times the sums of the weights of the axes.",
    **{"taps may lie outside": {"inside": False}, "weights of two axes": {"missing": "z"}},
)
def input_grad_keeps_the_sum(inside=True, missing=""):
    weights = [
        Sum(IndexedBase(f"w{axis}", real=True)[(k, *POINT)], (k, 0, K - 1))
        for axis in AXES
        if axis != missing
    ]
    total = Sum(gradOutput[b, c, o, p, q] * prod(weights), *POINTS)
    return [
        Equation(
            Sum(scattered(ANY), *PIXELS.values()), total, {**RANGE, **INSIDE} if inside else RANGE
        )
    ]


@book.theorem(
    "inputGrad is the transpose: its product with any volume is that of gradOutput with the sampled volume.",
    **{
        "rows and columns exchanged": {"exchange": True},
        "product over one plane": {"axes": (w, h)},
    },
)
def scatter_is_the_transpose_of_gather(exchange=False, axes=(w, h, e)):
    voxel = image[b, c, e, w, h] if exchange else image[b, c, e, h, w]
    left = Sum(scattered(ANY) * voxel, *[PIXELS[index] for index in axes])
    return [Equation(left, Sum(gradOutput[b, c, o, p, q] * sampled(ANY), *POINTS), RANGE)]


@book.theorem(
    "A constant volume has gridGrad 0 as long as all taps lie inside: derivatives of weights add up to 0.",
    **{"taps may lie outside": {"inside": False}, "weights instead": {"moving": linear_weights(t)}},
)
def constant_volume_has_no_grid_gradient(inside=True, moving=slopes(linear_weights(t))):
    value, X = Symbol("value", real=True), IndexedBase("X", integer=True)
    by_x = spread(w, [X[(j, *POINT)] for j in (0, 1)], moving)
    constant = gathered(corner({**ANY, w: by_x})).xreplace({image[b, c, e, h, w]: value})
    return [Equation(constant, 0, {**RANGE, **INSIDE} if inside else RANGE)]


@book.theorem(
    "The weights of the eight corners add up to 1, and their derivatives by a coordinate to 0.",
    **{"one corner missing": {"missing": 1}, "add up to 8": {"total": 8}},
)
def corners_add_up(missing=0, total=1):
    u, v = Symbol("u", real=True), Symbol("v", real=True)
    weights = [
        a * f * g for a in linear_weights(t) for f in linear_weights(u) for g in linear_weights(v)
    ][missing:]
    return [Equation(sum(weights), total), Equation(sum(slopes(weights)), S.Zero)]
