"""Panels as a Matplotlib figure: the description that the browser draws, for PNG, SVG and the gallery."""

import textwrap

import numpy as np

from aclnn_viz.errors import problem
from aclnn_viz.figures.palette import MAPS, coloured
from aclnn_viz.figures.panels import (Arrows, Band, Bars, Box, Dots, Heat, Line, Note, Panel, Rule, all_ticks, has_heat,
                                      limits)
from aclnn_viz.figures.style import SERIES, THEMES, Theme
from aclnn_viz.figures.text import number

COLUMNS, WIDTH, DPI = 20, 1240, 100  # pixels, as in the browser
TITLE, LINE = 22, 15  # pixels above the axes: the title, and a row of the legend
SMALL = 8


def figure(panels, headline=(), theme: str = "light"):
    """Return panels under a headline as a Matplotlib Figure 1240 pixels wide, in the theme "light" or "dark".

    `axes.get_label()` is the panel's name. Raises ValueError for another theme.

    >>> from aclnn_viz.figures.panels import Line, Panel
    >>> slope = Panel("slope", "the slope", (Line([0.0, 1.0], [0.0, 2.0], label="dx"),))
    >>> figure([slope], ["The slope is 2."]).axes[0].get_label()
    'slope'
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    if theme not in THEMES:
        raise ValueError(problem("theme must be light or dark", repr(theme), "choose one"))
    look = THEMES[theme]
    rows = laid_out(panels)
    heights = [max(panel.height + TITLE for panel, _ in row) for row in rows] or [TITLE]
    words = "\n".join(textwrap.fill(text, 190) for text in headline)
    head = LINE * (words.count("\n") + 1) + 8 if words else 4
    tall = sum(heights) + head
    with rc_context(look.rc() | {"font.size": 9}):
        drawn = Figure(figsize=(WIDTH / DPI, tall / DPI), dpi=DPI, layout="constrained")
        drawn.get_layout_engine().set(rect=(0.005, 0.005, 0.99, 1 - head / tall), w_pad=0.05, h_pad=0.04)
        drawn.text(0.008, 1 - 5 / tall, words, va="top", fontsize=9)
        grid = drawn.add_gridspec(max(len(rows), 1), COLUMNS, height_ratios=heights)
        for at, row in enumerate(rows):
            for panel, left in row:
                axes = drawn.add_subplot(grid[at, left:left + panel.span], label=panel.name)
                _panel(axes, panel, look)
    return drawn


def laid_out(panels) -> list[list[tuple[Panel, int]]]:
    """Return rows of (panel, first column), filled from the left as the browser's grid fills them."""
    rows, used = [], COLUMNS
    for panel in panels:
        if used + panel.span > COLUMNS:
            rows.append([])
            used = 0
        rows[-1].append((panel, used))
        used += panel.span
    return rows


