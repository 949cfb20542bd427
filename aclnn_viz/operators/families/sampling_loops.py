"""The grid samplers as fused loops: the taps of all points first, then one channel after the other.

A sample's channels belong to one thread, which alone writes their image; what they add to each tap's share of the gradient
of the grid is added up at the end. A plane image is one of depth 1, on which there is one tap of weight 1.

Nothing is sliced for a point or an axis: a slice counts its owner's references, which takes longer than the arithmetic.
"""

from functools import cache

import numpy as np

from aclnn_viz.arrays.loops import computed, over, read, step, write
from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.dtypes import round_into

PLAN = Plan("a channel after the other", coordinates="float64", order=SEQUENTIAL)

NEAREST, BICUBIC = 1, 2
BORDER, REFLECTION = 1, 2
TAPS = {0: 2, NEAREST: 1, BICUBIC: 4}  # along one axis
CHANNELS = 16, 32  # of a sample that one thread takes: fewer cost more taps, for each thread computes its own
KNOWN = 4096  # taps that fit the second cache beside an image
PIXELS = 1 << 20  # of all images that are added to at a time; one image may be larger
NOWHERE, HUGE = -100.0, 2.0**31  # the device's place for what no int32 holds, which is outside of every image


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
def cubic_weights(t, axis, weight, slope):
    """The weights of the taps at -1, 0, 1, 2 of bicubic interpolation with A = -0.75, and their derivatives by t."""
    for k in range(4):
        d = abs(t + (1.0 - k))
        if k == 1 or k == 2:
            weight[axis, k] = (1.25 * d - 2.25) * d * d + 1.0
            slope[axis, k] = (3.75 * d - 4.5) * d
        else:
            weight[axis, k] = ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0
            slope[axis, k] = (-2.25 * d + 7.5) * d - 6.0
        if k > 1:  # these distances shrink as t grows
            slope[axis, k] = -slope[axis, k]


@step
def place(x, axis, size, stride, interpolation, padding, aligned, index, weight, slope):
    """The taps of one axis: their index times the stride, -1 outside; their weights, and the derivatives by x."""
    if padding == REFLECTION:
        x = x - 4.0 * np.rint(x / 4.0)  # exact, where x + 1 would drop the digits of a large x
    u = (x + 1.0) * 0.5 * (size - 1.0) if aligned else ((x + 1.0) * size - 1.0) * 0.5
    along = (size - 1.0) / 2.0 if aligned else size / 2.0
    cubic = interpolation == BICUBIC  # whose padding moves the taps, not the coordinate
    if padding == REFLECTION and not cubic:
        u, sign = mirrored(u, size, aligned)
        along *= sign
    if padding != 0 and not cubic:
        along = along if u > 0.0 and u < size - 1.0 else 0.0
        u = kept(u, size)
    if not (cubic and padding == REFLECTION):
        u = u if abs(u) <= HUGE else NOWHERE
    base = np.floor(u)
    t = u - base
    if cubic:
        base -= 1.0
        cubic_weights(t, axis, weight, slope)
    elif interpolation == NEAREST:
        base = np.rint(u)  # ties to even
        weight[axis, 0], slope[axis, 0] = 1.0, 0.0
    else:
        weight[axis, 0], weight[axis, 1], slope[axis, 0], slope[axis, 1] = 1.0 - t, t, -1.0, 1.0
    for k in range(weight.shape[1]):
        at = base + k
        if cubic and padding == REFLECTION:
            at, _ = mirrored(at, size, aligned)
        if cubic and padding != 0:
            at = kept(at, size)
        index[axis, k] = int(at) * stride if at >= 0.0 and at < size else -1
        slope[axis, k] *= along


@step
def spread(p, taps, deep, index, weight, slope, pixels, weights, slopes):
    """The taps of all axes together: the pixel, -1 outside; the weight, and the derivatives by x, y, z."""
    tap = 0
    for k in range(deep):
        for j in range(taps):
            for i in range(taps):
                z, y, x = index[2, k], index[1, j], index[0, i]
                pixels[p, tap] = z + y + x if z >= 0 and y >= 0 and x >= 0 else -1
                weights[p, tap] = weight[2, k] * weight[1, j] * weight[0, i]
                slopes[p, tap, 0] = weight[2, k] * weight[1, j] * slope[0, i]
                slopes[p, tap, 1] = weight[2, k] * slope[1, j] * weight[0, i]
                if deep > 1:
                    slopes[p, tap, 2] = slope[2, k] * weight[1, j] * weight[0, i]
                tap += 1


