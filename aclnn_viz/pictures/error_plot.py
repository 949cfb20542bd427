"""Plot error against value: a dot for each element, the running median, the bounds of correct arithmetic, the largest error
with its name.

The idea of dots with a running statistic over ordinals is Herbie's (FPBench `odyssey`, ErrorPlot); envelopes and
verdicts are this kit's.
"""

import numpy as np

from aclnn_viz.accuracy.envelopes import EXPLAINED, NOT_EXPLAINED, UNDECIDED, VERDICTS
from aclnn_viz.dtypes import FloatFormat
from aclnn_viz.errors import need
from aclnn_viz.pictures.errors import NOTHING, STATISTIC, Errors, framed
from aclnn_viz.pictures.fonts import legible
from aclnn_viz.pictures.marks import Band, Dots, Line, Rule
from aclnn_viz.pictures.ordinal_axis import OrdinalAxis, ordinal_axis
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.text import number
from aclnn_viz.pictures.windows import Windows, thinned, windows
from aclnn_viz.tables import as_text
from aclnn_viz.words.messages import message, tr

FLOOR = 0.01  # ulps; smaller errors are drawn here
DOTS = 4000
MARKS = 400  # of each verdict that is not "explained", beside those among the dots
TALL = 330  # pixels
GREY = 4
BOUND, EXPECTED = message("hard bound, the largest nearby"), message("expected, 6σ (inside)")


@legible
def error_plot(errors: Errors) -> Picture:
    """Return the picture of error against value of one output.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
    >>> e = errors(np.float16([1, 2]), np.array([1, 2.001]), Provenance("out", "host"))
    >>> error_plot(e).title
    'out: maximum 0.512 ulp, median 0.256 ulp'
    """
    e = need(
        errors,
        Errors,
        "an error plot shows Errors",
        "pass what errors(actual, truth, provenance) returns",
    )
    about, output = {"": e}, tr(e.provenance.output)
    if e.nothing():
        return framed(tr(NOTHING, output=output), about, tr(STATISTIC))
    shown, moving = drawn(e), windows(e)
    axis = ordinal_axis(np.append(moving.start, moving.end), e.format)
    low, peak, high = limits(e.ulps, moving.expected)

    def line(values):
        """Positions and heights, between the ends of the axis, of a line through the windows."""
        at, height = moving.curve(np.nan_to_num(values, nan=np.inf), axis)
        return at, np.where(np.isnan(at), np.nan, np.clip(height, low, high))

    marks = []
    for values, label in ((moving.bound, BOUND), (moving.expected, EXPECTED)):
        if values is not None:
            at, top = line(values)
            marks.append(Band(at, np.full(at.size, low / 1.6), top, GREY, tr(label)))
    x, y = axis.x(e.place[shown]), np.clip(e.ulps[shown], low, peak)
    for here, kind, label, size in _groups(e, shown):
        if here.any():
            marks.append(Dots(x[here], y[here], kind, tr(label), size))
    marks += [Line(*line(moving.median), GREY, tr("running median"), 2.6), half()]
    marks += named(e, e.worst, e.peak(), axis)
    panel = Panel("errors", "", tuple(marks), *value_axes(axis, e.format, low, high), 20, TALL)
    there = e.beside(e.worst)
    return framed(
        _title(e),
        about,
        tr("; ").join(_statistic(e, moving, shown)),
        (panel,),
        _lines(e, moving),
        (tr("Largest error where {inputs}.", inputs=there),) if there else (),
    )


def drawn(errors: Errors) -> np.ndarray:
    """The positions of the elements that are drawn: some of all, and of those that are not explained or infinite."""
    order, worst = errors.order, errors.worst
    shown = [order[thinned(order.size, DOTS)], [worst] if errors.placed[worst] else []]
    if errors.differing:
        apart = np.flatnonzero(np.isinf(errors.ulps) & errors.placed)
        shown.append(apart[thinned(apart.size, MARKS)])
    if errors.verdict is not None:
        for kind in (NOT_EXPLAINED, UNDECIDED):
            found = order[errors.verdict[order] == kind]
            shown.append(found[thinned(found.size, MARKS)])
    return np.unique(np.concatenate(shown)).astype(np.intp)


def _title(e: Errors) -> str:
    return tr(
        "{output}: maximum {largest} ulp, median {median} ulp",
        output=tr(e.provenance.output),
        largest=number(e.ulps[e.worst]),
        median=number(e.median),
    ) + judged(e)


