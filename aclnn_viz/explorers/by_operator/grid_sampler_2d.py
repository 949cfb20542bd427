"""Panels and words of the interactive picture (explorer) of the 2D grid sampler: the padded image, the taps (sampled pixels) of
one point, output and gradients.
"""

from dataclasses import replace

import numpy as np

from aclnn_viz.explorers.arrays import double, only, point, sweep
from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import (
    INTERPOLATIONS,
    OP,
    PADDINGS,
    Data,
    State,
    compute,
    continued,
    data,
    gathered,
    inputs,
    phases,
    turned,
)
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.operators.families.sampling import BICUBIC, NEAREST, REFLECTION, ZEROS
from aclnn_viz.pictures.marks import (
    Arrows,
    Band,
    Box,
    Dots,
    Grip,
    Handles,
    Heat,
    Image,
    Line,
    Rule,
    cell,
)
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel, bare
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, READ
from aclnn_viz.pictures.text import choose, number, signed, told, unmarked, written
from aclnn_viz.words.messages import tr

FIRST = True  # the start page shows this explorer
NOTHING = 0  # kind of dashed marks, which mean that no pixel is read
ARC = np.linspace(0.0, 1.0, 17)
NARROW = 0.65  # share of the world that a narrow page shows
ARROW = 0.1  # longest arrow, as a share of the picture
GRIPS = np.array([[1.0, 0.0, 0.0], [1.0, -1.0, 0.0]])  # x and y on the cloth


def panels(data: Data) -> list[Panel]:
    """Return the panels of a state's data: the world first."""
    return [_world(data), _lens(data), _out(data), _input_grad(data), _curve(data)]


def _grey(data: Data) -> tuple[str, float, float]:
    """Return the grey scale that the image shares with the pixels read from it."""
    xp = data.xp
    return "picture", xp.minimum(xp.min(data.out), 0.0), xp.maximum(xp.max(data.out), 1.0)


def _x_axis(data: Data) -> Axis:
    """Return the axis of the world's columns, named by x."""
    offset, factor = data.state.units[0]
    ticks = [
        ((x - offset) / factor, f"{x:.0f}".replace("-", "−") if x else "x = 0")
        for x in (range(-3, 4) if factor else ())
    ]
    reach = data.margin[1] + 0.5
    return Axis("", -reach, data.state.width - 1 + reach, ticks=tuple(ticks))


def _world(data: Data) -> Panel:
    xp, state, (rows, columns) = data.xp, data.state, data.margin
    height, width = state.height, state.width
    coming = xp.where(state.sent < 1.0, data.inputGrad, np.nan)
    u, v = data.hops[:, 0]
    marks = [
        Image(data.surround, *_grey(data), -columns, -rows, 0.55),
        Image(data.image, *_grey(data)),
        Image(coming, *scale(data.inputGrad, xp), 0.0, 0.0, 0.85),
        Box(-0.5, -0.5, width - 0.5, height - 0.5, kind=INK),
        Line(*_cloth(data), MOVED, "", 0.5),
        *_mirrors(data),
        Line(*_way(data), READ, "", 2.6),
        _square(data),
        Dots(*data.flights, GRADIENT, "", 4.0),
        Rule("x", u, kind=MOVED),
        _arrow(data, u, v),
        _points(data),
        *_grips(data),
    ]
    title = tr("image, continued by {mode}", mode=PADDINGS[state.paddingMode])
    y = bare(height - 0.5 + rows, -0.5 - rows)
    return Panel("image", title, marks, _x_axis(data), y, 14, 0, square=True, rows=5, narrow=NARROW)


def _points(data: Data) -> Handles:
    state = data.state
    return Handles(
        data.pixels[..., 0],
        data.pixels[..., 1],
        state.row,
        state.column,
        ("row", "column"),
        "moved",
        state.units,
        0.25,
        tr("sampling points"),
    )


def _cloth(data: Data):
    """Return the lines (2, n) that join neighbouring points along rows and
    along columns, with a nan between two lines.
    """
    xp, grid = data.xp, data.pixels
    ends = np.full((grid.shape[0], 1, 2), np.nan), np.full((1, grid.shape[1], 2), np.nan)
    along = xp.concat([grid, ends[0]], axis=1), xp.moveaxis(xp.concat([grid, ends[1]]), 0, 1)
    return xp.concat([xp.reshape(threads, (-1, 2)) for threads in along]).T


