"""The hardswish gradient in panels and in words: curve, slope, a window around a kink, the error of all inputs."""

from functools import lru_cache

import numpy as np

from aclnn_viz.dtypes import float_format, ordinals, ulp
from aclnn_viz.explorers.arrays import element, only, point
from aclnn_viz.explorers.by_operator.hardswish_data import (
    KINKS,
    OP,
    Data,
    State,
    compute,
    curve,
    data,
    ends,
    gathered,
    inputs,
    places,
    stretches,
)
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Bars, Dots, Line, Note, Rule
from aclnn_viz.pictures.ordinal_axis import OrdinalAxis, ordinal_axis
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import choose, count, number
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import message, tr

# The slope in pieces, for gradOutput 1, and what the second version of the operator returns on the kinks.
PIECES = np.array(
    [
        [-8.0, 0.0],
        [-3.0, 0.0],
        [-3.0, np.nan],
        [-3.0, -0.5],
        [3.0, 1.5],
        [3.0, np.nan],
        [3.0, 1.0],
        [8.0, 1.0],
    ]
).T
OPEN = np.array([0.0, 1.0])
POWERS_SHOWN = 16  # powers of ten on the axis of errors
LEAST_ERROR = 0.01  # of an error on a logarithmic axis; 0 is drawn there
CLASSES = ("0", "1", "2", "3", ">3")
GRADIENT, TRUTH, SECOND, GUIDE = 0, 2, 1, 4  # kinds of marks; GUIDE is grey
NEAREST = message(
    "{right} of {all} inputs give the number nearest to the truth, {wrong} do not; largest error {largest} ulp, "
    "at x = {x}."
)
TIE = message(
    "{right} of {all} inputs give the number nearest to the truth, {wrong} do not; largest error {largest} ulp, at "
    "x = {x}: these were rounded twice, to float32 and then to the format."
)
CANCEL = message(
    "{right} of {all} inputs give the number nearest to the truth, {wrong} do not; largest error {largest} ulp, "
    "at x = {x}, where x / 3 and 0.5 cancel."
)


def panels(data: Data) -> list[Panel]:
    """Return the five panels of a state's data."""
    return [_forward(data), _slope(data), _window(data), _errors(data), _counts(data)]


def _forward(data: Data) -> Panel:
    xp, x, y, aside = data.xp, data.x, data.value, np.array([-1.6, 1.6])
    marks = [
        *(Rule("x", kink, kind=GUIDE) for kink in KINKS),
        Line(*curve(data.state.dtype), TRUTH, "out"),
        Line(
            x + aside,
            y + data.slope * aside,
            GRADIENT,
            tr("tangent, slope {slope}", slope=number(data.slope)),
        ),
    ]
    for kink, other in zip(KINKS, OPEN):  # where the two versions of the operator differ
        marks += only(
            xp, x == kink, Line(x + aside, y + other * aside, SECOND, f"V2: {number(other)}")
        )
    return Panel(
        "forward",
        tr("out at x = {x}: {y}", x=number(x), y=number(y)),
        (*marks, Dots(point(x), point(y), GRADIENT, "", 5.0)),
        Axis("x (self)", -6.0, 6.0),
        Axis("", -1.2, 6.2),
        7,
        205,
        ("x",),
    )


def _slope(data: Data) -> Panel:
    xp, g = data.xp, data.gradOutput
    marks = (
        Line(PIECES[0], PIECES[1] * g, TRUTH, tr("gradient")),
        *(
            Line(
                np.full(2, kink),
                g * np.array([inner, outer]),
                GUIDE,
                tr("jump") if kink < 0 else "",
                1.0,
            )
            for kink, inner, outer in zip(KINKS, (-0.5, 1.5), OPEN)
        ),
        Dots(np.array(KINKS), data.kinks, GRADIENT, tr("on a kink"), 4.0),
        Dots(np.array(KINKS), OPEN * g, SECOND, tr("V2 there"), 4.0),
        Rule("x", data.x, "", GRADIENT),
    )
    size = xp.where(g == 0.0, 1.0, g)
    low, high = (end(-0.75 * size, 1.75 * size) for end in (xp.minimum, xp.maximum))
    return Panel(
        "slope",
        tr("gradient at x = {x}: {y}", x=number(data.x), y=number(data.out)),
        marks,
        Axis("x (self)", -6.0, 6.0),
        Axis("", low, high),
        7,
        205,
        ("x",),
    )


