"""Grid sampler 2D: interpolation of images (N, C, H, W) at points (x, y) of a grid (N, H_out, W_out, 2).

interpolationMode 0 bilinear, 1 nearest, 2 bicubic; paddingMode 0 zeros, 1 border, 2 reflection. Coordinates, floors,
roundings and reflections are rational arithmetic, hence exact for every finite grid value. A kernel that forms x + 1 in
float64 loses an x below 2^-53, and pixels of an x above 2^53: next to a kink it may then take the other side.
"""

import math
from fractions import Fraction

from .exact import exact, mp, zeros

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


def points(grid, height, width, interpolationMode, paddingMode, alignCorners):
    """Yield (n, row, column, taps along x, taps along y) of every grid point."""
    for n in range(grid.shape[0]):
        for row in range(grid.shape[1]):
            for column in range(grid.shape[2]):
                x, y = grid[n, row, column]
                yield (
                    n,
                    row,
                    column,
                    taps_of(x, width, interpolationMode, paddingMode, alignCorners),
                    taps_of(y, height, interpolationMode, paddingMode, alignCorners),
                )


def forward(*, input, grid, interpolationMode=0, paddingMode=0, alignCorners=False):
    """Return `out` (N, C, H_out, W_out)."""
    image, grid = exact(input), exact(grid)
    batch, channels, height, width = image.shape
    out = zeros((batch, channels) + grid.shape[1:3])
    for n, row, column, x_taps, y_taps in points(
        grid, height, width, interpolationMode, paddingMode, alignCorners
    ):
        for j, wy, _ in y_taps:
            for i, wx, _ in x_taps:
                for c in range(channels):
                    out[n, c, row, column] += image[n, c, j, i] * wy * wx
    return {"out": out}


def gradients(
    part, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
):
    """Sum part(term) over the terms of every element of the two gradients."""
    grad, image, grid = exact(gradOutput), exact(input), exact(grid)
    _, channels, height, width = image.shape
    input_grad, grid_grad = zeros(image.shape), zeros(grid.shape)
    for n, row, column, x_taps, y_taps in points(
        grid, height, width, interpolationMode, paddingMode, alignCorners
    ):
        for j, wy, slope_y in y_taps:
            for i, wx, slope_x in x_taps:
                for c in range(channels):
                    g, pixel = grad[n, c, row, column], image[n, c, j, i]
                    input_grad[n, c, j, i] += part(g * wy * wx)
                    if interpolationMode != NEAREST:
                        grid_grad[n, row, column, 0] += part(g * pixel * wy * slope_x)
                        grid_grad[n, row, column, 1] += part(g * pixel * wx * slope_y)
    both = {"inputGrad": input_grad, "gridGrad": grid_grad}
    return {name: value for (name, value), wanted in zip(both.items(), outputMask) if wanted}


def backward(
    *,
    gradOutput,
    input,
    grid,
    interpolationMode=0,
    paddingMode=0,
    alignCorners=False,
    outputMask=(True, True),
):
    """Return `inputGrad` and `gridGrad`, each if outputMask asks for it.

    A point that is nan or infinite in x or y contributes nothing and has gridGrad 0 in x and y, except that border
    clips an infinity in bilinear and nearest (multiplier 0), and that border in bicubic puts a coordinate that is not
    finite or beyond +-2^31 on pixel 0. An infinite value times the zero width of one aligned pixel is nan.
    """
    return gradients(
        lambda term: term,
        gradOutput,
        input,
        grid,
        interpolationMode,
        paddingMode,
        alignCorners,
        outputMask,
    )


def terms(
    *,
    gradOutput,
    input,
    grid,
    interpolationMode=0,
    paddingMode=0,
    alignCorners=False,
    outputMask=(True, True),
):
    """Return S of `inputGrad` and `gridGrad`.

    inputGrad: |gradOutput wy wx| of every point and tap that lands on the pixel.
    gridGrad: |gradOutput pixel wy dwx/dx| (for y: |gradOutput pixel wx dwy/dy|) of every channel and tap, where the
    multiplier is part of dwx/dx. A weight or its derivative is one factor: its own polynomial is not counted.
    """
    return gradients(
        abs, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
    )
