"""Plot error against the size of the value: for one run a dot per element and the bounds of correct arithmetic, for several
runs their running medians and maxima on one axis.

The idea of dots with a running statistic is Herbie's (FPBench `odyssey`, ErrorPlot); envelopes and verdicts are this kit's.
"""

import numpy as np

from aclnn_viz.accuracy.envelopes import EXPLAINED, NOT_EXPLAINED, UNDECIDED, VERDICTS
from aclnn_viz.errors import by_name, invalid, need
from aclnn_viz.pictures.errors import NOTHING, STATISTIC, Errors, framed
from aclnn_viz.pictures.fonts import legible
from aclnn_viz.pictures.marks import Band, Dots, Line, Rule
from aclnn_viz.pictures.palette import RUNS
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.text import number
from aclnn_viz.words.messages import message, tr

FLOOR = 0.01  # errors below this number of ulps are drawn at it
DOTS = 4000  # most dots per kind: evenly chosen, and the largest error
WINDOWS, LEAST_ELEMENTS = 16, 8  # number of windows; fewest elements of a window
TALL = 330  # height of the plot in pixels
GREY = 4


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

    def marks(high, end):
        widths = (
            (e.bound, message("hard bound, the largest nearby")),
            (e.expected, message("expected, 6σ (inside)")),
        )
        bands = [
            Band(x, np.full(x.size, FLOOR / 1.6), top, GREY, tr(label))
            for values, label in widths
            if values is not None
            for x, top in [running(e, np.max, values, end)]
        ]
        return [
            *bands,
            *_dots(e, high),
            Line(*running(e, np.median, e.ulps, high), GREY, tr("running median"), 2.6),
        ]

    title = tr(
        "{output}: maximum {largest} ulp, median {median} ulp",
        output=tr(e.provenance.output),
        largest=number(e.ulps.max(initial=0.0)),
        median=number(e.median),
    )
    return _plotted(title + judged(e), {"": e}, marks)