def _panel(axes, panel: Panel, look: Theme) -> None:
    ends = limits(panel)
    heat = has_heat(panel)
    for name, axis, (low, high), places in zip("xy", (panel.x, panel.y), ends, all_ticks(panel)):
        own = axes.xaxis if name == "x" else axes.yaxis
        axes.set(**{f"{name}scale": axis.scale, f"{name}label": axis.label})
        places = [place for place in places if min(low, high) <= place[0] <= max(low, high)]
        own.set_ticks([value for value, _ in places], [text for _, text in places])
        own.set_ticks([], minor=True)
    axes.tick_params(length=0, labelsize=SMALL)
    axes.spines[:].set(visible=heat or len(axes.get_xticks()) + len(axes.get_yticks()) > 0, color=look.quiet, linewidth=0.6)
    if not heat:
        axes.grid(color=look.grid, linewidth=0.5)
    axes.set(xlim=ends[0], ylim=ends[1])  # boxes ask which way is up
    for mark in panel.marks:
        DRAW[type(mark)](axes, mark, look)
    axes.set(xlim=ends[0], ylim=ends[1])
    shown = {text: handle for handle, text in zip(*axes.get_legend_handles_labels())}
    across = max(1, int(panel.span * 58 / (45 + 6 * max(map(len, shown), default=1))))
    rows = -(-len(shown) // across) + heat
    if shown:
        axes.legend(shown.values(), shown.keys(), loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=across,
                    fontsize=SMALL, handlelength=2.4, columnspacing=1.2, borderpad=0.1, borderaxespad=0.1, labelspacing=0.15)
    axes.set_title(panel.title, loc="left", fontsize=9, fontweight="bold", pad=4 + 10.5 * rows)
    for image in axes.images[:1]:
        _key(axes, image, LINE * (rows - 1))


def _key(axes, image, above) -> None:
    """The colours of a heat map from its low to its high end, above the axes."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker, OffsetImage, TextArea
    low, high = (TextArea(number(end), textprops={"fontsize": SMALL}) for end in image.get_clim())
    colours = OffsetImage(np.linspace(0, 1, 70)[None].repeat(8, 0), zoom=0.72, cmap=image.get_cmap())
    row = HPacker(children=[low, colours, high], pad=0, sep=4, align="center")
    axes.add_artist(AnnotationBbox(row, (0, 1), (0, 3 + above), xycoords="axes fraction", boxcoords="offset points",
                                   box_alignment=(0, 0), frameon=False, pad=0))


def _colour(mark, look: Theme) -> dict:
    return {"color": SERIES[mark.kind % len(SERIES)][look.index]}


def _dash(mark):
    dash = SERIES[mark.kind % len(SERIES)][2]
    return (0, dash) if dash else "-"


def _line(axes, mark, look):
    axes.plot(mark.x, mark.y, linestyle=_dash(mark), linewidth=0.72 * mark.width, label=mark.label, **_colour(mark, look))


def _dots(axes, mark, look):
    axes.plot(mark.x, mark.y, linestyle="", marker=SERIES[mark.kind % len(SERIES)][3], markersize=1.5 * mark.size,
              markeredgewidth=0, label=mark.label, rasterized=len(mark.x) > 5000, **_colour(mark, look))


def _bars(axes, mark, look):
    axes.bar(mark.x, mark.y, mark.width, label=mark.label, hatch=SERIES[mark.kind % len(SERIES)][4],
             edgecolor=look.paper, linewidth=0, facecolor=_colour(mark, look)["color"])


def _band(axes, mark, look):
    axes.fill_between(mark.x, mark.low, mark.high, alpha=0.3, linewidth=0, label=mark.label, **_colour(mark, look))


def _arrows(axes, mark, look):
    axes.quiver(mark.x, mark.y, mark.dx, mark.dy, angles="xy", scale_units="xy", scale=1, width=1.3, units="dots",
                headwidth=5, headlength=6, headaxislength=5, label=mark.label, **_colour(mark, look))


def _heat(axes, mark, look):
    from matplotlib.colors import ListedColormap, Normalize
    values = np.asarray(mark.values, np.float64)
    rows, columns = values.shape
    axes.imshow(np.ma.masked_invalid(values), ListedColormap(MAPS[mark.map] / 255), Normalize(mark.low, mark.high),
                aspect="auto", interpolation="nearest", extent=(-0.5, columns - 0.5, rows - 0.5, -0.5), zorder=0)
    across = axes.get_subplotspec()
    wide, tall = 58 * (across.colspan.stop - across.colspan.start) / columns, 160 / rows  # pixels, about
    texts = _digits(values, wide) if mark.digits and tall > 11 else None
    if texts is None:
        texts = np.where((values < mark.low / 128) & (mark.map == "diverging"), "−", "") if min(wide, tall) >= 8 else []
    inks = coloured(values, mark.map, mark.low, mark.high) @ (0.3, 0.6, 0.1) > 128
    for row, column in np.ndindex(np.shape(texts)):
        axes.text(column, row, texts[row][column], ha="center", va="center", fontsize=7, clip_on=True,
                  color="black" if inks[row, column] else "white")


def _digits(values, wide):
    """The numbers of all cells with as many digits as fit into a width in pixels, or None."""
    for digits in ("4", "3", "2"):
        texts = [[f"{value:.{digits}g}" for value in row] for row in values]
        if max(len(text) for row in texts for text in row) * 6 + 3 <= wide:
            return texts
    return None


def _rule(axes, mark, look):
    from matplotlib.text import Annotation
    if not np.isfinite(mark.at):
        return
    style = {"linestyle": _dash(mark), "linewidth": 1.0, **_colour(mark, look)}
    if mark.axis == "x":
        axes.axvline(mark.at, **style)
        share = [axes.transScale.transform((x, 1.0))[0] for x in (*axes.get_xlim(), mark.at)]
        late = (share[2] - share[0]) / (share[1] - share[0]) > 0.75
        line = 10 * sum(isinstance(text, Annotation) for text in axes.texts)  # below the labels of earlier rules
        place, moved, transform = (mark.at, 1.0), (-4 if late else 4, -10 - line), axes.get_xaxis_transform()
        align = "right" if late else "left"
    else:
        axes.axhline(mark.at, **style)
        place, moved, transform, align = (1.0, mark.at), (-4, 3), axes.get_yaxis_transform(), "right"
    axes.annotate(mark.label, place, moved, xycoords=transform, textcoords="offset points", ha=align, fontsize=SMALL,
                  bbox={"facecolor": look.paper, "edgecolor": "none", "alpha": 0.75, "pad": 1})


def _box(axes, mark, look):
    from matplotlib.patches import Rectangle
    colour = _colour(mark, look)["color"]
    corner, wide, tall = (mark.x0, mark.y0), mark.x1 - mark.x0, mark.y1 - mark.y0
    axes.add_patch(Rectangle(corner, wide, tall, fill=False, edgecolor=colour, linewidth=1.4, linestyle=_dash(mark)))
    if mark.filled:
        axes.add_patch(Rectangle(corner, wide, tall, facecolor=colour, alpha=0.25, linewidth=0))
    down = axes.yaxis_inverted()
    axes.annotate(mark.label, (min(mark.x0, mark.x1), (min if down else max)(mark.y0, mark.y1)), (4, -4),
                  textcoords="offset points", va="top", fontsize=SMALL,
                  bbox=None if mark.filled else {"facecolor": look.paper, "edgecolor": "none", "alpha": 0.75, "pad": 1})


def _note(axes, mark, look):
    axes.text(mark.x, mark.y, mark.text, ha=mark.align, va="center", fontsize=SMALL)


DRAW = {Line: _line, Dots: _dots, Bars: _bars, Band: _band, Arrows: _arrows, Heat: _heat, Rule: _rule, Box: _box,
        Note: _note}
