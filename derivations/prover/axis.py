"""
One axis of a grid sampler from end to end: from the grid's entry to the pixels that are read, and their weights.

On an open cell of the grid's entry every floor, rounding, clip and reflection has one outcome. The cells listed here
reach every entry but the kinks between them, for any size of the image and any number of reflections.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

from sympy import Expr, KroneckerDelta, Rational, S, Symbol, diff, floor, symbols

from derivations.cells import T, settle
from derivations.coordinates import padded, unnormalise
from derivations.interpolation import DOCUMENTED_A, cubic_weights, linear_weights, slopes, t
from derivations.prover.functions import round_half_even
from derivations.prover.gradient import gradient
from derivations.prover.theorem import Equation

WEIGHTS = {0: linear_weights(t), 1: [S.One], 2: cubic_weights(t, DOCUMENTED_A)}
MODES = tuple(product((0, 1, 2), (False, True)))  # of padding and alignment
PADDING = {0: "zeros", 1: "border", 2: "reflection"}
HALF, TAU = Rational(1, 2), T / (1 + T)
pixel = Symbol("k", integer=True)
PIXELS = symbols("X_0:4", integer=True)
before, after, waves = (Symbol(name, integer=True, nonnegative=True) for name in ("j", "r", "q"))
width, last = Symbol("W", integer=True, positive=True), Symbol("L", integer=True, positive=True)


def taps(x, size, interpolationMode, paddingMode, alignCorners, decide=None):
    """
    (pixels, weights, derivatives by the grid) along one axis, as closed expressions in the grid's entry `x`.

    `decide` says the outcome of padding and rounding where more is known about x.
    """
    u, factor = unnormalise(x, size, alignCorners)
    if interpolationMode != 2:
        u, inside = padded(u, size, paddingMode, alignCorners, decide=decide)
        factor = factor * inside
    if interpolationMode == 1:
        return [_rounded(round_half_even, u, decide)], [S.One], [S.Zero]
    first = _rounded(floor, u, decide)
    weights = WEIGHTS[interpolationMode]
    pixels = [first, first + 1]
    if interpolationMode == 2:
        # No cell decides which pixel it is; SymPy need not look for it, but where it is a number.
        unsettled = None if decide is None or first.is_number else lambda e: e
        pixels = [
            padded(first + j, size, paddingMode, alignCorners, decide=unsettled)[0]
            for j in (-1, 0, 1, 2)
        ]
    return (
        pixels,
        [value.subs(t, u - first) for value in weights],
        [factor * value.subs(t, u - first) for value in slopes(weights)],
    )


def _rounded(rounding, u, decide):
    return rounding(u) if decide is None else decide(rounding(u, evaluate=False))


def spread(index, pixels, values):
    """The value that each pixel gets: the sum of the `values` of the taps that read it."""
    return sum(KroneckerDelta(index, tap) * value for tap, value in zip(pixels, values))


@dataclass(frozen=True)
class AxisCell:
    """An open cell of the grid's entry: `x` runs through it as T does; `known` says what the `size` is made of."""

    mode: tuple
    u: Expr
    x: Expr
    size: Expr
    known: tuple = ()

    @property
    def where(self):
        interpolation, padding, align = self.mode
        size = ", ".join(f"{name} = {value}" for name, value in self.known)
        return f"{PADDING[padding]}, alignCorners={align}, u = {self.u}, t > 0" + (
            size and f", {size}"
        )

    @cache
    def taps(self, moving):
        """What `taps` returns, with every outcome decided; the derivatives are those of the mode `moving`."""
        pixels, weights, slopes = self._of(self.mode)
        return pixels, weights, slopes if moving == self.mode else self._of(moving)[2]

    @cache
    def _of(self, mode):
        return taps(self.x, self.size, *mode, lambda e: settle(e, dict(self.known)))


def derivatives_on_cells(mode, length, index, sampled, gathered, moving=lambda *mode: mode):
    """
    One equation for each open cell of an axis: what `gathered` says is the derivative of what `sampled` says.

    Both take the weights of the pixels `index` of this axis, or their derivatives, and the limits of its pixels;
    `length` is the axis' size, and `moving` takes the derivatives from another mode. On a cell the pixels that are read
    do not move, so the equation is one about any pixels of these weights.
    """
    for cell in axis_cells(*mode):
        pixels, weights, slopes = cell.taps(moving(*mode))
        if any(e.has(T) for e in pixels):
            raise ValueError(
                f"pixels of a cell: got {pixels}, which move; give cells without jumps"
            )
        x, *slopes = (e.xreplace({width: length}) for e in (cell.x, *slopes))
        anywhere, limits = (
            PIXELS[: len(pixels)],
            (index, 0, cell.size.xreplace({width: length}) - 1),
        )
        left = gradient(sampled(spread(index, anywhere, weights), limits), T) / diff(x, T)
        yield Equation(left, gathered(spread(index, anywhere, slopes), limits), where=cell.where)


@cache
def axis_cells(interpolationMode, paddingMode, alignCorners):
    """
    The open cells of one axis, as a list of AxisCell.

    >>> [cell.u for cell in axis_cells(0, 1, True)]
    [-t, L + t, j + t/(t + 1), 0]
    """
    mode = interpolationMode, paddingMode, alignCorners
    size, end = (last + 1, last) if alignCorners else (width, width - 1)
    inner = (last, before + after + 1) if alignCorners else (width, before + after + 2)
    outer = (last, after + 1) if alignCorners else (width, after + 1)
    # nearest jumps in the middle
    parts = [TAU / 2, HALF + TAU / 2] if interpolationMode == 1 else [TAU]
    if interpolationMode == 2 or paddingMode == 0:
        found = [(pixel + TAU - (HALF if interpolationMode == 1 else 0), ())]
    elif paddingMode == 1:
        found = [(-T, outer), (end + T, outer), *[(before + part, inner) for part in parts]]
    else:
        low, span = (S.Zero, last) if alignCorners else (-HALF, width)
        flat = [] if alignCorners else [(TAU / 2, outer), (width - HALF + TAU / 2, outer)]
        zones = [*flat, *[(before + part - low, inner) for part in parts]]
        found = [
            (sign * ((2 * waves + odd) * span + zone) + low, known)
            for sign in (1, -1)
            for odd in (0, 1)
            for zone, known in zones
        ]
    cells = [
        AxisCell(
            mode,
            u,
            2 * u / last - 1 if alignCorners else (2 * u + 1) / width - 1,
            size,
            known and (known,),
        )
        for u, known in found
    ]
    # one aligned pixel: the grid has no effect
    return cells + [AxisCell(mode, S.Zero, T, S.One)] * alignCorners
