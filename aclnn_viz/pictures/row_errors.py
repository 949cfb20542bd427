"""The error of each row that a norm normalises: ulps of its elements, and the whole row in the 2-norm."""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.accuracy.envelopes import NOT_EXPLAINED, UNDECIDED
from aclnn_viz.errors import problem
from aclnn_viz.pictures import style
from aclnn_viz.pictures.error_plot import FLOOR, judged, limits
from aclnn_viz.pictures.errors import Errors
from aclnn_viz.pictures.provenance import caption, warning
from aclnn_viz.pictures.table import as_text
from aclnn_viz.pictures.text import number

LISTED = 12


@dataclass(frozen=True, eq=False)
class RowErrors(style.Picture):
    """What the picture shows, per row: `median` and `maximum` in ulps, the largest `bound`, and `relative`.

    `missed` and `undecided` count the elements of a row with these verdicts (0 without an envelope).
    `relative` is |output − truth| / |truth| of the row in the 2-norm, in unit roundoffs of the format; infinite where
    only the truth is zero or a number is not finite, 0 where there is no error. `shape` holds the axes that count rows.
    """

    errors: Errors
    nothing: str
    shape: tuple[int, ...]
    median: np.ndarray | None = None
    maximum: np.ndarray | None = None
    bound: np.ndarray | None = None
    relative: np.ndarray | None = None
    missed: np.ndarray | None = None
    undecided: np.ndarray | None = None

    height = 5.8

    @property
    def worst(self) -> int:
        return int(self.maximum.argmax())

    def _row(self, flat: int) -> str:
        return str([int(k) for k in np.unravel_index(flat, self.shape)])

    @property
    def title(self) -> str:
        e = self.errors
        if self.nothing:
            return f"{e.provenance.output}: no error to show"
        return (f"{e.provenance.output}: row {self._row(self.worst)} has the maximum, "
                f"{number(self.maximum[self.worst])} ulp" + judged(e))

    @property
    def caption(self) -> str:
        e = self.errors
        statistic = "Median and maximum of |output − truth| in ulps of the truth"
        if not self.nothing:
            statistic += f", and 2-norm of the error over that of the truth in unit roundoffs u, of each of "
            statistic += f"{self.maximum.size:,} rows of {e.size // self.maximum.size:,} elements"
            statistic += " (triangles below: infinite)" if np.isinf(self.relative).any() else ""
        return caption(statistic, e.format.name, e.shape, e.size, [e.provenance])

    @property
    def warning(self) -> str:
        return warning({"": self.errors.provenance})

    @property
    def text(self) -> str:
        if self.nothing:
            return style.framed(self.title, [self.nothing], self.warning, self.caption)
        columns = [self.median, self.maximum, self.relative]
        columns += [] if self.bound is None else [self.bound, self.missed, self.undecided]
        header = ["row", "median ulp", "maximum ulp", "2-norm in u", "largest bound", "not explained",
                  "undecided"][:1 + len(columns)]
        order = np.argsort(-self.maximum, kind="stable")[:LISTED]
        rows = [[self._row(k), *(number(column[k]) for column in columns)] for k in order]
        e = self.errors
        return style.framed(self.title, [
            f"maximum at {e.where(e.worst)}; over the rows: median of medians {number(np.median(self.median))} ulp, "
            f"2-norm from {number(self.relative.min())} to {number(self.relative.max())} u",
            f"the {len(rows)} rows with the largest maxima:", *as_text(header, rows)], self.warning, self.caption)

    def _draw(self, drawn, look):
        upper, lower = drawn.subplots(2, 1, sharex=True, height_ratios=[2.2, 1], gridspec_kw={"hspace": 0.12})
        at, blue = np.arange(self.maximum.size), style.SERIES[0][look.index]
        size = float(np.clip(400 / at.size, 2, 7))
        low, peak, high = limits(self.maximum, self.bound)
        style.ulp_axis(upper, look, low / 1.6, high)
        maximum, median = (np.clip(v, low, peak) for v in (self.maximum, self.median))
        if self.bound is not None:
            upper.stairs(np.clip(np.nan_to_num(self.bound, nan=np.inf), low, high), np.arange(at.size + 1) - 0.5,
                         baseline=low / 1.6, fill=True, color=look.band)
            upper.stairs(np.clip(np.nan_to_num(self.bound, nan=np.inf), low, high), np.arange(at.size + 1) - 0.5,
                         baseline=None, color=look.quiet, linewidth=1.0, label="largest hard bound")
        upper.vlines(at, median, maximum, color=blue, linewidth=0.8, alpha=0.6)
        upper.plot(at, maximum, "^", color=blue, markersize=size, label="maximum")
        upper.plot(at, median, "o", color=look.ink, markersize=0.8 * size, label="median")
        upper.set_ylabel(f"row's errors in ulp (at {FLOOR:g}: or less)", fontsize=9)
        upper.tick_params(axis="x", length=0)
        for count, mark, colour, label in ((self.undecided, "D", look.open, "undecided in it"),
                                           (self.missed, "x", look.alarm, "not explained in it")):
            if count.any():
                upper.plot(at[count > 0], maximum[count > 0], mark, color=colour, markerfacecolor="none",
                           markersize=size + 4, markeredgewidth=1.6, label=label)
        e = self.errors
        style.mark_maximum(upper, look, self.worst, float(maximum[self.worst]),
                           f"max {number(self.maximum[self.worst])} ulp at {e.where(e.worst)}")
        style.legend(upper)
        finite = self.relative[np.isfinite(self.relative)]
        top = 1.15 * float(finite.max(initial=0.0)) or 1.0
        lower.plot(at, self.relative, "s", color=blue, markersize=0.8 * size)
        infinite = at[np.isinf(self.relative)]
        lower.plot(infinite, np.full(infinite.shape, 0.92 * top), "^", color=look.alarm, markersize=size)
        lower.set_ylim(0, top)
        lower.grid(axis="y", linewidth=0.7)
        lower.set_ylabel("2-norm in u", fontsize=9)
        from matplotlib.ticker import MaxNLocator
        lower.yaxis.set_major_locator(MaxNLocator(4))
        lower.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        lower.set_xlabel("row", fontsize=9)
        drawn.align_ylabels()


