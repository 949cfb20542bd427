"""An event simulation of traces: what each instruction takes under a table of costs, and when it starts and ends.

Pipes start their instructions in order, when what each waits for is finished; copies of all cores share global memory,
behind an L2 that holds what was copied, first of all what the last run left in it; a vector instruction has a head, and
takes a cycle a repeat, more where its operands lie in one bank group. Nothing in it was measured here.
"""

import heapq
import random
from collections import Counter
from math import prod
from typing import NamedTuple

from aclnn_viz.tiles.machine import Instruction
from aclnn_viz.tiles.memory import MTE2, MTE3, PIPES, S, V
from aclnn_viz.tiles.platforms import BLOCK, REPEAT

SHORT = ("S", "V", "MTE2", "MTE3")


class Job(NamedTuple):
    """An instruction as the simulation sees it; `size` in bytes, cycles, or elements of the scalar unit."""

    horizon: tuple[int, ...]
    stores: int  # of the scalar unit, issued before
    size: float
    epoch: int = 0
    bypass: bool = False
    one: Instruction | None = None


def jobs_of(run, groups: int = 16, bypass=()) -> list:
    """For each core and pipe the jobs of a traced run; tensors named in `bypass` are read past the L2."""
    cores: list = [[[], [], [], []] for _ in range(run.cores)]
    for one in run.trace:
        pipes = cores[one.core.index]
        if one.pipe == S:
            size: float = 1
        elif one.pipe == V:
            size = cycles(one, groups)
        else:
            ((_, span),) = one.reads if one.pipe == MTE2 else one.writes
            size = span.length * prod(span.shape)
        past = one.pipe == MTE2 and one.reads[0][0].name in bypass
        pipes[one.pipe].append(Job(tuple(one.horizon), len(pipes[S]), size, one.epoch, past, one))
    return cores


