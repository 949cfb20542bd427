"""Functions that puzzles on the grid sampler ask a learner to write, each with a loop that defines the result. From x to a
pixel, past the border, to the taps and their slopes; the gradients of a pixel and of a point; and, in tiles, channels that
lie far apart.
"""

import math

import numpy as np


def grid_unnormalise(x, size, alignCorners):
    """The place u in pixels of every x (n,), and the slope du / dx (n,): -1 and 1 are the centres of the end pixels
    (alignCorners) or their outer edges; pixel 0 has its centre at 0."""
    u, slope = np.zeros_like(x), np.zeros_like(x)
    for i in range(x.size):
        left, right = (0.0, size - 1.0) if alignCorners else (-0.5, size - 0.5)
        u[i] = left + (x[i] + 1.0) / 2.0 * (right - left)
        slope[i] = (right - left) / 2.0
    return u, slope


def grid_clip(u, size):
    """Border padding: u (n,) clipped to the image, and the slope (n,) of clipping, which is 0 on the border itself."""
    clipped, slope = np.zeros_like(u), np.zeros_like(u)
    for i in range(u.size):
        if u[i] <= 0.0:
            clipped[i], slope[i] = 0.0, 0.0
        elif u[i] >= size - 1:
            clipped[i], slope[i] = size - 1, 0.0
        else:
            clipped[i], slope[i] = u[i], 1.0
    return clipped, slope


def grid_reflect(u, size, alignCorners):
    """Reflection padding: where u (n,) comes to lie between two mirrors, on the centres of the end pixels
    (alignCorners) or on their outer edges, however often it bounces."""
    low, high = (0.0, size - 1.0) if alignCorners else (-0.5, size - 0.5)
    place = np.zeros_like(u)
    for i in range(u.size):
        place[i] = u[i]
        while not low <= place[i] <= high:
            mirror = low if place[i] < low else high
            place[i] = 2.0 * mirror - place[i]
    return place


def grid_reflect_slope(u, size, alignCorners):
    """The slope of reflection padding at u (n,). A point on a mirror counts as reflected there, except on the lower
    mirror of the image itself."""
    low, span = (0.0, size - 1.0) if alignCorners else (-0.5, float(size))
    slope = np.zeros_like(u)
    for i in range(u.size):
        way = abs(u[i] - low)
        slope[i] = 1.0 if u[i] >= low else -1.0
        while way >= span:
            way = way - span
            slope[i] = -slope[i]
    return slope


def grid_taps(u):
    """The bilinear taps along one axis: the pixel to the left of u (n,), the weight of that pixel, and the weight of
    its right neighbour, all (n,)."""
    left, left_weight, right_weight = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    for i in range(u.size):
        pixel = int(u[i])
        if pixel > u[i]:
            pixel -= 1
        left[i] = pixel
        right_weight[i] = u[i] - pixel
        left_weight[i] = pixel + 1 - u[i]
    return left, left_weight, right_weight


def grid_nearest(u):
    """The nearest pixel to u (n,); halfway between two, the even one."""
    nearest = np.zeros_like(u)
    for i in range(u.size):
        candidates = [k for k in range(-30, 40) if abs(k - u[i]) <= 0.5]
        nearest[i] = min(candidates, key=lambda k: (abs(k - u[i]), k % 2))
    return nearest


def grid_scatter(index, values, pixels):
    """Add values (C, P) to the pixels index (P,) of an image (C, pixels); an index of -1 lies outside and adds
    nothing."""
    image = np.zeros((values.shape[0], pixels))
    for channel in range(values.shape[0]):
        for point in range(index.size):
            if index[point] >= 0:
                image[channel, index[point]] += values[channel, point]
    return image


def grid_row_gradient(row, x, gradOutput):
    """The gradient by x (P,) of bilinear samples of one row of pixels (W,), with zeros outside and
    alignCorners."""
    grad = np.zeros_like(x)
    for point in range(x.size):
        u = (x[point] + 1.0) / 2.0 * (row.size - 1)
        left = math.floor(u)
        for pixel, slope_of_weight in ((left, -1.0), (left + 1, 1.0)):
            if 0 <= pixel < row.size:
                grad[point] += (
                    gradOutput[point] * row[pixel] * slope_of_weight * (row.size - 1) / 2.0
                )
    return grad


def grid_bicubic_slopes(t):
    """The derivatives by t of the four bicubic weights (4, n): the taps lie at -1, 0, 1 and 2, t (n,) is in [0, 1), and
    A is -0.75."""
    A = -0.75
    slopes = np.zeros((4, t.size))
    for k, tap in enumerate((-1, 0, 1, 2)):
        for i in range(t.size):
            d = abs(t[i] - tap)
            away = 1.0 if t[i] > tap else -1.0
            if d <= 1.0:  # the weight is (A + 2) d^3 - (A + 3) d^2 + 1
                slopes[k, i] = away * (3.0 * (A + 2.0) * d**2 - 2.0 * (A + 3.0) * d)
            else:  # the weight is A d^3 - 5 A d^2 + 8 A d - 4 A
                slopes[k, i] = away * (3.0 * A * d**2 - 10.0 * A * d + 8.0 * A)
    return slopes


LATTICE = np.stack(np.meshgrid(*2 * [np.linspace(-3.9, 3.9, 14)]), -1)[None].astype(np.float32)


def channel_gap(pixels, itemsize):
    """The srcStride, in bytes, with which DataCopyPad takes one pixel of each channel, as blocks of one element.
    Channels of pixels (n,) elements follow each other in memory."""
    gap = np.zeros_like(pixels)
    for i in range(pixels.size):
        end_of_this, start_of_next = 1, pixels[i]
        gap[i] = (start_of_next - end_of_this) * itemsize
    return gap
