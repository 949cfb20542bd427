"""The grid samplers as fused loops: the taps of all points first, then some channels at a time, side by side in memory.

A sample's channels belong to one thread, which alone writes their image; what they add to each tap's share of the gradient
of the grid is added up at the end. A plane image is one of depth 1, on which there is one tap of weight 1. Behind the last pixel
there are some that take in turn what falls outside, and are not read: all that is added to one waits for what was before.

Nothing is sliced for a point or an axis: a slice counts its owner's references, which takes longer than the arithmetic.
"""

import math
from functools import cache

import numpy as np

from aclnn_viz.arrays.loops import (
    PART,
    WIDE,
    add_wide,
    computed,
    cuts,
    dot_wide,
    over,
    read,
    step,
    turn,
    write,
)
from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.dtypes import round_into

PLAN = Plan("a channel after the other", coordinates="float64", order=SEQUENTIAL)

NEAREST, BICUBIC = 1, 2
BORDER, REFLECTION = 1, 2
TAPS = {0: 2, NEAREST: 1, BICUBIC: 4}  # along one axis
# of a sample that one thread takes: fewer cost more taps, for each thread computes its own
CHANNELS = WIDE, 32
KNOWN, POINTS = 4096, 512  # taps, and points, that fit the caches beside an image
PIXELS = 1 << 20  # of all images that are added to at a time; one image may be larger
# the device's place for what no int32 holds, which is outside of every image
NOWHERE, HUGE = -100.0, 2.0**31


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


