"""One look for all pictures of numeric error: two themes, header and caption, drawn without pyplot.

A picture holds the data that it shows. `figure(theme)` draws it, `text` says the same in words and numbers; in a
notebook the last expression of a cell displays the first and reads as the second.
"""

import io
import textwrap
from dataclasses import dataclass

import numpy as np

from aclnn_viz.errors import problem
from aclnn_viz.pictures.palette import KINDS

WIDTH, DPI = 9.0, 100  # inches; 900 pixels
SIDE, RIGHT = 0.85, 0.2  # margins in inches

# (light, dark, dash of the line, marker, hatch) of the runs on one axis: no two share shape, dash or hatch.
SERIES = (*(kind[1:] + (hatch,) for kind, hatch in zip(KINDS, ("", "///", "..."))),
          ("#8b3a8b", "#d58fd5", (1.0, 1.0), "D", "xx"),
          ("#5a5a5a", "#b8b8b8", (7.0, 2.0, 1.0, 2.0), "v", "\\\\\\"))


@dataclass(frozen=True)
class Theme:
    """The colours of one theme; `index` is its column in SERIES."""

    index: int
    paper: str
    ink: str
    quiet: str
    grid: str
    band: str
    inner: str
    alarm: str
    open: str
    accent: str

    def rc(self) -> dict:
        """Matplotlib's settings, with the font pinned so that a picture is the same on every machine."""
        return {"font.family": "DejaVu Sans", "font.size": 10, "text.color": self.ink, "axes.edgecolor": self.quiet,
                "axes.labelcolor": self.ink, "axes.facecolor": self.paper, "figure.facecolor": self.paper,
                "xtick.color": self.quiet, "ytick.color": self.quiet, "xtick.labelcolor": self.ink,
                "ytick.labelcolor": self.ink, "grid.color": self.grid, "axes.grid": False, "hatch.color": self.paper,
                "hatch.linewidth": 1.0, "axes.spines.top": False, "axes.spines.right": False,
                "legend.frameon": False, "axes.axisbelow": True, "axes.unicode_minus": True}

    def series(self, k: int) -> dict:
        """Colour, dash and marker of the k-th run, as Matplotlib's keywords for a line."""
        dash = SERIES[k][2]
        return {"color": SERIES[k][self.index], "linestyle": (0, dash) if dash else "-", "marker": SERIES[k][3]}


THEMES = {
    "light": Theme(0, "#ffffff", "#1b1b1b", "#5c5c5c", "#dcdcdc", "#ececec", "#d3dde6", "#c04f00", "#007d5a",
                   "#d81b60"),
    "dark": Theme(1, "#14171c", "#ececec", "#a9afb8", "#2f353d", "#23282f", "#2f4152", "#ff9f45", "#2fd0a0",
                  "#ff5c9d"),
}


