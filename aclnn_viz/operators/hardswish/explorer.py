"""The hardswish gradient in panels and in words: curve, slope, a window around a kink, the error of all inputs."""

from functools import lru_cache

import numpy as np

from aclnn_viz.dtypes import float_format, ordinals, ulp
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Bars, Dots, Line, Note, Rule
from aclnn_viz.pictures.ordinal_axis import OrdinalAxis, ordinal_axis
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import number
from aclnn_viz.words.speech import message, tr

from .explorer_data import KINKS, OP, Data, State, compute, inputs

# The slope in pieces, for gradOutput 1, and what the second version of the operator returns on the kinks.
PIECES = np.array([[-8.0, 0.0], [-3.0, 0.0], [-3.0, np.nan], [-3.0, -0.5], [3.0, 1.5], [3.0, np.nan], [3.0, 1.0],
                   [8.0, 1.0]]).T
OPEN = np.array([0.0, 1.0])
STRETCHES = 384
MOST_MISSES = 400
LEAST = 0.01  # of an error on a logarithmic axis; 0 is drawn there
CLASSES = ("0", "1", "2", "3", ">3")
GRADIENT, TRUTH, SECOND, GUIDE = 0, 2, 1, 4  # kinds of marks; GUIDE is grey
NEAREST = message("{right} of {all} inputs give the number nearest to the truth, {wrong} do not; largest error {largest} ulp, "
                  "at x = {x}.")
TIE = message("{right} of {all} inputs give the number nearest to the truth, {wrong} do not; largest error {largest} ulp, at "
         "x = {x}: these were rounded twice, to float32 and then to the format.")
CANCEL = message("{right} of {all} inputs give the number nearest to the truth, {wrong} do not; largest error {largest} ulp, "
                 "at x = {x}, where x / 3 and 0.5 cancel.")


def panels(data: Data) -> list[Panel]:
    """Return the five panels of a state's data."""
    return [_forward(data), _slope(data), _window(data), _errors(data), _counts(data)]


def _forward(data: Data) -> Panel:
    y = data.value
    marks = [Rule("x", kink, kind=GUIDE) for kink in KINKS]
    marks += [Line(data.curve, data.curve_value, TRUTH, "out"),
              *(Line(data.x + np.array([-1.6, 1.6]), y + slope * np.array([-1.6, 1.6]), kind, label)
                for slope, kind, label in _tangents(data)),
              Dots(np.array([data.x]), np.array([y]), GRADIENT, "", 5.0)]
    return Panel("forward", tr("out at x = {x}: {y}", x=number(data.x), y=number(y)), tuple(marks), Axis("x (self)", -6.0, 6.0),
                 Axis("", -1.2, 6.2), 7, 205, ("x",))


def _tangents(data: Data):
    """(slope, kind, label): two on a kink, where the two versions of the operator differ."""
    # The gradient may be 0 for gradOutput 0 whatever the slope is, so the slope comes from the kink itself.
    slope = _documented(data.x)
    found = [(slope, GRADIENT, tr("tangent, slope {slope}", slope=number(slope)))]
    for kink, other in zip(KINKS, OPEN):
        if data.x == kink:
            found.append((other, SECOND, f"V2: {number(other)}"))
    return found


def _documented(x: float) -> float:
    return 0.0 if x < -3 else (2 * x + 3) / 6 if x <= 3 else 1.0


def _slope(data: Data) -> Panel:
    g = data.gradOutput
    marks = (Line(PIECES[0], PIECES[1] * g, TRUTH, tr("gradient")),
             *(Line(np.full(2, kink), g * np.array([inner, outer]), GUIDE, tr("jump") if kink < 0 else "", 1.0)
               for kink, inner, outer in zip(KINKS, (-0.5, 1.5), OPEN)),
             Dots(np.array(KINKS), data.kinks, GRADIENT, tr("on a kink"), 4.0),
             Dots(np.array(KINKS), OPEN * g, SECOND, tr("V2 there"), 4.0),
             Rule("x", data.x, "", GRADIENT))
    low, high = sorted((-0.75 * g, 1.75 * g)) if g else (-0.75, 1.75)
    return Panel("slope", tr("gradient at x = {x}: {y}", x=number(data.x), y=number(data.out)), marks, Axis("x (self)", -6.0, 6.0),
                 Axis("", low, high), 7, 205, ("x",))