def _window(data: Data) -> Panel:
    xp, state = data.xp, data.state
    steps = np.arange(-state.steps, state.steps + 1.0)
    step = float(ulp(state.centre, state.dtype))
    # the truth is not joined across it
    jump = {-3.0: state.steps, 3.0: state.steps + 1}.get(state.centre, 0)
    truth = xp.concat([data.window_truth[:jump], np.array([np.nan]), data.window_truth[jump:]])
    marks = [
        Line(np.insert(steps, jump, steps[jump]), truth, TRUTH, tr("truth"), 1.2),
        Dots(steps, data.window_out, GRADIENT, "out", 4.0 if state.steps < 20 else 2.5),
    ]
    for kink, slope in zip(KINKS, OPEN):
        if state.centre == kink:
            marks.append(Dots(np.zeros(1), point(slope * data.gradOutput), SECOND, "V2", 5.0))
    ticks = tuple(
        (k, f"{k:+d}" if k else number(state.centre)) for k in (-state.steps, 0, state.steps)
    )
    title = tr(
        "{centre} ± {steps} ulp of {step}",
        centre=number(state.centre),
        steps=state.steps,
        step=number(step),
    )
    return Panel(
        "window",
        title,
        tuple(marks),
        Axis(tr("steps of the format"), -state.steps - 0.7, state.steps + 0.7, ticks=ticks),
        Axis(""),
        6,
        205,
    )


def _errors(data: Data) -> Panel:
    xp, sweep, state, fmt = data.xp, data.sweep, data.state, float_format(data.state.dtype)
    axis, x, middle = _placed(state.dtype, state.reach, state.seed)
    top = xp.maximum(xp.max(sweep.largest), 1.0)
    wide = top > 4

    def shown(errors):
        return xp.where(wide, xp.maximum(errors, LEAST_ERROR), errors)

    mean = shown(sweep.mean)
    cut = np.searchsorted(middle, 0.0) if state.reach == "near" else 0  # nothing is swept around 0
    broken = xp.concat([mean[:cut], np.array([np.nan]), mean[cut:]]) if cut else mean
    marks = [
        Line(
            np.insert(middle, cut, np.nan) if cut else middle,
            broken,
            TRUTH,
            tr("mean of a stretch"),
            1.2,
        ),
        Dots(middle, shown(sweep.largest), GRADIENT, tr("largest"), 1.8),
        *only(
            xp,
            sweep.wrong[0],
            Dots(
                xp.where(sweep.wrong, xp.take(x, sweep.missed), np.nan),
                xp.maximum(xp.take(sweep.errors, sweep.missed), LEAST_ERROR),
                SECOND,
                tr("not the nearest number"),
                4.0,
            ),
        ),
        Rule("y", 0.5, "½", GUIDE),
    ]
    marks += [
        Rule("x", float(axis.x(ordinals(np.array(value), fmt))) / _binade(fmt), text, GUIDE)
        for value, text in ((-3.0, ""), (-1.5, "-3, -1.5"), (3.0, "3"))
    ]
    powers = xp.astype(xp.clip(xp.ceil(xp.log10(top)), 0.0, float(POWERS_SHOWN)), xp.int64)
    scale = Axis(
        tr("ulp"),
        xp.where(wide, LEAST_ERROR * 0.8, 0.0),
        top * xp.where(wide, 2.0, 1.1),
        choose(wide, "linear", "log"),
        choose(
            wide,
            None,
            choose(
                powers, *(((LEAST_ERROR, "0"), *_powers(most)) for most in range(POWERS_SHOWN + 1))
            ),
        ),
    )
    return Panel("errors", _errors_title(data), tuple(marks), _place_axis(axis), scale, 14, 205)


@lru_cache(8)
def _placed(dtype: str, reach: str, seed: int) -> tuple[OrdinalAxis, np.ndarray, np.ndarray]:
    """The axis of all numbers, the positions of swept inputs on it, and those of the middles of their stretches."""
    fmt = float_format(dtype)
    axis = ordinal_axis(np.multiply.outer([-1, 1], ordinals(ends(dtype, reach), fmt)), fmt)
    x = axis.x(places(dtype, reach, seed)[0]) / _binade(fmt)
    members, share = stretches(x.size)
    return axis, x, (x[members] * share).sum(axis=0)


def _powers(most: int) -> list[tuple[float, str]]:
    return [(10.0**k, f"{10.0**k:g}") for k in range(-1, most + 1)]


