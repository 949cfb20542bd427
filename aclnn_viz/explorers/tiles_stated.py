"""The panels of stated time in the explorer of tile programs: pipes in us, the critical path, waits, and the roofline."""

from math import inf

import numpy as np

from aclnn_viz.explorers.tiles_data import Data, Job, pipe_name
from aclnn_viz.explorers.tiles_time import (
    ACROSS,
    HAZARD,
    HOLDS,
    KINDS_OF_PIPES,
    NAMES,
    TALL,
    drawn,
    idle,
    levels,
    page,
)
from aclnn_viz.pictures.marks import Box, Dots, Heat, Line
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.tiles.timing import Span
from aclnn_viz.words.messages import message, tr

NOTICES = (
    message("emulated: {soc}; steps are an order, no cycles: nothing was measured on hardware"),
    message(
        "emulated: {soc}; us are stated from published numbers of Atlas A2, nothing was measured: task, core, V and MTE2 "
        "within about 10 %; lengths on MTE3 and S are not predicted on several cores"
    ),
)
NOT_PREDICTED = message("{pipe} not predicted")
# the panels that `describe` says better than their marks
SAID = ("critical", "waits", "us", "roofline")
OF_PIPES = ("MTE2", "V", "MTE3", "S")


def panels(data: Data) -> list[Panel]:
    return [timeline(data), critical(data), waits(data), roofline(data)]


def placed(data: Data) -> list[tuple[Job, Span]]:
    """The instructions of the chosen core in the steps that are drawn, with their times."""
    first, last = page(data)
    spans = {
        name: iter(
            [span for span in data.times.spans if (span.core, span.pipe) == (data.state.core, name)]
        )
        for name in OF_PIPES
    }
    return [
        (job, span)
        for job in data.jobs
        if (span := next(spans[pipe_name(job.pipe)])) and first <= job.step < last
    ]


def _critical(data: Data, level: dict, low: float, high: float):
    """The line along the critical path on this core, between two times."""
    row = {pipe_name(pipe): place + TALL + 0.12 for pipe, place in level.items()}
    path = (
        np.array(
            [
                [(one.start, row[one.pipe]), (one.end, row[one.pipe])]
                if one.core == data.state.core and low <= one.start and one.end <= high
                else [(np.nan, 0.0)] * 2
                for one in data.times.path
            ]
        )
        .reshape(-1, 2)
        .T
    )
    if np.isfinite(path[0]).any():
        yield Line(*path, HAZARD, tr("critical path"), 3.0)


def timeline(data: Data) -> Panel:
    """The pipes of the chosen core in us, copies in from the last one's end on; a line runs along the critical path on this core."""
    level, here, free, marks = levels(data), placed(data), {}, []
    low, high = (
        (min(span.start for _, span in here), max(span.end for _, span in here))
        if here
        else (0.0, 1.0)
    )
    wide = 1.02 * (high - low) or 1.0
    for job, span in here:
        start, free[job.pipe] = max(span.start, free.get(job.pipe, 0.0)), span.end
        marks += drawn(
            job,
            start,
            span.end,
            level[job.pipe],
            0.7 * ACROSS * (span.end - start) / wide,
            predicted(data, span.pipe),
        )
        if job.step == data.step:
            marks.append(
                Dots(
                    np.array([(start + span.end) / 2]),
                    np.array([level[job.pipe] - TALL]),
                    HAZARD,
                    tr("step {step}", step=data.step),
                    4.0,
                )
            )
    marks += _critical(data, level, low, high)
    ticks = tuple(
        (
            place,
            tr(
                NAMES[pipe] if predicted(data, pipe_name(pipe)) else NOT_PREDICTED,
                pipe=pipe_name(pipe),
            ),
        )
        for pipe, place in level.items()
    )
    first, last = page(data)
    title = tr(
        "Core {core}: its pipes in us, steps {first} to {last} of {all}; stated, not measured",
        core=data.state.core,
        first=first,
        last=min(last, data.work.steps) - 1,
        all=data.work.steps,
    )
    return Panel(
        "us",
        title,
        (*marks, *idle(data, (low + high) / 2)),
        Axis(tr("us"), low - 0.01 * wide, high + 0.01 * wide),
        Axis("", ticks[-1][0] + 1, -1.0, ticks=ticks),
        20,
        158,
    )


def predicted(data: Data, pipe: str) -> bool:
    return data.times.busy[pipe] is not None


