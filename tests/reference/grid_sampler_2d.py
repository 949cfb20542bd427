"""Grid sampler 2D: interpolation of images (N, C, H, W) at points (x, y) of a grid (N, H_out, W_out, 2); or 3D.

interpolationMode 0 bilinear, 1 nearest, 2 bicubic; paddingMode 0 zeros, 1 border, 2 reflection. Coordinates, floors,
roundings and reflections are rational arithmetic, hence exact for every finite grid value. A kernel that forms x + 1 in
float64 loses an x below 2^-53, and pixels of an x above 2^53: next to a kink it may then take the other side.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from .exact import exact, mp, signed, zeros

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
A = mp.mpf(-3) / 4
NOWHERE = Fraction(-100)  # the coordinate that the vendor's kernels give a point that has none


def coordinate(value, size, align):
    """The pixel coordinate of a grid value: a Fraction, or a float when it is infinite or nan (inf * 0 is nan)."""
    if not mp.isfinite(value):
        return float((value + 1) / 2 * (size - 1) if align else ((value + 1) * size - 1) / 2)
    sign, mantissa, exponent, _ = value._mpf_
    x = Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** exponent
    return (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2


def unnormalise_factor(size, align):
    """d coordinate / d grid value."""
    return Fraction(size - 1, 2) if align else Fraction(size, 2)


def reflect(c, size, align):
    """Reflect c at the outer pixels' centres (align) or edges; return the position and its derivative, 1 or -1.

    An image of one pixel has no width between centres: position 0, derivative 0.
    """
    low, span = (Fraction(0), size - 1) if align else (Fraction(-1, 2), size)
    if span == 0:
        return Fraction(0), 0
    sign = 1 if c >= low else -1
    flips, extra = divmod(abs(c - low), span)
    return (extra + low, sign) if flips % 2 == 0 else (span - extra + low, -sign)


def clip(c, size):
    """Clip c to the image; return the position and its derivative, which is 0 at the border too."""
    if c <= 0:
        return Fraction(0), 0
    if c >= size - 1:
        return Fraction(size - 1), 0
    return c, 1


def source(value, size, paddingMode, align):
    """Return the padded coordinate and d coordinate / d grid value, or None for a point that has no coordinate."""
    c, multiplier = coordinate(value, size, align), unnormalise_factor(size, align)
    if isinstance(c, float):
        if math.isnan(c) or paddingMode != BORDER:
            return None
        return (Fraction(size - 1) if c > 0 else Fraction(0)), Fraction(0)
    if paddingMode == ZEROS:
        return c, multiplier
    if paddingMode == REFLECTION:
        c, sign = reflect(c, size, align)
        multiplier *= sign
    c, inside = clip(c, size)
    return c, multiplier * inside


def to_mpf(fraction):
    return mp.mpf(fraction.numerator) / fraction.denominator


def cubic(t, offset):
    """The convolution weight of the neighbour at `offset` from the floor, and its derivative in the fraction t."""
    d, side = abs(t - offset), mp.sign(t - offset)
    if d <= 1:
        return ((A + 2) * d - (A + 3)) * d * d + 1, side * (3 * (A + 2) * d - 2 * (A + 3)) * d
    return ((A * d - 5 * A) * d + 8 * A) * d - 4 * A, side * ((3 * A * d - 10 * A) * d + 8 * A)


def cubic_taps(value, size, paddingMode, align):
    """The taps of bicubic: padding moves each neighbour, and the multiplier is the unnormalise factor alone."""
    c = coordinate(value, size, align)
    if isinstance(c, float) and paddingMode == REFLECTION:
        return []
    if paddingMode != REFLECTION and (isinstance(c, float) or abs(c) > 2**31):
        c = NOWHERE
    floor = math.floor(c)
    t, factor = to_mpf(c - floor), to_mpf(unnormalise_factor(size, align))
    taps = []
    for offset in (-1, 0, 1, 2):
        index = Fraction(floor + offset)
        if paddingMode == REFLECTION:
            index, _ = reflect(index, size, align)
        if paddingMode != ZEROS:
            index, _ = clip(index, size)
        weight, slope = cubic(t, offset)
        taps.append((int(index), weight, slope * factor))
    return taps


def taps_of(value, size, interpolationMode, paddingMode, align):
    """Return [(index, weight, d weight / d grid value)] along one axis; pixels outside the image are left out."""
    if interpolationMode == BICUBIC:
        taps = cubic_taps(value, size, paddingMode, align)
    else:
        found = source(value, size, paddingMode, align)
        if found is None:
            return []
        c, multiplier = found
        if interpolationMode == NEAREST:
            # Python rounds a Fraction to nearest, ties to even
            taps = [(round(c), mp.one, mp.zero)]
        else:
            floor, slope = math.floor(c), to_mpf(multiplier)
            taps = [(floor, to_mpf(1 - (c - floor)), -slope), (floor + 1, to_mpf(c - floor), slope)]
    return [tap for tap in taps if 0 <= tap[0] < size]


def points(grid, sizes, interpolationMode, paddingMode, alignCorners):
    """Yield (n, place, corners) of every grid point: a corner is (pixel, weight, derivatives by x, y and z)."""
    for n, *place in np.ndindex(grid.shape[:-1]):
        axes = [
            taps_of(value, size, interpolationMode, paddingMode, alignCorners)
            for value, size in zip(grid[(n, *place)], reversed(sizes))
        ]
        corners = []
        for taps in itertools.product(*reversed(axes)):
            pixel, weights, slopes = zip(*taps)
            by_axis = [
                math.prod(weights[:at]) * slope * math.prod(weights[at + 1 :])
                for at, slope in enumerate(slopes)
            ]
            corners.append((pixel, math.prod(weights), by_axis[::-1]))
        yield n, tuple(place), corners


def forward(*, input, grid, interpolationMode=0, paddingMode=0, alignCorners=False):
    """Return `out` (N, C, H_out, W_out)."""
    image, grid = exact(input), exact(grid)
    out = zeros(image.shape[:2] + grid.shape[1:-1])
    for n, place, corners in points(
        grid, image.shape[2:], interpolationMode, paddingMode, alignCorners
    ):
        for pixel, weight, _ in corners:
            for c in range(image.shape[1]):
                out[(n, c, *place)] += image[(n, c, *pixel)] * weight
    return {"out": out}


def backward(
    *,
    gradOutput,
    input,
    grid,
    interpolationMode=0,
    paddingMode=0,
    alignCorners=False,
    outputMask=(True, True),
    part=signed,
):
    """Return `inputGrad` and `gridGrad`, each if outputMask asks for it.

    A point that is nan or infinite in a coordinate contributes nothing and has gridGrad 0, except that border clips an
    infinity in bilinear and nearest (multiplier 0), and that border in bicubic puts a coordinate that is not finite or
    beyond +-2^31 on pixel 0. An infinite value times the zero width of one aligned pixel is nan.
    """
    grad, image, grid = exact(gradOutput), exact(input), exact(grid)
    input_grad, grid_grad = zeros(image.shape), zeros(grid.shape)
    for n, place, corners in points(
        grid, image.shape[2:], interpolationMode, paddingMode, alignCorners
    ):
        for pixel, weight, slopes in corners:
            for c in range(image.shape[1]):
                g = grad[(n, c, *place)]
                input_grad[(n, c, *pixel)] += part(g * weight)
                for axis, slope in enumerate(slopes):
                    if interpolationMode != NEAREST:
                        grid_grad[(n, *place, axis)] += part(g * image[(n, c, *pixel)] * slope)
    both = {"inputGrad": input_grad, "gridGrad": grid_grad}
    return {name: value for (name, value), wanted in zip(both.items(), outputMask) if wanted}


def terms(**inputs):
    """Return S of `inputGrad` and `gridGrad`.

    inputGrad: |gradOutput weight| of every point and tap that lands on the pixel. gridGrad: |gradOutput pixel| times the
    absolute product of one axis's d weight / d grid value and the other axes' weights, of every channel and tap. A weight
    or its derivative is one factor: its own polynomial is not counted.
    """
    return backward(**inputs, part=abs)
