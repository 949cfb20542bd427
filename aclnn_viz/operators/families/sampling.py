"""Formulas of the grid samplers along one axis: from a coordinate in [-1, 1] to taps (sampled pixels), weights, and the
derivatives of weights.

Each axis is treated alone, in these steps:

    unnormalise -> border or reflection -> taps: indices, weights, and the derivatives of the weights

so the weight of a tap is the product of one weight per axis. Coordinates and weights are float64: in float32 the whole part
of a coordinate takes bits from its fraction, from which the weights are computed.

nan, infinite and huge coordinates go where Atlas A2 sends them: ops-cv
image/grid_sampler2_d_grad/op_kernel/grid_sampler2_d_grad.h.
"""

BILINEAR, NEAREST, BICUBIC = range(3)
ZEROS, BORDER, REFLECTION = range(3)
NOWHERE = -100.0  # the device's coordinate for a point that it cannot place: outside every image
HUGE = 2.0**31  # larger coordinates do not fit the device's int32
A = -0.75  # constant of the bicubic kernel


def unnormalise(x, size, alignCorners):
    """Return the pixel coordinate of x and its slope; -1 and 1 are the centres (aligned) or outer edges of the end pixels."""
    if alignCorners:
        return (x + 1.0) * 0.5 * (size - 1), (size - 1) / 2
    return ((x + 1.0) * size - 1.0) * 0.5, size / 2


def fold(xp, x):
    """Return x less a multiple of 4, the period of mirrors at -1 and 1; exact, while x + 1 would drop digits of a large x."""
    return x - 4.0 * xp.round(x / 4.0)


def clip(xp, u, size):
    """Return the coordinate clipped to the image, and its slope: 0 outside and on the border, 1 between."""
    inside = (u > 0.0) & (u < size - 1)
    return xp.clip(u, 0.0, float(size - 1)), xp.where(inside, xp.ones_like(u), xp.zeros_like(u))


def reflect(xp, u, size, alignCorners):
    """Return the coordinate reflected into the image, and its slope: 1, or -1 after an odd number of reflections.

    The mirrors are at the centres of the end pixels (aligned) or at their outer edges.
    """
    low, span = (0.0, float(size - 1)) if alignCorners else (-0.5, float(size))
    if span == 0.0:
        return xp.zeros_like(u) * u, xp.zeros_like(u)
    offset = u - low
    phase = xp.remainder(xp.abs(offset), 2.0 * span)
    forth = phase < span
    slope = xp.where(forth == (offset >= 0.0), xp.ones_like(u), -xp.ones_like(u))
    return xp.where(forth, phase, 2.0 * span - phase) + low, slope


def source(xp, x, size, paddingMode, alignCorners):
    """Return the coordinate sampled for x, and its slope d coordinate / d x, the multiplier of the gradient."""
    u, slope = unnormalise(fold(xp, x) if paddingMode == REFLECTION else x, size, alignCorners)
    slope = slope * xp.ones_like(u)
    if paddingMode == REFLECTION:
        u, factor = reflect(xp, u, size, alignCorners)
        slope = slope * factor
    if paddingMode != ZEROS:
        u, factor = clip(xp, u, size)
        slope = slope * factor
    # nan compares as false, so it goes to NOWHERE
    return xp.where(xp.abs(u) <= HUGE, u, xp.full_like(u, NOWHERE)), slope


def bicubic_source(xp, x, size, paddingMode, alignCorners):
    """Return `source` for bicubic: padding acts on the taps, not the coordinate, and adds no factor to the slope."""
    u, slope = unnormalise(fold(xp, x) if paddingMode == REFLECTION else x, size, alignCorners)
    # reflection would mirror NOWHERE into the image; a nan stays outside
    if paddingMode != REFLECTION:
        u = xp.where(xp.abs(u) <= HUGE, u, xp.full_like(u, NOWHERE))
    return u, slope * xp.ones_like(u)


def bicubic_weights(t):
    """Return the weights of the taps at -1, 0, 1, 2 for the fraction t in [0, 1), and their derivatives by t."""

    def near(d):  # weight for |d| <= 1
        return ((A + 2.0) * d - (A + 3.0)) * d * d + 1.0, (
            3.0 * (A + 2.0) * d - 2.0 * (A + 3.0)
        ) * d

    def far(d):  # weight for 1 < |d| < 2
        return ((A * d - 5.0 * A) * d + 8.0 * A) * d - 4.0 * A, (
            3.0 * A * d - 10.0 * A
        ) * d + 8.0 * A

    # The polynomials take distances; for the last two taps the distance shrinks as t grows.
    (w0, d0), (w1, d1), (w2, d2), (w3, d3) = far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)
    return [(w0, d0), (w1, d1), (w2, -d2), (w3, -d3)]


def taps(xp, x, size, interpolationMode, paddingMode, alignCorners):
    """Return the taps along one axis: a list of (index as a float, weight, d weight / d x)."""
    if interpolationMode == BICUBIC:
        u, slope = bicubic_source(xp, x, size, paddingMode, alignCorners)
        first = xp.floor(u)
        weights = bicubic_weights(u - first)
        return [
            (pad_index(xp, first + (k - 1), size, paddingMode, alignCorners), w, d * slope)
            for k, (w, d) in enumerate(weights)
        ]
    u, slope = source(xp, x, size, paddingMode, alignCorners)
    if interpolationMode == NEAREST:
        return [(xp.round(u), xp.ones_like(u), xp.zeros_like(u))]  # xp.round rounds ties to even
    first = xp.floor(u)
    t = u - first
    return [(first, 1.0 - t, -slope), (first + 1.0, t, slope)]


def pad_index(xp, index, size, paddingMode, alignCorners):
    """Return the index that a tap outside the image reads: none, the border or the mirror image."""
    if paddingMode == REFLECTION:
        index, _ = reflect(xp, index, size, alignCorners)
    return index if paddingMode == ZEROS else xp.clip(index, 0.0, float(size - 1))


def channels_first(xp, images):
    """Return (N, C, ...) as (C, all the rest), so that one flat index serves every channel."""
    return xp.reshape(xp.moveaxis(images, 1, 0), (images.shape[1], -1))
