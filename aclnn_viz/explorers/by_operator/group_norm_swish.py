"""The gradient of group norm + swish in panels and in words: groups on channels, the swish, the three terms of dx."""

from functools import reduce

import numpy as np

from aclnn_viz.explorers.arrays import element, only, point
from aclnn_viz.explorers.by_operator.group_norm_swish_data import (
    OP,
    Data,
    State,
    compute,
    data,
    gathered,
    inputs,
)
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Bars, Box, Dots, Heat, Line, Note, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import choose, number, signed, written
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import message, ntr, tr

TAKEN, WRONG, LEFT, CHOSEN, GUIDE = range(5)  # kinds of marks; GUIDE is grey
TALL, LOW = 222, 172
SUMS = message("sums over {samples} samples and {positions} positions")
NOT_ASKED = message("sums over {samples} samples and {positions} positions; not asked: {outputs}")
OVERALL = message(
    "Both means run over the n = {n} elements of group {group}. Without 1/n, as the documents print the sums, dx "
    "would be {without} here, and {times} times as large overall."
)
HERE_WORDS = message(
    "Both means run over the n = {n} elements of group {group}. Without 1/n, as the documents print the sums, dx would "
    "be {without} here."
)


def panels(data: Data) -> list[Panel]:
    """Return the six panels of a state's data."""
    return [_map(data), _swish(data), _line(data), _terms(data), _growth(data), _parameters(data)]


def _map(data: Data) -> Panel:
    xp, state, depth, right = data.xp, data.state, data.depth, data.state.positions - 0.5
    values = element(xp, data.dx, state.sample)
    tall = 0.75 * TALL / state.numGroups  # pixels of a group, about

    def frame(group, kind, label):
        return Box(
            -0.5,
            group * depth - 0.5,
            right,
            (group + 1) * depth - 0.5,
            label if tall > 16 else "",
            kind,
        )

    marks = [Heat(values, *scale(values, xp))]
    for group in range(state.numGroups) if tall >= 8 else ():
        marks += only(
            xp, data.group != group, frame(group, GUIDE, tr("group {group}", group=group))
        )
    marks += [
        frame(data.group, LEFT, named(data)),  # the chosen one on top
        Box(
            state.position - 0.5,
            state.channel - 0.5,
            state.position + 0.5,
            state.channel + 0.5,
            kind=CHOSEN,
        ),
    ]
    title = tr(
        "dxOut of sample {sample}: {groups}", sample=written(state.sample, "d"), groups=groups(data)
    )
    return Panel(
        "map",
        title,
        tuple(marks),
        Axis(tr("position")),
        Axis(tr("channel")),
        8,
        TALL,
        ("position", "channel"),
    )


def named(data: Data) -> str:
    return tr("group {group}", group=written(data.group, "d"))


def _swish(data: Data) -> Panel:
    state, (z, swish, slope, early) = data.state, data.curve
    marks = [
        Line(z, swish, TAKEN, tr("swish")),
        Line(z, slope, LEFT, tr("its slope")),
        Dots(data.own(data.z), data.own(data.slope), LEFT, named(data), 2.2),
    ]
    if data.early:
        marks.append(Line(z, early, WRONG, tr("slope in CANN {cann}", cann=state.cann)))
    used = data.early_slope if data.early else data.slope
    marks.append(
        Dots(point(data.chosen(data.z)), point(data.chosen(used)), CHOSEN, tr("chosen"), 5.0)
    )
    return Panel(
        "swish",
        tr("swish: z · σ({scale} z)", scale=number(state.swishScale)),
        tuple(marks),
        Axis("z = γ x̂ + β"),
        Axis("", -1.0, 2.0),
        6,
        TALL,
    )


def groups(data: Data) -> str:
    return ntr(
        "numGroups {groups}, {n} channel each",
        "numGroups {groups}, {n} channels each",
        data.depth,
        groups=data.state.numGroups,
    )