def cycles(one: Instruction, groups: int = 16) -> int:
    """A vector instruction's repeats, times how many of its reads meet in one bank group in a cycle."""
    spans = [span for _, span in (*one.reads, *one.writes)]
    repeats = max(-(-span.length * prod(span.shape) // REPEAT) for span in spans)
    met = Counter(
        (span.start // BLOCK + block) % groups
        for _, span in one.reads
        for block in range(min(8, -(-span.length * prod(span.shape) // BLOCK)))
    )
    return repeats * max(met.values(), default=1)


class Simulated(NamedTuple):
    """What a simulation gives, in us: the task, a mean core, busy pipes of a mean core, and the spans of jobs."""

    task: float
    core: float
    busy: dict[str, float]
    spans: list  # (core, pipe, position, start, end, (core, pipe, position) waited for)
    memory: float  # share of the bandwidth of global memory that was in use


def simulated(cores: list, costs, l2: str = "warm") -> Simulated:
    """Give times to jobs."""
    cost = {name: entry.value for name, entry in costs.entries.items()}
    clock, port, n = cost["clock"], cost["port"], len(cores)
    memory, chance = cost["memory"] * 1e3 / clock, random.Random(0)
    into = sum(job.size for pipes in cores for job in pipes[MTE2] if not job.bypass)
    out = sum(job.size for pipes in cores for job in pipes[MTE3])
    capacity = cost["L2"] * 1e6
    # of what an allocation evicts, the share that must be written
    dirty = out / (into + out) if into + out > capacity else 0.0
    left = Counter(job.epoch for pipes in cores for pipe in pipes for job in pipe)
    epochs = sorted(left)
    phase = 0
    started, done, since = ([[0] * 4 for _ in cores] for _ in range(3))
    busy, ended = [[0.0] * 4 for _ in cores], [0.0] * n
    begin = [(cost["start"] + cost["skew"] * c / max(n - 1, 1)) * clock for c in range(n)]
    far = [0.0] * n
    timed = [(begin[c], c, 0, -1, 0) for c in range(n)]  # (time, core, what, pipe, position)
    sharing: list = []  # (work at which it ends, core, position): copies in that share memory
    waiting: list[list[int]] = [[] for _ in cores]
    active = [False] * n
    at: dict[tuple, list] = {}  # (core, pipe, position) -> [start, end, waited for]
    now = work = filled = used = 0.0
    reads, past, writes = 0, 0, 0  # copies under way
    while timed or sharing:
        evicted = dirty if l2 == "warm" else dirty * (filled > capacity)
        each = 1 + evicted  # of a byte read through the L2, in bytes of memory
        load = reads * each + past
        rate = (
            max(min(port, (memory - writes * port * evicted) / load), port / 64) if load else port
        )
        soon = now + (sharing[0][0] - work) / rate if sharing else float("inf")
        then, known = (timed[0][0], True) if timed and timed[0][0] <= soon else (soon, False)
        used += (then - now) * (load * rate + writes * port * evicted)
        filled += (then - now) * (writes * port + rate * reads)
        work += rate * (then - now)
        now, cause, woken = then, None, ()
        if known:
            _, c, what, p, k = heapq.heappop(timed)
        else:
            _, c, k = heapq.heappop(sharing)
            what, p, active[c] = 2, MTE2, False
            if cores[c][MTE2][k].bypass:
                past -= 1
            else:
                reads -= 1
        if what == 1:
            waiting[c].append(k)
        elif what == 2:
            done[c][p] += 1
            at[c, p, k][1] = ended[c] = now
            cause, woken = (c, p, k), (c,)
            writes -= p == MTE3
            if started[c][p] == done[c][p]:
                busy[c][p] += now - since[c][p]
            left[cores[c][p][k].epoch] -= 1
            while phase < len(epochs) and not left[epochs[phase]]:
                phase += 1
                woken = range(n)
        else:
            woken = (c,)
        if waiting[c] and not active[c]:
            active[c], k = True, waiting[c].pop(0)
            job = cores[c][MTE2][k]
            heapq.heappush(sharing, (work + job.size, c, k))
            if job.bypass:
                past += 1
            else:
                reads += 1
            if cause and cause[1] == MTE2:
                at[c, MTE2, k][2] = cause
        for c in woken:
            if now < begin[c]:
                continue
            finished = done[c]
            for p in PIPES:
                pipe, going = cores[c][p], started[c]
                while going[p] < len(pipe):
                    job = pipe[going[p]]
                    (s, v, i, o), have = job.horizon, finished
                    if (
                        p != MTE2
                        and going[p] > have[p]
                        or have[S] < job.stores
                        or have[S] < s
                        or have[V] < v
                        or have[MTE2] < i
                        or have[MTE3] < o
                        or phase < len(epochs)
                        and job.epoch > epochs[phase]
                    ):
                        break
                    k = going[p]
                    if k == have[p]:
                        since[c][p] = now
                        far[c] = (
                            cost["read latency"]
                            * chance.uniform(1 - cost["jitter"], 1 + cost["jitter"])
                            if n > 1
                            else cost["read latency"]
                        )
                    going[p] += 1
                    writes += p == MTE3
                    delay = (
                        cost["element"],
                        cost["vector head"] + job.size * cost["repeat"],
                        far[c],
                        cost["write head"] + job.size / port,
                    )[p]
                    at[c, p, k] = [now, now, cause]
                    heapq.heappush(timed, (now + delay, c, 1 if p == MTE2 else 2, p, k))
    for c in range(n):
        busy[c][S] += cost["issue"] * sum(map(len, cores[c][1:]))
    core = (
        sum(max(0.0, end - first) for end, first in zip(ended, begin)) / max(n, 1) / clock
        + cost["start"]
    )
    spans = [(*key, start / clock, end / clock, waited) for key, (start, end, waited) in at.items()]
    return Simulated(
        max(ended, default=0.0) / clock + cost["dispatch"],
        core,
        {name: sum(row[p] for row in busy) / max(n, 1) / clock for p, name in enumerate(SHORT)},
        spans,
        used / (memory * (now - min(begin))) if n and now > min(begin) else 0.0,
    )
