"""
The 2D grid sampler composed, from the grid's entry to the gradients, on every open cell of every mode.

The other axis has any number K of taps with any weights meanwhile. The theorems belong to the book of the operator.
"""

from itertools import product

from sympy import KroneckerDelta, Sum, Symbol

from derivations.axis import derivatives_on_cells
from derivations.expressions import substitute
from derivations.gradient import gradient
from derivations.grid_sampler_2d import (
    CHANNELS, POINT, POINTS, C, H, K, N, W, X, Y, b, book, c, gathered, gradOutput, h, image, k, l, p, q, sampled,
    scattered, w, wx, wy)
from derivations.notation import index_symbols
from derivations.theorem import Equation

ANY_ROWS = Sum(wy[(l, *POINT)] * KroneckerDelta(h, Y[(l, *POINT)]), (l, 0, K - 1))


def on_cells(mode, axis, **change):
    """gridGrad of one axis, cell by cell, while the other axis has any number K of taps with any weights."""
    index, other, size, length = (w, h, W, H) if axis == "x" else (h, w, H, W)
    rest = substitute(ANY_ROWS, {h: other})

    def sampled_along(values, limits):
        return Sum(gradOutput[b, c, p, q] * sampled(values, rest, [(other, 0, length - 1), limits]), CHANNELS)

    return derivatives_on_cells(mode, size, index, sampled_along, lambda values, limits: gathered(
        values * rest, [(other, 0, length - 1), limits]), **change)


def in_all_modes(interpolationMode, modes=tuple(product((0, 1, 2), (False, True))), axes="xy", **change):
    return [e for mode in modes for axis in axes for e in on_cells((interpolationMode, *mode), axis, **change)]


ON_CELLS = "{}: in every padding and alignment, on every open cell, gridGrad is the derivative of the forward pass."
ONE = {"modes": ((1, False),), "axes": "y"}


@book.theorem(ON_CELLS.format("Bilinear"), **{
    "slope of padding forgotten": {**ONE, "moving": lambda i, p, a: (i, 0, a)},
    "factor of the other alignment": {**ONE, "moving": lambda i, p, a: (i, p, not a)}})
def bilinear_on_every_cell(**change):
    return in_all_modes(0, **change)


@book.theorem(ON_CELLS.format("Bicubic"), **{
    "padding factor of bilinear": {**ONE, "moving": lambda i, p, a: (0, p, a)},
    "factor of the other alignment": {**ONE, "moving": lambda i, p, a: (i, p, not a)}})
def bicubic_on_every_cell(**change):
    return in_all_modes(2, **change)


@book.theorem(ON_CELLS.format("Nearest"), **{
    "gridGrad as bilinear": {**ONE, "moving": lambda i, p, a: (0, p, a)},
    "as bicubic": {**ONE, "moving": lambda i, p, a: (2, p, a)}})
def nearest_on_every_cell(**change):
    return in_all_modes(1, **change)


@book.theorem("With any number of taps anywhere, inputGrad is the derivative of the forward pass by the image.",
              **{"of one sample": {"samples": 1}, "rows and columns exchanged": {"exchange": True}})
def input_grad_of_any_taps(samples=N, exchange=False):
    row, column = index_symbols("row column")
    to_x = Sum(wx[(k, *POINT)] * KroneckerDelta(w, X[(k, *POINT)]), (k, 0, K - 1))
    loss = Sum(gradOutput[b, c, p, q] * sampled(to_x, ANY_ROWS), *POINTS[::-1], CHANNELS, (b, 0, samples - 1))
    documented = substitute(scattered(to_x, ANY_ROWS), {h: column, w: row} if exchange else {h: row, w: column})
    return [Equation(gradient(loss, image[b, c, row, column]), documented,
                     {b: (0, N - 1), c: (0, C - 1), row: (0, H - 1), column: (0, W - 1)}, shown=Symbol("inputGrad"))]
