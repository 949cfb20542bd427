"""The grid samplers as fused loops: the taps of some points first, then channel by channel what they add and gather.

A sample's channels belong to one thread, which alone writes their image; what they add to each tap's share of the gradient
of the grid is added up at the end. A plane image is one of depth 1, on which there is one tap of weight 1.

Nothing is sliced for a point or an axis: a slice counts its owner's references, which takes longer than the arithmetic.
"""

import math
from functools import cache

import numpy as np

from aclnn_viz.arrays.loops import PART, computed, cuts, over, read, rounded, step
from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.dtypes import round_into

PLAN = Plan("a channel after the other", coordinates="float64", order=SEQUENTIAL)

NEAREST, BICUBIC = 1, 2
BORDER, REFLECTION = 1, 2
TAPS = {0: 2, NEAREST: 1, BICUBIC: 4}  # along one axis
CHANNELS = 8, 32  # of a sample that one thread takes: each thread computes its own taps
KNOWN, POINTS = 4096, 512  # taps, and points, that fit the caches beside an image
NOWHERE, HUGE = (
    -100.0,
    2.0**31,
)  # the device's place for what no int32 holds, outside of every image


@step
def mirrored(u, size, aligned):
    """The coordinate between mirrors on the centres (aligned) or the outer edges of the end pixels, and its slope."""
    low = 0.0 if aligned else -0.5
    span = size - 1.0 if aligned else size * 1.0
    if span == 0.0:
        return u * 0.0, 0.0
    phase = abs(u - low) % (2.0 * span)
    forth = phase < span
    return (phase if forth else 2.0 * span - phase) + low, 1.0 if forth == (u >= low) else -1.0


@step
def kept(u, size):
    """The coordinate on the image; a nan stays one."""
    return 0.0 if u < 0.0 else (size - 1.0 if u > size - 1.0 else u)


@step
def cubic_weights(axis, p, t, along, weight, slope):
    """The weights of the taps at -1, 0, 1, 2 of bicubic interpolation with A = -0.75, and their derivatives by x."""
    for k in range(4):
        d = abs(t + (1.0 - k))
        if k == 1 or k == 2:
            weight[axis, k, p] = (1.25 * d - 2.25) * d * d + 1.0
            change = (3.75 * d - 4.5) * d
        else:
            weight[axis, k, p] = ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0
            change = (-2.25 * d + 7.5) * d - 6.0
        # the last two distances shrink as t grows
        slope[axis, k, p] = (-change if k > 1 else change) * along


# One function, although complex: with its arrays in a tuple, and a function for each mode, it took a sixth more time.
@step
def place(  # noqa: C901
    grid,
    at,
    axes,
    count,
    axis,
    size,
    stride,
    interpolation,
    padding,
    aligned,
    u,
    along,
    index,
    weight,
    slope,
):
    """The taps of one axis of so many points: index times stride, -1 outside; their weights, and the derivatives by x."""
    cubic, nearest, scale = (
        interpolation == BICUBIC,
        interpolation == NEAREST,
        (size - 1.0) / 2.0 if aligned else size / 2.0,
    )
    for p in range(count):
        x = np.float64(read(grid, at + p * axes + axis))
        if padding == REFLECTION:
            x = x - 4.0 * np.rint(x / 4.0)  # exact, where x + 1 would drop the digits of a large x
        u[p], along[p] = (
            (x + 1.0) * 0.5 * (size - 1.0) if aligned else ((x + 1.0) * size - 1.0) * 0.5,
            scale,
        )
    # the padding of bicubic moves the taps, not the coordinate
    if padding == REFLECTION and not cubic:
        for p in range(count):
            u[p], sign = mirrored(u[p], size, aligned)
            along[p] *= sign
    if padding != 0 and not cubic:
        for p in range(count):
            along[p] = along[p] if u[p] > 0.0 and u[p] < size - 1.0 else 0.0
            u[p] = kept(u[p], size)
    if not (cubic and padding == REFLECTION):
        for p in range(count):
            u[p] = u[p] if abs(u[p]) <= HUGE else NOWHERE
    if cubic:
        for p in range(count):
            base = np.floor(u[p])
            cubic_weights(axis, p, u[p] - base, along[p], weight, slope)
            for k in range(4):
                tap = base - 1.0 + k
                if padding == REFLECTION:
                    tap, _ = mirrored(tap, size, aligned)
                if padding != 0:
                    tap = kept(tap, size)
                index[axis, k, p] = tap * stride if tap >= 0.0 and tap < size else -1.0
    else:
        for p in range(count):
            # ties to even
            u[p], t = np.rint(u[p]) if nearest else np.floor(u[p]), u[p] - np.floor(u[p])
            if not nearest:
                weight[axis, 0, p], weight[axis, 1, p], slope[axis, 0, p], slope[axis, 1, p] = (
                    1.0 - t,
                    t,
                    -along[p],
                    along[p],
                )
        for k in range(index.shape[1]):
            for p in range(count):
                tap = u[p] + k
                index[axis, k, p] = tap * stride if tap >= 0.0 and tap < size else -1.0


