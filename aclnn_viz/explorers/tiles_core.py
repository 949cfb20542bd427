"""Compute one core's run in time, for a picture: each instruction's tile, start and end, and the contents of slots of the
Unified Buffer.

One copy may land later than the program expects. Later times move by as much or not at all: a time is the later of two, one
of which grows with the lateness. If the vector unit does not wait for that copy, the machine runs the program again and
withholds the copy from the readers that start too early; differences from the run with the wait are wrong.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache

import numpy as np

from aclnn_viz import tiles
from aclnn_viz.explorers.arrays import XP
from aclnn_viz.explorers.tiles_data import (
    Data,
    how,
    inputs,
    jobs_of,
    machine_of,
    pipe_name,
    program_of,
    ran,
    record,
    times_of,
    watched,
)
from aclnn_viz.tiles.memory import MTE2, MTE3, PIPES
from aclnn_viz.tiles.schedules import Eager

FAR = 1e6  # a time later than any other


@record
class Core:
    """The instructions of a core in order; times are pairs (a, b) of arrays that mean max(a, b + lateness).

    `parts` has (tensor, number, bytes) of copies, `slots` the blocks of the Unified Buffer, `held` (slot, instruction that
    writes it, the next one that does or -1), `read` (instruction, slot). `copy` may land late, `readers` read its data;
    `wrong` and `off` (numbers by output) are the errors by the number of early readers.
    """

    jobs: list
    pipes: np.ndarray
    tile: np.ndarray
    start: tuple
    end: tuple
    slots: list
    held: np.ndarray
    read: np.ndarray
    parts: list
    copy: int
    readers: list
    takes: np.ndarray  # durations of instructions, and end of the run, if no copy is late
    span: float
    wrong: np.ndarray
    off: tuple = ({},)


def gathered(state, *_):
    """Return the run of a state, the work of its core, and the work of this core with the other number of buffers."""
    work = ran(state)
    times = times_of(work, state.time)
    core = core_of(work, times, state.core, state.tile, state.wait)
    if not state.wait and core.readers:
        core = unguarded(state, core)
    return {"work": work, "times": times, "core": core, "other": _other(state)}


def _other(state):
    """Return the core with one buffer instead of two, or the reverse; None if the program does not support that."""
    right = replace(machine_of(state), fault="none")
    other = replace(right, buffers=3 - state.buffers)
    if program_of(other) is program_of(right):
        return None
    work = ran(other)
    return core_of(work, times_of(work, state.time), state.core)


def data(xp, state, **found):
    return Data(state, xp=xp, **found)


def compute(state, backward=None):
    """Run the program of a state; `backward` is unused."""
    return data(XP, state, **gathered(state))


@lru_cache(16)
def core_of(work, times, core, tile=-1, wait=True):
    """Return a core's work, in steps or in stated `times`; the last copy of a tile may land late."""
    jobs, blocks = work.jobs.get(core, []), work.run.buffers[core] if core < work.run.cores else []
    blocks = sorted(blocks, key=lambda block: block.start)
    number, parts, writers, read = _labelled(jobs, blocks)
    pairs = [
        (slot, *each)
        for slot, mine in sorted(writers.items())
        for each in zip(mine, [*mine[1:], -1])
    ]
    into = [k for k, job in enumerate(jobs) if job.pipe == MTE2 and number[k] == tile]
    copy = into[-1] if into else -1
    readers = {
        k
        for slot, at, after in pairs
        for k, other in read
        if at == copy and other == slot and copy < k and not 0 <= after < k
    }
    known = _known(jobs, times, core)
    low, high = (paced(jobs, known, copy, late, wait) for late in (-FAR, FAR))
    return Core(
        jobs,
        np.array([job.pipe for job in jobs], int),
        np.array(number, int),
        *((a, b - FAR) for a, b in zip(low, high)),
        blocks,
        np.array(pairs, int).reshape(-1, 3),
        np.array(read, int).reshape(-1, 2),
        parts,
        copy,
        sorted(readers),
        np.array([end - start for start, end in known]),
        max([end for _, end in known], default=1.0),
        np.array([[job.hazardous or _stores(work, job) for job in jobs]], bool).reshape(1, -1),
    )


def _stores(work, job):
    """Return whether an instruction stores numbers of an output that are wrong in the end."""
    wrong = {one.name: one.wrong.reshape(-1) for one in work.owned}
    there = [(m, span) for m, span in job.writes if getattr(m, "name", "") in wrong]
    return any(span.view(wrong[m.name], m.unit).any() for m, span in there)


