"""The grid sampler in panels and in words: the image with its points, coordinate maps, taps, outputs, gradients."""

from dataclasses import replace

import numpy as np

from aclnn_viz.explorers.arrays import double, element, only, point
from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import (
    INTERPOLATIONS,
    OP,
    PADDINGS,
    REACH,
    Data,
    State,
    compute,
    data,
    gathered,
    inputs,
    pixel_units,
)
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Arrows, Band, Box, Dots, Handles, Heat, Image, Line, Note, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import choose, number, signed, written
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import message, ntr, tr

NAMES, SIGNS = PADDINGS, "■▲●"  # of the padding modes, whose marks are of kinds 0, 1 and 2
CHOSEN, GUIDE = 3, 4  # kinds of marks; GUIDE is grey
NONE = Axis(ticks=())
TALL, LOW, SMALL_PANEL = 164, 74, 190  # pixels of the panels: the map, its slope, the outputs
PIXELS = np.array([[0.75, 0.55, 0.75, 0.55]])  # four different ones
ON = message(
    "Chosen point ({row}, {column}): x = {x}, y = {y}, that is column {u}, row {v} before padding, on the image."
)
OUTSIDE = message(
    "Chosen point ({row}, {column}): x = {x}, y = {y}, that is column {u}, row {v} before padding, outside the "
    "image."
)
ARROW = 0.14  # the longest one, as a share of the image with its margin


def panels(data: Data) -> list[Panel]:
    """Return the ten panels of a state's data."""
    return [
        _image(data),
        _map(data),
        _taps(data),
        _slope(data),
        _corners(data),
        *(_out(data, mode) for mode in range(3)),
        _input_grad(data),
        _grid_grad(data),
    ]


def _grey(data: Data) -> tuple[str, float, float]:
    """The one scale of greys for the image and the outputs."""
    xp = data.xp
    return "grey", xp.minimum(xp.min(data.outs), 0.0), xp.maximum(xp.max(data.outs), 1.0)


def _frame(data: Data) -> tuple[Axis, Axis]:
    """The axes of the image with its margin, rows downwards."""
    (rows, columns), state = data.margin, data.state
    return (
        Axis("", -0.5 - columns, state.width - 0.5 + columns, ticks=()),
        Axis("", state.height - 0.5 + rows, -0.5 - rows, ticks=()),
    )


def _image(data: Data) -> Panel:
    xp, state, (rows, columns) = data.xp, data.state, data.margin
    inner = data.surround[rows : rows + state.height, columns : columns + state.width]
    edge = 0.0 if state.alignCorners else 0.5  # where x and y are -1 and 1
    x, y = _frame(data)
    # below the picture, where no point lies on them
    ends = ((-edge, "x=−1"), (state.width - 1 + edge, "x=1"))
    # they would lie on each other
    if state.width < 0.2 * max(state.width + 2 * columns, state.height + 2 * rows):
        ends = (((state.width - 1) / 2, "x=±1"),)

    def inside(place):  # a point beyond the panel is drawn at its edge
        return xp.clip(place[0], x.low + 0.6, x.high - 0.6), xp.clip(
            place[1], y.high + 0.6, y.low - 0.6
        )

    u, v = inside(data.at_chosen(data.pixels))
    marks = [
        Image(data.surround, *_grey(data), -columns, -rows, 0.42),
        Image(inner, *_grey(data)),
        Box(-0.5, -0.5, state.width - 0.5, state.height - 0.5, kind=GUIDE),
        Box(-edge, -edge, state.width - 1 + edge, state.height - 1 + edge, kind=CHOSEN),
        *_tap_boxes(data),
    ]
    for mode in _order(state):
        column, row = inside(data.sources[mode, :, 0])
        now = mode == state.paddingMode
        marks += [
            Line(xp.stack([u, column]), xp.stack([v, row]), mode, "", 2.2 if now else 1.2),
            Dots(point(column), point(row), mode, "", 5.0 if now else 4.0),
        ]
    marks.append(
        Handles(
            data.pixels[..., 0],
            data.pixels[..., 1],
            state.row,
            state.column,
            ("row", "column"),
            "moved",
            (
                pixel_units(state.width, state.alignCorners),
                pixel_units(state.height, state.alignCorners),
            ),
            0.25,
            tr("sampling points"),
        )
    )
    title = tr(
        "image{plane}, continued by {mode}", plane=plane(state), mode=NAMES[state.paddingMode]
    )
    return Panel(
        "image", title, tuple(marks), replace(x, ticks=ends), y, 7, 200, square=True, rows=2
    )