def _grips(data: Data) -> list[Grip]:
    """Return the handles of the grid of points: a corner scales the grid, an edge turns it, the middle shifts it."""
    xp, state = data.xp, data.state
    places = [
        [(at - o) / (f or 1.0) for at, (o, f) in zip(place, state.units)]
        for place in turned(state, *GRIPS, xp)[0, 0]
    ]
    units = tuple((*unit, k) for k, unit in enumerate(state.units))
    rows = (
        (("scale",), tr("size of the grid of sampling points"), "scale", "square"),
        (("rotate",), tr("rotation of the grid of sampling points"), "turn", "turn"),
        (("shift_x", "shift_y"), tr("position of the grid of sampling points"), "place", "shift"),
    )
    return [
        Grip(*at, sets, units, label, MOVED, way, look, tuple(places[-1]))
        for at, (sets, label, way, look) in zip(places, rows)
    ]


def _mirrors(data: Data) -> list:
    """Return the mirrors that reflect the chosen point."""
    marks = []
    if data.state.paddingMode == REFLECTION:
        for name, hops in zip("xy", data.hops):
            for k in range(2):
                label = tr("mirror") if name == "x" and not k else ""
                rule = Rule(name, (hops[k] + hops[k + 1]) / 2, label, READ)
                marks += only(data.xp, hops[k] != hops[k + 1], rule)
    return marks


def _way(data: Data):
    """Return the way from the chosen point to its sample: an arc per mirror, a straight line to the border."""
    xp, (across, down) = data.xp, data.hops
    steps = [(across[k], down[0]) for k in range(3)] + [(across[2], down[k]) for k in (1, 2)]
    if data.state.paddingMode != REFLECTION:
        steps = [(across[0], down[0]), (across[2], down[2])]
    bend = 4.0 * ARC * (1.0 - ARC) * (data.state.paddingMode == REFLECTION)
    parts = []
    for (x0, y0), (x1, y1) in zip(steps, steps[1:]):
        high = [
            xp.minimum(2.0 + 0.3 * xp.abs(b - a), 9.0) * (a != b) for a, b in ((x0, x1), (y0, y1))
        ]
        parts.append(
            xp.stack([x0 + (x1 - x0) * ARC + high[1] * bend, y0 + (y1 - y0) * ARC - high[0] * bend])
        )
    return xp.concat(parts, axis=1)


def _centre(data: Data):
    """Return the centre of the lens: the sample; for bicubic the point, because padding applies to its taps."""
    return data.hops[:, 0] if data.state.interpolationMode == BICUBIC else data.read[0]


def _square(data: Data) -> Box:
    """Return the box of what a sample reads: a square as large as a
    pixel; for bicubic four by four pixels, after reflection.
    """
    bicubic = data.state.interpolationMode == BICUBIC
    (u, v), reach = (data.hops[:, 2], 2.0) if bicubic else (data.read[0], 0.5)
    ends = u - reach, v - reach, u + reach, v + reach
    return Box(*ends, kind=READ, filled=0.0 if bicubic else 0.6)


def _arrow(data: Data, u, v) -> Arrows:
    """Return the arrow of the chosen point's gridGrad."""
    xp, (_, columns) = data.xp, data.margin
    vectors = xp.where(xp.isfinite(data.gridGrad), data.gridGrad, 0.0)
    lengths = xp.hypot(vectors[..., 0], vectors[..., 1])
    length, longest = data.at_chosen(lengths), xp.max(lengths)
    share = 0.6 + 0.5 * length / xp.where(longest == 0.0, 1.0, longest)
    long = ARROW * (data.state.width + 2 * columns) * share
    dx, dy = data.at_chosen(vectors) * long / xp.where(length == 0.0, 1.0, length)
    return Arrows(point(u), point(v), point(dx), point(dy), GRADIENT, "gridGrad")


def _curve(data: Data) -> Panel:
    xp, size = data.xp, data.state.width
    places, columns, lost = data.curve
    (column, _), (slope, _) = data.read
    u = data.hops[0, 0]
    reads = xp.sum(data.taps[:, 5]) > 0
    marks = [
        Band(places[[0, -1]], np.full(2, -0.5), np.full(2, size - 0.5), GUIDE, ""),
        Line(places, columns, READ, "", 3.0),
        Line(places, lost, NOTHING, "", 1.2),
        Rule("x", u, kind=MOVED),
        *only(xp, reads, Dots(point(u), point(column), READ, "", 5.0)),
    ]
    ticks = tuple((place, number(place)) for place in (0.0, size - 1.0))
    return Panel(
        "map",
        told(
            reads,
            "nothing is read",
            "column that is read: {column}, slope {slope}",
            column=written(column, ".1f"),
            slope=signed(slope),
        ),
        marks,
        _x_axis(data),
        Axis("", -0.15 * size - 0.5, 1.15 * size - 0.5, ticks=ticks),
        14,
        104,
        below="image",
        narrow=NARROW,
    )


