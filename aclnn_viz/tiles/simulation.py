"""Predict start and end of each instruction of a recorded run, by an event simulation over a table of stated costs.

Pipes start instructions in order, once their waits are over. Copies of all cores share global memory, behind an L2 that holds
copied bytes, at first those of the last run. A vector instruction has a head, and takes a cycle per repeat, more if its
operands share a bank group. Nothing in it was measured here.
"""

import heapq
import operator
import random
from collections import Counter
from typing import NamedTuple

from aclnn_viz.tiles.machine import Instruction
from aclnn_viz.tiles.memory import MTE2, MTE3, PIPES, S, V
from aclnn_viz.tiles.platforms import BLOCK, REPEAT

PIPES_TIMED = ("S", "V", "MTE2", "MTE3")


class Job(NamedTuple):
    """An instruction in the simulation; `size`: bytes of a copy, cycles of a vector unit, elements of a scalar unit."""

    horizon: tuple[int, ...]
    stores: int  # number of earlier stores by the scalar unit
    size: float
    epoch: int = 0
    bypass: bool = False
    one: Instruction | None = None


def jobs_of(run, groups: int = 16, bypass=()) -> list:
    """Return the jobs of a traced run per core and pipe; tensors named in `bypass` are read past the L2."""
    cores: list = [[[], [], [], []] for _ in range(run.cores)]
    for instruction in run.trace:
        pipes = cores[instruction.core.index]
        if instruction.pipe == S:
            size: float = 1
        elif instruction.pipe == V:
            size = cycles(instruction, groups)
        else:
            ((_, span),) = instruction.reads if instruction.pipe == MTE2 else instruction.writes
            size = span.size
        past = instruction.pipe == MTE2 and instruction.reads[0][0].name in bypass
        pipes[instruction.pipe].append(
            Job(
                tuple(instruction.horizon),
                len(pipes[S]),
                size,
                instruction.epoch,
                past,
                instruction,
            )
        )
    return cores


