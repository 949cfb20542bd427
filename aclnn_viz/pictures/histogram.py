"""The ulp histogram: how many elements lie how many numbers of the format below or above the rounded truth."""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.pictures import style
from aclnn_viz.pictures.error_runs import check_runs
from aclnn_viz.pictures.errors import Errors
from aclnn_viz.pictures.provenance import caption, warning
from aclnn_viz.tables import as_text

CLASSES = ("< −3", "−3", "−2", "−1", "exact", "+1", "+2", "+3", "> +3", "nan")
EXACT = CLASSES.index("exact")
STRIP, HEADER = 0.95, 0.36  # inches of the strip of one run among several, and of its name above it


@dataclass(frozen=True, eq=False)
class UlpHistogram(style.Picture):
    """What the histogram shows: of each run the count of elements in each of CLASSES."""

    runs: dict[str, Errors]
    nothing: str
    counts: dict[str, np.ndarray]

    @property
    def height(self) -> float:
        strips = len(self.counts) * (STRIP + HEADER) - HEADER if len(self.counts) > 1 else 2.7
        return self.head + strips + self.foot

    @property
    def room(self) -> float:
        return HEADER if len(self.counts) > 1 else 0.1

    @property
    def size(self) -> int:
        return next(iter(self.runs.values())).size

    @property
    def title(self) -> str:
        output = next(iter(self.runs.values())).provenance.output
        if self.nothing:
            return f"{output}: no ulps to count"
        if len(self.counts) == 1:
            return f"{output}: {self._summary(*self.counts.values())}"
        least, most = (choose(self.counts, key=lambda name: self.counts[name][EXACT]) for choose in (min, max))
        return (f"{output}: {_percent(self.counts[least][EXACT], self.size)} ({least}) to "
                f"{_percent(self.counts[most][EXACT], self.size)} ({most}) correctly rounded")

    def _summary(self, counts: np.ndarray) -> str:
        low, high, nans = counts[:EXACT].sum(), counts[EXACT + 1:-1].sum(), counts[-1]
        return (f"{_percent(counts[EXACT], self.size)} correctly rounded, {low:,} too low, {high:,} too high"
                + (f", {nans:,} nan on one side" if nans else ""))

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
        """One strip a run, on one scale: counts stay legible, and no legend stands between a bar and its name."""
        alone = len(self.counts) == 1
        strips = drawn.subplots(len(self.counts), sharex=True, sharey=True, squeeze=False,
                                gridspec_kw={"hspace": HEADER / STRIP})[:, 0]
        for k, (axes, (name, counts)) in enumerate(zip(strips, self.counts.items())):
            full = np.flatnonzero(counts)
            axes.bar(full, counts[full] - 0.5, 0.79, bottom=0.5, color=style.SERIES[k][look.index], linewidth=0)
            for x, count in enumerate(counts):
                label = f"{count:,}" + (f"\n{_percent(count, self.size)}" if count and alone else "")
                axes.annotate(label, (x, max(count, 0.5)), (0, 2), textcoords="offset points", ha="center", va="bottom",
                              linespacing=1.1, fontsize=8.5, color=look.ink if count else look.quiet)
            if not alone:
                axes.set_title(f"{name}: {self._summary(counts)}", loc="left", fontsize=9.5, pad=4)
            axes.grid(axis="y", linewidth=0.7)
            axes.tick_params(axis="x", length=0)
            axes.set_ylabel("elements", fontsize=9)
        self._scale(strips[-1], 1.2 if alone else 1.35)

    def _scale(self, axes, room: float) -> None:
        """The scales of all strips, with `room` for a count above the highest bar as a multiple of that bar."""
        from matplotlib.ticker import NullLocator
        most = max(counts.max() for counts in self.counts.values())
        axes.set_yscale("log")
        axes.set_ylim(0.5, 0.5 * (2.0 * most) ** room)
        axes.yaxis.set_minor_locator(NullLocator())
        highest = int(np.log10(most))
        decades = range(0, highest + 1, 1 if len(self.counts) == 1 or highest < 3 else 2 if highest < 6 else 3)
        axes.set_yticks([10.0**k for k in decades], [f"{10**k:,}" if k < 6 else style.power_of_ten(k) for k in decades])
        axes.set_xticks(range(len(CLASSES)), CLASSES)
        axes.set_xlim(-0.6, len(CLASSES) - 0.4)
        axes.set_xlabel("ulps from the rounded truth", fontsize=9)


def ulp_histogram(runs: dict[str, Errors]) -> UlpHistogram:
    """Return the histogram of one to five runs, by the name of the plan or device.

    Raises ValueError for another number of runs, and for runs whose formats or shapes differ.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
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
