"""Elements by their ranks in the order of the truth, without an array of all of them in this order; medians likewise."""

from functools import cached_property

import numpy as np

from aclnn_viz.arrays.driver import in_stretches, run_all
from aclnn_viz.dtypes import STRETCH, FloatFormat

BLOCK = 1 << 16  # elements, whose positions 16 bits hold
GROUP = 16  # blocks, in which places are counted together
SAMPLED = 1 << 14  # elements, of which the middle 4 % nearly always hold the median of all


class Ranks:
    """The finite elements in the order of their places; those of one place are in the order of their positions.

    Sorted are words that hold a place and, below it, a position. Of formats of 16 bits they have 32, and each block is
    sorted alone, in the cache; of float32 they have 64. A place of float64 fills a word: there words are positions.
    """

    def __init__(self, place: np.ndarray, finite: np.ndarray, fmt: FloatFormat):
        narrow = fmt.bits <= 16
        self.place, self.lift, self.mask = (
            place,
            fmt.largest_ordinal if narrow else 0,
            0xFFFF if narrow else 0xFFFFFFFF,
        )
        starts = np.arange(0, max(place.size, 1), BLOCK)
        ends = np.cumsum(
            [np.count_nonzero(finite[start : start + BLOCK]) for start in starts], dtype=np.intp
        )
        words = np.empty(ends[-1], np.uint32 if narrow else np.int64)

        def fill(block):
            here = np.flatnonzero(finite[starts[block] : starts[block] + BLOCK])
            part = words[ends[block] - here.size : ends[block]]
            part[:] = place[starts[block] :].take(here)
            part += self.lift
            part <<= 16 if narrow else 32
            part |= (here if narrow else here + starts[block]).astype(words.dtype)
            if narrow:
                part.sort()

        if fmt.bits < 64:
            for _ in run_all(fill, range(starts.size), place.size):
                pass
            if not narrow:
                words.sort()
        else:
            kept = np.flatnonzero(finite)
            words = kept[np.argsort(place[kept], kind="stable")]
        self.words, self.size = words, words.size
        self.starts, self.ends = (starts, ends) if narrow else (starts[:1], ends[-1:])
        self.blocks = np.split(words, self.ends[:-1])

    @cached_property
    def _counts(self) -> np.ndarray:
        """How many elements of each group have each place of 16 bits."""

        def counted(first):
            return sum(
                np.bincount(words >> 16, minlength=1 << 16)
                for words in self.blocks[first : first + GROUP]
            )

        return np.array(list(run_all(counted, range(0, len(self.blocks), GROUP), self.size)))

    def positions(self, ranks: np.ndarray) -> np.ndarray:
        """Where in the output the elements of such ranks are."""
        if len(self.blocks) == 1:
            return (self.words[ranks] & self.mask).astype(np.intp)
        until = np.cumsum(self._counts.sum(axis=0))
        near = np.searchsorted(until, ranks, side="right")
        groups, number = _nth(self._counts[:, near], ranks - np.append(0, until)[near])
        found = np.empty(ranks.size, np.intp)
        for group in np.unique(groups):
            mine, first = np.flatnonzero(groups == group), group * GROUP
            begin, end = (
                self._below(near[mine] + more << 16, slice(first, first + GROUP)) for more in (0, 1)
            )
            block, rest = _nth(end - begin, number[mine])
            at = np.append(0, self.ends)[first + block] + begin[block, np.arange(mine.size)] + rest
            found[mine] = self.starts[first + block] + (self.words[at] & self.mask)
        return found

    def _below(self, words, blocks: slice) -> np.ndarray:
        """How many words of each block are below such ones."""
        return np.array(
            [np.searchsorted(block, words.astype(np.uint32)) for block in self.blocks[blocks]]
        )

    def lined(self, array: np.ndarray, cuts: np.ndarray) -> np.ndarray:
        """The elements of an array from the first of the ranks `cuts` to the last, but from one to the next in any order."""
        words, lined = self.words[cuts[0] : cuts[-1]], np.empty(cuts[-1] - cuts[0])
        if len(self.blocks) == 1:
            in_stretches(
                lambda at: array.take(words[at] & self.mask, out=lined[at], mode="clip"), lined.size
            )
            return lined
        last = self.positions(np.maximum(cuts - 1, 0))  # of what is before a cut
        near = self.place[last].astype(np.int64) + self.lift << 16
        below = np.array(
            [
                np.searchsorted(
                    words, (near + np.clip(last + 1 - start, 0, BLOCK)).astype(np.uint32)
                )
                for words, start in zip(self.blocks, self.starts)
            ]
        )
        below[:, cuts == 0] = 0
        into = cuts[:-1] - cuts[0] + np.cumsum(np.diff(below), axis=0) - np.diff(below)

        def fill(block):
            values, words = array[self.starts[block] :], self.blocks[block]
            for begin, end, start in zip(below[block], below[block, 1:], into[block]):
                values.take(
                    words[begin:end] & self.mask,
                    out=lined[start : start + end - begin],
                    mode="clip",
                )

        for _ in run_all(fill, range(len(self.blocks)), self.size):
            pass
        return lined


def _nth(counts, number):
    """Of elements counted by block (first axis), the block that holds the one of a number, and its number there."""
    earlier = np.cumsum(counts, axis=0) - counts
    block = (earlier <= number).sum(axis=0) - 1
    return block, number - earlier[block, np.arange(number.size)]


def middle(values: np.ndarray) -> float:
    """The median of numbers, none of them nan, which this puts into another order."""
    return _middle(values, values.size // 2, values.size % 2)


def _middle(values, half, odd) -> float:
    values.partition(half)
    return float(values[half] if odd else (values[:half].max() + values[half]) / 2)


def median(values: np.ndarray) -> float:
    """The median of numbers, none of them nan: of those next to the median of a few."""
    sample = np.sort(values[:: values.size // SAMPLED | 1])
    low, high = sample[int(0.48 * sample.size)], sample[int(0.52 * sample.size)]

    def near(start):
        part = values[start : start + STRETCH]
        return np.count_nonzero(part < low), part[(part >= low) & (part <= high)]

    below, parts = zip(*run_all(near, range(0, values.size, STRETCH), values.size))
    found, half = np.concatenate(parts), values.size // 2 - sum(below)
    return _middle(found, half, values.size % 2) if 0 < half < found.size else middle(values.copy())
