"""Fused loops for numba that run the backward grid samplers fast on a CPU: first the taps of some points, then their
contributions channel by channel.

One thread owns a sample's channels and alone writes their image; their contributions to the grid gradient are summed at the
end. A plane image has depth 1, with one tap of weight 1 along it.

No point takes a slice: counting its owner's references would take longer than the arithmetic.
"""

import math
from functools import cache

import numpy as np

from aclnn_viz.arrays.loops import PART, cuts, over, read, real, step, write
from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.dtypes import round_into

PLAN = Plan("a channel after the other", coordinates="float64", order=SEQUENTIAL)

NEAREST, BICUBIC = 1, 2
BORDER, REFLECTION = 1, 2
TAPS = {0: 2, NEAREST: 1, BICUBIC: 4}  # taps along one axis, by interpolation mode
# Least and most channels of a sample in a thread's share: each share computes the taps again.
CHANNELS = 8, 32
KNOWN, POINTS = 4096, 512  # most taps, most points of a pass: they fit the caches beside an image
NOWHERE, HUGE = (
    -100.0,
    2.0**31,
)  # the device's place for a number beyond int32: outside every image


@step
def mirrored(u, size, aligned):
    """Return the coordinate reflected between the centres (aligned) or outer edges of the end pixels, and its slope."""
    low = 0.0 if aligned else -0.5
    span = size - 1.0 if aligned else size * 1.0
    if span == 0.0:
        return u * 0.0, 0.0
    phase = abs(u - low) % (2.0 * span)
    forth = phase < span
    return (phase if forth else 2.0 * span - phase) + low, 1.0 if forth == (u >= low) else -1.0


@step
def kept(u, size):
    """Return the coordinate clipped to the image; a nan stays nan."""
    return 0.0 if u < 0.0 else (size - 1.0 if u > size - 1.0 else u)


@step
def cubic_weights(p, t, along, weight, slope):
    """Store the weights of the taps at -1, 0, 1, 2 of bicubic interpolation with A = -0.75, and their derivatives by x."""
    for k in range(4):
        d = abs(t + (1.0 - k))
        if k == 1 or k == 2:
            weight[k, p] = (1.25 * d - 2.25) * d * d + 1.0
            change = (3.75 * d - 4.5) * d
        else:
            weight[k, p] = ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0
            change = (-2.25 * d + 7.5) * d - 6.0
        # for the last two taps the distance shrinks as t grows
        slope[k, p] = (-change if k > 1 else change) * along


# Each loop does one thing: one loop for all is not vectorised and takes a fifth more time.
@step
def coordinates(xs, size, how, u, along):
    """Store the positions of points along an axis, in pixels, and their derivatives by x."""
    interpolation, padding, aligned = how
    span, mirrors = size - 1.0 if aligned else size * 1.0, padding == REFLECTION
    for p in range(xs.size):
        x = np.float64(read(xs, p))
        if mirrors:
            # this remainder is exact; x + 1 would drop digits of a large x
            x = x - 4.0 * np.rint(x / 4.0)
        u[p] = (x + 1.0) * 0.5 * span if aligned else ((x + 1.0) * span - 1.0) * 0.5
        along[p] = span / 2.0
    # bicubic padding moves the taps instead of the coordinate
    if mirrors and interpolation != BICUBIC:
        for p in range(xs.size):
            u[p], sign = mirrored(u[p], size, aligned)
            along[p] *= sign
    if padding != 0 and interpolation != BICUBIC:
        for p in range(xs.size):
            along[p] = along[p] if u[p] > 0.0 and u[p] < size - 1.0 else 0.0
            u[p] = kept(u[p], size)
    if not mirrors or interpolation != BICUBIC:
        for p in range(xs.size):
            u[p] = u[p] if abs(u[p]) <= HUGE else NOWHERE


@step
def place(u, along, count, size, stride, how, index, weight, slope):
    """Store the taps of all points along one axis: index times stride (-1 outside), weight, derivative by x."""
    interpolation, padding, aligned = how
    if interpolation == BICUBIC:
        for p in range(count):
            base = np.floor(u[p])
            cubic_weights(p, u[p] - base, along[p], weight, slope)
            for k in range(4):
                tap = base - 1.0 + k
                if padding == REFLECTION:
                    tap, _ = mirrored(tap, size, aligned)
                if padding != 0:
                    tap = kept(tap, size)
                index[k, p] = tap * stride if tap >= 0.0 and tap < size else -1.0
        return
    for p in range(count):
        # np.rint rounds ties to even
        u[p], t = (
            np.rint(u[p]) if interpolation == NEAREST else np.floor(u[p]),
            u[p] - np.floor(u[p]),
        )
        if interpolation != NEAREST:
            weight[0, p], weight[1, p], slope[0, p], slope[1, p] = 1.0 - t, t, -along[p], along[p]
    for k in range(index.shape[0]):
        for p in range(count):
            tap = u[p] + k
            index[k, p] = tap * stride if tap >= 0.0 and tap < size else -1.0


