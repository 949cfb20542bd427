"""
Grid sampler in 3D: the 2D sampler with one more axis; x, y, z of the grid belong to columns, rows, planes.

Documented backward: aclnnGridSampler3DBackward, CANN documentation; ops-cv image/grid_sampler3_d_grad. Samples b,
channels c, pixels (e, h, w) = (plane, row, column), grid points (o, p, q).
"""

from math import prod

from sympy import IndexedBase, KroneckerDelta, S, Sum, Symbol

from derivations.interpolation import linear_weights, slopes, t
from derivations.prover.notation import index_symbols, size_symbols
from derivations.prover.theorem import Book, Equation

N, C, D, H, W, O, P, Q, K = size_symbols("N C D H W O P Q K")
b, c, e, h, w, o, p, q, k = index_symbols("b c e h w o p q k")
image, gradOutput = (IndexedBase(name, real=True) for name in ("input", "gradOutput"))
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


def sampled(to):
    return Sum(image[b, c, e, h, w] * corner(to), *PIXELS.values())


def gathered(slope):
    return Sum(
        gradOutput[b, c, o, p, q] * image[b, c, e, h, w] * slope, *PIXELS.values(), (c, 0, C - 1)
    )


def scattered(to):
    return Sum(gradOutput[b, c, o, p, q] * corner(to), *POINTS)


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
    by_x = sum(KroneckerDelta(w, X[(j, *POINT)]) * slope for j, slope in enumerate(moving))
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
