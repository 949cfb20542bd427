"""Right answers to the puzzles on hardswish; small changes to them give the usual mistakes."""

import numpy as np


def hardswish_middle(x):
    return x / 3 + 0.5


def hardswish_slope(x):
    return np.where(x < -3, 0.0, np.where(x <= 3, x / 3 + 0.5, 1.0))


def hardswish_kernel(gradOutput, self):
    x = self.astype(np.promote_types(self.dtype, np.float32))
    slope = np.where(x < -3, 0, np.where(x <= 3, x / 3 + 0.5, 1))
    return (gradOutput.astype(x.dtype) * slope).astype(self.dtype)


def tile_count(length, tileLength):
    return -(-length // tileLength)


def tile_tail(length, tileLength):
    return (length - 1) % tileLength + 1


def aligned_bytes(count, itemsize):
    return -(-count * itemsize // 32) * 32


def moved_elements(count, itemsize):
    return count * itemsize // 32 * (32 // itemsize)


def tile_length(room, itemsize, buffers):
    each = 3 * buffers * itemsize + 2 * 4
    return room // each // 64 * 64


def core_first(core, total, cores, align):
    blocks = -(-total // align)
    return (core * (blocks // cores) + np.minimum(core, blocks % cores)) * align
