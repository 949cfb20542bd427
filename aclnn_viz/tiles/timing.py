"""Give start and end of each instruction of a simulated run, in steps, or in us predicted from stated costs. For their accuracy
see docs/tiles.md.
"""

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from aclnn_viz.errors import invalid, need
from aclnn_viz.storage.results import new_file
from aclnn_viz.tiles.costs import Costs
from aclnn_viz.tiles.machine import Instruction
from aclnn_viz.tiles.memory import MTE2, MTE3, PIPE_NAMES, PIPES, V
from aclnn_viz.tiles.platforms import REPEAT
from aclnn_viz.tiles.program import Run
from aclnn_viz.tiles.simulation import PIPES_TIMED, jobs_of, repeats, simulated
from aclnn_viz.words.messages import message, tr

L2 = ("warm", "cold")
# Bytes from which a copy uses the bandwidth well (guide, 尽量一次搬运较大的数据块).
GOOD = 16384
MADE = b'{"displayTimeUnit": "ns", "traceEvents"'  # first bytes of a file of times
SAME = 0.05  # relative difference of two times; the model cannot tell smaller ones


class Slot(NamedTuple):
    """One instruction in the timeline of its core: pipe, step, name, program line, and its last wait."""

    core: int
    pipe: str
    step: int
    name: str
    line: int
    after: Instruction | None


def timeline(run: Run, costs=None, l2: str = "warm", bypass=()):
    """Return a slot for every instruction of a run, in the order in which they were issued.

    Parameters
    ----------
    run : Run
        A run with a trace.
    costs : Costs, optional
        A table such as `Costs.published("A2")`; with it, times are in us, stated and not measured.
    l2 : {"warm", "cold"}
        The initial content of the L2: that of the kernel's last run, or nothing.
    bypass : sequence of str
        The tensors read past the L2.

    Returns
    -------
    list of Slot or Times
        Slots count steps; with costs the result is `Times`, in us.

    Raises
    ------
    ValueError
        For a run without a trace, and for costs, l2 or bypass that do not fit.

    Notes
    -----
    An instruction starts when its pipe is free and its horizon is finished. Cores
    meet at SyncAll: the next phase starts, on all of them, after the last step of this one.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> case = av.case("hardswish", shape=(64,))
    >>> run = av.tiles.launch(av.tiles.programs("hardswish")[0], **case.inputs)
    >>> [(slot.pipe, slot.step) for slot in timeline(run)][-1]
    ('PIPE_MTE3', 10)
    """
    need(run, Run, "a timeline is that of a Run", "pass what launch returns")
    if run.trace is None:
        raise invalid(
            "a timeline needs the trace of a run",
            "a run without one",
            "launch with traced=True",
        )
    if costs is not None:
        return timed(run, costs, l2, bypass)
    slots: list[Slot] = []
    floor = ended = epoch = 0
    free: dict[tuple, int] = {}  # first free step of each (core, pipe)
    # (core, pipe, position) -> latest step of the pipe up to there, and its instruction
    at: dict[tuple, tuple[int, Instruction]] = {}
    for instruction in sorted(run.trace, key=lambda entry: entry.epoch):
        if instruction.epoch != epoch:
            epoch, floor = instruction.epoch, ended
        core = instruction.core.index
        step, after = max(free.get((core, instruction.pipe), 0), floor), None
        for pipe in PIPES:
            if instruction.horizon[pipe]:
                done, other = at[core, pipe, instruction.horizon[pipe]]
                if done + 1 >= step and pipe != instruction.pipe:
                    after = other
                step = max(step, done + 1)
        free[core, instruction.pipe] = step + 1
        before = at.get((core, instruction.pipe, instruction.position - 1), (-1, instruction))
        at[core, instruction.pipe, instruction.position] = max(
            (step, instruction), before, key=lambda entry: entry[0]
        )
        ended = max(ended, step + 1)
        slots.append(
            Slot(
                core,
                PIPE_NAMES[instruction.pipe],
                step,
                instruction.name,
                instruction.where[1],
                after,
            )
        )
    return slots


class Span(NamedTuple):
    """A timed instruction: core, pipe, start and end in us, name, line, and the number of the instruction it waited for last."""

    core: int
    pipe: str
    start: float
    end: float
    name: str
    line: int
    after: int | None