def _place_axis(axis: OrdinalAxis) -> Axis:
    return Axis(tr("x (self), placed by its rank among the numbers of the format"), *_places(axis))


@lru_cache(16)  # its ticks take a third of a redraw
def _places(axis: OrdinalAxis) -> tuple:
    """(low, high, scale, ticks) of the axis of all numbers."""
    unit = _binade(axis.format)
    ticks = tuple((at / unit, label) for at, label in zip(*axis.ticks()))
    low, high = (float(axis.x(np.array(end))) / unit for end in (axis.low, axis.high))
    return low, high, "linear", ticks


def _binade(fmt) -> int:
    """How many numbers of a format lie from one power of two up to the next.

    The browser gets the places of numbers in this unit: as plain counts they would be too large for its float32.
    """
    return 1 << (fmt.significand_bits - 1)


def _errors_title(data: Data) -> str:
    size, dtype = f"{data.sweep.x.size:,}", data.state.dtype
    if not data.sweep.exhaustive:
        return tr("error of {size} {dtype} numbers, one of each stretch", size=size, dtype=dtype)
    if data.state.reach == "near":
        return tr("error of all {size} {dtype} numbers of size 2^-10 to 16", size=size, dtype=dtype)
    return tr(
        "error of all {size} finite {dtype} numbers, 0 and −0 once, of 65,536 patterns",
        size=size,
        dtype=dtype,
    )


def _counts(data: Data) -> Panel:
    found = data.sweep.counts
    share, classes = 100 * found / data.sweep.x.size, np.arange(5.0)
    marks = [Bars(classes, share, GRADIENT, "", 0.7)]
    marks += [Note(at, value + 6, count(each)) for at, value, each in zip(classes, share, found)]
    ticks = tuple(zip(classes.tolist(), CLASSES))
    return Panel(
        "counts",
        tr("how many are how far off"),
        tuple(marks),
        Axis(tr("ulp from the nearest number"), -0.5, 4.5, ticks=ticks),
        Axis("%", 0.0, 115.0),
        6,
        205,
    )


def headline(data: Data) -> list[str]:
    """One sentence each: the chosen input, the kinks, the sweep, and who computed it."""
    xp, sweep, size = data.xp, data.sweep, data.sweep.x.size
    worst = xp.argmax(sweep.errors)
    largest, x = (element(xp, values, worst) for values in (sweep.errors, sweep.x))
    found = {
        "right": count(sweep.counts[0]),
        "all": count(size),
        "wrong": count(size - sweep.counts[0]),
        "largest": number(largest),
        "x": number(x),
    }
    cause = xp.where(
        (largest < 0.51) & sweep.wrong[0],
        1,
        xp.where((largest > 4) & (xp.abs(x + 1.5) < 0.1), 2, 0),
    )
    inner, outer = map(number, data.kinks)
    low, high, nan = map(number, data.special)
    away = xp.abs(data.x)
    place = choose(
        xp.where(away == 3.0, 2, xp.where(away < 3.0, 1, 0)),
        tr("outside of the kinks"),
        tr("between the kinks"),
        tr("on a kink"),
    )
    return [
        tr(
            "x = {x}, {place}: out {out}, slope {slope}, gradient {given} × slope = {gradient} (truth {truth}).",
            x=number(data.x),
            place=place,
            out=number(data.value),
            slope=number(data.slope),
            given=number(data.gradOutput),
            gradient=number(data.out),
            truth=number(data.truth),
        ),
        tr(
            "On the kinks -3 and 3 the gradient is {inner} and {outer}: the interval is closed. V2 of the operator takes it "
            "open: 0 and {given}; there is no derivative, only a convention.",
            inner=inner,
            outer=outer,
            given=number(data.gradOutput),
        ),
        choose(cause, *(tr(each, **found) for each in (NEAREST, TIE, CANCEL))),
        tr(
            "Computed by {who}: -inf gives {low}, inf {high}, nan {nan}.",
            who=tr(data.computed_by),
            low=low,
            high=high,
            nan=nan,
        ),
    ]


def text(data: Data) -> str:
    """Return the whole picture in words and tables."""
    first = tr("{name} in {dtype}", name=OP.aclnn_name, dtype=data.state.dtype)
    return "\n".join([first, *headline(data), *in_words(panels(data)), *map(tr, data.notices)])


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