def _statistic(e: Errors, moving: Windows, shown: np.ndarray) -> list[str]:
    """What is drawn, for the small print."""
    medians = (
        message("medians of {n} elements at a time")
        if e.bound is None
        else message("medians of {n} elements at a time, and the largest of their envelopes")
    )
    statistic = [tr(STATISTIC), tr(medians, n=f"{moving.size:,}")]
    if e.differing:
        statistic.append(
            tr(
                "{n} infinite errors (only one side finite, or another infinity)",
                n=f"{e.differing:,}",
            )
        )
    if shown.size < np.count_nonzero(e.placed):
        statistic.append(tr("{n} elements drawn", n=f"{shown.size:,}"))
    return statistic


def _groups(errors: Errors, shown: np.ndarray) -> list[tuple]:
    """(Which of the elements `shown`, kind of mark, label, size) of each group of dots."""
    beyond = np.isinf(errors.ulps[shown])
    infinite = beyond, 2, message("infinite error"), 4.5
    if errors.verdict is None:
        return [(~beyond, 0, message("one element"), 2.0), infinite]
    verdict = np.where(beyond, -1, errors.verdict[shown])
    return [
        (verdict == EXPLAINED, 0, message("explained"), 2.0),
        (verdict == UNDECIDED, 3, message("undecided"), 3.5),
        (verdict == NOT_EXPLAINED, 1, message("not explained"), 3.5),
        infinite,
    ]


def _lines(e: Errors, w: Windows) -> list[str]:
    """The numbers of the plot, as lines of text."""
    columns = [w.count.tolist(), w.first, w.last, w.median, w.maximum]
    columns += [] if w.bound is None else [w.bound, w.expected]
    header = [
        tr("elements"),
        tr("truth from"),
        tr("to"),
        tr("median ulp"),
        tr("maximum ulp"),
        tr("hard bound"),
        tr("expected"),
    ]
    lines = [
        tr(
            "maximum {error} ulp at {place}: output {output}, truth {truth}",
            error=number(e.ulps[e.worst]),
            place=e.where(e.worst),
            output=number(e.actual[e.worst]),
            truth=number(e.truth[e.worst]),
        )
    ]
    if counts := e.counts():
        lines.append(
            tr(", ").join(
                tr("{count} {verdict}", count=f"{count:,}", verdict=tr(name))
                for name, count in counts.items()
            )
        )
    rows = [[number(value) for value in row] for row in zip(*columns)]
    return [*lines, *as_text(header[: len(columns)], rows)]


def half() -> Rule:
    return Rule("y", 0.5, tr("½ ulp"), GREY)


def named(errors: Errors, flat: int, label: str, axis: OrdinalAxis) -> list[Rule]:
    """The rule that names an element; none where its truth is nan."""
    return (
        [Rule("x", float(axis.x(errors.place[flat])), label, GREY)] if errors.placed[flat] else []
    )


def judged(errors: Errors) -> str:
    """The verdicts as the end of a title; empty without an envelope."""
    if errors.verdict is None:
        return ""
    counts = errors.counts()
    missed, undecided = (counts[VERDICTS[kind]] for kind in (NOT_EXPLAINED, UNDECIDED))
    if not missed and not undecided:
        return tr("; all explained by rounding")
    if not missed:
        return tr("; none unexplained, {undecided} undecided", undecided=f"{undecided:,}")
    text = (
        message("; {missed} of {all} not explained by rounding, {undecided} undecided")
        if undecided
        else message("; {missed} of {all} not explained by rounding")
    )
    return tr(text, missed=f"{missed:,}", all=f"{errors.size:,}", undecided=f"{undecided:,}")


def value_axes(axis: OrdinalAxis, fmt: FloatFormat, low: float, high: float) -> tuple[Axis, Axis]:
    """The axes of a plot of errors against values, from `low` to `high` ulps."""
    left, right = axis.x(np.array([axis.low, axis.high]))
    margin = 0.03 * (right - left) or 0.5
    return (
        Axis(
            tr("truth; every number of {dtype} has equal space", dtype=fmt.name),
            left - margin,
            right + margin,
            ticks=axis.ticks(),
        ),
        Axis(
            tr("error in ulp ({least}: that or less)", least=f"{FLOOR:g}"), low / 1.6, high, "log"
        ),
    )


def limits(*ulps) -> tuple[float, float, float]:
    """Three places on a logarithmic axis of errors, for arrays of `ulps` (None: no such array).

    Its lower end, below which errors are drawn as if they were that large; the height at which infinite errors are
    drawn, above every finite one; and its upper end, which leaves space for a name over the infinite ones.
    """
    top = min(max(_largest(v) for v in ulps if v is not None), 1e200)
    return FLOOR, top * (top / FLOOR) ** 0.06, top * (top / FLOOR) ** 0.26


def _largest(values: np.ndarray) -> float:
    """The largest finite number, at least 1."""
    most = float(values.max(initial=1.0))
    return most if np.isfinite(most) else float(values.max(where=np.isfinite(values), initial=1.0))