def _order(state) -> list[int]:
    """The padding modes, that of the state last, so that it is drawn on top."""
    return sorted(range(3), key=lambda mode: mode == state.paddingMode)


def _tap_boxes(data: Data) -> list[Box]:
    boxes = (
        (inside, Box(column - 0.5, row - 0.5, column + 0.5, row + 0.5, kind=CHOSEN))
        for row, column, *_, inside, _ in data.taps[data.state.paddingMode]
    )
    return [one for inside, box in boxes for one in only(data.xp, inside > 0, box)]


def _here(data: Data, axis: int):
    return data.at_chosen(element(data.xp, data.inputs["grid"], data.state.sample))[axis]


def _map(data: Data) -> Panel:
    state = data.state
    axis = "xy".index(state.axis)
    size, here, breaks = (
        (state.width, state.height)[axis],
        double(data.xp, _here(data, axis)),
        data.breaks[axis],
    )
    marks = [
        Band(
            np.array([-REACH, REACH]),
            np.full(2, -0.5),
            np.full(2, size - 0.5),
            GUIDE,
            tr("the image"),
        )
    ]
    for mode in _order(state):
        marks.append(
            Line(
                breaks,
                data.coordinates[mode, axis],
                mode,
                NAMES[mode],
                3.0 if mode == state.paddingMode else 1.8,
            )
        )
    kinks = [
        (breaks[at], data.coordinates[mode, axis][at])
        for mode, at in enumerate(data.kinks[:, axis])
    ]
    marks += [
        Dots(*map(np.concatenate, zip(*kinks)), CHOSEN, "", 3.0),
        Rule("x", here, kind=CHOSEN),
    ]
    marks += [
        Dots(point(here), data.sources[mode, axis, :1], mode, "", 4.5) for mode in _order(state)
    ]
    ticks = tuple((place, number(place)) for place in dict.fromkeys((0.0, size - 1.0)))
    if INTERPOLATIONS[state.interpolationMode] == "bicubic":
        title = (
            tr("row around which the taps lie, y = −3 … 3")
            if axis
            else tr("column around which the taps lie, x = −3 … 3")
        )
    else:
        title = (
            tr("which row is read for y = −3 … 3; ◆ are kinks")
            if axis
            else tr("which column is read for x = −3 … 3; ◆ are kinks")
        )
    return Panel(
        "map",
        title,
        tuple(marks),
        Axis("", -REACH, REACH, ticks=()),
        Axis("", -0.55 * size - 0.5, 1.55 * size - 0.5, ticks=ticks),
        8,
        TALL,
    )


def _slope(data: Data) -> Panel:
    state = data.state
    axis = "xy".index(state.axis)
    size, here = (state.width, state.height)[axis], double(data.xp, _here(data, axis))
    breaks, steepest = np.repeat(data.breaks[axis], 2)[1:-1], 1.35 * max(size / 2, 0.5)
    marks = [Rule("x", here, kind=CHOSEN)]
    for mode in _order(state):
        aside = (mode - 1) * 0.035 * steepest  # side by side where they agree
        marks.append(
            Line(
                breaks,
                np.repeat(data.slopes[mode, axis], 2) + aside,
                mode,
                "",
                3.0 if mode == state.paddingMode else 1.8,
            )
        )
    marks += [
        Dots(
            point(here), data.sources[mode, axis, 1:] + (mode - 1) * 0.035 * steepest, mode, "", 4.0
        )
        for mode in _order(state)
    ]
    ticks = tuple((slope, number(slope)) for slope in dict.fromkeys((-size / 2, 0.0, size / 2)))
    return Panel(
        "slope",
        tr("slope of the map: the factor of gridGrad"),
        tuple(marks),
        Axis("", -REACH, REACH),
        Axis("", -steepest, steepest, ticks=ticks),
        8,
        LOW,
    )