BOUND = message("Stated, not measured: bound by {pipe}, {busy} % busy; {waits}{help}")
NO_BOUND = message(
    "Stated, not measured: no pipe is busy more than {busy} % ({pipe}); {waits}{help}"
)
WAITS = message("the vector unit waits {part} % for {what}; ")
FOR = {
    "MTE2": message("data"),
    "MTE3": message("a free buffer to write to"),
    "S": message("the scalar unit"),
    None: message("the start"),
}
HELP = {
    "copies": message("larger copies would help"),
    "bytes": message("fewer bytes, or a longer stay in the L2, would help"),
    "cores": message("more cores would help"),
    "banks": message(
        "other addresses in the Unified Buffer would help: operands lie in the same bank group"
    ),
    "vector": message("fewer vector instructions would help"),
    "scalar": message("vector instructions in place of GetValue and SetValue would help"),
    "start": message("most of the time is the start of a kernel, which no tile changes"),
    "overlap": message("a second buffer in each queue would let the pipes overlap"),
}


@dataclass(frozen=True, eq=False)
class Times:
    """Stated times of a run in us: `task`, `core` and busy times of pipes, as means over the cores, and each instruction.

    `task`, `core` and busy V and MTE2 lie within about 10 % where the model was tested; busy MTE3 and S are None on several
    cores, where it cannot predict them. `waits[pipe][other]` is a pipe's idle time waiting for another, `path` the chain of
    instructions that ends last, `critical[pipe]` a pipe's share of it.
    """

    run: Run
    costs: Costs
    task: float
    core: float
    busy: dict[str, float | None]
    spans: tuple[Span, ...]
    waits: dict[str, dict[str, float]]
    path: tuple[Span, ...]
    memory: float
    # bytes in and out of the cores, repeats, cycles of the vector unit
    sizes: dict[str, float]

    @property
    def critical(self) -> dict[str, float]:
        """Return each pipe's us on the critical path."""
        shares: dict[str, float] = defaultdict(float)
        for span in self.path:
            shares[span.pipe] += span.end - span.start
        return dict(shares)

    @property
    def sentence(self) -> str:
        """Return a sentence on the program's limit, the vector unit's waits, and a remedy."""
        shares = {name: (value or 0) / self.core for name, value in self.busy.items()}
        most = max(shares, key=shares.get)
        other = {name: spent for name, spent in self.waits["V"].items() if name != "V"}
        cause = max(other, key=other.get) if other else None
        part = round(100 * sum(other.values()) / self.core)
        waits = (
            tr(WAITS, part=part, what=FOR.get(cause, cause)) if other and part >= 100 * SAME else ""
        )
        return tr(
            BOUND if shares[most] >= 0.6 else NO_BOUND,
            pipe=most,
            busy=round(100 * shares[most]),
            waits=waits,
            help=HELP[self._help(most, shares[most])],
        )

    def _help(self, most: str, share: float) -> str:
        copies = [job.size for pipes in jobs_of(self.run) for job in pipes[MTE2]]
        if 2 * self.costs["start"].value > self.core:
            return "start"
        if most == "S":
            return "scalar"
        if share < 0.6:
            return "overlap"
        if self.run.cores < self.run.platform.cores and self.memory < 0.5:
            return "cores"
        if most == "V":
            return "banks" if self.sizes["cycles"] > 1.5 * self.sizes["repeats"] else "vector"
        return "copies" if copies and sum(copies) / len(copies) < GOOD else "bytes"

    @property
    def roofline(self) -> dict[str, float]:
        """Return the bytes of vector work per byte moved from or to global memory, and in GB/s: the rate reached, the two roofs."""
        clock, moved = self.costs["clock"].value, self.sizes["in"] + self.sizes["out"]
        work = self.sizes["repeats"] * REPEAT
        return {
            "intensity": work / moved if moved else float("inf"),
            "reached": work / self.core / 1e3,
            "vector roof": self.run.cores * REPEAT * clock / 1e3,
            "memory roof": self.costs["memory"].value,
        }

    def save(self, path: str | Path) -> Path:
        """Write the times as a trace.json, which Perfetto, MindStudio Insight and vizviewer open: one process per core."""
        path = Path(path)
        events: list[dict] = []
        for c in range(self.run.cores):
            said = tr("core {core}, stated, not measured", core=c)
            events += [
                {"ph": "M", "name": f"{kind}_name", "pid": c, "tid": tid, "args": {"name": name}}
                for kind, tid, name in (
                    ("process", 0, said),
                    *(("thread", tid, name) for tid, name in enumerate(PIPES_TIMED)),
                )
            ]
        free: dict[tuple, float] = {}
        # Viewers draw overlapping events as nested calls. So a copy is drawn from the end of the
        # one before, and times are multiples of 1/1024 us, whose sums are exact.
        for span in self.spans:
            key, end = (span.core, span.pipe), round(span.end * 1024) / 1024
            start = max(round(span.start * 1024) / 1024, free.get(key, 0.0))
            free[key] = max(end, start)
            events.append(
                {
                    "ph": "X",
                    "name": span.name,
                    "cat": span.pipe,
                    "pid": span.core,
                    "tid": PIPES_TIMED.index(span.pipe),
                    "ts": start,
                    "dur": free[key] - start,
                    "args": {"line": span.line},
                }
            )
        with new_file(path, force=True, ours=lambda old: old.read_bytes().startswith(MADE)) as file:
            file.write(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode())
        return path

    def __sub__(self, other: "Times") -> str:
        """Return the effect of a change; this model does not see differences below 5 %."""
        step = (
            self.core
            / need(other, Times, "times are compared with times", "pass what timeline returns").core
            - 1
        )
        return (
            tr("no difference seen")
            if abs(step) < SAME
            else tr("core time changes by {step:+.0f} % (stated, not measured)", step=100 * step)
        )

    def __repr__(self) -> str:
        def said(value):
            return tr("not predicted") if value is None else f"{value:.4g} µs"

        lines = [
            self.sentence,
            tr(
                "task {task}, core {core} (within about 10 %)",
                task=said(self.task),
                core=said(self.core),
            ),
            *(
                tr(
                    "{pipe}: busy {busy}, {critical} of the critical path",
                    pipe=name,
                    busy=said(self.busy[name]),
                    critical=said(self.critical.get(name, 0.0)),
                )
                for name in ("MTE2", "V", "MTE3", "S")
            ),
        ]
        return "\n  ".join(lines)


