"""Error against value: a dot an element, the running median, both envelopes, the maximum by name.

The idea of dots with a running statistic over ordinals is Herbie's (FPBench `odyssey`, ErrorPlot); envelopes and
verdicts are this kit's.
"""

import textwrap
from dataclasses import dataclass

import numpy as np

from aclnn_viz.accuracy.envelopes import EXPLAINED, NOT_EXPLAINED, UNDECIDED, VERDICTS
from aclnn_viz.errors import need
from aclnn_viz.pictures import style
from aclnn_viz.pictures.errors import Errors
from aclnn_viz.pictures.ordinal_axis import OrdinalAxis, ordinal_axis
from aclnn_viz.pictures.provenance import caption, warning
from aclnn_viz.tables import as_text as table
from aclnn_viz.pictures.text import number
from aclnn_viz.pictures.windows import Windows, ordered, thinned, windows

FLOOR = 0.01  # ulps; smaller errors are drawn here
DOTS = 4000
MARKS = 400  # of each verdict that is not "explained", beside those among the dots


@dataclass(frozen=True, eq=False)
class ErrorPlot(style.Picture):
    """What the plot shows: running statistics in `windows`, and in `shown` the positions of the drawn elements."""

    errors: Errors
    nothing: str
    windows: Windows | None = None
    axis: OrdinalAxis | None = None
    shown: np.ndarray | None = None

    @property
    def title(self) -> str:
        e = self.errors
        if self.nothing:
            return f"{e.provenance.output}: no error to show"
        return (f"{e.provenance.output}: maximum {number(e.ulps[e.worst])} ulp, median {number(e.median)} ulp"
                + judged(e))

    @property
    def caption(self) -> str:
        e, statistic = self.errors, "|output − truth| in ulps of the truth"
        if not self.nothing:
            statistic += f"; medians of {self.windows.size:,} elements at a time"
            statistic += ", also of the elements' envelopes" if e.bound is not None else ""
            if e.differing:
                statistic += f"; {e.differing:,} infinite errors (only one side finite, or another infinity)"
            if self.shown.size < e.placed.sum():
                statistic += f"; {self.shown.size:,} elements drawn"
        return caption(statistic, e.format.name, e.shape, e.size, [e.provenance])

    @property
    def warning(self) -> str:
        return warning({"": self.errors.provenance})

    @property
    def text(self) -> str:
        e, w = self.errors, self.windows
        if self.nothing:
            return style.framed(self.title, [self.nothing], self.warning, self.caption)
        rows = zip(w.count.tolist(), w.first, w.last, w.median, w.maximum,
                   *([] if w.bound is None else [w.bound, w.expected]))
        header = ["elements", "truth from", "to", "median ulp", "maximum ulp", "hard bound", "expected"]
        return style.framed(self.title, [
            f"maximum {number(e.ulps[e.worst])} ulp at {e.where(e.worst)}: output {number(e.actual[e.worst])}, "
            f"truth {number(e.truth[e.worst])}",
            *([", ".join(f"{count:,} {name}" for name, count in e.counts().items())] if e.counts() else []),
            *table(header[:5 if w.bound is None else 7], [[number(value) for value in row] for row in rows]),
        ], self.warning, self.caption)

    def _draw(self, drawn, look):
        e, w, axes = self.errors, self.windows, drawn.subplots()
        low, peak, high = limits(e.ulps, w.bound)
        value_against_ulps(axes, look, self.axis, low, high)

        def line(values):
            x, y = w.curve(np.nan_to_num(values, nan=np.inf), self.axis)
            return x, np.clip(y, low, high)

        if w.bound is not None:
            for values, colour, dash, label in ((w.bound, look.band, "-", "hard bound"),
                                                (w.expected, look.inner, "--", "expected (6 sigma)")):
                axes.fill_between(*line(values), low / 1.6, color=colour, linewidth=0)
                axes.plot(*line(values), dash, color=look.quiet, linewidth=1.2, label=label)
        x, y = self.axis.x(e.place[self.shown]), np.clip(e.ulps[self.shown], low, peak)
        beyond = np.isinf(e.ulps[self.shown])
        if beyond.any():
            axes.plot(x[beyond], y[beyond], "^", markersize=7, color=look.alarm, label="infinite error")
        verdict = np.zeros(x.size, int) if e.verdict is None else e.verdict[self.shown]
        for kind, label, mark in (
            (EXPLAINED, "one element" if e.verdict is None else "explained",
             {"marker": "o", "markersize": 3, "markeredgewidth": 0, "alpha": 0.55,
              "color": style.SERIES[0][look.index]}),
            (UNDECIDED, "undecided", {"marker": "D", "markersize": 6, "markerfacecolor": "none", "color": look.open}),
            (NOT_EXPLAINED, "not explained", {"marker": "x", "markersize": 6, "color": look.alarm}),
        ):
            here = (verdict == kind) & ~beyond
            if here.any():
                axes.plot(x[here], y[here], linestyle="none", label=label, **mark)
        axes.plot(*line(w.median), "-", color=look.ink, linewidth=2.2, label="running median", zorder=4)
        style.mark_maximum(axes, look, worst_x(e, self.axis), float(np.clip(e.ulps[e.worst], low, peak)),
                           self._maximum())
        style.legend(axes, ncols=7)

    def _maximum(self) -> str:
        e = self.errors
        there = ", ".join(f"{name} = {number(value)}" for name, value in e.inputs_at(e.worst).items())
        return f"max {number(e.ulps[e.worst])} ulp at {list(e.index(e.worst))}\n{textwrap.fill(there, 60)}".strip()


