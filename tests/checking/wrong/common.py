"""Common parts of this folder's kernels: the computing format, three functions, and one axis of a grid sampler."""

import numpy as np

from aclnn_viz.arrays.elementary import ERF, in_numpy_arrays

erf = in_numpy_arrays(ERF)
ZEROS, BORDER, REFLECTION = range(3)


def wide(array):
    return array if array.dtype == np.float64 else array.astype(np.float32)


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def asked(outputs, mask):
    return {name: value for (name, value), wanted in zip(outputs.items(), mask) if wanted}


def mirrored(u, size, aligned):
    low, span = (0.0, size - 1.0) if aligned else (-0.5, float(size))
    if span == 0:
        return (np.zeros_like(u), np.zeros_like(u))
    sign, u = (np.where(u < low, -1, 1), np.abs(u - low))
    flips, extra = (np.floor(u / span), np.fmod(u, span))
    odd = flips % 2 == 1
    sign = np.where(odd, -sign, sign)
    return (np.where(odd, span - extra, extra) + low, sign)


def taps(x, size, interpolation, padding, aligned):
    x = x.astype(np.float64)
    if aligned:
        u, scale = ((x + 1) / 2 * (size - 1), (size - 1) / 2)
    else:
        u, scale = (((x + 1) * size - 1) / 2, size / 2)
    scale = np.full_like(u, scale)
    if interpolation == 2:
        return cubic(u, scale, size, padding, aligned)
    if padding == REFLECTION:
        u, sign = mirrored(u, size, aligned)
        scale = scale * sign
    if padding != ZEROS:
        scale = np.where((u <= 0) | (u >= size - 1), 0, scale)
        u = np.clip(u, 0, size - 1)
    if interpolation == 1:
        u = np.rint(u)
        return [(u, np.ones_like(u), np.zeros_like(u))]
    first = np.floor(u)
    t = u - first
    return [(first, 1 - t, -scale), (first + 1, t, scale)]


def cubic(u, scale, size, padding, aligned):
    a = -0.75
    t, found = (u - np.floor(u), [])
    for k in range(-1, 3):
        d = np.abs(t - k)
        inner, outer = (((a + 2) * d - (a + 3)) * d * d + 1, a * (d * (d * (d - 5) + 8) - 4))
        slope = np.where(d <= 1, (3 * (a + 2) * d - 2 * (a + 3)) * d, a * (d * (3 * d - 10) + 8))
        slope = slope * np.sign(t - k)
        at = np.floor(u) + k
        if padding == REFLECTION:
            at, _ = mirrored(at, size, aligned)
        if padding != ZEROS:
            at = np.clip(at, 0, size - 1)
        found.append((np.rint(at), np.where(d <= 1, inner, outer), slope * scale))
    return found