def critical(data: Data) -> Panel:
    """The parts of the chain of instructions that ends last, in us, behind the start of a kernel."""
    times, marks, ticks = data.times, [], []
    for row, (pipe, time) in enumerate([("", times.costs["start"].value), *times.critical.items()]):
        known = not pipe or predicted(data, pipe)
        marks.append(
            Box(0, row - 0.35, time, row + 0.35, "", KINDS_OF_PIPES.get(pipe, HOLDS), known)
        )
        ticks.append(
            (
                row,
                tr(
                    message("{pipe}: {time} us") if known else NOT_PREDICTED,
                    pipe=pipe or tr("the start"),
                    time=f"{time:.3g}",
                ),
            )
        )
    title = tr(
        "Critical path, ends on core {core} (stated, not measured)",
        core=max((one.core for one in times.path[-1:]), default=0),
    )
    return Panel(
        "critical",
        title,
        tuple(marks),
        Axis("", 0, 1.02 * max(mark.x1 for mark in marks), ticks=()),
        Axis("", len(ticks) - 0.5, -0.5, ticks=tuple(ticks)),
        6,
        150,
    )


def shares(data: Data) -> dict[str, dict[str, int]]:
    """For each pipe that can be predicted the shares of core time, in %, in which it is busy, and waits for each other pipe."""
    times = data.times
    return {
        pipe: {
            other: round(
                100
                * (times.busy[pipe] if other == pipe else times.waits[pipe].get(other, 0.0))
                / times.core
            )
            for other in OF_PIPES
        }
        for pipe in OF_PIPES
        if times.busy[pipe]
    }


def waits(data: Data) -> Panel:
    """The shares of core time in which a pipe is busy, and stands still for another."""
    found = shares(data)
    rows = np.array(
        [[share or np.nan for share in each.values()] for each in found.values()]
        or [[np.nan] * len(OF_PIPES)]
    )
    words = tuple(
        tr("busy {share} %", share=share)
        if other == pipe
        else tr("{share} %", share=share)
        if share
        else ""
        for pipe, each in found.items()
        for other, share in each.items()
    )
    return Panel(
        "waits",
        tr("Busy, or waiting (stated, not measured)"),
        (Heat(rows, "sequential", 0, 100, words=words),),
        Axis(tr("waits for"), ticks=tuple(enumerate(OF_PIPES))),
        Axis("", ticks=tuple(enumerate(found))),
        7,
        150,
    )


def roofline(data: Data) -> Panel:
    """What the program reaches, below the roofs of memory and of the vector units in use."""
    at, reached, vector, memory = data.times.roofline.values()
    ridge = vector / memory
    there = at if 0 < at < inf else ridge  # no bytes are moved, or nothing is computed
    x = np.array([min(there, ridge) / 4, ridge, max(there, ridge) * 4])
    marks = [
        Line(
            x,
            np.minimum(memory * x, vector),
            0,
            tr(
                "roofs: memory {memory}, vector {vector}",
                memory=f"{memory:.0f}",
                vector=f"{vector:.0f}",
            ),
        )
    ]
    if there == at:
        marks.append(
            Dots(
                np.array([at]),
                np.array([reached]),
                HAZARD,
                tr("reached: {reached} at {at}", reached=f"{reached:.3g}", at=f"{at:.3g}"),
                5.0,
            )
        )
    return Panel(
        "roofline",
        tr("Roofline, GB/s (stated, not measured)"),
        tuple(marks),
        Axis(tr("vector bytes for a byte moved"), scale="log"),
        Axis("", scale="log"),
        7,
        150,
    )


def describe(data: Data) -> list[str]:
    """Stated times in words: what bounds the program, waits, and each instruction that is drawn with its start and end."""
    if data.times is None:
        return []
    path, roofs = critical(data), roofline(data)
    lines = [
        repr(data.times),
        *(
            tr("{title}: {texts}", title=title, texts=tr(", ").join(texts))
            for title, texts in (
                (path.title, [text for _, text in path.y.ticks]),
                (roofs.title, [mark.label for mark in roofs.marks]),
            )
        ),
    ]
    lines += [
        tr(
            "  {pipe} waits for {other}: {share} % of core time",
            pipe=pipe,
            other=other,
            share=share,
        )
        for pipe, each in shares(data).items()
        for other, share in each.items()
        if other != pipe and share
    ]
    lines.append(
        tr(
            "Core {core} in us, stated, not measured (* is on the critical path):",
            core=data.state.core,
        )
    )
    chain = {(one.pipe, one.start) for one in data.times.path if one.core == data.state.core}
    return lines + [
        f"  {span.start:.3f} .. {f'{span.end:.3f}' if predicted(data, span.pipe) else '?':6} "
        f"{' *'[(span.pipe, span.start) in chain]} {span.pipe:4} {job.name}"
        for job, span in placed(data)
    ]