def _line(data: Data) -> Panel:
    xp, xhat, dxhat = data.xp, data.own(data.xhat), data.own(data.dxhat)
    mean, along = data.own(data.means)
    n = xhat.size
    ends = xp.stack([xp.minimum(xp.min(xhat), -2.5), xp.maximum(xp.max(xhat), 2.5)])
    here, at = data.chosen(data.xhat), data.chosen(data.dxhat)
    marks = [
        Line(ends, n * (mean + along * ends), WRONG, tr("without 1/n: {n} times that", n=n)),
        Line(ends, mean + along * ends, TAKEN, tr("mean + x̂ · mean(dx̂ x̂), taken away")),
        Line(
            here + np.zeros(2),
            xp.stack([mean + along * here, at]),
            CHOSEN,
            tr("what is left: dx / rstd"),
            2.6,
        ),
        Dots(xhat, dxhat, LEFT, "", 2.2),
        Dots(point(here), point(at), CHOSEN, "", 5.0),
    ]
    reach = 1.15 * xp.maximum(xp.max(xp.abs(dxhat)), 1e-9)
    return Panel(
        "line",
        tr("group {group}: dx̂ over x̂, n = {n}", group=written(data.group, "d"), n=n),
        tuple(marks),
        Axis("x̂"),
        Axis(tr("dx̂ = dy · slope · γ"), -reach, reach),
        6,
        TALL,
    )


def terms(data: Data):
    """The chosen element: direct, mean and along, without signs, and dx of these three; (4,), in float64."""
    mean, along = data.own(data.means)
    direct, mean, along = (
        part * data.own(data.rstd)[0]
        for part in (data.chosen(data.dxhat), mean, data.chosen(data.xhat) * along)
    )
    return data.xp.stack([direct, mean, along, direct - mean - along])


def _terms(data: Data) -> Panel:
    state, (direct, mean, along, dx) = data.state, terms(data)
    at = np.arange(4.0)
    marks = (
        Rule("y", 0.0, kind=GUIDE),
        Bars(at[:1], point(direct), LEFT, "", 0.6),
        Bars(at[1:3], -data.xp.stack([mean, along]), TAKEN, "", 0.6),
        Bars(at[3:], point(dx), CHOSEN, "", 0.6),
        Dots(at[3:], point(data.chosen(data.dx)), WRONG, "dxOut", 4.5),
    )
    ticks = tuple(zip(at.tolist(), (tr("direct"), tr("−mean"), tr("−x̂·mean"), "dx")))
    n, c, p = (written(place, "d") for place in (state.sample, state.channel, state.position))
    title = tr("dx[{place}] = {dx} in its terms", place=n + ", " + c + ", " + p, dx=number(dx))
    return Panel("terms", title, marks, Axis("", -0.6, 3.6, ticks=ticks), Axis(""), 6, LOW)


def _growth(data: Data) -> Panel:
    right, wrong = data.norms
    own = data.depth * data.state.positions
    drawn = [data.xp.where(values > 0, values, np.nan) for values in (wrong, right)]
    marks = (
        Line(data.sizes, drawn[0], WRONG, tr("without 1/n")),
        Dots(data.sizes, drawn[0], WRONG, tr("without 1/n"), 3.5),
        Line(data.sizes, drawn[1], LEFT, "dx"),
        Dots(data.sizes, drawn[1], LEFT, "dx", 3.5),
        Rule("x", own, f"n = {own}", CHOSEN),
    )
    ends = data.sizes[0] / 1.3, data.sizes[-1] * 1.3
    return Panel(
        "growth",
        tr("root mean square of dx by group size"),
        marks,
        Axis(tr("elements of a group, n"), *ends, "log"),
        Axis("", scale="log"),
        6,
        LOW,
    )