def _lens(data: Data) -> Panel:
    """Return the panel of the chosen point's taps, whose areas are their weights."""
    xp, state, (u, v) = data.xp, data.state, _centre(data)
    bicubic = state.interpolationMode == BICUBIC
    # the weights are written over the point
    dot = Dots(point(u), point(v), READ, "", 4.0)
    corner = [xp.floor(at) - 3.0 for at in (v, u)]
    pixels = continued(xp, state, data.image, corner, (8, 8))
    marks = [Image(pixels, *_grey(data), *corner[::-1]), dot]
    for k, (row, column, weight, _, _, inside, _) in enumerate(data.taps):
        if bicubic:  # bicubic shows the point before padding
            row, column = xp.floor(v) + (k // 4 - 1), xp.floor(u) + (k % 4 - 1)
            half = xp.sqrt(xp.abs(weight)) / 2
            ends = column - half, row - half, column + half, row + half
            marks += only(xp, (weight < 0.0) & (inside > 0.0), Box(*ends, "", READ))
        else:
            ends = (
                xp.maximum(column, u) - 0.5,
                xp.maximum(row, v) - 0.5,
                xp.minimum(column, u) + 0.5,
                xp.minimum(row, v) + 0.5,
            )
        label = "" if bicubic else written(weight, ".2f")
        full, lost = Box(*ends, label, READ, 0.8), Box(*ends, label, NOTHING, dashed=True)
        marks += only(xp, (weight > 0.0) & (inside > 0.0), full)
        marks += only(xp, (weight != 0.0) & (inside == 0.0), lost)
    reach = 2.6 if bicubic else 1.3
    return Panel(
        "taps",
        _sum(data),
        marks,
        Axis(tr("area = weight = share of the gradient"), u - reach, u + reach, ticks=()),
        bare(v + reach, v - reach),
        6,
        310,
        square=True,
    )


def _sum(data: Data):
    """Return the text of out as the sum of weights times pixels; for more than four taps the number of weights."""
    taps = data.taps
    if len(taps) > 4:
        return told(
            _lost(data)[0],
            "{n} weights, hollow where negative",
            "hollow: negative, dashed: outside",
            "{n} weights, dashed: all outside",
            n=len(taps),
        )
    text = "out ≈ "
    for k, (_, _, weight, *_, value) in enumerate(taps):
        text = text + " + " * (k > 0) + written(weight, ".2f") + "·" + written(value, ".2f")
    return text


def _lost(data: Data):
    """Return whether no weight lies outside the image, some or all, as 0, 1 or 2, and the percentage that does."""
    xp, weights = data.xp, data.xp.abs(data.taps[:, 2])
    share = 100.0 * xp.sum(weights * (1.0 - data.taps[:, 5])) / xp.sum(weights)
    return xp.where(share > 99.99, 2, xp.where(share > 0.0, 1, 0)), share


def _out(data: Data) -> Panel:
    state = data.state
    title = tr("out: {value}", value=number(data.at_chosen(data.out)))
    return Panel(
        "out",
        title,
        (Image(data.out, *_grey(data)), cell(state.column, state.row, MOVED)),
        bare(),
        bare(),
        3,
        104,
        ("column", "row"),
        square=True,
        rows=5,
    )


def _input_grad(data: Data) -> Panel:
    heat = Heat(data.inputGrad, *scale(data.inputGrad, data.xp))
    square = only(data.xp, data.xp.sum(data.taps[:, 5]) > 0, replace(_square(data), filled=0.0))
    return Panel(
        "inputGrad", "inputGrad", (heat, *square), bare(), bare(), 3, 104, square=True, rows=5
    )


# The picture in words


def caption(data: Data):
    """Return the caption: the chosen point, the effect of padding, and the effect of a move."""
    xp, state = data.xp, data.state
    bicubic = state.interpolationMode == BICUBIC
    (off, where), (lost, share) = _where(data), _lost(data)
    if state.interpolationMode == NEAREST:
        rest = tr(
            "The point reads one whole pixel, [5:column {column}]. [b:A small move changes nothing:] its gradient is always 0.",
            column=written(data.read[0, 0], ".3g"),
        )
    elif bicubic:
        rest = tr(
            "The point reads 16 pixels. [b:Hollow squares have negative weights:] their pixels are subtracted."
        )
    else:
        rest = tr(
            "The point reads the four pixels that its square covers, [b:each by the area covered.] Drag the point off the image."
        )
    if state.paddingMode == ZEROS:
        rest = choose(
            lost,
            rest,
            tr(
                "[b:{share} % of what the point reads lies off the image] and counts as 0.",
                share=written(share, ".0f"),
            ),
            tr(
                "[b:All pixels around the point lie outside the image.] So out is 0, and no [8:gradient] comes back."
            ),
        )
    elif state.interpolationMode != NEAREST and not (bicubic and state.paddingMode != REFLECTION):
        rest = choose(off > 0, rest, _padded(data))
    said = tr("{where} {what}", where=where, what=rest)
    return choose(
        state.sent < 1.0,
        said,
        tr(
            "Every point sends its [8:gradient] to the pixels that it read, in the same shares. [b:{arrived} of {count} points have done so.]",
            arrived=written(xp.sum(double(xp, phases(state, xp) == 1.0)), ".0f"),
            count=state.grid_height * state.grid_width,
        ),
    )


def _where(data: Data):
    """Return a sentence on the point's place and its distance from the image."""
    xp, size = data.xp, (data.state.width, data.state.height)
    which, away = np.zeros((), int), 0.0
    for k, (at, n) in enumerate(zip(data.hops[::-1, 0], size[::-1])):
        for side, off in enumerate((at - n + 0.5, -0.5 - at)):
            which, away = xp.where(off > 0, 4 - 2 * k - side, which), xp.where(off > 0, off, away)
    return which, told(
        which,
        "The [7:point] lies on the image.",
        "The [7:point] is {n} pixels left of the image.",
        "The [7:point] is {n} pixels right of the image.",
        "The [7:point] is {n} pixels above the image.",
        "The [7:point] is {n} pixels below the image.",
        n=written(away, ".1f"),
    )


def _padded(data: Data):
    """Return a sentence on what border or reflection does to a point outside the image."""
    xp, across = data.xp, data.hops[0]
    (column, row), (slope, _) = data.read
    said = {"row": written(row, ".3g"), "column": written(column, ".3g"), "slope": signed(slope)}
    if data.state.paddingMode != REFLECTION:
        return told(
            across[0] != across[2],
            "The point reads the edge, [5:row {row}]. [b:A move up or down changes nothing:] no [8:gradient] in y.",
            "The point reads the edge, [5:column {column}]. [b:A move left or right changes nothing:] slope 0, no [8:gradient] in x.",
            **said,
        )
    hops = xp.where(across[1] != across[2], 2, xp.where(across[0] != across[1], 1, 0))
    near = (hops > 0) & ((slope == 0.0) | ((slope < 0.0) != (hops == 1)))
    return told(
        xp.where(near, 3, hops),
        "The mirror folds it back to [5:row {row}]. [b:Move it down, and the row moves up.]",
        "The mirror folds it back to [5:column {column}]. [b:Move it right, and the column moves left:] slope {slope}.",
        "Two mirrors fold it back to [5:column {column}]. [b:Folded twice, the column moves the right way again:] slope {slope}.",
        "It is folded back to [5:column {column}]. [b:So close to the mirror the column hardly moves:] slope {slope}.",
        **said,
    )


def plays(data: Data) -> tuple[dict, ...]:
    """Return two animations: the point slides through the world and back; the gradients go back one by one."""
    state = data.state
    x, y = data.at_chosen(double(data.xp, data.inputs["grid"][0]))
    stops = [[[state.row, state.column, at, y]] for at in (x, 3.0, -3.0, x)]
    # at 1 the picture is that of the point again; just below, all gradients have arrived
    return (
        *sweep(tr("slide the point"), "moved", 9.0, stops),
        *sweep(tr("send the gradients back"), "sent", 7.0, (0.0, 0.9999), after={"sent": 1.0}),
    )


def around(data: Data) -> tuple:
    """Return the lines before and after the panels in words."""
    state = data.state
    return (
        [
            tr(
                "{name}: {points} points on {pixels} pixels ({image}); {interpolation}, {mode}, alignCorners {aligned}, {dtype}",
                name=OP.aclnn_name,
                points=f"{state.grid_height} x {state.grid_width}",
                pixels=f"{state.height} x {state.width}",
                image=tr(state.image),
                interpolation=INTERPOLATIONS[state.interpolationMode],
                mode=PADDINGS[state.paddingMode],
                aligned=state.alignCorners,
                dtype=state.dtype,
            ),
            tr(
                "Chosen point ({row}, {column}): {what}",
                row=state.row,
                column=state.column,
                what=unmarked(caption(data)),
            ),
        ],
        [],
    )


def subject():
    return Subject(
        OP.name,
        lambda state: OP,
        State,
        inputs,
        compute,
        panels,
        None,
        around,
        notices=lambda data: (),
        caption=caption,
        plays=plays,
        live=(gathered, data),
    )