@step
def spread(count, taps, deep, index, weight, owners, pixels, weights):
    """Store point, pixel and weight of each tap inside the image, over all axes, and return their number."""
    inside = 0
    for p in range(count):
        for k in range(deep):
            for j in range(taps):
                for i in range(taps):
                    z, y, x = index[2, k, p], index[1, j, p], index[0, i, p]
                    owners[inside], pixels[inside] = p, z + y + x
                    if taps > 1:  # nearest has one tap, of weight 1
                        weights[inside] = weight[2, k, p] * weight[1, j, p] * weight[0, i, p]
                    inside += z >= 0 and y >= 0 and x >= 0
    return inside


@step
def added(inside, owners, pixels, weights, grads, image, input, dots, wanted, turned):
    """Add each tap's gradient times weight to the channel's image, and its
    gradient times pixel to the tap's dot product.
    """
    for tap in range(inside):
        tap = np.uintp(tap)
        grad, pixel = grads[owners[tap]], pixels[tap]
        if wanted:
            image[pixel] += grad * weights[tap]
        if turned:
            dots[tap] += np.float64(read(input, pixel)) * grad


@step
def along_axes(count, taps, deep, index, weight, slope, dots, sums):
    """Add the taps' contributions to the gradients of x, y, z: derivatives times dot products."""
    tap = 0
    for p in range(count):
        for k in range(deep):
            for j in range(taps):
                for i in range(taps):
                    if index[2, k, p] >= 0 and index[1, j, p] >= 0 and index[0, i, p] >= 0:
                        z, y, x = weight[2, k, p], weight[1, j, p], weight[0, i, p]
                        sums[0, p] += dots[tap] * (z * y * slope[0, i, p])
                        sums[1, p] += dots[tap] * (z * slope[1, j, p] * x)
                        if deep > 1:
                            sums[2, p] += dots[tap] * (slope[2, k, p] * y * x)
                        tap += 1


@cache
def sampler(taps, axes):
    """Return the loop for the number of taps along two or three axes; numba unrolls numbers known at compile time."""
    deep = taps if axes == 3 else 1
    known = taps * taps * deep
    most = min(KNOWN // known, POINTS)  # points that are computed in one pass

    def units(
        part,
        first,
        last,
        each,
        gradOutput,
        input,
        grid,
        size,
        how,
        wanted,
        turned,
        result,
        gridSums,
    ):
        chunks, points = gridSums.shape[1], grid.shape[1]
        index, (weight, slope) = np.zeros((3, taps, most), np.int64), np.ones((2, 3, taps, most))
        owners, pixels = np.empty(most * known, np.uint16), np.empty(most * known, np.uint64)
        weights, dots = np.full(most * known, real(input, 1.0)), np.empty(most * known)
        u, along, grads = np.empty(most), np.empty(most), np.full(most, real(input, 0.0))
        how = how[0], how[1], how[2]
        images = np.full((each, input.shape[2] if wanted else 0), real(input, 0.0))
        for unit in range(first, last):
            sample, chunk = unit // chunks, unit % chunks
            own = min(each, gradOutput.shape[1] - chunk * each)
            for start in range(0, points, most):
                places, stride = grid[sample, start : start + most], 1
                count = len(places)
                for axis in range(axes):
                    xs, taps_of = places[:, axis], (index[axis], weight[axis], slope[axis])
                    coordinates(xs, size[axis], how, u, along)
                    place(u, along, count, size[axis], stride, how, *taps_of)
                    stride *= size[axis]
                inside = spread(count, taps, deep, index, weight, owners, pixels, weights)
                dots[:] = 0
                for channel in range(own):
                    at = chunk * each + channel
                    given = gradOutput[sample, at]
                    for p in range(count):
                        grads[p] = read(given, start + p)
                    image, xs = images[channel], input[sample, at]
                    added(inside, owners, pixels, weights, grads, image, xs, dots, wanted, turned)
                if turned:
                    sums = gridSums[sample, chunk, :, start:]
                    along_axes(count, taps, deep, index, weight, slope, dots, sums)
            for channel in range(own if wanted else 0):
                to = result[sample, chunk * each + channel]
                for i in range(to.size):
                    write(to, i, images[channel, i])
                    images[channel, i] = 0.0

    return units


def backward(
    outputs, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
):
    samples, channels, *size = input.shape
    points, axes = grid.shape[1:]
    each = min(max(CHANNELS[0], samples * channels // 2), CHANNELS[1])
    chunks = -(-channels // each)
    turned = outputMask[1] and interpolationMode != NEAREST
    gridSums = np.zeros((samples, chunks, axes, points if turned else 0))
    flat = samples, channels, math.prod(size)
    over(
        cuts(samples * chunks, samples * chunks * PART),
        sampler(TAPS[interpolationMode], axes),
        each,
        gradOutput.reshape(samples, channels, points),
        input.reshape(flat),
        grid,
        np.array(size[::-1]),
        np.array([interpolationMode, paddingMode, alignCorners]),
        outputMask[0],
        turned,
        outputs.get("inputGrad", input).reshape(flat),
        gridSums,
    )
    if turned:
        with np.errstate(all="ignore"):
            round_into(outputs["gridGrad"], gridSums.sum(axis=1).swapaxes(1, 2))
    elif outputMask[1]:  # nearest has no gradient of the grid
        outputs["gridGrad"][...] = 0
