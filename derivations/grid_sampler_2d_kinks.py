"""
The kinks of the grid sampler: those of one row of pixels I[0], ..., I[W-1] by the pixel coordinate u.

The factor of the unnormalisation is left out. Left and right derivatives come from exact differences of the forward
interpolation, which is linear between kinks.
"""

from functools import cache

from sympy import Indexed, IndexedBase, Integer, Rational, S, expand, floor

from derivations.coordinates import padded
from derivations.prover.functions import round_half_even
from derivations.prover.kinks import Kink, convention  # noqa: F401, in the example

INTERPOLATIONS = {0: "bilinear", 1: "nearest", 2: "bicubic"}
PADDINGS = {0: "zeros", 1: "border", 2: "reflection"}
GRID_SOURCE = (
    "ATen GridSampler.h, read and not run: floor picks the right neighbour, clip_coordinates_set_grad is 0 "
    "at the border itself, reflect_coordinates_set_grad takes its sign from in - low < 0 and from flips"
)
NEAREST_SOURCE = (
    "ATen GridSampler.h, read and not run: nearbyint picks the pixel, the gradient by the grid is 0"
)
STEP = Rational(1, 1024)


@cache  # the table of kinks is asked for by several
def grid_sampler_kinks(interpolationMode, paddingMode, alignCorners, size=5):
    """
    The kinks of one mode for a row of `size` pixels, for coordinates from -size to 2 size.

    Bicubic has none: its taps are padded one by one, and the interpolant of the padded image has a continuous slope.

    >>> [(kink.at, convention(kink.pytorch, kink.left, kink.right)) for kink in grid_sampler_kinks(0, 1, True, size=3)]
    [(0, 'left'), (1, 'right'), (2, 'right')]
    """
    mode = (
        f"{INTERPOLATIONS[interpolationMode]}, {PADDINGS[paddingMode]}, alignCorners={alignCorners}"
    )
    if interpolationMode == 2:
        return []
    kinks = []
    for double in range(-2 * size, 4 * size + 1):
        u = Rational(double, 2)
        value, before, after = (
            _row(interpolationMode, paddingMode, alignCorners, size, v)
            for v in (u, u - STEP, u + STEP)
        )
        far_before, far_after = (
            _row(interpolationMode, paddingMode, alignCorners, size, u + side * 2 * STEP)
            for side in (-1, 1)
        )
        left, right = (before - far_before) / STEP, (far_after - after) / STEP
        jump = (after + after - far_after) - (before + before - far_before)
        if expand(left - right) == 0 and expand(jump) == 0:
            continue
        documented, pytorch = (
            (S.Zero, S.Zero)
            if interpolationMode == 1
            else (_slope(paddingMode, alignCorners, size, u, printed) for printed in (True, False))
        )
        kinks.append(
            Kink(
                "grid_sampler_2d",
                mode,
                u,
                expand(left),
                expand(right),
                expand(documented),
                expand(pytorch),
                NEAREST_SOURCE if interpolationMode == 1 else GRID_SOURCE,
                expand(jump),
            )
        )
    return kinks


def _pixel(index, size):
    return Indexed(IndexedBase("I"), index) if 0 <= index < size else S.Zero


def _row(interpolationMode, paddingMode, alignCorners, size, u):
    """The forward interpolation of the row at coordinate u."""
    v = padded(u, Integer(size), paddingMode, alignCorners)[0]
    if interpolationMode == 1:
        return _pixel(round_half_even(v), size)
    first = floor(v)
    return (first + 1 - v) * _pixel(first, size) + (v - first) * _pixel(first + 1, size)


def _slope(paddingMode, alignCorners, size, u, printed):
    """The documented derivative at u; print counts the border as inside, kernels and PyTorch do not."""
    v, factor = padded(u, Integer(size), paddingMode, alignCorners, closed=printed)
    first = floor(v)
    return factor * (_pixel(first + 1, size) - _pixel(first, size))