@step
def spread(count, taps, deep, index, weight, pixels, weights):
    """The taps of all axes together: the pixel, -1 outside, and the weight."""
    for p in range(count):
        tap = 0
        for k in range(deep):
            for j in range(taps):
                for i in range(taps):
                    z, y, x = index[2, k, p], index[1, j, p], index[0, i, p]
                    pixels[p, tap] = z + y + x if z >= 0 and y >= 0 and x >= 0 else -1
                    if taps > 1:  # the nearest pixel has the weight 1
                        weights[p, tap] = weight[2, k, p] * weight[1, j, p] * weight[0, i, p]
                    tap += 1


@step
def added(count, base, pixels, weights, grads, images, input, dots, wanted, turned):
    """Add what the gradients of so many points have of a channel's image, and of the dot products of their taps."""
    for p in range(count):
        grad = grads[np.uintp(p)]
        for tap in range(pixels.shape[1]):
            pixel = pixels[np.uintp(p), np.uintp(tap)]
            if pixel >= 0:
                if wanted:
                    images[np.uintp(base + pixel)] += grad * weights[np.uintp(p), np.uintp(tap)]
                if turned:
                    dot = np.float64(read(input, base + pixel)) * grad
                    dots[np.uintp(p), np.uintp(tap)] += dot


@step
def along_axes(count, taps, deep, weight, slope, pixels, dots, sums, at, apart):
    """What the taps have of the gradients of x, y, z, which lie `apart`: derivatives times dot products."""
    for p in range(count):
        tap = 0
        for k in range(deep):
            for j in range(taps):
                for i in range(taps):
                    if pixels[p, tap] >= 0:
                        z, y, x = weight[2, k, p], weight[1, j, p], weight[0, i, p]
                        sums[at + p] += dots[p, tap] * (z * y * slope[0, i, p])
                        sums[at + apart + p] += dots[p, tap] * (z * slope[1, j, p] * x)
                        if deep > 1:
                            sums[at + 2 * apart + p] += dots[p, tap] * (slope[2, k, p] * y * x)
                    tap += 1


@cache
def sampler(taps, axes):
    """The loop for so many taps along each of two or three axes: numba unrolls what is known when it compiles."""
    deep = taps if axes == 3 else 1
    known = taps * taps * deep
    most = min(KNOWN // known, POINTS)  # points at a time

    def units(
        part,
        first,
        last,
        each,
        channels,
        points,
        elements,
        gradOutput,
        input,
        grid,
        size,
        interpolation,
        padding,
        aligned,
        wanted,
        turned,
        places,
        images,
        chunks,
        gridSums,
    ):
        index, weight, slope = (
            np.zeros((3, taps, most), places.dtype),
            np.ones((3, taps, most)),
            np.zeros((3, taps, most)),
        )
        pixels, weights = (
            np.empty((most, known), places.dtype),
            np.ones((most, known), images.dtype),
        )
        dots, u, along = np.empty((most, known)), np.empty(most), np.empty(most)
        grads = np.empty(most, images.dtype)
        for unit in range(first, last):
            sample, chunk = unit // chunks, unit % chunks
            for start in range(0, points, most):
                count, stride = min(most, points - start), 1
                for axis in range(axes):
                    place(
                        grid,
                        (sample * points + start) * axes,
                        axes,
                        count,
                        axis,
                        size[axis],
                        stride,
                        interpolation,
                        padding,
                        aligned,
                        u,
                        along,
                        index,
                        weight,
                        slope,
                    )
                    stride *= size[axis]
                spread(count, taps, deep, index, weight, pixels, weights)
                dots[:] = 0
                for channel in range(chunk * each, min((chunk + 1) * each, channels)):
                    at = (sample * channels + channel) * points + start
                    base = (sample * channels + channel) * elements
                    for p in range(count):
                        grads[p] = read(gradOutput, at + p)
                    added(count, base, pixels, weights, grads, images, input, dots, wanted, turned)
                if turned:
                    to = unit * axes * points + start
                    along_axes(count, taps, deep, weight, slope, pixels, dots, gridSums, to, points)

    return units


def backward(
    outputs, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
):
    samples, channels, *size = input.shape
    points, axes = grid.shape[1:]
    compute, elements = computed(input), math.prod(size)
    each = min(max(CHANNELS[0], samples * channels // 2), CHANNELS[1])
    chunks = -(-channels // each)
    turned = outputMask[1] and interpolationMode != NEAREST
    gridSums = np.zeros((samples, chunks, axes, points) if turned else 0)
    result = outputs.get("inputGrad", np.empty(0, compute))
    images = result if result.dtype == compute else np.empty(result.shape, compute)
    images[...] = 0
    over(
        cuts(samples * chunks, samples * chunks * PART),
        sampler(TAPS[interpolationMode], axes),
        each,
        channels,
        points,
        elements,
        gradOutput.reshape(-1),
        input.reshape(-1),
        grid.reshape(-1),
        np.array(size[::-1]),
        interpolationMode,
        paddingMode,
        alignCorners,
        outputMask[0],
        turned,
        np.empty(0, np.int32 if elements < 2**31 else np.int64),
        images.reshape(-1),
        chunks,
        gridSums.reshape(-1),
    )
    if images is not result:
        over(cuts(*[result.size] * 2), rounded, images.reshape(-1), result.reshape(-1))
    if turned:
        with np.errstate(all="ignore"):
            round_into(outputs["gridGrad"], gridSums.sum(axis=1).swapaxes(1, 2))
    elif outputMask[1]:  # the nearest pixel has no gradient of the grid
        outputs["gridGrad"][...] = 0
