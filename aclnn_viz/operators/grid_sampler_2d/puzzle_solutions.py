"""Solutions of the puzzles on the grid sampler."""

import numpy as np

from aclnn_viz.checking.puzzles.solutions import Mistake


def grid_unnormalise(x, size, alignCorners):
    span = size - 1 if alignCorners else size
    return (x + 1) * span / 2 - (0 if alignCorners else 0.5), np.full_like(x, span / 2)


def grid_clip(u, size):
    return np.clip(u, 0, size - 1), ((u > 0) & (u < size - 1)).astype(float)


def grid_reflect(u, size, alignCorners):
    low, span = (0, size - 1) if alignCorners else (-0.5, size)
    phase = np.remainder(np.abs(u - low), 2 * span)
    return low + np.minimum(phase, 2 * span - phase)


def grid_reflect_slope(u, size, alignCorners):
    low, span = (0, size - 1) if alignCorners else (-0.5, size)
    odd = np.floor(np.abs(u - low) / span) % 2 == 1
    return np.where(odd == (u >= low), -1.0, 1.0)


def grid_taps(u):
    left = np.floor(u)
    return left, 1 - (u - left), u - left


def grid_nearest(u):
    return np.rint(u)


def grid_scatter(index, values, pixels):
    image = np.zeros_like(values, shape=(len(values), pixels + 1))
    np.add.at(image, (slice(None), index), values)
    return image[:, :pixels]


def grid_row_gradient(row, x, gradOutput):
    width, left = row.size, np.floor((x + 1) / 2 * (row.size - 1)).astype(int)
    def pixel(k):
        return np.where((k >= 0) & (k < width), row[np.clip(k, 0, width - 1)], 0.0)
    return gradOutput * (pixel(left + 1) - pixel(left)) * (width - 1) / 2


def grid_reflected_gradient(row, x, gradOutput):
    width, u = row.size, ((x + 1) * row.size - 1) / 2
    phase = np.remainder(np.abs(u + 0.5), 2 * width)
    place = np.minimum(phase, 2 * width - phase) - 0.5
    slope = np.where((phase >= width) == (u >= -0.5), -1.0, 1.0) * width / 2
    slope = slope * ((place > 0) & (place < width - 1))
    left = np.floor(np.clip(place, 0, width - 1)).astype(int)
    right = np.minimum(left + 1, width - 1)
    return gradOutput * (row[right] - row[left]) * slope


def grid_bicubic_slopes(t):
    A = -0.75
    near = lambda d: (3 * (A + 2) * d - 2 * (A + 3)) * d
    far = lambda d: (3 * A * d - 10 * A) * d + 8 * A
    return np.stack([far(1 + t), near(t), -near(1 - t), -far(2 - t)])


EDGES = "(0, size - 1) if alignCorners else (-0.5, size)"


def channel_gap(pixels, itemsize):
    return (pixels - 1) * itemsize