def row_errors(errors: Errors, axes: int) -> RowErrors:
    """Return the errors by row; the first `axes` axes of the output count the rows (1 for dxOut of shape (rows, n)).

    For a group norm, take errors of the output in the shape (N, groups, ...) and two axes. Raises ValueError for a
    number of axes that leaves no row.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
    >>> e = errors(np.float16([[1, 2]]), np.array([[1, 2.001]]), Provenance("out", "host"))
    >>> row_errors(e, 1).maximum.round(3)
    array([0.512])
    """
    if not 1 <= axes < len(errors.shape):
        raise ValueError(problem(f"axes must be from 1 to {len(errors.shape) - 1} for the shape {errors.shape}",
                                 str(axes), "count the axes in front of a row"))
    if nothing := errors.nothing():
        return RowErrors(errors, nothing, errors.shape[:axes])
    rows = int(np.prod(errors.shape[:axes]))
    ulps = errors.ulps.reshape(rows, -1)
    with np.errstate(all="ignore"):  # rows may hold infinities, or nothing but zeros
        wrong = np.where(errors.ulps == 0, 0.0, errors.actual - errors.truth).reshape(rows, -1)
        error, size = np.linalg.norm(wrong, axis=1), np.linalg.norm(errors.truth.reshape(rows, -1), axis=1)
        relative = np.where(error == 0, 0.0, np.nan_to_num(error / size, nan=np.inf) / errors.format.unit_roundoff)
    bound = None if errors.bound is None else errors.bound.reshape(rows, -1).max(1)
    verdict = np.zeros(errors.size, int) if errors.verdict is None else errors.verdict
    counts = [(verdict == kind).reshape(rows, -1).sum(1) for kind in (NOT_EXPLAINED, UNDECIDED)]
    return RowErrors(errors, "", errors.shape[:axes], np.median(ulps, axis=1), ulps.max(1), bound, relative, *counts)
