"""Functions that puzzles on the gradient of hardswish ask a learner to write, each with a loop that defines the result. Three
pieces, two kinks, one rounding; and the number, lengths and cores of its tiles.
"""

import numpy as np


def hardswish_middle(x):
    """The derivative of y = x (x + 3) / 6 at every element of x (n,), by the product rule."""
    slope = np.zeros_like(x)
    for i in range(x.size):
        of_the_first_factor = (x[i] + 3.0) / 6.0
        of_the_second_factor = x[i] / 6.0
        slope[i] = of_the_first_factor + of_the_second_factor
    return slope


def hardswish_slope(x):
    """The slope of hardswish, x clip(x + 3, 0, 6) / 6, for x (n,); at -3 and 3 the formula between them holds."""
    slope = np.zeros_like(x)
    for i in range(x.size):
        clipped = min(max(x[i] + 3.0, 0.0), 6.0)
        moving = -3.0 <= x[i] <= 3.0  # otherwise the clip holds still
        slope[i] = (clipped + (x[i] if moving else 0.0)) / 6.0
    return slope


def hardswish_kernel(gradOutput, self):
    """The whole kernel, in float16, bfloat16, float32 and float64: 16-bit inputs are computed in float32 and rounded
    once."""
    out = np.zeros_like(gradOutput)
    for i in np.ndindex(out.shape):
        x = float(self[i])
        slope = 0.0 if x < -3.0 else 1.0 if not x <= 3.0 else x / 3.0 + 0.5
        out[i] = float(gradOutput[i]) * slope
    return out


def tile_count(length, tileLength):
    """How many tiles of tileLength elements cover length (n,) elements; 0 for no elements."""
    tiles = np.zeros_like(length)
    for i in range(length.size):
        start = 0.0
        while start < length[i]:
            tiles[i] += 1
            start += tileLength
    return tiles


def tile_tail(length, tileLength):
    """How many elements the last tile holds, for length (n,) of at least one element."""
    last = np.zeros_like(length)
    for i in range(length.size):
        start = 0.0
        while length[i] - start > tileLength:
            start += tileLength
        last[i] = length[i] - start
    return last


def aligned_bytes(count, itemsize):
    """The bytes that count (n,) elements of itemsize bytes take in the Unified Buffer, which hands out blocks of 32."""
    taken = np.zeros_like(count)
    for i in range(count.size):
        while taken[i] < count[i] * itemsize:
            taken[i] += 32
    return taken


def moved_elements(count, itemsize):
    """How many of count (n,) elements `DataCopy(dst, src, count)` moves: whole blocks of 32 bytes, and no more."""
    moved = np.zeros_like(count)
    for i in range(count.size):
        while (moved[i] * itemsize + 32) <= count[i] * itemsize:
            moved[i] += 32 / itemsize
    return moved


def tile_length(room, itemsize, buffers):
    """The longest tile, a multiple of 64 elements, that fits room (n,) bytes. Each of three queues holds `buffers`
    blocks of itemsize bytes an element. Each of two work buffers takes 4 bytes an element."""
    tile = np.zeros_like(room)
    for i in range(room.size):
        while (tile[i] + 64) * (3 * buffers * itemsize + 2 * 4) <= room[i]:
            tile[i] += 64
    return tile


def core_first(core, total, cores, align):
    """The first element of each core (n,) when total elements are dealt in blocks of align; blocks left over go to the
    first cores, one to each."""
    blocks, first = np.ceil(total / align), np.zeros_like(core)
    for i in range(core.size):
        for before in range(int(core[i])):
            first[i] += (blocks // cores + (before < blocks % cores)) * align
    return first