class Picture:
    """A picture: subclasses give `title`, `caption`, `warning`, `nothing` and `text`, and draw in `_draw`."""

    height = 4.9  # inches
    room = 0.3  # inches for a legend above the axes

    def figure(self, theme: str = "light"):
        """Return the picture as a Matplotlib Figure, 900 pixels wide, in the theme "light" or "dark".

        Raises ValueError for another theme.
        """
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        if not isinstance(theme, str) or theme not in THEMES:
            raise ValueError(problem("theme must be light or dark", repr(theme), "choose one"))
        look = THEMES[theme]
        with rc_context(look.rc()):
            drawn = Figure(figsize=(WIDTH, self.height), dpi=DPI)
            drawn.subplots_adjust(left=SIDE / WIDTH, right=1 - RIGHT / WIDTH, top=1 - self.head / self.height,
                                  bottom=self.foot / self.height)
            drawn.text(0.15 / WIDTH, 1 - 0.12 / self.height, textwrap.fill(self.title, 82), va="top", fontsize=12,
                       fontweight="bold", linespacing=1.25)
            drawn.text(0.15 / WIDTH, 0.1 / self.height, textwrap.fill(self.caption, 152), va="bottom", fontsize=8,
                       color=look.quiet, linespacing=1.3)
            if self.warning:
                drawn.text(0.15 / WIDTH, 1 - (self.head - self.room - 0.12) / self.height,
                           textwrap.shorten(self.warning, 120), va="center", fontsize=8.5,
                           color=look.alarm, fontweight="bold",
                           bbox={"boxstyle": "round,pad=0.3", "facecolor": look.paper, "edgecolor": look.alarm,
                                 "linestyle": "--"})
            if self.nothing:
                drawn.text(0.5, 0.5, textwrap.fill(self.nothing, 70), ha="center", va="center", fontsize=13)
            else:
                self._draw(drawn, look)
        return drawn

    @property
    def head(self) -> float:
        """Inches above the axes: title, warning, and room for a legend."""
        return 0.16 + 0.22 * len(textwrap.wrap(self.title, 82)) + 0.3 * bool(self.warning) + self.room

    @property
    def foot(self) -> float:
        """Inches below the axes: tick labels, label, caption."""
        return 0.66 + 0.16 * len(textwrap.wrap(self.caption, 152))

    def png(self, theme: str = "light") -> bytes:
        held = io.BytesIO()
        self.figure(theme).savefig(held, format="png")
        return held.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"image/png": self.png(), "text/plain": self.text}

    def __str__(self) -> str:
        return self.text


def framed(title: str, lines, *pictures_end: str) -> str:
    """Join a title, the lines of a text twin and its closing lines (warning, caption), leaving out what is empty."""
    return "\n".join([title, *lines, *filter(None, pictures_end)])


def legend(axes, **more) -> None:
    """A legend in rows above the axes, from the left."""
    axes.legend(**{"loc": "lower left", "bbox_to_anchor": (-0.012, 0.995), "ncols": 5, "fontsize": 9,
                   "handletextpad": 0.5, "columnspacing": 1.3, "borderaxespad": 0.1} | more)


def ulp_axis(axes, look: Theme, low: float, high: float) -> None:
    """A logarithmic y axis of ulps between two limits, with decades as ticks and a line at half an ulp."""
    from matplotlib.ticker import NullLocator
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    decades = np.arange(np.ceil(np.log10(low)), np.floor(np.log10(high)) + 1)
    decades = decades[::max(1, -(-len(decades) // 8))]
    axes.set_yticks(10.0**decades, [power_of_ten(int(k)) for k in decades])
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", linewidth=0.7)
    axes.axhline(0.5, color=look.quiet, linewidth=0.8, linestyle=":")
    axes.text(1.0, 0.5, "½ ulp", transform=axes.get_yaxis_transform(), ha="right", va="bottom", fontsize=8,
              color=look.quiet)


def power_of_ten(exponent: int) -> str:
    """Write a power of ten plainly where it is short.

    >>> power_of_ten(-2), power_of_ten(-12)
    ('0.01', '10⁻¹²')
    """
    if -3 <= exponent <= 3:
        return f"{10.0**exponent:g}"
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def mark_maximum(axes, look: Theme, x: float | None, y: float, label: str) -> None:
    """A ring around the maximum and its name above it; the name alone where the maximum has no place (None)."""
    box = {"boxstyle": "round,pad=0.25", "facecolor": look.paper, "edgecolor": look.alarm, "alpha": 0.9}
    if x is None:
        axes.text(0.01, 0.97, label, transform=axes.transAxes, va="top", fontsize=9, bbox=box)
        return
    left, right = axes.get_xlim()
    here = (x - left) / (right - left)
    side = "left" if here < 0.3 else "right" if here > 0.7 else "center"
    axes.plot(x, y, "o", markersize=11, markerfacecolor="none", markeredgecolor=look.alarm, markeredgewidth=2, zorder=5)
    axes.annotate(label, (x, y), (0, 12), textcoords="offset points", ha=side, va="bottom", fontsize=9, zorder=6,
                  bbox=box)
