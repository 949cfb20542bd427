"""The grid samplers, some channels of a sample after the others: the taps of the points once, then every channel by them.

A sample's channels belong to one thread, which alone writes their image; what they add to the gradient of the grid is
added up at the end. A plane image is one of depth 1, on which there is one tap of weight 1.
"""

from functools import cache

import numpy as np

from aclnn_viz.arrays.loops import cuts, over, read, step, write
from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.dtypes import round_into

PLAN = Plan("a channel after the other", coordinates="float64", order=SEQUENTIAL)

NEAREST, BICUBIC = 1, 2
BORDER, REFLECTION = 1, 2
TAPS = {0: 2, NEAREST: 1, BICUBIC: 4}  # along one axis
CHANNELS = 16  # of a sample that one thread takes at a time
POINTS = 4096  # whose taps fit the second cache beside an image
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
def cubic_weights(t, weight, slope):
    """The weights of the taps at -1, 0, 1, 2 of bicubic interpolation with A = -0.75, and their derivatives by t."""
    for k in range(4):
        d = abs(t + (1.0 - k))
        if k == 1 or k == 2:
            weight[k] = (1.25 * d - 2.25) * d * d + 1.0
            slope[k] = (3.75 * d - 4.5) * d
        else:
            weight[k] = ((-0.75 * d + 3.75) * d - 6.0) * d + 3.0
            slope[k] = (-2.25 * d + 7.5) * d - 6.0
        if k > 1:  # these distances shrink as t grows
            slope[k] = -slope[k]


@step
def place(x, size, stride, interpolation, padding, aligned, index, weight, slope):
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
        cubic_weights(t, weight, slope)
    elif interpolation == NEAREST:
        base = np.rint(u)  # ties to even
        weight[0], slope[0] = 1.0, 0.0
    else:
        weight[0], weight[1], slope[0], slope[1] = 1.0 - t, t, -1.0, 1.0
    for k in range(weight.size):
        at = base + k
        if cubic and padding == REFLECTION:
            at, _ = mirrored(at, size, aligned)
        if cubic and padding != 0:
            at = kept(at, size)
        index[k] = int(at) * stride if at >= 0.0 and at < size else -1
        slope[k] *= along


@cache
def sampler(taps, deep):
    """The loop for so many taps along an axis, and along the depth: what is known now need not be counted then."""
    def units(part, first, last, gradOutput, input, grid, size, interpolation, padding, aligned, wanted, like, inputGrad,
              gridSums):
        channels, points, pixels = gradOutput.shape[1], gradOutput.shape[2], input.shape[2]
        axes = grid.shape[2]
        chunks = gridSums.shape[1]
        together = max(1, min(CHANNELS, PIXELS // pixels))
        index = np.zeros((3, POINTS, taps), np.int64)
        weight, slope = np.ones((3, POINTS, taps)), np.zeros((3, POINTS, taps))
        images = np.empty((together if wanted[0] else 0, pixels), like.dtype)
        for unit in range(first, last):
            sample, chunk = unit // chunks, unit % chunks
            end = min((chunk + 1) * CHANNELS, channels)
            for begin in range(chunk * CHANNELS, end, together):
                images[:] = 0
                for start in range(0, points, POINTS):
                    count = min(POINTS, points - start)
                    for p in range(count):
                        at = grid[sample, start + p]
                        stride = 1
                        for axis in range(axes):
                            place(np.float64(read(at, axis)), size[axis], stride, interpolation, padding, aligned,
                                  index[axis, p], weight[axis, p], slope[axis, p])
                            stride *= size[axis]
                    sums = gridSums[sample, chunk, start:start + count]
                    for channel in range(begin, min(begin + together, end)):
                        grads, plane = gradOutput[sample, channel, start:start + count], input[sample, channel]
                        image = images[channel - begin if wanted[0] else 0:]
                        for p in range(count):
                            grad = read(grads, p)
                            along_x = along_y = along_z = 0.0
                            for k in range(deep):
                                for j in range(taps):
                                    wzy, dzy = weight[2, p, k] * weight[1, p, j], weight[2, p, k] * slope[1, p, j]
                                    dz = slope[2, p, k] * weight[1, p, j]
                                    z, y = index[2, p, k], index[1, p, j]
                                    for i in range(taps):
                                        x = index[0, p, i]
                                        if z >= 0 and y >= 0 and x >= 0:  # a nan outside must reach nothing
                                            pixel, w = z + y + x, weight[0, p, i]
                                            if wanted[0]:
                                                image[0, pixel] += grad * like.dtype.type(wzy * w)
                                            if wanted[1] and taps > 1:
                                                dot = np.float64(grad) * np.float64(read(plane, pixel))
                                                along_x += dot * (wzy * slope[0, p, i])
                                                along_y += dot * (dzy * w)
                                                along_z += dot * (dz * w)
                            if wanted[1] and taps > 1:
                                sums[p, 0] += along_x
                                sums[p, 1] += along_y
                                if axes == 3:
                                    sums[p, 2] += along_z
                if wanted[0]:
                    for channel in range(begin, min(begin + together, end)):
                        image, result = images[channel - begin], inputGrad[sample, channel]
                        for pixel in range(pixels):
                            write(result, pixel, image[pixel])
    return units


def backward(outputs, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    samples, channels, *size = input.shape
    points, axes = grid.shape[1:]
    compute = np.float64 if input.dtype == np.float64 else np.float32
    flat = samples, channels, int(np.prod(size))
    chunks = -(-channels // CHANNELS)
    gridSums = np.zeros((samples, chunks, points, axes))
    run = sampler(TAPS[interpolationMode], 1 if axes == 2 else TAPS[interpolationMode])
    over(cuts(samples * chunks, samples * chunks * (1 << 30)), run, gradOutput, input.reshape(flat), grid,
         np.array(size[::-1]), interpolationMode, paddingMode, alignCorners, np.array(outputMask), np.empty(0, compute),
         outputs.get("inputGrad", np.empty((0, 0, 0), input.dtype)).reshape(-1, *flat[1:]), gridSums)
    if outputMask[1]:
        round_into(outputs["gridGrad"], gridSums.sum(axis=1))
