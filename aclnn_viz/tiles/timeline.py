"""The pipes of a run in steps: what can overlap, and what waits for what. One instruction is one step, not a time."""

from typing import NamedTuple

from aclnn_viz.errors import need, problem
from aclnn_viz.tiles.core import Instruction
from aclnn_viz.tiles.launching import Run
from aclnn_viz.tiles.memory import PIPE_NAMES, PIPES


class Slot(NamedTuple):
    """One instruction in the timeline of its core: pipe, step, name and program line, and what it waited for last."""

    core: int
    pipe: str
    step: int
    name: str
    line: int
    after: Instruction | None


def timeline(run: Run) -> list[Slot]:
    """Return a slot for every instruction of a run, in the order in which they were issued.

    An instruction starts when its pipe is free and all that its horizon names is finished. Cores meet at SyncAll: the
    next phase starts, on all of them, after the last step of this one. Raises ValueError for a run without a trace.

    >>> import aclnn_viz as av
    >>> run = av.tiles.launch(av.tiles.programs("hardswish")[0], **av.case("hardswish", shape=(64,)).inputs)
    >>> [(slot.pipe, slot.step) for slot in timeline(run)][-1]
    ('PIPE_MTE3', 10)
    """
    need(run, Run, "a timeline is that of a Run", "pass what launch returns")
    if run.trace is None:
        raise ValueError(problem("a timeline needs the trace of a run", "a run without one", "launch with traced=True"))
    slots: list[Slot] = []
    floor = ended = epoch = 0
    free: dict[tuple, int] = {}  # (core, pipe) -> the first step not taken
    at: dict[tuple, tuple[int, Instruction]] = {}  # (core, pipe, position) -> step, the last of its pipe so far
    for one in sorted(run.trace, key=lambda one: one.epoch):
        if one.epoch != epoch:
            epoch, floor = one.epoch, ended
        core, step, after = one.core.index, max(free.get((one.core.index, one.pipe), 0), floor), None
        for pipe in PIPES:
            if one.horizon[pipe]:
                done, other = at[core, pipe, one.horizon[pipe]]
                if done + 1 >= step and pipe != one.pipe:
                    after = other
                step = max(step, done + 1)
        free[core, one.pipe] = step + 1
        before = at.get((core, one.pipe, one.position - 1), (-1, one))
        at[core, one.pipe, one.position] = max((step, one), before, key=lambda entry: entry[0])
        ended = max(ended, step + 1)
        slots.append(Slot(core, PIPE_NAMES[one.pipe], step, one.name, one.where[1], after))
    return slots
