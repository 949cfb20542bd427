"""Compute the taps along one axis as device kernels and PyTorch do, whose rounding differs from our formulas, to predict
their results.

Sources: ops-cv image/grid_sampler2_d_grad/op_kernel (Atlas A2 and A3) and its arch35 (Ascend 950).
"""

from aclnn_viz.operators.families.sampling import (
    BICUBIC,
    HUGE,
    NEAREST,
    NOWHERE,
    REFLECTION,
    ZEROS,
    bicubic_source,
    bicubic_weights,
    clip,
    pad_index,
    unnormalise,
)


def taps_and_slope(xp, x, size, interpolationMode, paddingMode, alignCorners, simt):
    """Return the taps along one axis, each (index, weight, d weight / d coordinate), and the multiplier of the gradient."""
    if interpolationMode == BICUBIC:
        u, slope = bicubic_source(xp, x, size, paddingMode, alignCorners)
    else:
        u, slope = _source(xp, x, size, paddingMode, alignCorners, simt)
    if simt:
        u, slope = xp.anchored(u), xp.to_storage(slope)
    if interpolationMode == NEAREST:
        return [(xp.round(u), xp.ones_like(u), xp.zeros_like(u))], slope
    first = xp.floor(u)
    if interpolationMode == BICUBIC:
        return [
            (pad_index(xp, first + (k - 1), size, paddingMode, alignCorners), w, d)
            for k, (w, d) in enumerate(bicubic_weights(u - first))
        ], slope
    second, one = first + 1.0, xp.ones_like(u)
    return [(first, second - u, -one), (second, u - first, one)], slope


def _source(xp, x, size, paddingMode, alignCorners, simt):
    u, slope = unnormalise(x, size, alignCorners)
    slope = slope * xp.ones_like(u)
    if paddingMode == REFLECTION:
        u, factor = _reflect(xp, u, size, alignCorners, simt)
        slope = slope * factor
    if paddingMode != ZEROS:
        u, factor = clip(xp, u, size)
        slope = slope * factor
    return xp.where(xp.abs(u) < HUGE, u, xp.full_like(u, NOWHERE)), slope


def _reflect(xp, u, size, alignCorners, simt):
    """Reflect a coordinate; mirrors are counted by a reciprocal (A2, A3) or a division (950), which may be off by one at a mirror."""
    low, span = (0.0, float(size - 1)) if alignCorners else (-0.5, float(size))
    if span == 0.0:
        return xp.zeros_like(u) * u, xp.zeros_like(u)
    offset = xp.abs(u - low)
    flips = xp.floor(offset / span if simt else offset * (1.0 / span))
    extra = xp.remainder(offset, span) if simt else offset - flips * span
    even = xp.remainder(flips, 2.0) == 0.0
    one = xp.ones_like(u)
    return xp.where(even, extra, span - extra) + low, xp.where(even == (u >= low), one, -one)