@cache
def sampler(taps, axes):
    """The loop for so many taps along each of two or three axes: numba unrolls what is known when it compiles."""
    deep = taps if axes == 3 else 1
    known = taps * taps * deep
    most = KNOWN // known  # points at a time

    def units(part, first, last, each, gradOutput, input, grid, size, interpolation, padding, aligned, wanted, like,
              inputGrad, gridSums):
        turned = wanted[1] and taps > 1  # the nearest pixel has no gradient of the grid
        channels, points, elements = gradOutput.shape[1], gradOutput.shape[2], input.shape[2]
        chunks = gridSums.shape[1]
        together = max(1, min(each, PIXELS // elements))
        index, weight, slope = np.zeros((3, taps), np.int64), np.ones((3, taps)), np.zeros((3, taps))
        pixels, weights = np.empty((most, known), np.int64), np.empty((most, known), like.dtype)
        slopes, dots = np.empty((most, known, axes)), np.empty((most, known))
        images = np.empty((together if wanted[0] else 0, elements), like.dtype)
        for unit in range(first, last):
            sample, chunk = unit // chunks, unit % chunks
            end = min((chunk + 1) * each, channels)
            for begin in range(chunk * each, end, together):
                images[:] = 0
                for start in range(0, points, most):
                    count = min(most, points - start)
                    for p in range(count):
                        at, stride = (sample * points + start + p) * axes, 1
                        for axis in range(axes):
                            place(np.float64(read(grid, at + axis)), axis, size[axis], stride, interpolation, padding,
                                  aligned, index, weight, slope)
                            stride *= size[axis]
                        spread(p, taps, deep, index, weight, slope, pixels, weights, slopes)
                    dots[:count] = 0
                    for channel in range(begin, min(begin + together, end)):
                        grads, plane = gradOutput[sample, channel, start:start + count], input[sample, channel]
                        if wanted[0]:
                            image = images[channel - begin]
                            for p in range(count):
                                grad = read(grads, p)
                                for tap in range(known):
                                    at = pixels[p, tap]
                                    if at >= 0:
                                        image[at] += grad * weights[p, tap]
                        if turned:
                            for p in range(count):
                                grad = np.float64(read(grads, p))
                                for tap in range(known):
                                    at = pixels[p, tap]
                                    if at >= 0:
                                        dots[p, tap] += grad * read(plane, at)
                    for p in range(count if turned else 0):
                        for tap in range(known):
                            for axis in range(axes if pixels[p, tap] >= 0 else 0):
                                gridSums[sample, chunk, start + p, axis] += dots[p, tap] * slopes[p, tap, axis]
                if wanted[0]:
                    for channel in range(begin, min(begin + together, end)):
                        image, result = images[channel - begin], inputGrad[sample, channel]
                        for pixel in range(elements):
                            write(result, pixel, image[pixel])
    return units


def backward(outputs, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    samples, channels, *size = input.shape
    points, axes = grid.shape[1:]
    compute = computed(input)
    flat = samples, channels, int(np.prod(size))
    each = min(max(CHANNELS[0], samples * channels // 4), CHANNELS[1])
    chunks = -(-channels // each)
    gridSums = np.zeros((samples, chunks, points, axes))
    run = sampler(TAPS[interpolationMode], axes)
    units = [(unit, unit, unit + 1) for unit in range(samples * chunks)]
    over(units, run, each, gradOutput, input.reshape(flat), grid.reshape(-1), np.array(size[::-1]), interpolationMode,
         paddingMode, alignCorners, np.array(outputMask), np.empty(0, compute),
         outputs.get("inputGrad", np.empty((0, 0, 0), input.dtype)).reshape(-1, *flat[1:]), gridSums)
    if outputMask[1]:
        round_into(outputs["gridGrad"], gridSums.sum(axis=1))
