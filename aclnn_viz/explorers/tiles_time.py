"""The panels of a core in the explorer of tile programs: its Unified Buffer, and its pipes and buffers step by step."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np

from aclnn_viz.explorers.tiles_data import Data, Job, Work, pipe_name
from aclnn_viz.pictures.marks import Arrows, Box, Dots, Line, Note, Rule, Spots
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.tables import columns as wide
from aclnn_viz.tiles.memory import MTE2, MTE3, S, V
from aclnn_viz.words.messages import message, tr

KINDS_OF_PIPES = {"MTE2": 0, "V": 2, "MTE3": 3, "S": 4}
ORDER = (MTE2, V, MTE3, S)
NAMES = {
    MTE2: message("MTE2, in"),
    V: message("V, vector"),
    MTE3: message("MTE3, out"),
    S: message("S, scalar"),
}
PAGE = 30  # steps that are drawn at once
ACROSS, BUFFER_HEIGHT = 1000, 360  # pixels of the axes of the timeline, and of the Unified Buffer
THIN = 7  # pixels: narrower boxes are left out
MOST_ROWS = 15  # of buffers that have room
APART = 1.9  # rows between pipes, in rows of buffers
TALL = 0.75  # half of a row of a pipe
WRITES, READS, HOLDS = 0, 2, 4
HAZARD = 1
DOING = {
    WRITES: message("  {name}: {length} bytes from {start} on, is written ({used} bytes)"),
    READS: message("  {name}: {length} bytes from {start} on, is read ({used} bytes)"),
    HOLDS: message("  {name}: {length} bytes from {start} on, keeps data ({used} bytes)"),
    None: message("  {name}: {length} bytes from {start} on, free"),
}
WHOLE = message(
    "Core {core}: its pipes side by side, and what lies in its buffers. Steps are an order, no cycles: nothing was "
    "measured"
)
PAGES = message(
    "Core {core}: its pipes side by side, and what lies in its buffers, steps {first} to {last} of {all}. Steps are an "
    "order, no cycles: nothing was measured"
)


def kib(size: int) -> str:
    """Bytes as they are said.

    >>> kib(512), kib(98304)
    ('512 B', '96.0 KiB')
    """
    return f"{size} B" if size < 1024 else f"{size / 1024:.1f} KiB"


@dataclass(frozen=True)
class Life:
    """A buffer of the chosen core: steps in which it is written and read, and (from, to) in which it keeps data."""

    name: str
    queue: str  # that of all slots of a queue
    start: int
    length: int
    writes: dict[int, int]  # by step, up to which byte of the buffer
    reads: set[int]
    holds: tuple[tuple[int, int], ...]


def lives(data: Data) -> tuple[Life, ...]:
    """Return the buffers of the chosen core in their order, each with its steps."""
    return _lives(data.work, data.state.core)


@lru_cache(1)  # three panels ask, and step after step of one core is looked at
def _lives(work: Work, core: int) -> tuple[Life, ...]:
    if core >= work.run.cores:
        return ()
    found, blocks = [], work.run.buffers[core]
    names = [block.label or block.name for block in blocks]
    touched = [
        (span.start, span.end, job.step, writing)
        for job in work.jobs.get(core, [])
        for spans, writing in ((job.writes, True), (job.reads, False))
        for memory, span in spans
        if not hasattr(memory, "name")
    ]  # global memory has a name
    for k, block in enumerate(blocks):
        writes, reads = {}, set()
        for start, end, step, writing in touched:
            if block.start <= start < block.start + block.length:
                if writing:
                    writes[step] = max(writes.get(step, 0), end - block.start)
                else:
                    reads.add(step)
        holds = []
        starts, ends = sorted(writes), sorted(reads)
        for at, until in zip(starts, [*starts[1:], np.inf]):
            last = bisect_right(ends, until)
            if last and ends[last - 1] > at:
                holds.append((at, ends[last - 1]))
        number = names[:k].count(names[k])
        name = (
            message("{name} {k}", name=names[k], k=number + 1)
            if names.count(names[k]) > 1
            else names[k]
        )
        found.append(Life(name, names[k], block.start, block.length, writes, reads, tuple(holds)))
    return tuple(found)


def state_of(life: Life, step: int) -> tuple[int | None, int]:
    """What happens to a buffer in a step (WRITES, READS, HOLDS or None), and how many of its bytes are in use."""
    past = [at for at in life.writes if at <= step]
    filled = life.writes[max(past)] if past else 0
    if step in life.writes:
        return WRITES, filled
    if step in life.reads:
        return READS, filled
    return (HOLDS, filled) if any(a < step < b for a, b in life.holds) else (None, 0)


def unified_buffer(data: Data, whole: bool = True) -> Panel:
    """The Unified Buffer of the chosen core as a bar, its buffers against its size, or only what they take, and below what they hold now."""
    size = data.work.run.platform.GetCoreMemSize()
    if not whole:
        size = max((life.start + life.length for life in lives(data)), default=size)
    marks, taken = [], 0
    for life in lives(data):
        kind, filled = state_of(life, data.step)
        if kind is not None:
            marks.append(
                Box(
                    life.start / 1024,
                    1.08,
                    (life.start + min(filled, life.length)) / 1024,
                    1.92,
                    "",
                    kind,
                    filled=0.25,
                )
            )
        taken = max(taken, life.start + life.length)
    for name, slots in groupby(lives(data), lambda life: life.queue):
        slots = [*slots]
        start, end = slots[0].start, slots[-1].start + slots[-1].length
        room, short = BUFFER_HEIGHT * (end - start) / size, name.split()[0]
        marks += [Box(start / 1024, 0.08, end / 1024, 1, "", 4)] if room >= THIN else []
        texts = (
            f"{tr(name)} ×{len(slots)}" if slots[1:] else tr(name),
            tr(name),
            short,
            short.removesuffix("Buf").removesuffix("Que"),
        )
        marks += [
            Note((start + end) / 2048, 0.54, text)
            for text in [text for text in texts if 6 * wide(text) + 4 <= room][:1]
        ]
    if BUFFER_HEIGHT * (size - taken) / size > 95:
        marks.append(Note((taken + size) / 2048, 0.54, tr("{size} free", size=kib(size - taken))))
    ticks = tuple(
        (at, f"{at}")
        for at in range(0, size // 1024 + 1, size // 49152 * 8 or max(size // 4096, 1))
    )
    title = tr(
        "Unified Buffer of core {core} in step {step}, in KiB", core=data.state.core, step=data.step
    )
    return Panel(
        "unified_buffer",
        title,
        tuple(marks),
        Axis("", 0, size / 1024, ticks=ticks),
        Axis("", 2.0, 0.0, ticks=((0.54, tr("buffers")), (1.5, tr("in use")))),
        8,
        72,
    )


def _pointed(here: list, level: dict, texts: dict):
    """What the pointer shows of instructions with a text."""
    jobs = [job for job in here if job in texts]
    if jobs:
        x = np.array([job.step for job in jobs], float)
        y = np.array([level[job.pipe] for job in jobs])
        yield Spots(x - 0.46, y - TALL, x + 0.46, y + TALL, tuple(texts[job] for job in jobs))


def _waits(here: list, level: dict, first: int):
    """Arrows between instructions that are drawn, of which one waits for the other."""
    waits = [
        _ends(job, level)
        for job in here
        if job.after and job.after.step >= first and job.after.pipe in level
    ]
    if waits:
        x0, y0, x1, y1 = (np.array(ends, float) for ends in zip(*waits))
        yield Arrows(x0, y0, x1 - x0, y1 - y0, 4, tr("waits for the other pipe"))


def pipes(data: Data, texts: dict | None = None) -> Panel:
    """The pipes of the chosen core step by step, with what waits for what; below them its buffers.

    With `texts` of instructions, the pointer shows them, only these are filled, and the steps are those that end with theirs.
    """
    first, last = page(data)
    if texts:
        last = max(job.step for job in texts) + 1
        first = max(min(job.step for job in texts), last - PAGE)
    level = levels(data)
    here = [job for job in data.jobs if first <= job.step < last]
    marks = [
        mark
        for job in here
        for mark in drawn(
            job,
            job.step - 0.46,
            job.step + 0.46,
            level[job.pipe],
            ACROSS / (last - first),
            texts is None or job in texts,
        )
    ]
    marks += [*_pointed(here, level, texts or {}), *_waits(here, level, first)]
    ticks = [(y, tr(NAMES[pipe])) for pipe, y in level.items()]
    marks += _buffers(data, first, last, APART * len(level) + 0.4, ticks)
    epochs = {job.epoch: job.step for job in sorted(data.jobs, key=lambda job: -job.step)}
    marks += [
        Rule("x", step - 0.5, "SyncAll", 3)
        for epoch, step in epochs.items()
        if epoch and first <= step < last
    ]
    marks += [] if texts else [Rule("x", data.step, "", HAZARD)]
    marks += idle(data, (first + last) / 2)
    bottom, apart = max(y for y, _ in ticks) + 0.6, 5 if last - first > 12 else 2
    title = tr(
        PAGES if data.work.steps > PAGE else WHOLE,
        core=data.state.core,
        first=first,
        last=min(last, data.work.steps) - 1,
        all=data.work.steps,
    )
    return Panel(
        "pipes",
        title,
        tuple(marks),
        Axis(
            tr("step") if texts else tr("step (drag to move through time)"),
            first - 0.5,
            last - 0.5,
            ticks=tuple(
                (step, str(step)) for step in range(-(-first // apart) * apart, last, apart)
            ),
        ),
        Axis("", bottom, -1.0, ticks=tuple(ticks)),
        20,
        max(300, int(17 * bottom) + 60) if texts else 300,
        pick=() if texts else ("step",),
        least=ACROSS,
    )


def page(data: Data) -> tuple[int, int]:
    """The steps that are drawn, from the first to behind the last."""
    first = data.step // PAGE * PAGE
    return first, first + PAGE if data.work.steps > PAGE else max(data.work.steps, 8)


def levels(data: Data) -> dict[int, float]:
    """Where the pipes that are used lie, one below the other."""
    used = [pipe for pipe in ORDER if pipe != S or any(job.pipe == S for job in data.jobs)]
    return {pipe: APART * k for k, pipe in enumerate(used)}


def drawn(job: Job, start: float, end: float, y: float, room: float, filled: bool = True) -> list:
    """An instruction on its pipe, with as much of its name as fits into `room` pixels."""
    sign = "✗" if job.hazardous else ""
    kind = HAZARD if job.hazardous else KINDS_OF_PIPES[pipe_name(job.pipe)]
    fits = int((room - 5) / 6.2) - len(sign)
    return [
        Box(start, y - TALL, end, y + TALL, "", kind, filled),
        Note((start + end) / 2, y, sign + _brief(job)[: fits * (fits > 2)], room=end - start),
    ]


def idle(data: Data, x: float) -> list:
    """What is said of a core without instructions."""
    why = (
        message("core {core} stops before its first instruction")
        if data.state.core < data.work.run.cores
        else message("core {core} gets nothing to do")
    )
    return [] if data.jobs else [Note(x, 1, tr(why, core=data.state.core))]


def _brief(job: Job) -> str:
    """A copy is named by its tensor, everything else by its name."""
    if job.pipe in (MTE2, MTE3):
        return next(
            (memory.name for memory, _ in (*job.reads, *job.writes) if hasattr(memory, "name")),
            job.name,
        )
    return job.name


def _ends(job: Job, level) -> tuple[float, float, float, float]:
    """From the end of what is waited for to the start of what waits."""
    down = np.sign(level[job.pipe] - level[job.after.pipe])
    return (
        job.after.step + 0.3,
        level[job.after.pipe] + TALL * down,
        job.step - 0.3,
        level[job.pipe] - TALL * down,
    )


def _buffers(data: Data, first: int, last: int, top: float, ticks: list) -> list:
    points = {WRITES: [], READS: []}
    keeps_x, keeps_y = [], []
    found = lives(data)
    if len(found) > MOST_ROWS:  # those of these steps
        found = [
            life
            for life in found
            if any(first <= step < last for step in (*life.writes, *life.reads))
        ]
    for k, life in enumerate(found[:MOST_ROWS]):
        y = top + k
        ticks.append((y, life.name))
        points[WRITES] += [(step, y) for step in life.writes if first <= step < last]
        points[READS] += [(step, y) for step in life.reads if first <= step < last]
        for a, b in life.holds:
            if a < last and b >= first:
                keeps_x += [max(a, first - 0.5), min(b, last - 0.5), np.nan]
                keeps_y += [y, y, np.nan]
    marks = (
        [Line(np.array(keeps_x, float), np.array(keeps_y, float), HOLDS, tr("keeps data"), 2.0)]
        if keeps_x
        else []
    )
    for kind, label, size in ((WRITES, tr("written"), 4.5), (READS, tr("read"), 3.0)):
        if points[kind]:
            x, y = np.array(points[kind], float).T
            marks.append(Dots(x, y, kind, label, size))
    return marks


def describe(data: Data) -> list[str]:
    """The core in words: buffers with their bytes and what they do now, and its instructions by step."""
    lines = [
        tr(
            "Core {core}, step {step} of 0 to {last}:",
            core=data.state.core,
            step=data.step,
            last=data.work.steps - 1,
        )
    ]
    for life in lives(data):
        kind, filled = state_of(life, data.step)
        lines.append(
            tr(
                DOING[kind],
                name=life.name,
                length=life.length,
                start=life.start,
                used=min(filled, life.length),
            )
        )
    for job in sorted(data.jobs, key=lambda job: (job.step, job.pipe)):
        there = {
            "step": f"{job.step:3}",
            "pipe": f"{pipe_name(job.pipe):4}",
            "name": job.name,
            "line": job.line,
        }
        lines.append(
            tr(
                "  step {step} {pipe} {name} in line {line}, after {other} of step {before}",
                other=job.after.name,
                before=job.after.step,
                **there,
            )
            if job.after
            else tr("  step {step} {pipe} {name} in line {line}", **there)
        )
    return lines
