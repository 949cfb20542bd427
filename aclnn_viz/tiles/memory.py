"""Simulated memories that record which instruction wrote or read each byte, to find races, missing waits and reads of unwritten
memory.

Order is stored as numbers. Every instruction of a core has a position in its pipe, 1, 2, 3, ...; its horizon gives for each
pipe the last position that is finished before it starts. Two accesses to a byte, one of them a write, are safe when the later
one's horizon covers the earlier one. Cores meet only at SyncAll: accesses of two cores are ordered when they lie in different
epochs, the number of SyncAlls before.
"""

from collections import defaultdict
from functools import lru_cache
from math import prod
from operator import gt
from typing import NamedTuple

import numpy as np

from aclnn_viz.tiles.platforms import bfloat16_t, half

S, V, MTE2, MTE3 = PIPES = range(4)
PIPE_NAMES = ("PIPE_S", "PIPE_V", "PIPE_MTE2", "PIPE_MTE3")

# In this order, the minimum over a span is WRITTEN only if all its bytes are written.
UNWRITTEN, PADDING, WRITTEN = range(3)
POISON = 0xFF  # fill byte that makes a nan in every floating format
NARROW = half, bfloat16_t
# A stamp says who accessed an element: epoch * _CORES + core + 1, or + _MANY for several cores.
_CORES = 1024
_MANY = _CORES - 1
CACHE = 64  # bytes of a line of the scalar unit's cache


