"""The ulp histogram: how many elements lie how many numbers of the format below or above the rounded truth."""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.figures import style
from aclnn_viz.figures.error_runs import check_runs
from aclnn_viz.figures.errors import Errors
from aclnn_viz.figures.provenance import caption, warning
from aclnn_viz.figures.table import as_text

CLASSES = ("< −3", "−3", "−2", "−1", "exact", "+1", "+2", "+3", "> +3", "nan")


@dataclass(frozen=True, eq=False)
class UlpHistogram(style.Picture):
    """What the histogram shows: of each run the count of elements in each of CLASSES."""

    runs: dict[str, Errors]
    nothing: str
    counts: dict[str, np.ndarray]

    height = 4.5

    @property
    def size(self) -> int:
        return next(iter(self.runs.values())).size

    @property
    def room(self) -> float:
        return 0.3 if len(self.runs) > 1 else 0.1

    @property
    def title(self) -> str:
        output = next(iter(self.runs.values())).provenance.output
        if self.nothing:
            return f"{output}: no ulps to count"
        if len(self.runs) > 1:
            shares = (f"{_percent(counts[4], self.size)} by {name}" for name, counts in self.counts.items())
            return f"{output}: correctly rounded {', '.join(shares)}"
        counts = next(iter(self.counts.values()))
        return (f"{output}: {_percent(counts[4], self.size)} correctly rounded, {counts[:4].sum():,} too low, "
                f"{counts[5:9].sum():,} too high" + (f", {counts[9]:,} nan on one side" if counts[9] else ""))

    @property
    def caption(self) -> str:
        e = next(iter(self.runs.values()))
        statistic = "Steps of the format from the rounded truth to the output; nan: only one of the two is"
        return caption(statistic + ("; n of each run" if len(self.runs) > 1 else ""), e.format.name, e.shape, e.size,
                       [run.provenance for run in self.runs.values()])

    @property
    def warning(self) -> str:
        return warning({name: e.provenance for name, e in self.runs.items()})

    @property
    def text(self) -> str:
        if self.nothing:
            return style.framed(self.title, [self.nothing], self.warning, self.caption)
        rows = [[name, *(f"{count:,}" for count in counts)] for name, counts in self.counts.items()]
        return style.framed(self.title, as_text(["ulps", *CLASSES], rows), self.warning, self.caption)

    def _draw(self, drawn, look):
        from matplotlib.ticker import NullLocator
        axes = drawn.subplots()
        wide = 0.84 / len(self.runs)
        for k, (name, counts) in enumerate(self.counts.items()):
            at = np.arange(len(CLASSES)) + (k - (len(self.runs) - 1) / 2) * wide
            full = counts > 0
            axes.bar(at[full], counts[full] - 0.5, 0.94 * wide, bottom=0.5, color=style.SERIES[k][look.index],
                     hatch=style.SERIES[k][4], linewidth=0, label=name)
            for x, count in zip(at, counts):
                label = f"{count:,}" + (f"\n{_percent(count, self.size)}" if count and len(self.runs) == 1 else "")
                axes.text(x, max(count, 0.5) * 1.15, label, ha="center", va="bottom", linespacing=1.1, fontsize=8.5,
                          rotation=90 if len(self.runs) > 2 else 0, color=look.ink if count else look.quiet)
        axes.set_yscale("log")
        axes.set_ylim(0.5, max(c.max() for c in self.counts.values()) * 8)
        axes.yaxis.set_minor_locator(NullLocator())
        decades = range(int(np.log10(axes.get_ylim()[1])) + 1)
        axes.set_yticks([10.0**k for k in decades], [f"{10**k:,}" if k < 6 else style.power_of_ten(k) for k in decades])
        axes.grid(axis="y", linewidth=0.7)
        axes.set_xticks(range(len(CLASSES)), CLASSES)
        axes.set_xlim(-0.6, len(CLASSES) - 0.4)
        axes.tick_params(axis="x", length=0)
        axes.set_xlabel("ulps from the rounded truth", fontsize=9)
        axes.set_ylabel("elements", fontsize=9)
        if len(self.runs) > 1:
            style.legend(axes)


def ulp_histogram(runs: dict[str, Errors]) -> UlpHistogram:
    """Return the histogram of one to five runs, by the name of the plan or device.

    Raises ValueError for another number of runs, and for runs whose formats or shapes differ.

    >>> from aclnn_viz.figures.errors import errors
    >>> from aclnn_viz.figures.provenance import Provenance
    >>> e = errors(np.float16([1, 2]), np.array([1, 2.001]), Provenance("out", "host"))
    >>> ulp_histogram({"host": e}).title
    'out: 50 % correctly rounded, 1 too low, 0 too high'
    """
    check_runs(runs)
    nothing = next(filter(None, (e.nothing() for e in runs.values())), "")
    return UlpHistogram(runs, nothing, {name: classes(e.steps) for name, e in runs.items()})


def classes(steps: np.ndarray) -> np.ndarray:
    """Count signed steps in each of CLASSES.

    >>> classes(np.array([-9.0, 0.0, 0.0, 1.0, np.inf])).tolist()
    [1, 0, 0, 0, 2, 1, 0, 0, 0, 1]
    """
    finite = np.isfinite(steps)
    counts = np.bincount(np.clip(steps[finite], -4, 4).astype(np.intp) + 4, minlength=9)
    return np.append(counts, np.count_nonzero(~finite))


def _percent(count: int, size: int) -> str:
    share = 100 * count / size
    return f"{share:.3g} %" if share < 99.95 or count == size else "> 99.9 %"