def repeats(instruction: Instruction) -> int:
    """Return the repeats of a vector instruction."""
    return max(-(-span.size // REPEAT) for _, span in (*instruction.reads, *instruction.writes))


def cycles(instruction: Instruction, groups: int = 16) -> int:
    """Return a vector instruction's repeats times the number of its reads that share a bank group in a cycle."""
    met = Counter(
        (span.start // BLOCK + block) % groups
        for _, span in instruction.reads
        for block in range(min(8, -(-span.size // BLOCK)))
    )
    return repeats(instruction) * max(met.values(), default=1)


class Simulated(NamedTuple):
    """The result of a simulation, in us: the task, a mean core, busy pipes of a mean core, and the spans of jobs."""

    task: float
    core: float
    busy: dict[str, float]
    spans: list  # entries: (core, pipe, position, start, end, (core, pipe, position) waited for)
    memory: float  # share of the bandwidth of global memory that is used


class _Simulation:
    """Jobs of cores on their pipes; times are in cycles. An inbound copy starts, shares the bandwidth, and ends."""

    START, SHARE, END = range(3)

    def __init__(self, cores: list, costs, l2: str):
        self.cores, self.l2, n = cores, l2, len(cores)
        self.cost = {name: entry.value for name, entry in costs.entries.items()}
        self.clock, self.port = self.cost["clock"], self.cost["port"]
        self.memory, self.chance = self.cost["memory"] * 1e3 / self.clock, random.Random(0)
        into = sum(job.size for pipes in cores for job in pipes[MTE2] if not job.bypass)
        out = sum(job.size for pipes in cores for job in pipes[MTE3])
        self.capacity = self.cost["L2"] * 1e6
        # share of the bytes evicted from the L2 that must be written to memory
        self.dirty = out / (into + out) if into + out > self.capacity else 0.0
        self.left = Counter(job.epoch for pipes in cores for pipe in pipes for job in pipe)
        self.epochs, self.phase = sorted(self.left), 0
        self.started, self.done, self.since = ([[0] * 4 for _ in cores] for _ in range(3))
        self.busy, self.ended, self.far = [[0.0] * 4 for _ in cores], [0.0] * n, [0.0] * n
        self.begin = [
            (self.cost["start"] + self.cost["skew"] * c / max(n - 1, 1)) * self.clock
            for c in range(n)
        ]
        # heap of events: (time, core, event, pipe, position)
        self.timed = [(self.begin[c], c, self.START, -1, 0) for c in range(n)]
        # copies into cores, which share the bandwidth: (`work` at which it ends, core, position)
        self.sharing: list = []
        self.waiting: list[list[int]] = [[] for _ in cores]
        self.active = [False] * n
        # each (core, pipe, position) -> [start, end, waited for]
        self.at: dict[tuple, list] = {}
        self.now = self.work = self.filled = self.used = 0.0
        self.under_way = [0, 0]  # number of inbound copies through the L2, and past it
        self.writes = 0

    def run(self):
        while self.timed or self.sharing:
            c, what, p, k = self.advance()
            cause, woken = None, (c,)
            if what == self.SHARE:
                self.waiting[c].append(k)
                woken = ()
            elif what == self.END:
                cause, woken = (c, p, k), self.end(c, p, k)
            if self.waiting[c] and not self.active[c]:
                self.share(c, cause)
            for core in woken:
                if self.now >= self.begin[core]:
                    for pipe in PIPES:
                        while self.startable(core, pipe):
                            self.start(core, pipe, cause)

    def advance(self) -> tuple[int, int, int, int]:
        """Go to the next event, and return its core, kind, pipe and position."""
        evicted = self.dirty * (self.l2 == "warm" or self.filled > self.capacity)
        reads, past = self.under_way
        # bytes of memory traffic per byte read through the L2
        load, written = reads * (1 + evicted) + past, self.writes * self.port * evicted
        share = max(min(self.port, (self.memory - written) / load), self.port / 64) if load else 0
        rate = share if load else self.port
        soon = self.now + (self.sharing[0][0] - self.work) / rate if self.sharing else float("inf")
        known = bool(self.timed) and self.timed[0][0] <= soon
        then = self.timed[0][0] if known else soon
        self.used += (then - self.now) * (load * rate + written)
        self.filled += (then - self.now) * (self.writes * self.port + rate * reads)
        self.work += rate * (then - self.now)
        self.now = then
        if known:
            return heapq.heappop(self.timed)[1:]
        _, c, k = heapq.heappop(self.sharing)
        self.active[c] = False
        self.under_way[self.cores[c][MTE2][k].bypass] -= 1
        return c, self.END, MTE2, k

    def end(self, c: int, p: int, k: int):
        """Record the end of a job; return the cores that may continue."""
        self.done[c][p] += 1
        self.at[c, p, k][1] = self.ended[c] = self.now
        self.writes -= p == MTE3
        if self.started[c][p] == self.done[c][p]:
            self.busy[c][p] += self.now - self.since[c][p]
        self.left[self.cores[c][p][k].epoch] -= 1
        phase = self.phase
        while self.phase < len(self.epochs) and not self.left[self.epochs[self.phase]]:
            self.phase += 1
        return (c,) if phase == self.phase else range(len(self.cores))

    def share(self, c: int, cause):
        """Let the next inbound copy of a core take its share of the bandwidth of global memory."""
        self.active[c], k = True, self.waiting[c].pop(0)
        job = self.cores[c][MTE2][k]
        heapq.heappush(self.sharing, (self.work + job.size, c, k))
        self.under_way[job.bypass] += 1
        if cause and cause[1] == MTE2:
            self.at[c, MTE2, k][2] = cause

    def startable(self, c: int, p: int) -> bool:
        """Return whether a pipe has a next job and all its waits are over."""
        pipe, k, have = self.cores[c][p], self.started[c][p], self.done[c]
        if k == len(pipe):
            return False
        job = pipe[k]
        return (
            (p == MTE2 or k <= have[p])
            and have[S] >= job.stores
            and all(map(operator.ge, have, job.horizon))
            and not (self.phase < len(self.epochs) and job.epoch > self.epochs[self.phase])
        )

    def start(self, c: int, p: int, cause):
        k, job = self.started[c][p], self.cores[c][p][self.started[c][p]]
        if k == self.done[c][p]:
            self.since[c][p] = self.now
            self.far[c] = self.cost["read latency"]
            if len(self.cores) > 1:
                jitter = self.cost["jitter"]
                self.far[c] *= self.chance.uniform(1 - jitter, 1 + jitter)
        self.started[c][p] += 1
        self.writes += p == MTE3
        delay = (
            self.cost["element"],
            self.cost["vector head"] + job.size * self.cost["repeat"],
            self.far[c],
            self.cost["write head"] + job.size / self.port,
        )[p]
        self.at[c, p, k] = [self.now, self.now, cause]
        what = self.SHARE if p == MTE2 else self.END
        heapq.heappush(self.timed, (self.now + delay, c, what, p, k))


def simulated(cores: list, costs, l2: str = "warm") -> Simulated:
    """Simulate the jobs of all cores, and return their times."""
    s, n = _Simulation(cores, costs, l2), max(len(cores), 1)
    s.run()
    for busy, pipes in zip(s.busy, cores):
        busy[S] += s.cost["issue"] * sum(map(len, pipes[1:]))
    times = (max(0.0, end - begin) for end, begin in zip(s.ended, s.begin))
    spans = [
        (*key, start / s.clock, end / s.clock, waited) for key, (start, end, waited) in s.at.items()
    ]
    spent = s.now - min(s.begin, default=s.now)
    return Simulated(
        max(s.ended, default=0.0) / s.clock + s.cost["dispatch"],
        sum(times) / n / s.clock + s.cost["start"],
        {name: sum(row[p] for row in s.busy) / n / s.clock for p, name in enumerate(PIPES_TIMED)},
        spans,
        s.used / (s.memory * spent) if spent > 0 else 0.0,
    )