class Span(NamedTuple):
    """Bytes of a memory: runs of `length` bytes from `start` on, repeated over `shape` at `strides`."""

    start: int
    length: int
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    @property
    def end(self) -> int:
        return (
            self.start
            + self.length
            + sum((n - 1) * step for n, step in zip(self.shape, self.strides))
            if self.shape
            else self.start + self.length
        )

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return self.length * prod(self.shape)

    def view(self, array: np.ndarray, unit: int = 1) -> np.ndarray:
        """Return the part of an array that the span covers, where one element stands for `unit` bytes."""
        first, last = self.start // unit, -(-(self.start + self.length) // unit)
        if not self.shape:
            return array[first:last]
        size = array.itemsize
        return np.ndarray(
            (*self.shape, last - first),
            array.dtype,
            array,
            first * size,
            (*(step // unit * size for step in self.strides), size),
        )

    def values(self, memory: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """Return a view of the span's elements in a memory; in float32 if the memory keeps 16-bit elements so."""
        count = self.length // dtype.itemsize
        if dtype in NARROW and getattr(memory, "wide", None) is not None:
            steps = (*(2 * step for step in self.strides), 4)
            return np.ndarray((*self.shape, count), np.float32, memory.wide, 2 * self.start, steps)
        if not self.shape:
            return np.ndarray(count, dtype, memory, self.start)
        return np.ndarray(
            (*self.shape, count), dtype, memory, self.start, (*self.strides, dtype.itemsize)
        )


class Bytes(np.ndarray):
    """The bytes of a memory; if 16-bit formats are not rounded, `wide` holds a float32 for each two bytes."""

    wide = None

    @classmethod
    def of(cls, memory: np.ndarray) -> "Bytes":
        made = memory.view(cls)
        made.wide = np.full(memory.size // 2, np.nan, np.float32)
        return made


def _stamps(core) -> tuple[int, int]:
    """Return a stamp below all stamps of the epoch (from SyncAll to SyncAll), and the core's own stamp in the epoch."""
    floor = core.epoch * _CORES
    return floor, floor + core.index + 1


def meet(span: Span, other: Span) -> bool:
    """Return whether two spans of a memory share a byte."""
    return (
        span.start < other.end
        and other.start < span.end
        and (not (span.shape or other.shape) or _meet(span, other))
    )


@lru_cache(1 << 12)  # cached, because tiles repeat their spans
def _meet(span: Span, other: Span) -> bool:
    start = min(span.start, other.start)
    marks = np.zeros(max(span.end, other.end) - start, bool)
    span._replace(start=span.start - start).view(marks)[...] = True
    return bool(other._replace(start=other.start - start).view(marks).any())


_spare: dict[int, list[tuple]] = defaultdict(list)  # memories of finished cores by size, for reuse


class UnifiedBuffer:
    """The memory of one core. `writes` and `reads` hold, per pipe, the spans and the position of their last access."""

    unit = 1

    def __init__(self, size: int, precise: bool = False):
        self.size = size
        try:
            self.bytes, self.marks = _spare[size].pop()
        except IndexError:  # a test before pop could be outdated: other threads also launch
            self.bytes, self.marks = np.empty(size, np.uint8), bytearray(size)
        self.bytes[...] = POISON
        self.bytes = Bytes.of(self.bytes) if precise else self.bytes
        self.state = np.frombuffer(self.marks, np.uint8)  # an array on the memory of `marks`
        self.state[...] = UNWRITTEN
        # spans written per pipe; the latest is the last
        self.writes: list[dict[Span, int]] = [{} for _ in PIPES]
        self.reads: list[dict[Span, int]] = [{} for _ in PIPES]
        self.last_write, self.last_read = [0] * 4, [0] * 4
        # cached results of LocalTensor.operand
        self.operands: dict[tuple, tuple[Span, np.ndarray]] = {}

    def unordered(
        self, span: Span, horizon, writing: bool, core=None, atomic: bool = False
    ) -> list[tuple[int, int]]:
        """Return pipe and position of the last conflicting accesses that the horizon does not cover, writes first."""
        conflicts = []
        for held, last in ((self.writes, self.last_write), (self.reads, self.last_read))[
            : 1 + writing
        ]:
            if any(map(gt, last, horizon)):
                conflicts += [
                    (pipe, position)
                    for pipe in PIPES
                    if last[pipe] > horizon[pipe]
                    and (position := self._last(held[pipe], span, horizon[pipe])) > horizon[pipe]
                ]
        return conflicts

    def _last(self, held: dict[Span, int], span: Span, least: int) -> int:
        """Return the position of the last instruction that touched bytes of a span; at most `least` if none did after `least`."""
        for other, position in reversed(held.items()):
            if position <= least or meet(span, other):
                return position
        return 0

    def note(
        self, span: Span, pipe: int, position: int, writing: bool, core=None, atomic: bool = False
    ):
        held, last = (self.writes, self.last_write) if writing else (self.reads, self.last_read)
        held[pipe].pop(span, None)
        held[pipe][span] = last[pipe] = position
        if writing:
            span.view(self.state)[...] = WRITTEN

    def least(self, span: Span) -> int:
        """Return the lowest state of any byte of a span: UNWRITTEN, PADDING or WRITTEN."""
        if span.shape:
            return span.view(self.state).min()
        end = span.start + span.length
        if self.marks.find(UNWRITTEN, span.start, end) >= 0:
            return UNWRITTEN
        return WRITTEN if self.marks.find(PADDING, span.start, end) < 0 else PADDING

    def give_back(self):
        """Keep the memory for another core: allocating new pages takes longer than most kernels."""
        if getattr(self.bytes, "wide", None) is None:
            _spare[self.size].append((self.bytes, self.marks))

    def forget(self, start: int, end: int):
        """Mark the bytes as unwritten: AllocTensor promises nothing about their content."""
        self.state[start:end] = UNWRITTEN


class Address(NamedTuple):
    """A place in global memory, as a kernel argument with an offset in bytes: `x + 64`."""

    memory: "GlobalMemory"
    start: int

    def __add__(self, offset: int) -> "Address":
        return Address(self.memory, self.start + int(offset))


class GlobalMemory:
    """One tensor in global memory, shared by all cores; each `unit` bytes have one record."""

    def __init__(self, name: str, array: np.ndarray, written: bool):
        self.name, self.array, self.read_only = name, array, written
        self.bytes = array.reshape(-1).view(np.uint8)
        self.size, self.unit = self.bytes.size, array.itemsize
        # bytes behind the tensor in its allocation; whether the tensor owns them
        self.room, self.padded = 0, False
        self.state = None if written else self.unwritten()
        # Verb -> for each element, stamp and 4 * position + pipe of its last such access. Created
        # at the first access.
        self.records: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        # Line of 64 bytes -> each core whose cache holds it -> the bytes that its scalar unit
        # wrote there and those that others wrote since, and the place of its last write.
        self.lines: dict[int, dict] = {}

    def __add__(self, offset: int) -> Address:
        return Address(self, int(offset))

    def widen(self):
        """Store elements of 16-bit formats in float32."""
        self.bytes = Bytes.of(self.bytes)
        if self.array.dtype in NARROW:
            self.bytes.wide[: self.array.size] = self.array.reshape(-1)

    def narrow(self):
        """Round elements stored in float32 to the format of the memory."""
        if self.array.dtype in NARROW:
            self.array.reshape(-1)[...] = self.bytes.wide[: self.array.size]

    def unwritten(self) -> np.ndarray:
        """Return the state of an unwritten memory; the room behind it counts as written."""
        state = np.zeros((self.size + self.room) // self.unit, np.uint8)
        state[self.size // self.unit :] = WRITTEN
        return state

    def drop(self, core, line: int | None) -> list:
        """Write back and drop a line of a core's cache, or all; return the writes that put old bytes over those of others."""
        dropped = [
            held.pop(core)
            for key, held in self.lines.items()
            if core in held and line in (None, key)
        ]
        return [where for written, stale, where in dropped if written and stale - written]

    def cache(self, span: Span, instruction, writing: bool) -> str | None:
        """Follow an access through the caches; return "dirty" or "old" if cache and memory differ, and "shared" if a scalar unit
        writes back a line whose other bytes someone else writes.
        """
        core, scalar, met = instruction.core, instruction.pipe == S, None
        if self.read_only or not scalar and not self.lines:
            return None
        for line in [span.start // CACHE] if scalar else self.lines:
            start = line * CACHE
            if not (
                bits := {
                    byte
                    for byte in range(max(span.start, start), min(span.end, start + CACHE))
                    if not span.shape or meet(span, Span(byte, 1))
                }
            ):
                continue
            held = self.lines.setdefault(line, {})
            if scalar:
                core.cached.add(self)
                held.setdefault(core, [set(), set(), None])
            for owner, entry in held.items():
                written, stale, _ = entry
                if scalar and owner is core:
                    if writing:
                        entry[2] = instruction.where
                        written |= bits
                    elif (stale - written) & bits:
                        met = "old"
                elif written & bits:
                    met = "dirty"
                elif writing and written:
                    met = met or "shared"
                elif writing:
                    stale |= bits
            if writing and not met and self._beside(line, instruction):
                met = "shared"
        return met

    def _beside(self, line: int, instruction) -> bool:
        """Return whether a write to a line is unordered with another of this epoch, one of both by a scalar unit."""
        core, pipe = instruction.core, instruction.pipe
        floor, mine = _stamps(core)
        return any(
            (
                (held > floor)
                & (
                    (held != mine)
                    | (at & 3 != pipe) & (at >> 2 > np.take(instruction.horizon, at & 3))
                )
                & ((at & 3 == S) | (pipe == S))
            ).any()
            for _, held, at in self._recent(Span(line * CACHE, CACHE), core, False, False)
        )

    def _recent(self, span: Span, core, writing: bool, atomic: bool):
        """Yield verb, stamps and places of the accesses in this epoch that may conflict.

        Atomic sums need no mutual order.
        """
        floor = core.epoch * _CORES
        for verb in (
            ("writes", "reads") if atomic else ("writes", "adds to", "reads")[: 2 + writing]
        ):
            if verb in self.records:
                stamps, at = self.records[verb]
                held = span.view(stamps, self.unit)
                if held.max() > floor:
                    yield verb, held, span.view(at, self.unit)

    def unordered(
        self, span: Span, horizon, writing: bool, core, atomic: bool = False
    ) -> list[tuple[int, int]]:
        """Return the same as the Unified Buffer's method, for one core in this epoch; SyncAll orders older accesses."""
        (_, stamp), conflicts = _stamps(core), []
        for _, held, at in self._recent(span, core, writing, atomic):
            where = at[held == stamp]
            for pipe in PIPES if where.size else ():
                position = int((where >> 2).max(initial=0, where=where & 3 == pipe))
                if position > horizon[pipe]:
                    conflicts.append((pipe, position))
        return conflicts

    def clash(
        self, span: Span, core, writing: bool, atomic: bool
    ) -> tuple[int | None, str, int] | None:
        """Return another core's conflicting access in this epoch: its index (None: several), its action, number of elements."""
        floor, mine = _stamps(core)
        for verb, held, _ in self._recent(span, core, writing, atomic):
            others = (held > floor) & (held != mine)
            if others.any():
                other = int(held[others].max()) - floor - 1
                return (None if other == _MANY - 1 else other), verb, int(others.sum())
        return None

    def note(self, span: Span, pipe: int, position: int, writing: bool, core, atomic: bool):
        if self.read_only and not writing:
            return  # a read cannot conflict in memory that is never written
        verb = "reads" if not writing else "adds to" if atomic else "writes"
        if verb not in self.records:
            count = (self.size + self.room) // self.unit
            self.records[verb] = np.zeros(count, np.int32), np.zeros(count, np.int64)
        held, at = (span.view(record, self.unit) for record in self.records[verb])
        floor, stamp = _stamps(core)
        if writing:
            held[...] = stamp
            at[...] = 4 * position + pipe
            if self.state is not None:
                span.view(self.state, self.unit)[...] = WRITTEN
        else:
            mine = held == stamp
            held[...] = np.where((held > floor) & ~mine, floor + _MANY, stamp)
            # a scalar read ends at once, so no position is stored
            at[...] = 4 * position + pipe if position else np.where(mine, at, 0)

    def least(self, span: Span) -> int:
        """Return the lowest state of any element of a span: UNWRITTEN, PADDING or WRITTEN."""
        return (
            WRITTEN
            if self.state is None
            else int(span.view(self.state, self.unit).min(initial=WRITTEN))
        )
