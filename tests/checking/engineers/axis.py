"""One axis of a grid sampler, as a kernel on vectors computes it: the taps of every coordinate, weight and slope each."""

import numpy as np

ZEROS, BORDER, REFLECTION = range(3)


def mirrored(u, size, aligned, slip):
    low, span = (0.0, size - 1.0) if aligned else (-0.5, float(size))
    if slip == "mirrors at the centres":
        low, span = 0.0, size - 1.0
    if span == 0:
        return np.zeros_like(u), np.zeros_like(u)
    sign, u = np.where(u < low, -1, 1), np.abs(u - low)
    flips, extra = np.floor(u / span), np.fmod(u, span)
    odd = flips % 2 == 1
    if slip == "one mirror alone":
        odd, extra = flips >= 1, np.where(flips >= 1, u - span, u)
    sign = sign if slip == "slope not mirrored" else np.where(odd, -sign, sign)
    return np.where(odd, span - extra, extra) + low, sign


def taps(slip, x, size, interpolation, padding, aligned):
    """A list of (index, weight, slope of the weight), one an offset, each an array over the points."""
    x = x.astype(np.float64)
    if slip == "align corners not read":
        aligned = False
    if aligned:
        u, scale = (x + 1) / 2 * (size - 1), (size - 1) / 2
    else:
        u, scale = ((x + 1) * size - 1) / 2, size / 2
    if slip == "half a pixel forgotten" and not aligned:
        u = (x + 1) * size / 2
    if slip == "slope of the grid forgotten":
        scale = 1.0
    if slip == "slope as if aligned":
        scale = (size - 1) / 2
    scale = np.full_like(u, scale)
    if interpolation == 2 and slip != "bicubic as bilinear":
        return cubic(slip, u, scale, size, padding, aligned)
    if padding == REFLECTION:
        u, sign = mirrored(u, size, aligned, slip)
        scale = scale * sign
    if padding != ZEROS or slip == "zeros taken for border":
        if slip != "slope outside of the border":
            scale = np.where((u <= 0) | (u >= size - 1), 0, scale)
        u = np.clip(u, 0, size - 1)
    if interpolation == 1:
        u = (
            np.floor(u + 0.5)
            if slip == "nearest by a half"
            else np.floor(u)
            if slip == "nearest is floor"
            else np.rint(u)
        )
        return [(u, np.ones_like(u), np.zeros_like(u))]
    first = np.trunc(u) if slip == "truncated to an index" else np.floor(u)
    t = u - first
    if slip == "weights of the corners exchanged":
        return [(first, t, scale), (first + 1, 1 - t, -scale)]
    if slip == "slope of the first corner positive":
        return [(first, 1 - t, scale), (first + 1, t, scale)]
    return [(first, 1 - t, -scale), (first + 1, t, scale)]


def cubic(slip, u, scale, size, padding, aligned):
    a = -0.5 if slip == "coefficient of Catmull-Rom" else -0.75
    t, found = u - np.floor(u), []
    for k in range(-1, 3):
        d = np.abs(t - k)
        inner, outer = ((a + 2) * d - (a + 3)) * d * d + 1, a * (d * (d * (d - 5) + 8) - 4)
        slope = np.where(d <= 1, (3 * (a + 2) * d - 2 * (a + 3)) * d, a * (d * (3 * d - 10) + 8))
        slope = slope * (1 if slip == "cubic slope by distance" else np.sign(t - k))
        at = np.floor(u) + k
        if padding == REFLECTION:
            at, _ = mirrored(at, size, aligned, slip)
        if slip == "cubic taps not padded" and padding != ZEROS:
            pass
        elif padding != ZEROS:
            at = np.clip(at, 0, size - 1)
        found.append((np.rint(at), np.where(d <= 1, inner, outer), slope * scale))
    return found