def _labelled(jobs, blocks):
    """Return each instruction's tile and copied part, the writers of each slot, and the reads (instruction, slot). A
    copy in has its part's number as tile; others have the newest tile that they read.
    """
    starts, lies, last, known = [block.start for block in blocks], {}, 0, defaultdict(dict)
    number, parts, writers, read = [], [], defaultdict(list), []
    for k, job in enumerate(jobs):
        there, goes = (
            {bisect_right(starts, span.start) - 1 for m, span in touched if not hasattr(m, "name")}
            for touched in (job.reads, job.writes)
        )
        last = max([lies.get(slot, 0) for slot in there], default=last)
        outside = {MTE2: job.reads, MTE3: job.writes}.get(job.pipe, ())
        parts.append(None)
        for memory, span in outside[:1]:
            at = known[memory.name].setdefault(span.start, len(known[memory.name]))
            parts[k], last = (memory.name, at, span.length), at if job.pipe == MTE2 else last
        number.append(last)
        lies |= dict.fromkeys(goes, last)
        read += [(k, slot) for slot in sorted(there)]
        for slot in goes:
            writers[slot].append(k)
    return number, parts, writers, read


def _known(jobs, times, core):
    """Return starts and ends of instructions in the timeline; an inbound copy starts no earlier than the previous copy's end."""
    if times is None:
        return [(float(job.step), job.step + 1.0) for job in jobs]
    spans = defaultdict(list)
    for one in times.spans:
        if one.core == core:
            spans[one.pipe].append(one)
    first = min([one.start for each in spans.values() for one in each], default=0.0)
    found, free = [], defaultdict(float)
    for job in jobs:
        one = spans[pipe_name(job.pipe)].pop(0)
        found.append((max(one.start - first, free[job.pipe]), one.end - first))
        free[job.pipe] = max(found[-1])
    return found


def paced(jobs, known, copy, late, wait):
    """Return starts and ends (instructions,) when a copy takes longer, with or without a wait for it."""
    place, starts, own = sum(job.pipe == MTE2 for job in jobs[: copy + 1]), [], []
    before, ends = ({pipe: [0.0] for pipe in PIPES} for _ in range(2))
    for k, (job, (start, end)) in enumerate(zip(jobs, known)):
        free, usual = (
            max(each[job.pipe][-1], *(each[pipe][job.waits[pipe]] for pipe in PIPES))
            for each in (ends, before)
        )
        if not wait and job.pipe != MTE2 and job.waits[MTE2] == place:
            free = max(
                ends[job.pipe][-1],
                ends[MTE2][place - 1],
                *[ends[pipe][job.waits[pipe]] for pipe in PIPES if pipe != MTE2],
            )
        starts.append(free + start - usual)
        own.append(starts[-1] + end - start + late * (k == copy))
        before[job.pipe].append(max(end, before[job.pipe][-1]))
        ends[job.pipe].append(own[-1])
    return np.array(starts), np.array(own)


class Withheld(Eager):
    """The order of the program, except that one copy lands after some instructions have read the old content."""

    def __init__(self, core, place, readers):
        self.core, self.place, self.left, self.copy = core, place, set(readers), None

    def issue(self, instruction):
        at = instruction.pipe, instruction.position
        if instruction.core.index == self.core and at == self.place and self.left:
            self.copy = instruction
            return
        super().issue(instruction)
        if instruction.core.index == self.core:
            self.left.discard(at)
        if not self.left:
            self.drain(())

    def drain(self, cores):
        if self.copy:
            self.copy, late = None, self.copy
            late.land()


def unguarded(state, core):
    """Return a core whose vector unit does not wait for the copy, with errors by the number of early readers."""
    places = [
        (job.pipe, int((core.pipes[: k + 1] == job.pipe).sum())) for k, job in enumerate(core.jobs)
    ]
    wrong, off = _outcomes(
        replace(state, at=0.0, late=0.0), places[core.copy], tuple(places[k] for k in core.readers)
    )
    return replace(core, wrong=wrong | core.wrong, off=off)


@lru_cache(8)
def _outcomes(state, place, readers):
    runs = []
    for early in range(len(readers) + 1):
        schedule, wrote = watched(Withheld(state.core, place, readers[:early]))
        run = tiles.launch(program_of(state), **how(state), schedule=schedule, **inputs(state))
        runs.append((run, jobs_of(run, wrote)[1][state.core]))
    right, usual = runs[0]
    differs = np.array(
        [
            [
                any(a.tobytes() != b.tobytes() for a, b in zip(job.wrote, other.wrote))
                for job, other in zip(jobs, usual, strict=True)
            ]
            for _, jobs in runs
        ]
    )
    # an error that no later store takes is none
    stores = [[job.pipe == MTE3 for job in usual]]
    taken = np.logical_or.accumulate((differs & stores)[:, ::-1], 1)[:, ::-1]
    return differs & taken, tuple(
        {name: int((got != right.outputs[name]).sum()) for name, got in run.outputs.items()}
        for run, _ in runs
    )