def _taps(data: Data) -> Panel:
    xp, taps = data.xp, data.taps[data.state.paddingMode]
    side = round(len(taps) ** 0.5)
    values = xp.reshape(xp.where(taps[:, 5] > 0, taps[:, 6], np.nan), (side, side))
    words = tuple(
        written(weight, ".4g" if side < 4 else ".3f")
        + "\n"
        + choose(inside > 0, tr("outside"), written(row, ".0f") + ", " + written(column, ".0f"))
        for row, column, weight, *_, inside, _ in taps
    )
    return Panel(
        "taps",
        ntr("{n} tap: weight / row, column", "{n} taps: weight / row, column", len(taps)),
        (Heat(values, *_grey(data), words=words),),
        NONE,
        NONE,
        5,
        TALL,
    )


def _corners(data: Data) -> Panel:
    marks = []
    for down, edge in ((0.0, 0.5), (1.9, 0.0)):
        now = data.state.alignCorners == (down > 0)
        centres = np.arange(4.0)
        marks.append(Image(PIXELS, "grey", 0.0, 1.0, y=down))
        for x, label, align in ((-edge, "−1", "right"), (3 + edge, "1", "left")):
            marks += [
                Line(
                    np.full(2, x),
                    np.array([down - 0.75, down + 0.75]),
                    CHOSEN,
                    "",
                    3.0 if now else 1.2,
                ),
                Note(x, down, f" {label} ", align) if edge else Note(x, down - 1.0, label),
            ]
        marks += [*[Note(-1.9, down, "▶")] * now, Dots(centres, np.full(4, down), CHOSEN, "", 1.8)]
    title = (
        tr("alignCorners True: ±1 at centres")
        if data.state.alignCorners
        else tr("alignCorners False: ±1 at edges")
    )
    return Panel(
        "corners",
        title,
        tuple(marks),
        Axis("", -2.2, 5.2, ticks=()),
        Axis("", 2.8, -1.2, ticks=()),
        5,
        LOW,
    )


def _out(data: Data, mode: int) -> Panel:
    state = data.state
    marks = (Image(data.outs[mode], *_grey(data)), _chosen_cell(state))
    title = "▶ " * (mode == state.paddingMode) + tr(
        "out, {mode}: {value}", mode=NAMES[mode], value=number(data.at_chosen(data.outs[mode]))
    )
    return Panel(
        f"out {NAMES[mode]}",
        title,
        marks,
        NONE,
        NONE,
        4,
        SMALL_PANEL,
        ("column", "row"),
        square=True,
    )


def _chosen_cell(state) -> Box:
    return Box(
        state.column - 0.5, state.row - 0.5, state.column + 0.5, state.row + 0.5, kind=CHOSEN
    )


def _input_grad(data: Data) -> Panel:
    marks = (Heat(data.inputGrad, *scale(data.inputGrad, data.xp)), *_tap_boxes(data))
    return Panel("inputGrad", "inputGrad", marks, NONE, NONE, 4, SMALL_PANEL, square=True)


