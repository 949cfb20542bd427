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
CHANNELS = 4, 32  # of a sample that one thread takes: fewer cost more taps, for each thread computes its own
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
        slope[axis, k, p] = (-change if k > 1 else change) * along  # the last two distances shrink as t grows


@step
def place(grid, at, axes, count, axis, size, stride, interpolation, padding, aligned, u, along, index, weight, slope):
    """The taps of one axis of so many points: index times stride, -1 outside; their weights, and the derivatives by x."""
    cubic, nearest, scale = interpolation == BICUBIC, interpolation == NEAREST, (size - 1.0) / 2.0 if aligned else size / 2.0
    for p in range(count):
        x = np.float64(read(grid, at + p * axes + axis))
        if padding == REFLECTION:
            x = x - 4.0 * np.rint(x / 4.0)  # exact, where x + 1 would drop the digits of a large x
        u[p], along[p] = (x + 1.0) * 0.5 * (size - 1.0) if aligned else ((x + 1.0) * size - 1.0) * 0.5, scale
    if padding == REFLECTION and not cubic:  # the padding of bicubic moves the taps, not the coordinate
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
                index[axis, k, p] = int(tap) * stride if tap >= 0.0 and tap < size else -1
    else:
        for p in range(count):
            u[p], t = np.rint(u[p]) if nearest else np.floor(u[p]), u[p] - np.floor(u[p])  # ties to even
            if not nearest:
                weight[axis, 0, p], weight[axis, 1, p], slope[axis, 0, p], slope[axis, 1, p] = 1.0 - t, t, -along[p], along[p]
        for k in range(index.shape[1]):
            for p in range(count):
                tap = u[p] + k
                index[axis, k, p] = int(tap) * stride if tap >= 0.0 and tap < size else -1


@step
def spread(count, taps, deep, index, weight, slope, pixels, weights, slopes):
    """The taps of all axes together: the pixel, -1 outside; the weight, and the derivatives by x, y, z."""
    tap = 0
    for k in range(deep):
        for j in range(taps):
            for i in range(taps):
                for p in range(count):
                    z, y, x = index[2, k, p], index[1, j, p], index[0, i, p]
                    pixels[tap, p] = z + y + x if z >= 0 and y >= 0 and x >= 0 else -1
                if taps > 1:  # the nearest pixel has the weight 1 and no slope
                    for p in range(count):
                        weights[tap, p] = weight[2, k, p] * weight[1, j, p] * weight[0, i, p]
                    for p in range(count):
                        slopes[0, tap, p] = weight[2, k, p] * weight[1, j, p] * slope[0, i, p]
                        slopes[1, tap, p] = weight[2, k, p] * slope[1, j, p] * weight[0, i, p]
                    if deep > 1:
                        for p in range(count):
                            slopes[2, tap, p] = slope[2, k, p] * weight[1, j, p] * weight[0, i, p]
                tap += 1


@cache
def sampler(taps, axes):
    """The loop for so many taps along each of two or three axes: numba unrolls what is known when it compiles."""
    deep = taps if axes == 3 else 1
    known = taps * taps * deep
    most = KNOWN // known  # points at a time

    def units(part, first, last, each, gradOutput, input, grid, size, interpolation, padding, aligned, wanted, like, places,
              inputGrad, gridSums):
        turned = wanted[1] and taps > 1  # the nearest pixel has no gradient of the grid
        channels, points, elements = gradOutput.shape[1], gradOutput.shape[2], input.shape[2]
        chunks = gridSums.shape[1]
        together = max(1, min(each, PIXELS // elements))
        index, weight, slope = np.zeros((3, taps, most), places.dtype), np.ones((3, taps, most)), np.zeros((3, taps, most))
        pixels, weights = np.empty((known, most), places.dtype), np.empty((known, most), like.dtype)
        slopes, dots = np.empty((axes, known, most)), np.empty((known, most))
        u, along = np.empty(most), np.empty(most)
        images = np.empty((together if wanted[0] else 0, elements), like.dtype)
        for unit in range(first, last):
            sample, chunk = unit // chunks, unit % chunks
            end = min((chunk + 1) * each, channels)
            for begin in range(chunk * each, end, together):
                images[:] = 0
                for start in range(0, points, most):
                    count, stride = min(most, points - start), 1
                    for axis in range(axes):
                        place(grid, (sample * points + start) * axes, axes, count, axis, size[axis], stride, interpolation, padding,
                              aligned, u, along, index, weight, slope)
                        stride *= size[axis]
                    spread(count, taps, deep, index, weight, slope, pixels, weights, slopes)
                    dots[:] = 0
                    for channel in range(begin, min(begin + together, end)):
                        grads, plane = gradOutput[sample, channel, start:start + count], input[sample, channel]
                        if wanted[0]:
                            image = images[channel - begin]
                            for p in range(count):
                                grad = read(grads, p)
                                for tap in range(known):
                                    at = pixels[tap, p]
                                    if at >= 0:
                                        image[at] += grad * weights[tap, p] if taps > 1 else grad
                        if turned:
                            for p in range(count):
                                grad = np.float64(read(grads, p))
                                for tap in range(known):
                                    at = pixels[tap, p]
                                    if at >= 0:
                                        dots[tap, p] += grad * read(plane, at)
                    for tap in range(known if turned else 0):
                        for axis in range(axes):
                            for p in range(count):
                                if pixels[tap, p] >= 0:
                                    gridSums[sample, chunk, axis, start + p] += dots[tap, p] * slopes[axis, tap, p]
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
    each = min(max(CHANNELS[0], samples * channels // 2), CHANNELS[1])
    chunks = -(-channels // each)
    gridSums = np.zeros((samples, chunks, axes, points))
    run = sampler(TAPS[interpolationMode], axes)
    over(np.arange(samples * chunks)[:, np.newaxis] + (0, 0, 1), run, each, gradOutput, input.reshape(flat), grid.reshape(-1), np.array(size[::-1]), interpolationMode,
         paddingMode, alignCorners, np.array(outputMask), np.empty(0, compute),
         np.empty(0, np.int32 if flat[2] < 2**31 else np.int64),
         outputs.get("inputGrad", np.empty((0, 0, 0), input.dtype)).reshape(-1, *flat[1:]), gridSums)
    if outputMask[1]:
        round_into(outputs["gridGrad"], gridSums.sum(axis=1).swapaxes(1, 2))