def _window(data: Data) -> Panel:
    state = data.state
    steps = np.arange(-state.steps, state.steps + 1.0)
    step = float(ulp(state.centre, state.dtype))
    jump = {-3.0: state.steps, 3.0: state.steps + 1}.get(state.centre, 0)  # the truth is not joined across it
    truth = np.insert(data.window_truth, jump, np.nan)
    marks = [Line(np.insert(steps, jump, steps[jump]), truth, TRUTH, tr("truth"), 1.2),
             Dots(steps, data.window_out, GRADIENT, "out", 4.0 if state.steps < 20 else 2.5)]
    for kink, slope in zip(KINKS, OPEN):
        if state.centre == kink:
            marks.append(Dots(np.zeros(1), np.array([slope * data.gradOutput]), SECOND, "V2", 5.0))
    ticks = tuple((k, f"{k:+d}" if k else number(state.centre)) for k in (-state.steps, 0, state.steps))
    title = tr("{centre} ± {steps} ulp of {step}", centre=number(state.centre), steps=state.steps, step=number(step))
    return Panel("window", title, tuple(marks),
                 Axis(tr("steps of the format"), -state.steps - 0.7, state.steps + 0.7, ticks=ticks), Axis(""), 6, 205)


def _errors(data: Data) -> Panel:
    sweep, fmt = data.sweep, float_format(data.state.dtype)
    axis = ordinal_axis(np.multiply.outer([-1, 1], ordinals(data.ends, fmt)), fmt)
    x = axis.x(sweep.places) / _binade(fmt)
    starts = np.linspace(0, x.size, STRETCHES + 1).astype(int)[:-1]
    size = np.diff([*starts, x.size])
    middle, mean, worst = (_stretches(values, starts, size) for values in (x, sweep.errors, sweep.errors))
    middle, mean, worst = middle[0], mean[0], worst[1]
    missed = _misses(sweep)
    top = max(float(sweep.errors.max()), 1.0)
    wide = top > 4
    line = middle, np.maximum(mean, LEAST) if wide else mean
    if data.state.reach == "near":  # nothing is swept around 0
        line = tuple(np.insert(values, np.searchsorted(middle, 0.0), np.nan) for values in line)
    marks = [Line(*line, TRUTH, tr("mean of a stretch"), 1.2),
             Dots(middle, np.maximum(worst, LEAST) if wide else worst, GRADIENT, tr("largest"), 1.8),
             Rule("y", 0.5, "½", GUIDE)]
    if missed.size:
        marks.insert(2, Dots(x[missed], np.maximum(sweep.errors[missed], LEAST), SECOND,
                             tr("not the nearest number"), 4.0))
    marks += [Rule("x", float(axis.x(ordinals(np.array(value), fmt))) / _binade(fmt), text, GUIDE)
              for value, text in ((-3.0, ""), (-1.5, "-3, -1.5"), (3.0, "3"))]
    return Panel("errors", _errors_title(data), tuple(marks), _place_axis(axis),
                 Axis(tr("ulp"), LEAST * 0.8, top * 2, "log", ((LEAST, "0"), *_powers(top))) if wide
                 else Axis(tr("ulp"), 0.0, 1.1 * top), 14, 205)


def _stretches(values, starts, size):
    return np.add.reduceat(values, starts) / size, np.maximum.reduceat(values, starts)


def _misses(sweep) -> np.ndarray:
    """Where the output is not the number nearest to the truth; the worst of them, if they are many."""
    missed = np.flatnonzero(sweep.distances)
    if missed.size > MOST_MISSES:
        missed = missed[np.argsort(-sweep.errors[missed], kind="stable")[:MOST_MISSES]]
    return missed


def _powers(top: float) -> list[tuple[float, str]]:
    return [(10.0**k, f"{10.0**k:g}") for k in range(-1, int(np.ceil(np.log10(top))) + 1)]


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
    return tr("error of all {size} finite {dtype} numbers, of 65,536 patterns", size=size, dtype=dtype)


def counts(sweep) -> np.ndarray:
    """Return how many outputs are 0, 1, 2, 3 and more steps from the rounded truth."""
    return np.bincount(np.minimum(sweep.distances, 4).astype(int), minlength=5)


