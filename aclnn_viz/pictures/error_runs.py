"""Several plans or devices on one axis: the running median of each, and its running maximum."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aclnn_viz.errors import need, problem
from aclnn_viz.pictures import style
from aclnn_viz.pictures.error_plot import limits, value_against_ulps, worst_x
from aclnn_viz.pictures.errors import Errors
from aclnn_viz.pictures.ordinal_axis import OrdinalAxis, ordinal_axis
from aclnn_viz.pictures.provenance import caption, warning
from aclnn_viz.tables import as_text
from aclnn_viz.pictures.text import number
from aclnn_viz.pictures.windows import Windows, windows


@dataclass(frozen=True, eq=False)
class ErrorRuns(style.Picture):
    """What the plot shows: of each run its errors and their running statistics, on one axis of values."""

    runs: dict[str, Errors]
    nothing: str
    windows: dict[str, Windows] | None = None
    axis: OrdinalAxis | None = None

    height = 5.2

    @property
    def room(self) -> float:
        return 0.1 + 0.22 * len(self.runs)

    @property
    def title(self) -> str:
        output = next(iter(self.runs.values())).provenance.output
        if self.nothing:
            return f"{output}: no error to show"
        worst = max(self.runs, key=lambda name: self.runs[name].ulps.max())
        return f"{output}: the largest error is {number(self.runs[worst].ulps.max())} ulp, by {worst}"

    @property
    def caption(self) -> str:
        e = next(iter(self.runs.values()))
        statistic = "|output − truth| in ulps of the truth"
        if not self.nothing:
            count = max(w.size for w in self.windows.values())
            statistic += f"; thick: median, thin: maximum of windows of {count:,} elements; n of each run"
        return caption(statistic, e.format.name, e.shape, e.size, [run.provenance for run in self.runs.values()])

    @property
    def warning(self) -> str:
        return warning({name: e.provenance for name, e in self.runs.items()})

    @property
    def text(self) -> str:
        if self.nothing:
            return style.framed(self.title, [self.nothing], self.warning, self.caption)
        lines = [f"{self._label(name)}; inputs there: {named(e.inputs_at(e.worst))}" for name, e in self.runs.items()]
        first = next(iter(self.windows.values()))
        header = ["truth from", "to", *(f"{name}: {what}" for name in self.runs for what in ("median", "maximum"))]
        rows = [[number(first.first[k]), number(first.last[k]),
                 *(number(v[k]) for w in self.windows.values() for v in (w.median, w.maximum))]
                for k in range(first.count.size)]
        return style.framed(self.title, [*lines, *as_text(header, rows)], self.warning, self.caption)

    def _label(self, name: str) -> str:
        e = self.runs[name]
        missed = e.counts().get("not explained")
        return (f"{name}: median {number(e.median)} ulp, maximum {number(e.ulps[e.worst])} ulp at "
                f"{list(e.index(e.worst))}" + (f", {missed:,} not explained by rounding" if missed else ""))

    def _draw(self, drawn, look):
        axes = drawn.subplots()
        low, peak, high = limits(*(e.ulps for e in self.runs.values()))
        value_against_ulps(axes, look, self.axis, low, high)
        for k, (name, w) in enumerate(self.windows.items()):
            e, line = self.runs[name], look.series(k)
            x, median = w.curve(w.median, self.axis)
            every = (2 * k, 2 * len(self.runs))  # lines that coincide show their markers in turn
            axes.plot(x, np.clip(median, low, high), linewidth=2.2, markersize=6, markevery=every,
                      label=self._label(name), **line)
            axes.plot(x, np.clip(w.curve(w.maximum, self.axis)[1], low, peak), linewidth=1.0,
                      **line | {"marker": "none"})
            if e.placed[e.worst]:
                axes.plot(self.axis.x(e.place[e.worst]), float(np.clip(e.ulps[e.worst], low, peak)), line["marker"],
                          markersize=11, markerfacecolor="none", markeredgewidth=2, color=line["color"], zorder=5)
        e = max(self.runs.values(), key=lambda e: e.ulps.max())
        style.mark_maximum(axes, look, worst_x(e, self.axis), float(np.clip(e.ulps[e.worst], low, peak)),
                           f"max {number(e.ulps[e.worst])} ulp at {list(e.index(e.worst))}")
        style.legend(axes, ncols=1, handlelength=4)


def error_runs(runs: dict[str, Errors]) -> ErrorRuns:
    """Return the picture of one to five runs of the same case, by the name of the plan or device.

    Raises ValueError for another number of runs, and for runs whose formats or truths differ.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
    >>> e = errors(np.float16([1, 2]), np.array([1, 2.001]), Provenance("out", "host"))
    >>> error_runs({"host": e}).title
    'out: the largest error is 0.512 ulp, by host'
    """
    check_runs(runs)
    first = next(iter(runs.values()))
    for name, other in runs.items():
        if not np.array_equal(first.truth, other.truth, equal_nan=True):
            raise ValueError(problem("runs on one axis must share one truth", f"another truth for {name}",
                                     "run the same case everywhere"))
    nothing = next(filter(None, (e.nothing() for e in runs.values())), "")
    if nothing:
        return ErrorRuns(runs, nothing)
    return ErrorRuns(runs, "", {name: windows(e) for name, e in runs.items()},
                     ordinal_axis(np.concatenate([e.place[e.finite] for e in runs.values()]), first.format))


def named(inputs: dict[str, float]) -> str:
    return ", ".join(f"{name} = {number(value)}" for name, value in inputs.items()) or "none of the output's rank"


def check_runs(runs: dict[str, Errors]) -> None:
    """Raise ValueError unless one to five runs share one format and one shape."""
    asked, fix = "runs are Errors by the name of their device", 'pass such as {"host": errors(...)}'
    for one in need(runs, Mapping, asked, fix).values():
        need(one, Errors, asked, fix)
    for name in runs:
        need(name, str, asked, fix)
    if not 1 <= len(runs) <= len(style.SERIES):
        raise ValueError(problem(f"one axis shows 1 to {len(style.SERIES)} runs", str(len(runs)),
                                 "choose some of them"))
    kinds = {f"{e.format.name} {list(e.shape)}" for e in runs.values()}
    if len(kinds) > 1:
        raise ValueError(problem("runs on one axis must share format and shape", " and ".join(sorted(kinds)),
                                 "compare outputs of the same case"))
