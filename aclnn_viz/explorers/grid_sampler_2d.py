"""The grid sampler in panels and in words: the image with its points, coordinate maps, taps, outputs, gradients."""

import numpy as np

from aclnn_viz.explorers.grid_sampler_2d_data import (
    INTERPOLATIONS, OP, REACH, Data, State, compute, inputs, pixel_units,
)
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Arrows, Band, Box, Dots, Handles, Heat, Image, Line, Note, Rule
from aclnn_viz.pictures.palette import KINDS, scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.text import extent, number, signed

NAMES, SIGNS = [kind[0] for kind in KINDS], "■▲●"  # of the padding modes, whose marks are of kinds 0, 1 and 2
CHOSEN, PAPER = 3, 4  # kinds of marks
NONE = Axis(ticks=())
TALL, LOW, SMALL = 164, 74, 152  # pixels of the panels: the map, its slope, the outputs
PIXELS = np.array([[0.75, 0.55, 0.75, 0.55]])  # four of them, to be told apart
ARROW = 0.14  # the longest one, as a share of the image with its margin


def panels(data: Data) -> list[Panel]:
    """Return the ten panels of a state's data."""
    return [_image(data), _map(data), _taps(data), _slope(data), _corners(data),
            *(_out(data, mode) for mode in range(3)), _input_grad(data), _grid_grad(data)]


def _grey(data: Data) -> tuple[str, float, float]:
    """The one scale of greys for the image and the outputs."""
    return "grey", min(0.0, float(data.outs.min())), max(1.0, float(data.outs.max()))


def _frame(data: Data) -> tuple[Axis, Axis]:
    """The axes of the image with its margin, rows downwards."""
    (rows, columns), state = data.margin, data.state
    return (Axis("", -0.5 - columns, state.width - 0.5 + columns, ticks=()),
            Axis("", state.height - 0.5 + rows, -0.5 - rows, ticks=()))


def _image(data: Data) -> Panel:
    state, (rows, columns) = data.state, data.margin
    inner = data.surround[rows:rows + state.height, columns:columns + state.width]
    edge = 0.0 if state.alignCorners else 0.5  # where x and y are -1 and 1
    x, y = _frame(data)
    below = state.height - 0.5 + 0.035 * (state.height + 2 * rows)

    def inside(place):  # a point beyond the panel is drawn at its edge
        return np.clip(place[0], x.low + 0.6, x.high - 0.6), np.clip(place[1], y.high + 0.6, y.low - 0.6)
    u, v = inside(data.pixels[data.chosen])
    marks = [Image(data.surround, *_grey(data), -columns, -rows, 0.42), Image(inner, *_grey(data)),
             Box(-0.5, -0.5, state.width - 0.5, state.height - 0.5, kind=PAPER),
             Box(-edge, -edge, state.width - 1 + edge, state.height - 1 + edge, kind=CHOSEN),
             Note(-edge, below, "x=−1", "right"), Note(state.width - 1 + edge, below, "x=1", "left"), *_tap_boxes(data)]
    for mode in _order(state):
        column, row = inside(data.sources[mode, :, 0])
        now = mode == state.paddingMode
        marks += [Line(np.array([u, column]), np.array([v, row]), mode, "", 2.2 if now else 1.2),
                  Dots(np.array([column]), np.array([row]), mode, "", 5.0 if now else 4.0)]
    marks.append(Handles(data.pixels[..., 0], data.pixels[..., 1], state.row, state.column, ("row", "column"), "moved",
                         (pixel_units(state.width, state.alignCorners), pixel_units(state.height, state.alignCorners)),
                         0.25, "sampling points"))
    title = f"image{plane(state)}, continued by {NAMES[state.paddingMode]}"
    return Panel("image", title, tuple(marks), x, y, 7, 200, square=True, rows=2)


def _order(state) -> list[int]:
    """The padding modes, that of the state last, so that it is drawn on top."""
    return sorted(range(3), key=lambda mode: mode == state.paddingMode)


