"""The error of images, pixel by pixel, beside the size of the truth there."""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.accuracy.envelopes import NOT_EXPLAINED, UNDECIDED
from aclnn_viz.errors import problem
from aclnn_viz.pictures import style
from aclnn_viz.pictures.error_plot import FLOOR, judged
from aclnn_viz.pictures.errors import Errors
from aclnn_viz.pictures.palette import MAPS
from aclnn_viz.pictures.provenance import caption, warning
from aclnn_viz.pictures.text import number

LISTED = 10
LARGEST = 1e300  # a scale of colours that ended at the largest float64 would overflow


@dataclass(frozen=True, eq=False)
class ErrorMap(style.Picture):
    """What the map shows, all (H, W): `ulps` and `magnitude` are maxima over samples and channels.

    `missed` and `undecided` count the elements of a pixel with these verdicts. `worst` is the pixel of the maximum.
    """

    errors: Errors
    nothing: str
    ulps: np.ndarray | None = None
    magnitude: np.ndarray | None = None
    missed: np.ndarray | None = None
    undecided: np.ndarray | None = None
    worst: tuple[int, int] | None = None

    height = 4.8
    room = 0.4

    @property
    def title(self) -> str:
        e = self.errors
        if self.nothing:
            return f"{e.provenance.output}: no error to show"
        return f"{e.provenance.output}: maximum {number(e.ulps[e.worst])} ulp at {list(e.index(e.worst))}" + judged(e)

    @property
    def caption(self) -> str:
        e = self.errors
        return caption("|output − truth| in ulps of the truth; of each pixel the maximum over samples and channels",
                       e.format.name, e.shape, e.size, [e.provenance])

    @property
    def warning(self) -> str:
        return warning({"": self.errors.provenance})

    @property
    def text(self) -> str:
        if self.nothing:
            return style.framed(self.title, [self.nothing], self.warning, self.caption)
        exact, height, width = int((self.ulps == 0).sum()), *self.ulps.shape
        lines = [f"{height} x {width} pixels, {exact} of them without error, {int((self.missed > 0).sum())} with an "
                 f"element not explained, {int((self.undecided > 0).sum())} with one undecided",
                 f"largest errors of {min(LISTED, self.ulps.size)} pixels:"]
        for flat in np.argsort(-self.ulps, axis=None, kind="stable")[:LISTED]:
            row, column = np.unravel_index(flat, self.ulps.shape)
            lines.append(f"  row {row}, column {column}: {number(self.ulps[row, column])} ulp, largest |truth| "
                         f"{number(self.magnitude[row, column])}")
        return style.framed(self.title, lines, self.warning, self.caption)

    def _draw(self, drawn, look):
        from matplotlib.colors import ListedColormap, LogNorm
        colours = ListedColormap(MAPS["sequential"] / 255.0)
        finite = self.ulps[np.isfinite(self.ulps) & (self.ulps > 0)]
        high = max(float(finite.max(initial=1.0)), 1.0)
        low = max(FLOOR, min(float(finite.min(initial=1.0)), high / 10))
        drawn.subplots_adjust(left=0.06, right=0.92, wspace=0.28, bottom=(self.foot + 0.2) / self.height)
        left, right = drawn.subplots(1, 2)
        shown = np.where(np.isfinite(self.magnitude), np.minimum(self.magnitude, LARGEST), np.nan)
        sizes = left.imshow(shown, cmap=ListedColormap(MAPS["grey"] / 255.0), interpolation="nearest", vmin=0.0)
        clipped = np.clip(self.ulps, low, high)
        clipped[self.ulps == 0] = np.nan
        right.set_facecolor(look.band)
        ulps = right.imshow(clipped, cmap=colours, norm=LogNorm(low, high), interpolation="nearest")
        for axes, image, title in ((left, sizes, "largest |truth|"), (right, ulps, "largest error in ulp")):
            bar = drawn.colorbar(image, cax=axes.inset_axes((1.03, 0, 0.045, 1)))
            bar.outline.set_visible(False)
            axes.set_title(title, fontsize=10, loc="left")
            axes.spines[["top", "right"]].set_visible(True)
        decades = np.arange(np.ceil(np.log10(low)), np.floor(np.log10(high)) + 1)[::1 + int(high / low > 1e7)]
        bar.set_ticks(10.0**decades, labels=[style.power_of_ten(int(k)) for k in decades])
        bar.minorticks_off()
        side = 200.0 / max(self.ulps.shape)
        for where, marker, label in ((self.missed > 0, "x", "not explained"),
                                     (self.undecided > 0, "D", "undecided"),
                                     (np.isinf(self.ulps), "^", "infinite error")):
            rows, columns = np.nonzero(where)
            if rows.size:
                for width, ink in ((2.6, "#000000"), (1.2, "#ffffff")):  # seen on every colour of the map
                    right.plot(columns, rows, marker, markersize=float(np.clip(side, 3, 8)), markeredgewidth=width,
                               markerfacecolor="none", color=ink, label=label if width == 1.2 else None)
        row, column = self.worst
        for width, ink in ((4.0, "#000000"), (2.0, "#ffffff")):
            right.plot(column, row, "o", markersize=13, markerfacecolor="none", markeredgecolor=ink, clip_on=False,
                       markeredgewidth=width, label="maximum" if width == 2.0 else None)
        below = (self.foot - 0.4) / self.height
        key = drawn.legend(*right.get_legend_handles_labels(), loc="lower left", bbox_to_anchor=(0.54, below), ncols=4,
                           fontsize=9, handletextpad=0.3, columnspacing=1.2, borderaxespad=0.0, borderpad=0.0)
        for handle in key.legend_handles:
            handle.set_markeredgecolor(look.ink)
        if (self.ulps == 0).any():
            drawn.text(0.06, below, "pixels without any error are left blank", fontsize=9)


def error_map(errors: Errors) -> ErrorMap:
    """Return the map of the errors of an output of shape (..., H, W), such as inputGrad.

    Raises ValueError for an output with less than two axes.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
    >>> e = errors(np.float16([[1, 2]]), np.array([[1, 2.001]]), Provenance("out", "host"))
    >>> error_map(e).worst
    (0, 1)
    """
    if len(errors.shape) < 2:
        raise ValueError(problem("a map needs an output of shape (..., H, W)", str(errors.shape),
                                 "show another output, or its error against value"))
    if nothing := errors.nothing():
        return ErrorMap(errors, nothing)
    images = (-1, *errors.shape[-2:])
    verdict = np.zeros(errors.size, int) if errors.verdict is None else errors.verdict
    return ErrorMap(errors, "", errors.ulps.reshape(images).max(0), np.abs(errors.truth).reshape(images).max(0),
                    (verdict == NOT_EXPLAINED).reshape(images).sum(0), (verdict == UNDECIDED).reshape(images).sum(0),
                    errors.index(errors.worst)[-2:])