def _counts(data: Data) -> Panel:
    found = counts(data.sweep)
    share = 100 * found / found.sum()
    places = np.arange(5.0)
    marks = [Bars(places, share, GRADIENT, "", 0.7)]
    marks += [Note(at, max(value, 0.0) + 6, f"{count:,}") for at, value, count in zip(places, share, found)]
    ticks = tuple(zip(places.tolist(), CLASSES))
    return Panel("counts", tr("how many are how far off"), tuple(marks),
                 Axis(tr("ulp from the nearest number"), -0.5, 4.5, ticks=ticks), Axis("%", 0.0, 115.0), 6, 205)


def headline(data: Data) -> list[str]:
    """One sentence each: the chosen input, the kinks, the sweep, and who computed it."""
    sweep = data.sweep
    found = counts(sweep)
    worst = int(np.argmax(sweep.errors))
    inner, outer = map(number, data.kinks)
    low, high, nan = map(number, data.special)
    place = tr("on a kink") if data.x in KINKS else tr("between the kinks") if abs(data.x) < 3 else tr("outside of the kinks")
    return [
        tr("x = {x}, {place}: out {out}, slope {slope}, gradient {given} × slope = {gradient} (truth {truth}).",
           x=number(data.x), place=place, out=number(data.value), slope=number(_documented(data.x)),
           given=number(data.gradOutput), gradient=number(data.out), truth=number(data.truth)),
        tr("On the kinks -3 and 3 the gradient is {inner} and {outer}: the interval is closed. V2 of the operator takes it "
           "open: 0 and {given}; there is no derivative, only a convention.", inner=inner, outer=outer,
           given=number(data.gradOutput)),
        tr(_told(sweep), right=f"{found[0]:,}", all=f"{sweep.x.size:,}", wrong=f"{found[1:].sum():,}",
           largest=number(sweep.errors[worst]), x=number(sweep.x[worst])),
        tr("Computed by {who}: -inf gives {low}, inf {high}, nan {nan}.", who=tr(data.computed_by), low=low, high=high, nan=nan),
    ]


def _told(sweep) -> str:
    """The sentence about a sweep, with the cause of its largest error where that is known."""
    worst = int(np.argmax(sweep.errors))
    if sweep.errors[worst] < 0.51 and sweep.distances.any():
        return TIE
    return CANCEL if sweep.errors[worst] > 4 and abs(sweep.x[worst] + 1.5) < 0.1 else NEAREST


def text(data: Data) -> str:
    """Return the whole picture in words and tables."""
    state, sweep = data.state, data.sweep
    found = counts(sweep)
    lines = [tr("{name} in {dtype}", name=OP.aclnn_name, dtype=state.dtype), *headline(data), "",
             tr("Window around {centre}, one line a number of the format:", centre=number(state.centre)),
             tr("  step   x                        out            truth"),
             *(f"  {step:+4d}   {x!r:<24} {number(out):<14} {number(truth)}" for step, x, out, truth in
               zip(range(-state.steps, state.steps + 1), data.window.tolist(), data.window_out, data.window_truth)), "",
             tr("{title}, in ulp of the truth: mean {mean}, largest {largest}.", title=_errors_title(data),
                mean=number(sweep.errors.mean()), largest=number(sweep.errors.max())),
             *(tr("  {distance} ulp from the nearest number: {count}", distance=name, count=f"{count:,}")
               for name, count in zip(CLASSES, found))]
    missed = _misses(sweep)
    if missed.size:
        worst = missed[np.argsort(-sweep.errors[missed], kind="stable")[:12]]
        columns = (each[worst] for each in (sweep.x, sweep.out, sweep.truth, sweep.errors))
        lines += [tr("The {n} worst of those that are not the nearest number:", n=worst.size),
                  tr("  x                  out                truth              error in ulp"),
                  *(f"  {x:<18.9g} {out:<18.9g} {right:<18.12g} {number(error)}"
                    for x, out, right, error in zip(*columns))]
    return "\n".join([*lines, *map(tr, data.notices)])


def subject():
    return Subject(OP.name, lambda state: OP, State, inputs, compute, panels, headline, text)