def timed(run: Run, costs: Costs, l2: str = "warm", bypass=()) -> Times:
    """Return the stated times of a run; see `timeline`."""
    need(costs, Costs, "costs are a table", 'pass av.tiles.Costs.published("A2")')
    if l2 not in L2:
        raise invalid(f"l2 must be one of {', '.join(L2)}", repr(l2), "choose one")
    cores = jobs_of(run, int(costs["groups"].value), bypass)
    simulation = simulated(cores, costs, l2)
    order = {
        key[:3]: k
        for k, key in enumerate(sorted(simulation.spans, key=lambda span: (span[3], span[4])))
    }
    spans: list = [None] * len(order)

    def total(pipe: int, size: Callable = attrgetter("size")) -> float:
        return sum(size(job) for pipes in cores for job in pipes[pipe])

    for c, p, k, start, end, waited in simulation.spans:
        instruction = cores[c][p][k].one
        spans[order[c, p, k]] = Span(
            c, PIPES_TIMED[p], start, end, instruction.name, instruction.where[1], order.get(waited)
        )
    return Times(
        run,
        costs,
        simulation.task,
        simulation.core,
        {
            name: value if run.cores == 1 or name in ("V", "MTE2") else None
            for name, value in simulation.busy.items()
        },
        tuple(spans),
        _waits(spans, run.cores),
        _path(spans),
        simulation.memory,
        {
            "in": total(MTE2),
            "out": total(MTE3),
            "cycles": total(V),
            "repeats": total(V, lambda job: repeats(job.one)),
        },
    )


def _waits(spans: list, cores: int) -> dict[str, dict[str, float]]:
    """Return a pipe's idle time between instructions by the pipe it waits for, in us of a mean core."""
    waits: dict[str, dict[str, float]] = {name: defaultdict(float) for name in PIPES_TIMED}
    free: dict[tuple, float] = {}
    for span in spans:
        gap = span.start - free.get((span.core, span.pipe), span.start)
        if gap > 0 and span.after is not None:
            waits[span.pipe][spans[span.after].pipe] += gap / cores
        free[span.core, span.pipe] = max(free.get((span.core, span.pipe), 0.0), span.end)
    return {name: dict(each) for name, each in waits.items()}


def _path(spans: list) -> tuple[Span, ...]:
    """Return the chain of instructions that ends last: each waited last for the one before, and cuts that one's end."""
    path, span, seen = [], max(spans, key=lambda span: span.end, default=None), float("inf")
    while span is not None:
        path.append(span._replace(end=max(span.start, min(span.end, seen))))
        seen, span = span.start, spans[span.after] if span.after is not None else None
    return tuple(reversed(path))
