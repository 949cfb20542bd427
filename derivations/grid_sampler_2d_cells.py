"""
The 2D grid sampler composed, from the grid's entry to the gradients, on every open cell of every mode.

The theorems are about x, while y has any number K of taps with any weights; one of them says why that is enough. They
belong to the chapter of the operator.
"""

from sympy import KroneckerDelta, Sum, Symbol

from derivations.grid_sampler_2d import (
    CHANNELS,
    PIXELS,
    POINT,
    POINTS,
    C,
    H,
    K,
    N,
    W,
    X,
    Y,
    b,
    book,
    c,
    gathered,
    gradOutput,
    h,
    image,
    k,
    l,
    p,
    q,
    sampled,
    scattered,
    w,
    wx,
    wy,
)
from derivations.prover.axis import MODES, derivatives_on_cells
from derivations.prover.expressions import substitute
from derivations.prover.gradient import gradient
from derivations.prover.notation import index_symbols
from derivations.prover.theorem import Equation

ANY_ROWS = Sum(wy[(l, *POINT)] * KroneckerDelta(h, Y[(l, *POINT)]), (l, 0, K - 1))


def on_cells(interpolationMode, modes=MODES, **change):
    """gridGrad by x, cell by cell, while y has any number K of taps with any weights."""

    def sampled_along(values, limits):
        return Sum(
            gradOutput[b, c, p, q] * sampled(values, ANY_ROWS, [PIXELS[0], limits]), CHANNELS
        )

    def gathered_along(values, limits):
        return gathered(values * ANY_ROWS, [PIXELS[0], limits])

    return [
        equation
        for mode in modes
        for equation in derivatives_on_cells(
            (interpolationMode, *mode), W, w, sampled_along, gathered_along, **change
        )
    ]


ON_CELLS = "{}: in every padding and alignment, on every open cell, gridGrad by x is the derivative of the forward pass."
ONE = {"modes": ((1, False),)}


@book.theorem(
    "Whatever the weights are, what holds by x holds by y with the names of rows and columns exchanged.",
    **{"sizes kept": {"sizes": {}}, "weights kept": {"weights": {}}},
)
def axes_exchange_for_any_weights(sizes={W: H, H: W}, weights={wx: wy, wy: wx}):
    to_x, to_y, by_x, by_y = (
        wx[(w, *POINT)],
        wy[(h, *POINT)],
        wx[(w, *POINT, 1)],
        wy[(h, *POINT, 1)],
    )

    def exchanged(e):
        transposed = e.xreplace({image[b, c, h, w]: image[b, c, w, h]})
        return transposed.xreplace({**sizes, **weights, w: h, h: w})

    return [
        Equation(exchanged(sampled(to_x, to_y)), sampled(to_x, to_y)),
        Equation(exchanged(gathered(by_x * to_y)), gathered(by_y * to_x)),
    ]


@book.theorem(
    ON_CELLS.format("Bilinear"),
    **{
        "slope of padding forgotten": {**ONE, "moving": lambda i, p, a: (i, 0, a)},
        "factor of the other alignment": {**ONE, "moving": lambda i, p, a: (i, p, not a)},
    },
)
def bilinear_on_every_cell(**change):
    return on_cells(0, **change)


@book.theorem(
    "With any number of taps anywhere, inputGrad is the derivative of the forward pass by the image.",
    **{"of one sample": {"samples": 1}, "rows and columns exchanged": {"exchange": True}},
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