def _tap_boxes(data: Data) -> list[Box]:
    taps = data.taps[data.state.paddingMode]
    return [Box(column - 0.5, row - 0.5, column + 0.5, row + 0.5, kind=CHOSEN)
            for row, column, *_, inside, _ in taps.tolist() if inside]


def _here(data: Data, axis: int) -> float:
    return float(data.inputs["grid"][(data.state.sample, *data.chosen, axis)])


def _map(data: Data) -> Panel:
    state = data.state
    axis = "xy".index(state.axis)
    size, here, breaks = (state.width, state.height)[axis], _here(data, axis), data.breaks[axis]
    marks = [Band(np.array([-REACH, REACH]), np.full(2, -0.5), np.full(2, size - 0.5), PAPER, "the image")]
    for mode in _order(state):
        marks.append(Line(breaks, data.coordinates[mode, axis], mode, NAMES[mode],
                          3.0 if mode == state.paddingMode else 1.8))
    kinks = [(breaks[at], data.coordinates[mode, axis][at]) for mode, at in enumerate(data.kinks[:, axis])]
    marks += [Dots(*map(np.concatenate, zip(*kinks)), CHOSEN, "", 3.0), Rule("x", here, kind=CHOSEN)]
    marks += [Dots(np.array([here]), data.sources[mode, axis, :1], mode, "", 4.5) for mode in _order(state)]
    ticks = tuple((place, number(place)) for place in dict.fromkeys((0.0, size - 1.0)))
    title = f"which {'row' if axis else 'column'} is read for {state.axis} = −3 … 3; ◆ are kinks"
    return Panel("map", title, tuple(marks), Axis("", -REACH, REACH, ticks=()),
                 Axis("", -0.55 * size - 0.5, 1.55 * size - 0.5, ticks=ticks), 8, TALL)


def _slope(data: Data) -> Panel:
    state = data.state
    axis = "xy".index(state.axis)
    size, here = (state.width, state.height)[axis], _here(data, axis)
    breaks, steepest = np.repeat(data.breaks[axis], 2)[1:-1], 1.35 * max(size / 2, 0.5)
    marks = [Rule("x", here, kind=CHOSEN)]
    for mode in _order(state):
        aside = (mode - 1) * 0.035 * steepest  # side by side where they agree
        marks.append(Line(breaks, np.repeat(data.slopes[mode, axis], 2) + aside, mode, "",
                          3.0 if mode == state.paddingMode else 1.8))
    marks += [Dots(np.array([here]), data.sources[mode, axis, 1:] + (mode - 1) * 0.035 * steepest, mode, "", 4.0)
              for mode in _order(state)]
    ticks = tuple((slope, number(slope)) for slope in dict.fromkeys((-size / 2, 0.0, size / 2)))
    return Panel("slope", "its slope is the factor of gridGrad", tuple(marks), Axis("", -REACH, REACH),
                 Axis("", -steepest, steepest, ticks=ticks), 8, LOW)


def _taps(data: Data) -> Panel:
    taps = data.taps[data.state.paddingMode]
    side = round(len(taps) ** 0.5)
    values = np.where(taps[:, 5] > 0, taps[:, 6], np.nan).reshape(side, side)
    words = tuple(f"{number(weight) if side < 4 else f'{weight:.3f}'}\n"
                  + (f"{row:.0f}, {column:.0f}" if inside else "outside")
                  for row, column, weight, *_, inside, _ in taps.tolist())
    return Panel("taps", f"{len(taps)} tap{'s' * (len(taps) > 1)}: weight / row, column",
                 (Heat(values, *_grey(data), words=words),), NONE, NONE, 5, TALL)