def _parameters(data: Data) -> Panel:
    state, channels = data.state, np.arange(data.state.channels)
    marks, off = [Rule("y", 0.0, kind=GUIDE)], []
    if state.numGroups <= 16:
        marks += [
            Rule("x", group * data.depth - 0.5, kind=GUIDE) for group in range(1, state.numGroups)
        ]
    for name, values, moved, kind in (
        ("dgammaOut", data.dgamma, -0.2, TAKEN),
        ("dbetaOut", data.dbeta, 0.2, LEFT),
    ):
        if values is None:
            off.append(name)
        else:
            marks.append(Bars(channels + moved, values, kind, name, 0.38))
    marks.append(Rule("x", state.channel, kind=CHOSEN))
    title = tr(
        NOT_ASKED if off else SUMS,
        samples=state.samples,
        positions=state.positions,
        outputs=", ".join(off),
    )
    if len(off) == 2:
        marks = [
            Note((state.channels - 1) / 2, 0.0, tr("dgammaIsRequire and dbetaIsRequire are off"))
        ]
    step = -(-state.channels // 16)
    ticks = tuple((channel, str(channel)) for channel in range(0, state.channels, step))
    return Panel(
        "parameters",
        title,
        tuple(marks),
        Axis(tr("channel"), -0.6, state.channels - 0.4, ticks=ticks),
        Axis("", -1.0, 1.0) if len(off) == 2 else Axis(""),
        8,
        LOW,
        ("channel",),
    )


@np.errstate(divide="ignore", invalid="ignore")
def headline(data: Data) -> list[str]:
    """One sentence each: the chosen element, the missing 1/n, the slope, the errors."""
    state = data.state
    direct, mean, along, dx = terms(data)
    n = data.depth * state.positions
    right, wrong = data.norms[:, list(data.sizes).index(n)]
    found = {
        "n": n,
        "group": written(data.group, "d"),
        "without": signed(direct - n * (mean + along)),
        "times": number(wrong / right),
    }
    return [
        tr(
            "dx of channel {channel}, position {position}: direct {direct}, minus mean {mean}, minus x̂ times mean {along} = "
            "{dx}.",
            channel=written(state.channel, "d"),
            position=written(state.position, "d"),
            direct=signed(direct),
            mean=signed(mean),
            along=signed(along),
            dx=signed(dx),
        ),
        choose(right > 0, tr(HERE_WORDS, **found), tr(OVERALL, **found)),
        _slope(data),
        _errors(data),
    ]


def _slope(data: Data) -> str:
    state = data.state
    found = {"scale": number(state.swishScale), "cann": state.cann} | {
        name: number(data.chosen(values))
        for name, values in (("z", data.z), ("slope", data.slope), ("early", data.early_slope))
    }
    if not data.early:
        return tr("z = {z} has the slope {slope} for swishScale {scale}.", **found)
    return choose(
        state.swishScale == 1,
        tr(
            "z = {z} has the slope {slope}, but the kernel of CANN {cann} leaves out one factor swishScale = {scale}: "
            "{early}.",
            **found,
        ),
        tr(
            "z = {z} has the slope {slope}; CANN {cann} leaves out one factor swishScale, which is 1 here.",
            **found,
        ),
    )


def _errors(data: Data) -> str:
    errors = [name + " " + number(value) for name, value in data.errors.items()]
    return tr(
        "Largest error: {errors}.", errors=reduce(lambda some, more: some + tr(", ") + more, errors)
    )


def text(data: Data) -> str:
    """Return the whole picture in words and tables."""
    state = data.state
    first = tr(
        "{name}: {samples} samples, {channels} channels, {positions} positions, {groups}; {dtype}, swishScale {scale}",
        name=OP.aclnn_name,
        samples=state.samples,
        channels=state.channels,
        positions=state.positions,
        groups=groups(data),
        dtype=state.dtype,
        scale=number(state.swishScale),
    )
    computed = tr("Computed by {who}.", who=tr(data.computed_by))
    return "\n".join(
        [first, *headline(data), computed, *in_words(panels(data)), *map(tr, data.notices)]
    )


def subject():
    return Subject(
        OP.name,
        lambda state: OP,
        State,
        inputs,
        compute,
        panels,
        headline,
        text,
        live=(gathered, data),
    )