def error_plot(errors: Errors) -> ErrorPlot:
    """Return the picture of error against value of one output.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
    >>> e = errors(np.float16([1, 2]), np.array([1, 2.001]), Provenance("out", "host"))
    >>> error_plot(e).title
    'out: maximum 0.512 ulp, median 0.256 ulp'
    """
    need(errors, Errors, "an error plot shows Errors", "pass what errors(actual, truth, provenance) returns")
    if nothing := errors.nothing():
        return ErrorPlot(errors, nothing)
    order = ordered(errors)
    shown = [thinned(order, DOTS), thinned(np.flatnonzero(np.isinf(errors.ulps) & errors.placed), MARKS),
             [errors.worst] if errors.placed[errors.worst] else []]
    if errors.verdict is not None:
        shown += [thinned(order[errors.verdict[order] == kind], MARKS) for kind in (NOT_EXPLAINED, UNDECIDED)]
    return ErrorPlot(errors, "", windows(errors), ordinal_axis(errors.place[errors.finite], errors.format),
                     np.unique(np.concatenate(shown)).astype(np.intp))


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


def value_against_ulps(axes, look, axis: OrdinalAxis, low: float, high: float) -> None:
    """Scales, ticks and labels of a plot of errors against values."""
    style.ulp_axis(axes, look, low / 1.6, high)
    axes.set_xticks(*axis.ticks())
    axes.set_xlabel("truth; every number of the format has equal room, except around 0", fontsize=9)
    axes.set_ylabel(f"error in ulp (at {FLOOR:g}: that or less)", fontsize=9)
    axes.margins(x=0.03)


def worst_x(errors: Errors, axis: OrdinalAxis) -> float | None:
    """Where the maximum lies along the values; None where the truth is nan."""
    return axis.x(errors.place[errors.worst]).item() if errors.placed[errors.worst] else None


def limits(*ulps) -> tuple[float, float, float]:
    """Three places on a logarithmic axis of errors, for arrays of `ulps` (None: no such array).

    Its lower end, below which errors are drawn as if they were that large; the height at which infinite errors are
    drawn, above every finite one; and its upper end, which leaves room for a name over the infinite ones.
    """
    top = min(max(float(v[np.isfinite(v)].max(initial=1.0)) for v in ulps if v is not None), 1e200)
    return FLOOR, top * (top / FLOOR) ** 0.06, top * (top / FLOOR) ** 0.26