def _corners(data: Data) -> Panel:
    marks = []
    for down, edge in ((0.0, 0.5), (1.9, 0.0)):
        now = data.state.alignCorners == (down > 0)
        centres = np.arange(4.0)
        marks.append(Image(PIXELS, "grey", 0.0, 1.0, y=down))
        for x, label, align in ((-edge, "−1", "right"), (3 + edge, "1", "left")):
            marks += [Line(np.full(2, x), np.array([down - 0.75, down + 0.75]), CHOSEN, "", 3.0 if now else 1.2),
                      Note(x, down, f" {label} ", align) if edge else Note(x, down - 1.0, label)]
        marks += [*[Note(-1.5, down, "▶")] * now, Dots(centres, np.full(4, down), CHOSEN, "", 1.8)]
    title = f"alignCorners {data.state.alignCorners}: ±1 at {'centres' if data.state.alignCorners else 'edges'}"
    return Panel("corners", title, tuple(marks), Axis("", -2.2, 5.2, ticks=()), Axis("", 2.8, -1.2, ticks=()), 5, LOW)


def _out(data: Data, mode: int) -> Panel:
    state = data.state
    marks = (Image(data.outs[mode], *_grey(data)), _chosen_cell(state))
    title = f"{'▶ ' * (mode == state.paddingMode)}out, {NAMES[mode]}: {number(data.outs[mode][data.chosen])}"
    return Panel(f"out {NAMES[mode]}", title, marks, NONE, NONE, 4, SMALL, ("column", "row"), square=True)


def _chosen_cell(state) -> Box:
    return Box(state.column - 0.5, state.row - 0.5, state.column + 0.5, state.row + 0.5, kind=CHOSEN)


def _input_grad(data: Data) -> Panel:
    marks = (Heat(data.inputGrad, *scale(data.inputGrad)), *_tap_boxes(data))
    return Panel("inputGrad", "inputGrad", marks, NONE, NONE, 4, SMALL, square=True)


def _grid_grad(data: Data) -> Panel:
    state, (rows, columns) = data.state, data.margin
    vectors = np.where(np.isfinite(data.gridGrad), data.gridGrad, 0.0)
    longest = float(np.hypot(vectors[..., 0], vectors[..., 1]).max())
    long = ARROW * max(state.height + 2 * rows, state.width + 2 * columns) / (longest or 1.0)
    at, moved = (part.reshape(-1, 2).T for part in (data.pixels, long * vectors))
    mine = state.row * state.grid_width + state.column
    here, there = at[:, mine:mine + 1], moved[:, mine:mine + 1]
    marks = (Box(-0.5, -0.5, state.width - 0.5, state.height - 0.5, kind=PAPER), Arrows(*at, *moved, PAPER),
             Arrows(*here, *there, CHOSEN), Dots(*here, CHOSEN, "", 3.5))
    sample = f" (n {state.sample})" if state.samples > 1 else ""
    return Panel("gridGrad", f"gridGrad{sample} ≤ {number(longest)}", marks, *_frame(data), 4, SMALL, square=True)


def headline(data: Data) -> list[str]:
    """One sentence a padding mode: what it samples for the chosen point, what comes out, the slopes; and the errors."""
    lines = [f"{sign} {'▶ ' * (mode == data.state.paddingMode)}{name}: {sentence(data, mode)}"
             for mode, (sign, name) in enumerate(zip(SIGNS, NAMES))]
    first, second = map(number, data.errors)
    return [*lines, f"{data.state.dtype}: inputGrad differs from the float64 truth by at most {first}, gridGrad by {second}."]


def sentence(data: Data, mode: int) -> str:
    (column, slope_x), (row, slope_y) = data.sources[mode]
    taps = data.taps[mode]
    lost = int((taps[:, 5] == 0).sum())
    reads = f"column {number(column)}, row {number(row)}"
    if lost:
        reads = "nothing: outside" if lost == len(taps) else f"{reads}, {lost} of {len(taps)} taps outside"
    return (f"{reads} → out {number(data.outs[mode][data.chosen])}, "
            f"slope {signed(slope_x)} in x, {signed(slope_y)} in y")


def plane(state) -> str:
    """Which sample and channel is shown, where there are several."""
    return f" (n {state.sample}, c {state.channel})" if state.samples * state.channels > 1 else ""


