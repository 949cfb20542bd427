"""The plot of error against value: a dot for each element, the running median, both envelopes, the largest error with its name.

The idea of dots with a running statistic over ordinals is Herbie's (FPBench `odyssey`, ErrorPlot); envelopes and
verdicts are this kit's.
"""

from dataclasses import dataclass
from functools import cached_property

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
from aclnn_viz.tables import as_text as table
from aclnn_viz.words.messages import message, tr

FLOOR = 0.01  # ulps; smaller errors are drawn here
DOTS = 4000
MARKS = 400  # of each verdict that is not "explained", beside those among the dots
TALL = 330  # pixels
GREY = 4
BOUND, EXPECTED = message("hard bound, the largest nearby"), message("expected, 6σ (inside)")


@dataclass(frozen=True, eq=False)
class ErrorPlot:
    """What is drawn of the errors of one output: running statistics along an axis, and the elements `shown`."""

    errors: Errors
    windows: Windows
    axis: OrdinalAxis
    shown: np.ndarray  # positions

    def curve(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and heights, between the ends of the axis, of a line through the windows."""
        low, _, high = self.limits
        at, height = self.windows.curve(np.nan_to_num(values, nan=np.inf), self.axis)
        return at, np.where(np.isnan(at), np.nan, np.clip(height, low, high))

    @cached_property
    def limits(self) -> tuple[float, float, float]:
        # what lies between the two needs no height
        return limits(self.errors.ulps, self.windows.expected)

    def axes(self) -> tuple[Axis, Axis]:
        low, _, high = self.limits
        return value_axes(self.axis, self.errors.format, low, high)

    @cached_property
    def curves(self) -> dict:
        """The lines of the envelopes, by what they are called, and that of the running median, by None."""
        w = self.windows
        lines = {BOUND: w.bound, EXPECTED: w.expected, None: w.median}
        return {label: self.curve(values) for label, values in lines.items() if values is not None}

    def bands(self) -> list[Band]:
        low = self.limits[0] / 1.6
        return [
            Band(at, np.full(at.size, low), top, GREY, tr(label))
            for label, (at, top) in self.curves.items()
            if label
        ]

    def median(self) -> Line:
        return Line(*self.curves[None], GREY, tr("running median"), 2.6)

    def panel(
        self, name: str, title: str, groups, kind_of, more=(), span: int = 20, height: int = TALL
    ) -> Panel:
        """Envelopes, dots and running median; `kind_of` gives the position of each shown element in `groups`.

        A group is (kind of mark, label, size); `more` marks come last.
        """
        e, marks = self.errors, self.bands()
        low, peak, _ = self.limits
        x, y = self.axis.x(e.place[self.shown]), np.clip(e.ulps[self.shown], low, peak)
        for k, (kind, label, size) in enumerate(groups):
            if (here := kind_of == k).any():
                marks.append(Dots(x[here], y[here], kind, label, size))
        return Panel(name, title, (*marks, self.median(), *more), *self.axes(), span, height)

    def lines(self) -> list[str]:
        """The numbers of the plot, as lines of text."""
        e, w = self.errors, self.windows
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
        return [
            tr(
                "maximum {error} ulp at {place}: output {output}, truth {truth}",
                error=number(e.ulps[e.worst]),
                place=e.where(e.worst),
                output=number(e.actual[e.worst]),
                truth=number(e.truth[e.worst]),
            ),
            *(
                [
                    tr(", ").join(
                        tr("{count} {verdict}", count=f"{count:,}", verdict=tr(name))
                        for name, count in e.counts().items()
                    )
                ]
                if e.counts()
                else []
            ),
            *table(
                header[: len(columns)], [[number(value) for value in row] for row in zip(*columns)]
            ),
        ]


def plotted(errors: Errors) -> ErrorPlot | None:
    """Return what is drawn of errors; None where there is nothing to show."""
    if errors.nothing():
        return None
    ranks, moving = errors.ranks, windows(errors)
    shown = [
        ranks.positions(thinned(ranks.size, DOTS)),
        [errors.worst] if errors.placed[errors.worst] else [],
    ]
    if errors.differing:
        apart = np.flatnonzero(np.isinf(errors.ulps) & errors.placed)
        shown.append(apart[thinned(apart.size, MARKS)])
    if errors.verdict is not None:
        found = (
            np.flatnonzero((errors.verdict == kind) & errors.finite)
            for kind in (NOT_EXPLAINED, UNDECIDED)
        )
        shown += [
            some[np.argsort(errors.place[some], kind="stable")][thinned(some.size, MARKS)]
            for some in found
        ]
    return ErrorPlot(
        errors,
        moving,
        ordinal_axis(np.append(moving.start, moving.end), errors.format),
        np.unique(np.concatenate(shown)).astype(np.intp),
    )


@legible
def error_plot(errors: Errors) -> Picture:
    """Return the picture of error against value of one output.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
    >>> e = errors(np.float16([1, 2]), np.array([1, 2.001]), Provenance("out", "host"))
    >>> error_plot(e).title
    'out: maximum 0.512 ulp, median 0.256 ulp'
    """
    need(
        errors,
        Errors,
        "an error plot shows Errors",
        "pass what errors(actual, truth, provenance) returns",
    )
    return pictured(errors, plotted(errors))


def pictured(errors: Errors, plot: ErrorPlot | None) -> Picture:
    """Return the picture of `plotted(errors)`."""
    e, about = errors, {"": errors}
    if plot is None:
        return framed(tr(NOTHING, output=tr(e.provenance.output)), about, tr(STATISTIC))
    beyond = np.isinf(e.ulps[plot.shown])
    if e.verdict is None:
        groups, kind_of = [(0, tr("one element"), 2.0)], 0
    else:
        order = (EXPLAINED, UNDECIDED, NOT_EXPLAINED)
        groups = [
            (0, tr("explained"), 2.0),
            (3, tr("undecided"), 3.5),
            (1, tr("not explained"), 3.5),
        ]
        kind_of = np.argsort(order)[e.verdict[plot.shown]]
    groups, kind_of = (
        [*groups, (2, tr("infinite error"), 4.5)],
        np.where(beyond, len(groups), kind_of),
    )
    panel = plot.panel(
        "errors", "", groups, kind_of, [half(), *named(e, e.worst, e.peak(), plot.axis)]
    )
    there = e.beside(e.worst)
    medians = (
        message("medians of {n} elements at a time")
        if e.bound is None
        else message("medians of {n} elements at a time, and the largest of their envelopes")
    )
    statistic = [tr(STATISTIC), tr(medians, n=f"{plot.windows.size:,}")]
    if e.differing:
        statistic.append(
            tr(
                "{n} infinite errors (only one side finite, or another infinity)",
                n=f"{e.differing:,}",
            )
        )
    if plot.shown.size < np.count_nonzero(e.placed):
        statistic.append(tr("{n} elements drawn", n=f"{plot.shown.size:,}"))
    title = tr(
        "{output}: maximum {largest} ulp, median {median} ulp",
        output=tr(e.provenance.output),
        largest=number(e.ulps[e.worst]),
        median=number(e.median),
    ) + judged(e)
    return framed(
        title,
        about,
        tr("; ").join(statistic),
        (panel,),
        plot.lines(),
        (tr("Largest error where {inputs}.", inputs=there),) if there else (),
    )


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
            ticks=tuple(zip(*axis.ticks())),
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