MISTAKES = {
    "grid_unnormalise": (
        Mistake("alignCorners swapped", "the two meanings of -1 and 1 are confused",
                {"size - 1 if alignCorners else size": "size if alignCorners else size - 1",
                 "(0 if alignCorners else 0.5)": "(0.5 if alignCorners else 0)"}),
        Mistake("half a pixel forgotten", "without alignCorners, -1 is the outer edge of pixel 0, half a pixel before "
                "its centre", {"(0 if alignCorners else 0.5)": "0"}),
        Mistake("scale of the other alignCorners", "the slope is that of the other case: size / 2 for (size - 1) / 2, "
                "and the reverse", {"np.full_like(x, span / 2)": "np.full_like(x, (2 * size - 1 - span) / 2)"}),
    ),
    "grid_clip": (
        Mistake("gradient on the border itself", "the interval is closed, as the documentation prints it; the devices "
                "give 0 there", {"u > 0": "u >= 0", "u < size - 1": "u <= size - 1"}),
        Mistake("clipped points keep their gradient", "what is clipped does not move any more: its slope is 0",
                {"((u > 0) & (u < size - 1))": "(u == u)"}),
        Mistake("clipped at size", "the last pixel is size - 1",
                {"np.clip(u, 0, size - 1)": "np.clip(u, 0, size)", "u < size - 1": "u < size"}),
    ),
    "grid_reflect": (
        Mistake("period off by one", "without alignCorners the mirrors are size apart, not size - 1",
                {"(-0.5, size)": "(-0.5, size - 1)"}),
        Mistake("mirrors on the centres", "without alignCorners the mirrors stand on the outer edges of the end pixels",
                {EDGES: "(0, size - 1)"}),
        Mistake("one bounce only", "a point that is far outside meets more than one mirror",
                {"np.remainder(np.abs(u - low), 2 * span)": "np.abs(u - low)"}),
    ),
    "grid_reflect_slope": (
        Mistake("reflection sign lost", "an odd number of mirrors turns the direction around",
                {"np.where(odd == (u >= low), -1.0, 1.0)": "np.ones_like(u)"}),
        Mistake("lower mirror forgotten", "to the left of the image one mirror more is passed",
                {"odd == (u >= low)": "odd"}),
        Mistake("period off by one", "without alignCorners the mirrors are size apart, not size - 1",
                {"(-0.5, size)": "(-0.5, size - 1)"}),
    ),
    "grid_taps": (
        Mistake("truncation for floor", "a cast to an integer rounds towards 0: in (-1, 0) the tap is 0 instead of -1",
                {"np.floor": "np.trunc"}),
        Mistake("weights swapped", "the nearer pixel has the larger weight", {
           "left, 1 - (u - left), u - left": "left, u - left, 1 - (u - left)"}),
        Mistake("rounded", "the nearest pixel is taken for the left one, and a weight becomes negative",
                {"np.floor": "np.rint"}),
    ),
    "grid_nearest": (
        Mistake("ties up", "floor(u + 0.5) sends 0.5 to 1 and 2.5 to 3; the even neighbour is wanted",
                {"np.rint(u)": "np.floor(u + 0.5)"}),
        Mistake("cut", "the coordinate is cut, not rounded", {"np.rint(u)": "np.floor(u)"}),
        Mistake("ties away from 0", "the C function round sends halves away from 0; the even neighbour is wanted",
                {"np.rint(u)": "np.trunc(u + np.copysign(0.5, u))"}),
    ),
    "grid_scatter": (
        Mistake("scatter overwrites", "the gradient is stored, not added: of two points at one pixel the last one wins",
                {"np.add.at(image, (slice(None), index), values)": "image[:, index] = values"}),
        Mistake("-1 is the last pixel", "a point that lies outside adds to the last pixel, where NumPy counts from the "
                "end", {"pixels + 1": "pixels"}),
        Mistake("outside clamped", "a point that lies outside adds to the first pixel",
                {"(slice(None), index)": "(slice(None), np.maximum(index, 0))"}),
    ),
    "grid_row_gradient": (
        Mistake("scale forgotten", "the gradient by pixels is returned as that by x: (size - 1) / 2 pixels go to 1",
                {" * (width - 1) / 2": ""}),
        Mistake("zeros as border", "taps outside are clamped to the row instead of dropped",
                {"np.where((k >= 0) & (k < width), row[np.clip(k, 0, width - 1)], 0.0)":
                 "row[np.clip(k, 0, width - 1)]"}),
        Mistake("truncation for floor", "a cast to an integer rounds towards 0: in (-1, 0) the tap is 0 instead of -1",
                {"np.floor(": "np.trunc("}),
    ),
    "grid_reflected_gradient": (
        Mistake("reflection sign lost", "an odd number of mirrors turns the direction around",
                {"np.where((phase >= width) == (u >= -0.5), -1.0, 1.0) * width / 2": "np.full_like(u, width / 2)"}),
        Mistake("gradient beside the mirror",
                "between a mirror and the last centre the place is clipped: the slope is 0",
                {"    slope = slope * ((place > 0) & (place < width - 1))\n": ""}),
        Mistake("scale forgotten", "the gradient by pixels is returned as that by x: size / 2 pixels go to 1",
                {"-1.0, 1.0) * width / 2": "-1.0, 1.0)"}),
    ),
    "grid_bicubic_slopes": (
        Mistake("A = -0.5", "the other usual bicubic kernel", {"A = -0.75": "A = -0.5"}),
        Mistake("signs of the last taps", "the distances of the two right taps shrink as t grows",
                {"-near(1 - t), -far(2 - t)": "near(1 - t), far(2 - t)"}),
        Mistake("taps in reverse", "the first tap is the leftmost, at -1", {"-far(2 - t)])": "-far(2 - t)][::-1])"}),
    ),
    "channel_gap": (
        Mistake("from start to start", "the block itself is counted with the gap",
                {"(pixels - 1) * itemsize": "pixels * itemsize"}),
        Mistake("in elements", "in global memory the gap is in bytes", {"(pixels - 1) * itemsize": "pixels - 1"}),
        Mistake("in blocks of 32 bytes", "that is the unit in the Unified Buffer",
                {"(pixels - 1) * itemsize": "(pixels - 1) * itemsize / 32"}),
    ),
}