def corners(data: Data) -> list[str]:
    """What alignCorners means along x, in pixels: for False and True, where -1 and 1 lie."""
    width = data.state.width
    return [f"alignCorners False: x = -1 and 1 are the outer edges, columns -0.5 and {width - 0.5:g}; "
            f"one pixel is {number(2 / width)} wide",
            f"alignCorners True: x = -1 and 1 are pixel centres, columns 0 and {width - 1}; "
            + (f"one pixel is {number(2 / (width - 1))} wide" if width > 1 else "one pixel only: the slope is 0")]


def describe(data: Data) -> str:
    """Return the whole picture in words and tables."""
    state, (row, column) = data.state, data.chosen
    x, y = (float(v) for v in data.inputs["grid"][state.sample, row, column])
    u, v = data.pixels[row, column]
    inside = ((data.pixels >= -0.5) & (data.pixels <= np.array([state.width, state.height]) - 0.5)).all(-1)
    mode = NAMES[state.paddingMode]
    lines = [
        f"{OP.aclnn_name}: {state.grid_height} x {state.grid_width} points on {state.height} x {state.width} pixels "
        f"({state.image}); {INTERPOLATIONS[state.interpolationMode]}, {mode}, alignCorners {state.alignCorners}, "
        f"{state.dtype}",
        *_shown(state),
        f"{int(inside.sum())} of {inside.size} points lie on the image.",
        f"Chosen point ({row}, {column}): x = {number(x)}, y = {number(y)}, that is column {number(u)}, "
        f"row {number(v)} before padding, {'on' if inside[row, column] else 'outside'} the image.",
        *headline(data),
        f"Its taps under {mode}:",
        "  tap  row  column  weight     d/dx       d/dy       pixel      inputGrad gets",
        *_tap_rows(data),
        f"Its gridGrad: {_vector(data.gridGrad[row, column])}. All points: x {extent(data.gridGrad[..., 0])}; "
        f"y {extent(data.gridGrad[..., 1])}.",
        *(f"out under {name}: {extent(out)}." for name, out in zip(NAMES, data.outs)),
        f"inputGrad: {extent(data.inputGrad)}; {int((data.inputGrad != 0).sum())} of {data.inputGrad.size} pixels get "
        f"some.",
        f"Coordinate map of {state.axis}: " + "; ".join(_kinks(data, k) for k in range(3)) + ".",
        *(f"{text}." for text in corners(data)),
    ]
    return "\n".join([*lines, *data.notices])


def _shown(state):
    if plane(state):
        yield (f"Shown is sample {state.sample} of {state.samples}, channel {state.channel} of {state.channels}; "
               "its gridGrad is the sum over all channels.")


def _vector(pair) -> str:
    return f"({number(pair[0])}, {number(pair[1])})"


def _tap_rows(data: Data):
    upstream = float(data.inputs["gradOutput"][(data.state.sample, data.state.channel, *data.chosen)])
    for at, (row, column, weight, dx, dy, inside, value) in enumerate(data.taps[data.state.paddingMode]):
        place = f"{row:4.0f} {column:7.0f}"
        gets = number(weight * upstream) if inside else "nothing: outside"
        pixel = number(value) if inside else "-"
        yield f"  {at:3d} {place}  {number(weight):<9}  {number(dx):<9}  {number(dy):<9}  {pixel:<9}  {gets}"


def _kinks(data: Data, mode: int) -> str:
    axis = "xy".index(data.state.axis)
    at = data.breaks[axis][data.kinks[mode, axis]]
    return f"{NAMES[mode]} {'kinks at ' + ', '.join(number(x) for x in at) if at.size else 'has no kink'}"


def show(data: Data) -> Picture:
    return Picture(tuple(headline(data)), tuple(panels(data)), describe(data), data.notices)


def subject():
    return Subject(OP.name, lambda state: OP, State, inputs, compute, show)
