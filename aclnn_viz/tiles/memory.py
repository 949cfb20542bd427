"""Memories that know what lies in them: which bytes were written, by which instruction, and who may still read them.

Order is kept as numbers. Every instruction of a core has a position in its pipe, 1, 2, 3, ...; its horizon says for
each pipe up to which position everything is finished before it starts. Two accesses to a byte, one of them a write,
are safe when the later one's horizon covers the earlier one. Cores meet at SyncAll alone: accesses of two cores are
ordered when they lie in different epochs, the number of SyncAlls before.
"""

from typing import NamedTuple

import numpy as np

S, V, MTE2, MTE3 = PIPES = range(4)
PIPE_NAMES = ("PIPE_S", "PIPE_V", "PIPE_MTE2", "PIPE_MTE3")

UNWRITTEN, PADDING, WRITTEN = range(3)  # so that the least of a span tells whether all of it is data
POISON = 0xFF  # as bytes of any floating format: a nan
_CORES = 1024  # stamps are epoch * _CORES + core + 1
_MANY = _CORES - 1


class Span(NamedTuple):
    """Bytes of a memory: runs of `length` bytes from `start` on, repeated over `shape` at `strides`."""

    start: int
    length: int
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    @property
    def end(self) -> int:
        end = self.start + self.length
        for n, step in zip(self.shape, self.strides):
            end += (n - 1) * step
        return end

    def view(self, array: np.ndarray, unit: int = 1) -> np.ndarray:
        """The part of an array that has one element for each `unit` bytes."""
        first, last = self.start // unit, -(-(self.start + self.length) // unit)
        if not self.shape:
            return array[first:last]
        size = array.itemsize
        return np.ndarray((*self.shape, last - first), array.dtype, array, first * size,
                          (*(step // unit * size for step in self.strides), size))

    def values(self, memory: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The elements that lie in bytes, as an array that shares them."""
        return np.ndarray((*self.shape, self.length // dtype.itemsize), dtype, memory, self.start,
                          (*self.strides, dtype.itemsize))


class UnifiedBuffer:
    """The memory of one core. `writes` and `reads` hold, per pipe and byte, the position of the last access."""

    unit = 1

    def __init__(self, size: int):
        self.size = size
        self.bytes = np.full(size, POISON, np.uint8)
        self.state = np.zeros(size, np.uint8)
        self.writes: list = [None] * 4  # each made when its pipe first writes or reads, for most never do
        self.reads: list = [None] * 4
        self.last_write, self.last_read = [0] * 4, [0] * 4

    def unordered(self, span: Span, horizon, writing: bool, core=None, atomic: bool = False) -> list[tuple[int, int]]:
        """Pipe and position of the last accesses in conflict that the horizon does not cover, those of writes first."""
        found = []
        for held, last in ((self.writes, self.last_write), (self.reads, self.last_read))[:1 + writing]:
            for pipe in PIPES:
                if last[pipe] > horizon[pipe]:
                    position = int(span.view(held[pipe]).max())
                    if position > horizon[pipe]:
                        found.append((pipe, position))
        return found

    def note(self, span: Span, pipe: int, position: int, writing: bool, core=None, atomic: bool = False):
        held, last = (self.writes, self.last_write) if writing else (self.reads, self.last_read)
        if held[pipe] is None:
            held[pipe] = np.zeros(self.size, np.int32)
        span.view(held[pipe])[...] = position
        last[pipe] = position
        if writing:
            span.view(self.state)[...] = WRITTEN

    def forget(self, start: int, end: int):
        """What AllocTensor hands out holds anything."""
        self.state[start:end] = UNWRITTEN


class GlobalMemory:
    """One tensor in global memory, shared by all cores; `unit` is the bytes for which one record is kept."""

    def __init__(self, name: str, array: np.ndarray, written: bool):
        self.name, self.array = name, array
        self.bytes = array.reshape(-1).view(np.uint8)
        self.size, self.unit = self.bytes.size, array.itemsize
        count = self.size // self.unit
        self.state = np.full(count, WRITTEN, np.uint8) if written else np.zeros(count, np.uint8)
        # Stamp of the last write, atomic sum and read, and 4 * position + pipe of each.
        self.written, self.added, self.read = (np.zeros(count, np.int32) for _ in range(3))
        self.write_at, self.add_at, self.read_at = (np.zeros(count, np.int64) for _ in range(3))
        self.ever_written, self.read_only = False, written

    def unordered(self, span: Span, horizon, writing: bool, core, atomic: bool = False) -> list[tuple[int, int]]:
        """As for the Unified Buffer, among the accesses of one core in this epoch; older ones SyncAll has ordered.

        Atomic sums need no order among each other.
        """
        stamp, found = core.epoch * _CORES + core.index + 1, []
        held = [(self.written, self.write_at)] if self.ever_written else []
        held += [(self.added, self.add_at)] if self.ever_written and not atomic else []
        held += [(self.read, self.read_at)] if writing else []
        for stamps, at in held:
            mine = span.view(stamps, self.unit) == stamp
            if mine.any():
                where = span.view(at, self.unit)[mine]
                for pipe in PIPES:
                    position = int((where >> 2).max(initial=0, where=where & 3 == pipe))
                    if position > horizon[pipe]:
                        found.append((pipe, position))
        return found

    def clash(self, span: Span, core, writing: bool, atomic: bool) -> tuple[int | None, str, int] | None:
        """Another core that reaches them in this epoch: its index (None: several), what it does, how many elements."""
        floor, mine = core.epoch * _CORES, core.epoch * _CORES + core.index + 1
        kinds = [("writes", self.written), ("adds to", self.added), ("reads", self.read)]
        if atomic:
            kinds = [kinds[0], kinds[2]]
        elif not writing:
            kinds = kinds[:2]
        for verb, stamps in kinds:
            if stamps is not self.read and not self.ever_written:
                continue
            held = span.view(stamps, self.unit)
            others = (held > floor) & (held != mine)
            if others.any():
                other = int(held[others].max()) - floor - 1
                return (None if other == _MANY - 1 else other), verb, int(others.sum())
        return None

    def note(self, span: Span, pipe: int, position: int, writing: bool, core, atomic: bool):
        stamp = core.epoch * _CORES + core.index + 1
        if writing:
            self.ever_written = True
            stamps, at = (self.added, self.add_at) if atomic else (self.written, self.write_at)
            span.view(stamps, self.unit)[...] = stamp
            span.view(at, self.unit)[...] = 4 * position + pipe
            span.view(self.state, self.unit)[...] = WRITTEN
        elif not self.read_only:  # nothing may be written there, so nothing can meet a read
            held, at, floor = span.view(self.read, self.unit), span.view(self.read_at, self.unit), core.epoch * _CORES
            mine = held == stamp
            held[...] = np.where((held > floor) & ~mine, floor + _MANY, stamp)
            at[...] = 4 * position + pipe if position else np.where(mine, at, 0)  # a scalar read is over at once
