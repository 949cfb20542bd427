"""The grid sampler in words: the text twin of its picture, from the same data."""

import numpy as np

from aclnn_viz.pictures.palette import KINDS
from aclnn_viz.pictures.text import extent, number, signed

NAMES = [kind[0] for kind in KINDS]


def headline(data) -> list[str]:
    """One sentence a padding mode: what it samples for the chosen point, what comes out, and the slopes."""
    return [_sentence(data, mode) for mode in range(3)]


def _sentence(data, mode: int) -> str:
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


def corners(data) -> list[str]:
    """What alignCorners means along x, in pixels: for False and True, where -1 and 1 lie."""
    width = data.state.width
    return [f"alignCorners False: x = -1 and 1 are the outer edges, columns -0.5 and {width - 0.5:g}; "
            f"one pixel is {number(2 / width)} wide",
            f"alignCorners True: x = -1 and 1 are pixel centres, columns 0 and {width - 1}; "
            + (f"one pixel is {number(2 / (width - 1))} wide" if width > 1 else "one pixel only: the slope is 0")]


def describe(data) -> str:
    """Return the whole picture in words and tables."""
    state, (row, column) = data.state, data.chosen
    x, y = (float(v) for v in data.inputs["grid"][state.sample, row, column])
    u, v = data.pixels[row, column]
    inside = ((data.pixels >= -0.5) & (data.pixels <= np.array([state.width, state.height]) - 0.5)).all(-1)
    mode = NAMES[state.paddingMode]
    lines = [
        f"aclnnGridSampler2DBackward: {state.grid_height} x {state.grid_width} points on {state.height} x {state.width} "
        f"pixels ({state.image}); {_interpolation(data)}, {mode}, alignCorners {state.alignCorners}, {state.dtype}",
        *_shown(state),
        f"{int(inside.sum())} of {inside.size} points lie on the image.",
        f"Chosen point ({row}, {column}): x = {number(x)}, y = {number(y)}, that is column {number(u)}, "
        f"row {number(v)} before padding, {'on' if inside[row, column] else 'outside'} the image.",
        *(f"  {name}: {sentence}" for name, sentence in zip(NAMES, headline(data))),
        f"Its taps under {mode}:",
        "  tap  row  column  weight     d/dx       d/dy       pixel      inputGrad gets",
        *_tap_rows(data),
        f"Its gridGrad: {_vector(data.gridGrad[row, column])}. All points: x {extent(data.gridGrad[..., 0])}; "
        f"y {extent(data.gridGrad[..., 1])}.",
        *(f"out under {name}: {extent(out)}." for name, out in zip(NAMES, data.outs)),
        f"inputGrad: {extent(data.inputGrad)}; {int((data.inputGrad != 0).sum())} of {data.inputGrad.size} pixels get "
        f"some.",
        f"Distance from the truth in float64: inputGrad {number(data.errors[0])}, gridGrad {number(data.errors[1])}.",
        f"Coordinate map of {state.axis}: " + "; ".join(_kinks(data, k) for k in range(3)) + ".",
        *(f"{text}." for text in corners(data)),
    ]
    return "\n".join([*lines, *data.notices])


def _shown(state):
    if plane(state):
        yield (f"Shown is sample {state.sample} of {state.samples}, channel {state.channel} of {state.channels}; "
               "its gridGrad is the sum over all channels.")


def _interpolation(data) -> str:
    return ("bilinear", "nearest", "bicubic")[data.state.interpolationMode]


def _vector(pair) -> str:
    return f"({number(pair[0])}, {number(pair[1])})"


def _tap_rows(data):
    upstream = float(data.inputs["gradOutput"][(data.state.sample, data.state.channel, *data.chosen)])
    for at, (row, column, weight, dx, dy, inside, value) in enumerate(data.taps[data.state.paddingMode]):
        place = f"{row:4.0f} {column:7.0f}"
        gets = number(weight * upstream) if inside else "nothing: outside"
        pixel = number(value) if inside else "-"
        yield f"  {at:3d} {place}  {number(weight):<9}  {number(dx):<9}  {number(dy):<9}  {pixel:<9}  {gets}"


def _kinks(data, mode: int) -> str:
    axis = "xy".index(data.state.axis)
    at = data.breaks[axis][data.kinks[mode, axis]]
    return f"{NAMES[mode]} {'kinks at ' + ', '.join(number(x) for x in at) if at.size else 'has no kink'}"
