"""The panels of the explorer of tile programs for one run: the lines with their hazards, the buffers, the pipes."""

from dataclasses import replace
from types import SimpleNamespace

from aclnn_viz.explorers import tiles_stated, tiles_time
from aclnn_viz.explorers.tiles import NO_HAZARD, hazards, notices, program
from aclnn_viz.explorers.tiles_data import Data, work_of
from aclnn_viz.pictures.fonts import legible
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.tiles import Run
from aclnn_viz.tiles.timing import Times
from aclnn_viz.words.messages import enumerated, tr


@legible
def picture(run: Run | Times, core: int | None = None, step: int | None = None) -> Picture:
    """Return the picture of a run, a kernel in C++ included: one core in one step of its pipes, those of the first hazard unless given.

    Of the times that `av.tiles.timeline` states of a run it has the pipes in us, the critical path, waits and the roofline. Raises ValueError for a run without its trace.

    >>> import aclnn_viz as av
    >>> case = av.case("hardswish", shape=(100,))
    >>> print(str(picture(av.tiles.launch(av.tiles.programs("hardswish")[0], cores=2, **case.inputs))).splitlines()[0])
    None: every access is ordered, every byte that is read was written, every wait has its partner.
    """
    times = run if isinstance(run, Times) else None
    run = times.run if times else run
    work = work_of(run)
    first = run.hazards[0] if run.hazards else None
    if core is None:
        core = first.core if first else 0
    if step is None:
        there = [
            job.step
            for job in work.jobs.get(core, ())
            if first and (job.hazardous or job.line == first.line)
        ]
        step = there[0] if there else 0
    data = Data(SimpleNamespace(core=core, step=step), work, times)
    said = tuple(map(str, run.hazards)) or (tr(NO_HAZARD),)
    order = tiles_time.pipes(data)
    shown = (
        tiles_stated.panels(data)
        if times
        else [replace(order, x=replace(order.x, label=tr("step")))]
    )
    twin = [
        *said,
        *(f"  {hazard.source}" for hazard in run.hazards),
        *tiles_stated.describe(data),
        *tiles_time.describe(data),
    ]
    kinds = dict.fromkeys(tr(hazard.kind) for hazard in run.hazards)
    headline = tr("Hazards: {kinds}", kinds=enumerated(kinds)) if kinds else tr("No hazard")
    return Picture(
        (headline, *([times.sentence] if times else ())),
        (program(data), hazards(data), *shown),
        "\n".join(twin),
        tuple(notices(data)),
    )