def _grid_grad(data: Data) -> Panel:
    xp, state, (rows, columns) = data.xp, data.state, data.margin
    vectors = xp.where(xp.isfinite(data.gridGrad), data.gridGrad, 0.0)
    longest = xp.max(xp.hypot(vectors[..., 0], vectors[..., 1]))
    long = (
        ARROW
        * max(state.height + 2 * rows, state.width + 2 * columns)
        / xp.where(longest == 0.0, 1.0, longest)
    )
    at, moved = (xp.reshape(part, (-1, 2)).T for part in (data.pixels, long * vectors))
    mine = xp.reshape(state.row * state.grid_width + state.column, (1,))
    here, there = (xp.take(part, mine, axis=1) for part in (at, moved))
    marks = (
        Box(-0.5, -0.5, state.width - 0.5, state.height - 0.5, kind=GUIDE),
        Arrows(*at, *moved, GUIDE),
        Arrows(*here, *there, CHOSEN),
        Dots(*here, CHOSEN, "", 3.5),
    )
    title = (
        tr("gridGrad (n {n}) ≤ {longest}", n=written(state.sample, "d"), longest=number(longest))
        if state.samples > 1
        else tr("gridGrad ≤ {longest}", longest=number(longest))
    )
    return Panel("gridGrad", title, marks, *_frame(data), 4, SMALL_PANEL, square=True)


def headline(data: Data) -> list[str]:
    """One sentence a padding mode: what it samples for the chosen point, what comes out, the slopes; and the errors."""
    lines = [
        tr(
            "{sign} {mode}: {sentence}",
            sign=sign + " ▶" * (mode == data.state.paddingMode),
            mode=name,
            sentence=sentence(data, mode),
        )
        for mode, (sign, name) in enumerate(zip(SIGNS, NAMES))
    ]
    first, second = map(number, data.errors)
    return [
        *lines,
        tr(
            "{dtype}: inputGrad differs from the float64 truth by at most {first}, gridGrad by {second}.",
            dtype=data.state.dtype,
            first=first,
            second=second,
        ),
    ]


def sentence(data: Data, mode: int) -> str:
    (column, slope_x), (row, slope_y) = data.sources[mode]
    taps = data.taps[mode]
    lost = data.xp.sum(1.0 - taps[:, 5])
    text = {
        "column": number(column),
        "row": number(row),
        "lost": written(lost, ".0f"),
        "all": len(taps),
        "out": number(data.at_chosen(data.outs[mode])),
        "x": signed(slope_x),
        "y": signed(slope_y),
    }
    return choose(
        data.xp.where(lost == len(taps), 2, data.xp.where(lost > 0, 1, 0)),
        tr("column {column}, row {row} → out {out}, slope {x} in x, {y} in y", **text),
        tr(
            "column {column}, row {row}, {lost} of {all} taps outside → out {out}, slope {x} in x, {y} in y",
            **text,
        ),
        tr("nothing: outside → out {out}; all taps are 0, and so is gridGrad", **text),
    )


def plane(state) -> str:
    """Which sample and channel is shown, where there are several."""
    return (
        tr(" (n {n}, c {c})", n=written(state.sample, "d"), c=written(state.channel, "d"))
        if state.samples * state.channels > 1
        else ""
    )


def describe(data: Data) -> str:
    """Return the whole picture in words and tables."""
    state, (row, column) = data.state, data.chosen
    x, y = (float(v) for v in data.inputs["grid"][state.sample, row, column])
    u, v = data.pixels[row, column]
    inside = (
        (data.pixels >= -0.5) & (data.pixels <= np.array([state.width, state.height]) - 0.5)
    ).all(-1)
    return "\n".join(
        [
            tr(
                "{name}: {points} points on {pixels} pixels ({image}); {interpolation}, {mode}, alignCorners {aligned}, {dtype}",
                name=OP.aclnn_name,
                points=f"{state.grid_height} x {state.grid_width}",
                pixels=f"{state.height} x {state.width}",
                image=tr(state.image),
                interpolation=INTERPOLATIONS[state.interpolationMode],
                mode=NAMES[state.paddingMode],
                aligned=state.alignCorners,
                dtype=state.dtype,
            ),
            tr("{on} of {all} points lie on the image.", on=int(inside.sum()), all=inside.size),
            tr(
                ON if inside[row, column] else OUTSIDE,
                row=row,
                column=column,
                x=number(x),
                y=number(y),
                u=number(u),
                v=number(v),
            ),
            *headline(data),
            *in_words(panels(data)),
            *map(tr, data.notices),
        ]
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
        describe,
        live=(gathered, data),
    )
