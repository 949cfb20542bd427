"""Draw one run of an Ascend C kernel on simulated cores, at the moment of its first hazard."""

from dataclasses import replace
from types import SimpleNamespace

from aclnn_viz.explorers.arrays import XP
from aclnn_viz.explorers.tiles import described, notices
from aclnn_viz.explorers.tiles_core import core_of
from aclnn_viz.explorers.tiles_data import Data, work_of
from aclnn_viz.explorers.tiles_stage import ROOM, Scene, machine, source, timeline
from aclnn_viz.pictures.fonts import legible
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.tiles import Run
from aclnn_viz.tiles.timing import Times
from aclnn_viz.words.messages import enumerated, tr


@legible
def picture(run: Run | Times, core: int | None = None, step: int | None = None) -> Picture:
    """Return the picture of a run, also of a C++ kernel: one core at a moment, by default at the first hazard.

    With times from `av.tiles.timeline` it shows us instead of steps, and the limit in words. Raise ValueError for a run
    without its trace.

    >>> import aclnn_viz as av
    >>> case = av.case("hardswish", shape=(100,))
    >>> print(str(picture(av.tiles.launch(av.tiles.programs("hardswish")[0], cores=2, **case.inputs))).splitlines()[0])
    No hazard: every access is ordered, every byte that is read was written, every wait has its partner.
    """
    times = run if isinstance(run, Times) else None
    run = times.run if times else run
    work = work_of(run)
    first = run.hazards[0] if run.hazards else None
    if core is None:
        core = first.core if first else 0
    found = core_of(work, times, core)
    there = [
        k
        for k, job in enumerate(found.jobs)
        if (
            job.step >= step
            if step is not None
            else job.hazardous or first and job.line == first.line
        )
    ]
    middle = (found.end[0] + found.start[0])[there[:1]].sum() / 2 / found.span / (1.0 + ROOM)
    state = SimpleNamespace(
        buffers=2, core=core, at=middle, late=0.0, wait=True, time="A2" if times else "steps"
    )
    data = Data(state, work, times, found, xp=XP)
    scene = Scene(XP, data)
    stage = (
        machine(scene),
        source(scene),
        replace(timeline(scene), title=tr("The pipes in time")),
    )
    kinds = dict.fromkeys(tr(hazard.kind) for hazard in run.hazards)
    return Picture(
        (
            tr("Hazards: {kinds}", kinds=enumerated(kinds)) if kinds else tr("No hazard"),
            *map(str, run.hazards[:1]),
            *([times.sentence] if times else ()),
        ),
        stage,
        "\n".join(described(data, stage)),
        tuple(notices(data)),
    )