@step
def place(
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
def spread(count, taps, deep, index, weight, outside, pixels, weights):
    """The taps of all axes together: the pixel, or `outside`, and the weight."""
    tap = 0
    for k in range(deep):
        for j in range(taps):
            for i in range(taps):
                for p in range(count):
                    z, y, x = index[2, k, p], index[1, j, p], index[0, i, p]
                    pixels[tap, p] = (
                        z + y + x if z >= 0 and y >= 0 and x >= 0 else outside + p % WIDE
                    )
                if taps > 1:  # the nearest pixel has the weight 1
                    for p in range(count):
                        weights[tap, p] = weight[2, k, p] * weight[1, j, p] * weight[0, i, p]
                tap += 1


@step
def along_axes(count, taps, deep, weight, slope, outside, pixels, dots, sums, at, apart):
    """Add what each tap has of the gradients of x, y, z, which lie `apart`: its derivative times its dot product."""
    tap = 0
    for k in range(deep):
        for j in range(taps):
            for i in range(taps):
                for p in range(count):
                    if pixels[tap, p] < outside:
                        sums[at + p] += dots[tap, p] * (
                            weight[2, k, p] * weight[1, j, p] * slope[0, i, p]
                        )
                        sums[at + apart + p] += dots[tap, p] * (
                            weight[2, k, p] * slope[1, j, p] * weight[0, i, p]
                        )
                        if deep > 1:
                            sums[at + 2 * apart + p] += dots[tap, p] * (
                                slope[2, k, p] * weight[1, j, p] * weight[0, i, p]
                            )
                tap += 1


@step
def moved(array, first, apart, along, result, at, off, on, rows, count):
    """Move rows that lie `apart`, of elements that follow at `along`, to where rows lie `off` and elements follow at `on`: of each pair one is 1."""
    whole = count - count % WIDE if rows == WIDE else 0
    for p in range(0, whole, WIDE):
        turn(array, first + p * along, apart * along, result, at + p * on, off * on)
    for row in range(rows):
        for p in range(whole, count):
            write(result, at + row * off + p * on, read(array, first + row * apart + p * along))


@cache
def sampler(taps, axes, lanes):
    """The loop for so many taps along each of two or three axes, and channels at a time: numba unrolls what is known when it compiles."""
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
        like,
        places,
        inputGrad,
        chunks,
        gridSums,
    ):
        step = (elements + WIDE) * lanes
        together = lanes * max(1, min(-(-each // lanes), PIXELS // ((elements + 1) * lanes)))
        index, weight, slope = (
            np.zeros((3, taps, most), places.dtype),
            np.ones((3, taps, most)),
            np.zeros((3, taps, most)),
        )
        pixels, weights = np.empty((known, most), places.dtype), np.ones((known, most), like.dtype)
        dots, u, along, grads = (
            np.empty((known, most)),
            np.empty(most),
            np.empty(most),
            np.empty(most * lanes, like.dtype),
        )
        images = np.empty(together // lanes * step if wanted else 0, like.dtype)
        planes = np.empty(together // lanes * step if turned else 0, like.dtype)
        for unit in range(first, last):
            sample, chunk = unit // chunks, unit % chunks
            end = min((chunk + 1) * each, channels)
            for begin in range(chunk * each, end, together):
                images[:] = 0
                planes[:] = 0
                if turned:
                    for block in range(begin, min(begin + together, end), lanes):
                        moved(
                            input,
                            (sample * channels + block) * elements,
                            elements,
                            1,
                            planes,
                            (block - begin) // lanes * step,
                            1,
                            lanes,
                            min(lanes, end - block),
                            elements,
                        )
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
                    spread(count, taps, deep, index, weight, elements, pixels, weights)
                    dots[:] = 0
                    for block in range(begin, min(begin + together, end), lanes):
                        if block + lanes > end:  # channels that there are none of
                            grads[:] = 0
                        moved(
                            gradOutput,
                            (sample * channels + block) * points + start,
                            points,
                            1,
                            grads,
                            0,
                            1,
                            lanes,
                            min(lanes, end - block),
                            count,
                        )
                        base = (block - begin) // lanes * step
                        if wanted:
                            for p in range(count):
                                for tap in range(known):
                                    add_wide(
                                        images,
                                        base + pixels[tap, p] * lanes,
                                        grads,
                                        p * lanes,
                                        weights[tap, p],
                                        lanes,
                                    )
                        if turned:
                            for p in range(count):
                                for tap in range(known):
                                    dots[tap, p] += dot_wide(
                                        planes,
                                        base + pixels[tap, p] * lanes,
                                        grads,
                                        p * lanes,
                                        lanes,
                                    )
                    if turned:
                        along_axes(
                            count,
                            taps,
                            deep,
                            weight,
                            slope,
                            elements,
                            pixels,
                            dots,
                            gridSums,
                            unit * axes * points + start,
                            points,
                        )
                if wanted:
                    for block in range(begin, min(begin + together, end), lanes):
                        moved(
                            images,
                            (block - begin) // lanes * step,
                            1,
                            lanes,
                            inputGrad,
                            (sample * channels + block) * elements,
                            elements,
                            1,
                            min(lanes, end - block),
                            elements,
                        )

    return units


def backward(
    outputs, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
):
    samples, channels, *size = input.shape
    points, axes = grid.shape[1:]
    compute = computed(input)
    elements = math.prod(size)
    each = min(max(CHANNELS[0], samples * channels // 2), CHANNELS[1])
    chunks = -(-channels // each)
    turned = outputMask[1] and interpolationMode != NEAREST
    gridSums = np.zeros((samples, chunks, axes, points) if turned else 0)
    # no more than that: few channels of an image stay in the caches
    lanes = min(WIDE, 1 << max(1, (min(each, channels) - 1).bit_length()))
    run = sampler(TAPS[interpolationMode], axes, lanes)
    over(
        cuts(samples * chunks, samples * chunks * PART),
        run,
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
        np.empty(0, compute),
        np.empty(0, np.int32 if elements < 2**31 else np.int64),
        outputs.get("inputGrad", np.empty(0, input.dtype)).reshape(-1),
        chunks,
        gridSums.reshape(-1),
    )
    if turned:
        with np.errstate(all="ignore"):
            round_into(outputs["gridGrad"], gridSums.sum(axis=1).swapaxes(1, 2))
    elif outputMask[1]:  # the nearest pixel has no gradient of the grid
        outputs["gridGrad"][...] = 0