@legible
def error_runs(runs: dict[str, Errors]) -> Picture:
    """Return the picture of one to five runs of the same case, by the name of the plan or device.

    Raise ValueError for another number of runs, and for runs whose formats or truths differ.

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
            raise invalid(
                "runs on one axis must share one truth",
                f"another truth for {name}",
                "run the same case everywhere",
            )

    def marks(high, end):
        return [
            Line(
                *running(e, statistic, e.ulps, high),
                kind,
                tr("{name}: {what}", name=name, what=tr(what)),
                width,
            )
            for kind, (name, e) in enumerate(runs.items())
            for statistic, what, width in (
                (np.median, message("median"), 2.6),
                (np.max, message("maximum"), 1.2),
            )
        ]

    worst = max(runs, key=lambda name: runs[name].ulps.max(initial=0.0))
    title = tr(
        "{output}: the largest error is {error} ulp, by {run}",
        output=tr(first.provenance.output),
        error=number(runs[worst].ulps.max(initial=0.0)),
        run=worst,
    )
    return _plotted(
        title,
        {worst: runs[worst]} | runs,
        marks,
        [_label(name, e) for name, e in runs.items() if e.size],
    )


def check_runs(runs) -> None:
    """Raise ValueError for too few or too many runs, and for formats or shapes that differ."""
    fix = 'pass such as {"host": errors(...)}'
    if not 1 <= len(by_name("runs", runs, fix)) <= RUNS:
        raise invalid(f"one picture holds 1 to {RUNS} runs", f"{len(runs)}", fix)
    for e in runs.values():
        need(e, Errors, "each run is Errors", fix)
    alike = {f"{e.format.name} {list(e.shape)}" for e in runs.values()}
    if len(alike) > 1:
        raise invalid(
            "runs of one picture must have one format and shape",
            " and ".join(sorted(alike)),
            "compare the same output",
        )


def _plotted(title: str, runs: dict[str, Errors], marks, said=()) -> Picture:
    """Return the picture of the marks that `marks(high, end)` makes, with the largest error of the first run by name."""
    e, statistic = next(iter(runs.values())), tr(STATISTIC)
    if any(e.nothing() for e in runs.values()):
        return framed(tr(NOTHING, output=tr(e.provenance.output)), runs, statistic)
    tops = [values for e in runs.values() for values in (e.ulps, e.expected) if values is not None]
    top = min(max(v.max(where=np.isfinite(v), initial=1.0) for v in tops), 1e200)
    # infinite errors are drawn above the finite ones, below the name of the largest
    high, end = (top * (top / FLOOR) ** share for share in (0.06, 0.26))
    named = (
        [Rule("x", float(e.size_of_truth[e.worst]), e.peak(), GREY)] if e.placed[e.worst] else []
    )
    half = Rule("y", 0.5, tr("½ ulp"), GREY)
    size = Axis(tr("|truth|"), scale="log")
    error = Axis(
        tr("error in ulp ({least}: that or less)", least=f"{FLOOR:g}"), FLOOR / 1.6, end, "log"
    )
    panel = Panel("errors", "", (*marks(high, end), half, *named), size, error, 20, TALL)
    largest = tr(
        "maximum {error} ulp at {place}: output {output}, truth {truth}",
        error=number(e.ulps[e.worst]),
        place=e.where(e.worst),
        output=number(e.actual[e.worst]),
        truth=number(e.truth[e.worst]),
    )
    return framed(title, runs, statistic, (panel,), (largest, *said))


def running(e: Errors, statistic, values, high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return places and heights, as steps, of a statistic of finite elements in windows by the size of the truth."""
    count = min(WINDOWS, max(1, e.order.size // LEAST_ELEMENTS))
    parts = np.array_split(e.order, count)
    x = e.size_of_truth[[part[k] for part in parts for k in (0, -1)]]
    heights = np.repeat([statistic(np.nan_to_num(values[part], nan=np.inf)) for part in parts], 2)
    return x, np.clip(heights, FLOOR, high)


def _dots(e: Errors, high: float) -> list[Dots]:
    """Return a dot per element whose truth is a number, by verdict; of many elements an even selection, and the largest."""
    beyond = np.isinf(e.ulps)
    groups = [(beyond, 2, message("infinite error"), 4.5)]
    if e.verdict is None:
        groups.append((~beyond, 0, message("one element"), 2.0))
    else:
        groups += [
            (~beyond & (e.verdict == verdict), kind, name, size)
            for verdict, kind, name, size in (
                (EXPLAINED, 0, message("explained"), 2.0),
                (UNDECIDED, 3, message("undecided"), 3.5),
                (NOT_EXPLAINED, 1, message("not explained"), 3.5),
            )
        ]
    made = []
    for there, kind, name, size in reversed(groups):
        at = np.flatnonzero(there & e.placed)
        some = {*at[:: -(-at.size // DOTS) or 1], *at[at == e.worst]}
        shown = np.array(sorted(some), np.intp)
        y = np.clip(e.ulps[shown], FLOOR, high)
        made += [Dots(e.size_of_truth[shown], y, kind, tr(name), size)] if some else []
    return made


def _label(name: str, e: Errors) -> str:
    text = tr(
        "{run}: median {median} ulp, maximum {largest} ulp at {place}",
        run=name,
        median=number(e.median),
        largest=number(e.ulps[e.worst]),
        place=list(e.index(e.worst)),
    )
    return text + judged(e)


def judged(errors: Errors) -> str:
    """Return the counts of verdicts as text for the end of a title; empty without an envelope."""
    counts = errors.counts()
    if not counts:
        return ""
    missed, undecided = (counts[VERDICTS[kind]] for kind in (NOT_EXPLAINED, UNDECIDED))
    if not missed and not undecided:
        return tr("; all explained by rounding")
    return tr(
        "; {missed} of {all} not explained by rounding, {undecided} undecided",
        missed=f"{missed:,}",
        all=f"{errors.size:,}",
        undecided=f"{undecided:,}",
    )
