"""Plot the errors of several devices or precisions on one axis, to compare them: the running median of each, and its running
maximum.
"""

from collections.abc import Mapping

import numpy as np

from aclnn_viz.accuracy.envelopes import NOT_EXPLAINED, VERDICTS
from aclnn_viz.errors import need, problem
from aclnn_viz.pictures.error_plot import TALL, half, limits, named, value_axes
from aclnn_viz.pictures.errors import NOTHING, STATISTIC, Errors, framed
from aclnn_viz.pictures.fonts import legible
from aclnn_viz.pictures.marks import Dots, Line
from aclnn_viz.pictures.ordinal_axis import ordinal_axis
from aclnn_viz.pictures.palette import RUNS
from aclnn_viz.pictures.panels import Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.text import number
from aclnn_viz.pictures.windows import windows
from aclnn_viz.tables import as_text
from aclnn_viz.words.messages import message, tr

NO_INPUTS = message("none of the output's rank")


@legible
def error_runs(runs: dict[str, Errors]) -> Picture:
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
            raise ValueError(
                problem(
                    "runs on one axis must share one truth",
                    f"another truth for {name}",
                    "run the same case everywhere",
                )
            )
    output = tr(first.provenance.output)
    if any(e.nothing() for e in runs.values()):
        return framed(tr(NOTHING, output=output), runs, tr(STATISTIC))
    moving = {name: windows(e) for name, e in runs.items()}
    axis = ordinal_axis(
        np.concatenate([at for w in moving.values() for at in (w.start, w.end)]), first.format
    )
    low, peak, high = limits(*(e.ulps for e in runs.values()))
    labels = {name: _label(name, e) for name, e in runs.items()}
    marks = []
    for kind, (name, w) in enumerate(moving.items()):
        x, median = w.curve(np.clip(w.median, low, high), axis)
        _, most = w.curve(np.clip(w.maximum, low, peak), axis)
        marks += [Line(x, median, kind, labels[name], 2.6), Line(x, most, kind, "", 1.2)]
    for kind, e in enumerate(runs.values()):
        if e.placed[e.worst]:
            marks.append(
                Dots(
                    axis.x(e.place[[e.worst]]), np.clip(e.ulps[[e.worst]], low, peak), kind, "", 5.0
                )
            )
    worst = max(runs, key=lambda name: runs[name].ulps.max())
    e = runs[worst]
    marks += [half(), *named(e, e.worst, e.peak(), axis)]
    panel = Panel("runs", "", tuple(marks), *value_axes(axis, first.format, low, high), 20, TALL)
    count = max(w.size for w in moving.values())
    title = tr(
        "{output}: the largest error is {error} ulp, by {run}",
        output=output,
        error=number(e.ulps.max()),
        run=worst,
    )
    statistic = tr(
        "{statistic}; thick: median, thin: maximum of windows of {n} elements; n of each run",
        statistic=tr(STATISTIC),
        n=f"{count:,}",
    )
    return framed(title, runs, statistic, (panel,), _lines(runs, moving, labels))


def _label(name: str, e: Errors) -> str:
    missed = e.counts().get(VERDICTS[NOT_EXPLAINED])
    text = (
        message(
            "{run}: median {median} ulp, maximum {largest} ulp at {place}, {missed} not explained by rounding"
        )
        if missed
        else message("{run}: median {median} ulp, maximum {largest} ulp at {place}")
    )
    return tr(
        text,
        run=name,
        median=number(e.median),
        largest=number(e.ulps[e.worst]),
        place=list(e.index(e.worst)),
        missed=f"{missed or 0:,}",
    )


def _lines(runs, moving, labels) -> list[str]:
    lines = [
        tr(
            "{run}; inputs there: {inputs}",
            run=labels[name],
            inputs=e.beside(e.worst) or tr(NO_INPUTS),
        )
        for name, e in runs.items()
    ]
    first = next(iter(moving.values()))
    header = [
        tr("truth from"),
        tr("to"),
        *(
            tr("{name}: {what}", name=name, what=what)
            for name in runs
            for what in (tr("median"), tr("maximum"))
        ),
    ]
    rows = [
        [
            number(first.first[k]),
            number(first.last[k]),
            *(number(v[k]) for w in moving.values() for v in (w.median, w.maximum)),
        ]
        for k in range(first.count.size)
    ]
    return [*lines, *as_text(header, rows)]


def check_runs(runs: dict[str, Errors]) -> None:
    """Raise ValueError unless one to five runs share one format and one shape."""
    asked, fix = "runs are Errors by the name of their device", 'pass such as {"host": errors(...)}'
    for one in need(runs, Mapping, asked, fix).values():
        need(one, Errors, asked, fix)
    for name in runs:
        need(name, str, asked, fix)
    if not 1 <= len(runs) <= RUNS:
        raise ValueError(
            problem(f"one axis shows 1 to {RUNS} runs", str(len(runs)), "choose some of them")
        )
    kinds = {f"{e.format.name} {list(e.shape)}" for e in runs.values()}
    if len(kinds) > 1:
        raise ValueError(
            problem(
                "runs on one axis must share format and shape",
                " and ".join(sorted(kinds)),
                "compare outputs of the same case",
            )
        )
