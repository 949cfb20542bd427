"""Panels and words of the interactive picture (explorer) of Ascend C kernels: one core at work, its limit in stated (not
measured) time, the hazards.
"""

from aclnn_viz.explorers import tiles_stage
from aclnn_viz.explorers.arrays import sweep
from aclnn_viz.explorers.fields import TABLES
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.explorers.tiles_core import compute, data, gathered
from aclnn_viz.explorers.tiles_data import State, inputs, operator_of
from aclnn_viz.explorers.tiles_stage import Scene, machine, source, timeline
from aclnn_viz.pictures.marks import Spots
from aclnn_viz.pictures.panels import Panel
from aclnn_viz.words.messages import enumerated, message, tr

ORDERS = {"eager": message("as issued"), "late": message("as late as the waits allow")}
NOTICES = (
    message("emulated: {soc}; steps are an order, no cycles: nothing was measured on hardware"),
    message(
        "emulated: {soc}; µs are stated from published numbers of Atlas A2, nothing was measured: task, core, V and MTE2 "
        "within about 10 %; lengths on MTE3 and S are not predicted on several cores"
    ),
)


def panels(data) -> list[Panel]:
    scene = Scene(data.xp, data)
    return [timeline(scene), source(scene), machine(scene)]


def caption(data):
    if data.hazards or not data.fault:
        return tiles_stage.caption(Scene(data.xp, data))
    wrong, fault = any(part.wrong.any() for part in data.work.owned), headline(data)[-1]
    return tr("[11:✗ {hazard}] The stripes show where.", hazard=fault) if wrong else fault


def plays(data) -> tuple[dict, ...]:
    scene = Scene(data.xp, data)
    return sweep(tr("play"), "at", 14.0, (0.0, scene.done / scene.span))


def headline(data) -> list[str]:
    run, work, state = data.work.run, data.work, data.state
    taken, size = (f"{n / 1024:.1f} KiB" for n in (run.ub_bytes, run.platform.GetCoreMemSize()))
    lines = [
        tr(
            "{program} on {n} of {all} cores: up to {tiles} tiles a core, {steps} steps, {taken} of the {size} of a Unified Buffer.",
            program=state.program,
            n=run.cores,
            all=state.cores,
            tiles=max((int(part.tile.max()) + 1 for part in work.owned), default=0),
            steps=max((job.step for jobs in work.jobs.values() for job in jobs), default=0) + 1,
            taken=taken,
            size=size,
        )
    ]
    wrong = [
        tr(
            "{n} of {all} numbers of {output}",
            n=f"{int(part.wrong.sum()):,}",
            all=f"{part.wrong.size:,}",
            output=part.name,
        )
        for part in work.owned
        if part.wrong.any()
    ]
    order = ORDERS.get(state.schedule, message("in the order drawn by seed {seed}"))
    kinds = list(dict.fromkeys(hazard.kind for hazard in data.hazards))
    lines.append(
        tr(
            "{hazards}; {numbers} when instructions take effect {how}.",
            hazards=tr("Hazards: {kinds}", kinds=enumerated(map(tr, kinds)))
            if kinds
            else tr("No hazard"),
            numbers=tr("wrong numbers: {numbers}", numbers=enumerated(wrong))
            if wrong
            else tr("all numbers are right"),
            how=tr(order, seed=state.schedule),
        )
    )
    lines += [data.times.sentence] if data.times else []
    if fault := data.fault:
        case = ", ".join(f"{name}={value!r}" for name, value in fault.case.items())
        seen = tr(
            message("Symptom: {what}.")
            if fault.shows in kinds or wrong
            else message(
                "The mistake does not show here ({what}), but does with {case} on {n} cores."
            ),
            what=tr(fault.shows),
            case=case or tr("the shape of its case"),
            n=fault.cores,
        )
        lines.append(tr("The fault: {story}. {seen}", story=tr(fault.story), seen=seen))
    return lines


def described(data, seen) -> list[str]:
    """Return all hazards with their lines, the texts for pointing, and the program's limit in stated time."""
    hazards = [f"{hazard} ({hazard.times} ×)\n    {hazard.source}" for hazard in data.hazards]
    bounds = [repr(data.times)] if data.times else []
    marks = (mark for panel in seen[::-2] for mark in panel.marks if isinstance(mark, Spots))
    texts = [f"  {text}" for mark in marks for text in mark.texts]
    none = tr(
        "No hazard: every access is ordered, every byte that is read was written, every wait has its partner."
    )
    return [*(hazards or [none]), *texts, *bounds]


def around(data) -> tuple:
    """Return the lines before and after the panels in words."""
    return [*headline(data), *notices(data)], ["", *described(data, panels(data))]


def notices(data) -> list[str]:
    where = tr(NOTICES[data.times is not None], soc=data.work.run.platform.soc)
    return (
        [
            where,
            tr(
                "one buffer needs a program that has a parameter for the number of buffers: this one always has two"
            ),
        ]
        if data.state.buffers == 1 and not data.other
        else [where]
    )


def subject():
    return Subject(
        "tiles",
        operator_of,
        State,
        inputs,
        compute,
        panels,
        headline,
        around,
        notices=notices,
        caption=caption,
        plays=plays,
        live=(gathered, data),
        kept=("core",),
        recorded=TABLES["tiles"]["pages"],
    )
