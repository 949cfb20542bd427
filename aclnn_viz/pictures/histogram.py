"""Draw the ulp histogram: the number of elements by their steps below or above the rounded exact value."""

import numpy as np

from aclnn_viz.pictures.error_plot import check_runs
from aclnn_viz.pictures.errors import Errors, framed
from aclnn_viz.pictures.fonts import legible
from aclnn_viz.pictures.marks import Bars, Note
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.words.messages import message, said, tr

CLASSES = ("< −3", "−3", "−2", "−1", message("exact"), "+1", "+2", "+3", "> +3", "nan")
EXACT = CLASSES.index("exact")
STEPS = message(
    "Steps of the format from the rounded truth to the output; nan where only one of the two is nan"
)
STRIP = 180  # height of a run's panel, in pixels


@legible
def ulp_histogram(runs: dict[str, Errors]) -> Picture:
    """Return the histogram of one to five runs, by the name of the plan or device, as strips on one scale.

    Raise ValueError for another number of runs, and for runs whose formats or shapes differ.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
    >>> e = errors(np.float16([1, 2]), np.array([1, 2.001]), Provenance("out", "host"))
    >>> ulp_histogram({"host": e}).title
    'out: 50 % correctly rounded, 1 too low, 0 too high'
    """
    check_runs(runs)
    first = next(iter(runs.values()))
    output = tr(first.provenance.output)
    counts = {name: classes(e.steps) for name, e in runs.items()}
    if any(e.nothing() for e in runs.values()):
        return framed(tr("{output}: no ulps to count", output=output), runs, tr(STEPS))
    most, alone = max(each.max() for each in counts.values()), len(runs) == 1
    panels = tuple(
        strip("" if alone else said(name), each, most, k)
        for k, (name, each) in enumerate(counts.items())
    )
    title = tr("{title}: {texts}", title=output, texts=summary(sum(counts.values())))
    return framed(title, runs, tr(STEPS), panels)


def classes(steps: np.ndarray) -> np.ndarray:
    """Count signed steps in each of CLASSES.

    >>> classes(np.array([-9.0, 0.0, 0.0, 1.0, np.inf])).tolist()
    [1, 0, 0, 0, 2, 1, 0, 0, 0, 1]
    """
    finite = np.isfinite(steps)
    counts = np.bincount(np.clip(steps[finite], -4, 4).astype(np.intp) + 4, minlength=9)
    return np.append(counts, np.count_nonzero(~finite))


def strip(name: str, counts: np.ndarray, most: int, kind: int) -> Panel:
    """Return the panel of one run. Its y axis is logarithmic and starts at half an element, so that one element is
    visible beside 10^6.
    """
    notes = [
        Note(float(x), 1.5 * max(count, 0.5), f"{count:,}")
        for x, count in enumerate(counts.tolist())
    ]
    bars = Bars(np.arange(float(len(CLASSES))), np.where(counts, counts, np.nan), kind)
    names = tuple(enumerate(map(tr, CLASSES)))
    return Panel(
        f"ulps {kind}",
        tr("{title}: {texts}", title=name, texts=summary(counts)) if name else "",
        (bars, *notes),
        Axis(tr("ulps from the rounded truth"), -0.6, len(CLASSES) - 0.4, ticks=names),
        Axis(tr("elements"), 0.5, 4.0 * most, "log"),
        20,
        STRIP,
    )


def summary(counts: np.ndarray) -> str:
    """Return how many elements are correctly rounded, too low and too high."""
    low, high, nans = counts[:EXACT].sum(), counts[EXACT + 1 : -1].sum(), counts[-1]
    text = (
        message("{share} correctly rounded, {low} too low, {high} too high, {nans} nan on one side")
        if nans
        else message("{share} correctly rounded, {low} too low, {high} too high")
    )
    return tr(
        text,
        share=_percent(counts[EXACT], counts.sum()),
        low=f"{low:,}",
        high=f"{high:,}",
        nans=f"{nans:,}",
    )


def _percent(count: int, size: int) -> str:
    share = 100 * count / size
    return tr("{share} %", share=f"{share:.3g}" if share < 99.95 or count == size else "> 99.9")
