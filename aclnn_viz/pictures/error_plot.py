"""Error against value: a dot an element, the running median, both envelopes, the maximum by name.

The idea of dots with a running statistic over ordinals is Herbie's (FPBench `odyssey`, ErrorPlot); envelopes and
verdicts are this kit's.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aclnn_viz.accuracy.envelopes import EXPLAINED, NOT_EXPLAINED, UNDECIDED, VERDICTS
from aclnn_viz.dtypes import FloatFormat
from aclnn_viz.errors import need
from aclnn_viz.pictures.errors import Errors, framed
from aclnn_viz.pictures.marks import Band, Dots, Line, Rule
from aclnn_viz.pictures.ordinal_axis import OrdinalAxis, ordinal_axis
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.text import number
from aclnn_viz.pictures.windows import Windows, thinned, windows
from aclnn_viz.tables import as_text as table

FLOOR = 0.01  # ulps; smaller errors are drawn here
DOTS = 4000
MARKS = 400  # of each verdict that is not "explained", beside those among the dots
TALL = 330  # pixels
GREY = 4
HALF = Rule("y", 0.5, "½ ulp", GREY)


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
        return limits(self.errors.ulps, self.windows.bound)

    @cached_property
    def axes(self) -> tuple[Axis, Axis]:
        low, _, high = self.limits
        return value_axes(self.axis, self.errors.format, low, high)

    @cached_property
    def bands(self) -> list[Band]:
        w, low = self.windows, self.limits[0]
        curves = {label: self.curve(values) for values, label in (
            (w.bound, "hard bound (median)"), (w.expected, "expected, 6σ (darker)")) if values is not None}
        return [Band(at, np.full(at.size, low / 1.6), top, GREY, label) for label, (at, top) in curves.items()]

    @cached_property
    def median(self) -> Line:
        return Line(*self.curve(self.windows.median), GREY, "running median", 2.6)

    def panel(self, name: str, title: str, groups, kind_of, more=(), span: int = 20, height: int = TALL) -> Panel:
        """Envelopes, dots and running median; `kind_of` (size,) gives each element's position in `groups`.

        A group is (kind of mark, label, size); `more` marks come last.
        """
        e, marks = self.errors, list(self.bands)
        low, peak, _ = self.limits
        x, y = self.axis.x(e.place[self.shown]), np.clip(e.ulps[self.shown], low, peak)
        for k, (kind, label, size) in enumerate(groups):
            if (here := kind_of[self.shown] == k).any():
                marks.append(Dots(x[here], y[here], kind, label, size))
        return Panel(name, title, (*marks, self.median, *more), *self.axes, span, height)

    def lines(self) -> list[str]:
        """The numbers of the plot, as lines of text."""
        e, w = self.errors, self.windows
        columns = [w.count.tolist(), w.first, w.last, w.median, w.maximum]
        columns += [] if w.bound is None else [w.bound, w.expected]
        header = ["elements", "truth from", "to", "median ulp", "maximum ulp", "hard bound", "expected"]
        return [f"maximum {number(e.ulps[e.worst])} ulp at {e.where(e.worst)}: output {number(e.actual[e.worst])}, "
                f"truth {number(e.truth[e.worst])}",
                *([", ".join(f"{count:,} {name}" for name, count in e.counts().items())] if e.counts() else []),
                *table(header[:len(columns)], [[number(value) for value in row] for row in zip(*columns)])]


def plotted(errors: Errors) -> ErrorPlot | None:
    """Return what is drawn of errors; None where there is nothing to show."""
    if errors.nothing():
        return None
    order = errors.order
    shown = [thinned(order, DOTS), thinned(np.flatnonzero(np.isinf(errors.ulps) & errors.placed), MARKS),
             [errors.worst] if errors.placed[errors.worst] else []]
    if errors.verdict is not None:
        shown += [thinned(order[errors.verdict[order] == kind], MARKS) for kind in (NOT_EXPLAINED, UNDECIDED)]
    return ErrorPlot(errors, windows(errors), ordinal_axis(errors.places, errors.format),
                     np.unique(np.concatenate(shown)).astype(np.intp))


def error_plot(errors: Errors) -> Picture:
    """Return the picture of error against value of one output.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
    >>> e = errors(np.float16([1, 2]), np.array([1, 2.001]), Provenance("out", "host"))
    >>> error_plot(e).title
    'out: maximum 0.512 ulp, median 0.256 ulp'
    """
    need(errors, Errors, "an error plot shows Errors", "pass what errors(actual, truth, provenance) returns")
    return pictured(errors, plotted(errors))


def pictured(errors: Errors, plot: ErrorPlot | None) -> Picture:
    """Return the picture of `plotted(errors)`."""
    e, about, statistic = errors, {"": errors}, "|output − truth| in ulps of the truth"
    if plot is None:
        return framed(f"{e.provenance.output}: no error to show", about, statistic)
    beyond = np.isinf(e.ulps)
    if e.verdict is None:
        groups, kind_of = [(0, "one element", 2.0)], np.zeros(e.size, int)
    else:
        order = (EXPLAINED, UNDECIDED, NOT_EXPLAINED)
        groups = [(0, "explained", 2.0), (3, "undecided", 3.5), (1, "not explained", 3.5)]
        kind_of = np.argsort(order)[e.verdict]
    groups, kind_of = [*groups, (2, "infinite error", 4.5)], np.where(beyond, len(groups), kind_of)
    panel = plot.panel("errors", "", groups, kind_of, [HALF, *named(e, e.worst, e.peak(), plot.axis)])
    there = e.beside(e.worst)
    statistic += f"; medians of {plot.windows.size:,} elements at a time"
    statistic += ", also of the elements' envelopes" if e.bound is not None else ""
    statistic += f"; {e.differing:,} infinite errors (only one side finite, or another infinity)" if e.differing else ""
    statistic += f"; {plot.shown.size:,} elements drawn" if plot.shown.size < e.placed.sum() else ""
    title = f"{e.provenance.output}: maximum {number(e.ulps[e.worst])} ulp, median {number(e.median)} ulp{judged(e)}"
    return framed(title, about, statistic, (panel,), plot.lines(), (f"Largest error where {there}.",) if there else ())


def named(errors: Errors, flat: int, label: str, axis: OrdinalAxis) -> list[Rule]:
    """The rule that names an element; none where its truth is nan."""
    return [Rule("x", float(axis.x(errors.place[flat])), label, GREY)] if errors.placed[flat] else []


def judged(errors: Errors) -> str:
    """The verdicts as the end of a title; empty without an envelope."""
    if errors.verdict is None:
        return ""
    counts = errors.counts()
    missed, undecided = (counts[VERDICTS[kind]] for kind in (NOT_EXPLAINED, UNDECIDED))
    if not missed and not undecided:
        return "; all explained by rounding"
    text = f"; {missed:,} of {errors.size:,} not explained by rounding" if missed else "; none unexplained"
    return text + (f", {undecided:,} undecided" if undecided else "")


def value_axes(axis: OrdinalAxis, fmt: FloatFormat, low: float, high: float) -> tuple[Axis, Axis]:
    """The axes of a plot of errors against values, from `low` to `high` ulps."""
    left, right = axis.x(np.array([axis.low, axis.high]))
    room = 0.03 * (right - left) or 0.5
    values = f"truth; every number of {fmt.name} has equal room"
    return (Axis(values, left - room, right + room, ticks=tuple(zip(*axis.ticks()))),
            Axis(f"error in ulp ({FLOOR:g}: that or less)", low / 1.6, high, "log"))


def limits(*ulps) -> tuple[float, float, float]:
    """Three places on a logarithmic axis of errors, for arrays of `ulps` (None: no such array).

    Its lower end, below which errors are drawn as if they were that large; the height at which infinite errors are
    drawn, above every finite one; and its upper end, which leaves room for a name over the infinite ones.
    """
    top = min(max(float(v[np.isfinite(v)].max(initial=1.0)) for v in ulps if v is not None), 1e200)
    return FLOOR, top * (top / FLOOR) ** 0.06, top * (top / FLOOR) ** 0.26
