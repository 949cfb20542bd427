"""Draw a picture with Matplotlib, for PNG, SVG and the gallery, from the same description as the browser."""

from dataclasses import replace

import numpy as np

from aclnn_viz.errors import invalid, shown
from aclnn_viz.pictures import fonts
from aclnn_viz.pictures.marks import Arrows, Band, Bars, Dots, Heat, Image, Line
from aclnn_viz.pictures.palette import DRAWING, HANDLE, MAPS, coloured
from aclnn_viz.pictures.panels import Panel, fitted, has_cells
from aclnn_viz.pictures.style import SERIES, THEMES, Theme
from aclnn_viz.pictures.text import number
from aclnn_viz.tables import columns, wrapped

COLUMNS, DPI = DRAWING["columns"], 100
POINT = 72 / DPI  # number of Matplotlib's points in a pixel
OPACITY, WIDTH, CELL, STYLE = (DRAWING[name] for name in ("opacity", "line", "cell", "style"))
# pixels: height of a line of words, of a headline above the panels, space between panels
LINE, HEADLINE, GAP = 15, 17, 10
DIGIT, LETTER, BOLD = 7.1, 6.2, 7.4  # widths in pixels: a digit, a letter, a bold letter of titles
SMALL_PRINT, APART = 8, 4  # font size in points; least pixels between two texts of an axis
# Columns of text in a line, by weight: the line's pixels / the font's points * this factor.
ACROSS = {"normal": 1.28, "bold": 1.12}


def figure(picture, theme: str = "light"):
    """Return a picture as a Matplotlib Figure of its width in pixels, in the theme "light" or "dark".

    `axes.get_label()` is the panel's name. Raise ValueError for another theme.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    if not isinstance(theme, str) or theme not in THEMES:
        raise invalid("theme must be light or dark", shown(theme), "choose one")
    look, wide = THEMES[theme], picture.width
    # panels that are folded away in the notebook are left out
    seen = [fitted(panel) for panel in picture.panels if not panel.more]
    placed = laid_out([_grown(panel, wide) for panel in seen])
    heights = np.zeros(sum(panel.rows for panel in seen))
    for panel, row, _ in sorted(placed, key=lambda each: each[0].rows):
        own = heights[row : row + panel.rows]
        own += max(0, panel.height + LINE * len(_title(panel, wide)) + GAP - own.sum()) / panel.rows
    words = [
        (picture.title, 12, "bold", look.ink),
        (picture.warning, 9, "bold", look.alarm),
        *((text, 9, "normal", look.ink) for text in picture.headline),
    ]
    above = []
    for text, size, weight, colour in words:
        if text:
            text = _folded(text, wide, size, weight)
            above.append((text, size, weight, colour, HEADLINE * size / 9 * (text.count("\n") + 1)))
    below = "\n".join(_folded(text, wide, SMALL_PRINT, "normal") for text in picture.notices)
    head = sum(high for *_, high in above) + 4 * bool(above)
    tall = head + heights.sum() + GAP + (13 * below.count("\n") + 19) * bool(below)
    with rc_context(look.rc(fonts.wanted(picture))):
        drawn = Figure(figsize=(wide / DPI, tall / DPI), dpi=DPI)
        top = tall - 5
        for text, size, weight, colour, high in above:
            drawn.text(
                GAP / wide,
                top / tall,
                text,
                va="top",
                fontsize=size,
                fontweight=weight,
                color=colour,
            )
            top -= high
        drawn.text(GAP / wide, 6 / tall, below, va="bottom", fontsize=SMALL_PRINT, color=look.quiet)
        for panel, row, column in placed:
            start = tall - head - heights[:row].sum()
            height = heights[row : row + panel.rows].sum()
            _panel(drawn, panel, look, column * wide / COLUMNS, start, height)
    return drawn


def _folded(text: str, wide: float, size: float, weight: str) -> str:
    return "\n".join(wrapped(text, int(wide / size * ACROSS[weight])))


def _grown(panel: Panel, wide: float) -> Panel:
    """Return the panel with a height, which follows from its axes if it has none."""
    if panel.height:
        return panel
    across, down = (abs(axis.high - axis.low) for axis in (panel.x, panel.y))
    return replace(panel, height=int(panel.span * wide / COLUMNS * down / across))


def laid_out(panels) -> list[tuple[Panel, int, int]]:
    """Return (panel, row, first column), filled from the left as in the browser's grid."""
    found, row, column, taken = [], 0, 0, set()
    for panel in panels:
        while column + panel.span > COLUMNS or any(
            (row, column + k) in taken for k in range(panel.span)
        ):
            row, column = (row, column + 1) if column + panel.span < COLUMNS else (row + 1, 0)
        taken |= {(row + down, column + k) for down in range(panel.rows) for k in range(panel.span)}
        found.append((panel, row, column))
        column += panel.span
    return found


def _title(panel: Panel, wide: float) -> list[str]:
    return wrapped(panel.title, int((panel.span * wide / COLUMNS - 2 * GAP) / BOLD))


def _panel(drawn, panel: Panel, look: Theme, left: float, top: float, height: float) -> None:
    """Draw a panel with its upper left corner in pixels from the figure's lower left corner."""
    whole = drawn.get_figwidth() * DPI
    wide, cells, titles = panel.span * whole / COLUMNS, has_cells(panel), _title(panel, whole)
    heats = [mark for mark in panel.marks if isinstance(mark, Heat)]
    places = []
    for axis in (panel.x, panel.y):
        low, high = sorted((axis.low, axis.high))
        places.append([tick for tick in axis.ticks if low <= tick[0] <= high])
    named = Line, Dots, Bars, Band, Arrows
    labels = [mark.label for mark in panel.marks if isinstance(mark, named) and mark.label]
    across = max(1, int(wide / (45 + LETTER * max(map(columns, labels), default=1))))
    rows = -(-len(set(labels)) // across) + bool(heats)
    inner = (
        GAP
        + LETTER
        + DIGIT * max((columns(text) for _, text in places[1]), default=0)
        + LINE * bool(panel.y.label)
    )
    under = LINE * (bool(places[0]) + bool(panel.x.label)) + 4
    above = LINE * (len(titles) + rows) + GAP
    # width and height of the axes, in pixels
    space = wide - inner - GAP - DIGIT, height - above - under
    size = np.array([whole, drawn.get_figheight() * DPI] * 2)
    corner = left + inner, top - above - space[1]
    axes = drawn.add_axes([*corner, *space] / size, label=panel.name)
    _ticked(axes, panel, places)
    if panel.square:
        axes.set_aspect("equal", anchor="N")
        axes.apply_aspect()
    axes.spines[:].set(visible=cells or any(places), linewidth=WIDTH["axis"])
    if not cells:
        axes.grid(linewidth=WIDTH["grid"])
    for mark in panel.marks:
        globals()[f"_{type(mark).__name__.lower()}"](axes, mark, look)  # the function of its name
    axes.set(xlim=(panel.x.low, panel.x.high), ylim=(panel.y.low, panel.y.high))
    # the panel's left end, as a share of the axes
    edge = (left + GAP - axes.bbox.x0) / axes.bbox.width
    if labels:
        _legend(axes, panel, labels, edge, across)
    axes.annotate(
        "\n".join(titles),
        (edge, 1),
        (0, 0.72 * (LINE * rows + 4)),
        **STYLE["title"],
    )
    for mark in heats[:1]:
        _key(axes, mark, _shades(mark.map, look), edge, 0.72 * LINE * (rows - 1))


def _ticked(axes, panel: Panel, places: list) -> None:
    """Set scales, ends, ticks and labels of both axes."""
    for name, own in zip("xy", places):
        axis = getattr(panel, name)
        ends = axis.low, axis.high
        axes.set(**{f"{name}scale": axis.scale, f"{name}label": axis.label, f"{name}lim": ends})
        ticked = axes.xaxis if name == "x" else axes.yaxis
        texts = _apart(axes, own) if name == "x" else [text for _, text in own]
        ticked.set_ticks([value for value, _ in own], texts)
        ticked.set_ticks([], minor=True)


def _apart(axes, places: list) -> list[str]:
    """Return the texts of an x axis's ticks, empty where one would cover the text before it, as in the browser."""
    at = axes.get_xaxis_transform().transform([(value, 0.0) for value, _ in places] or [(0, 0)])
    free, texts = -np.inf, [text for _, text in places]
    for k in sorted(range(len(places)), key=lambda k: at[k, 0]):
        half = LETTER * columns(texts[k]) / 2
        if at[k, 0] - half < free:
            texts[k] = ""
        else:
            free = at[k, 0] + half + APART
    return texts


def _legend(axes, panel: Panel, labels: list[str], edge: float, across: int) -> None:
    """Write the legend above the axes, with `across` names in a row."""
    named = {text: handle for handle, text in zip(*axes.get_legend_handles_labels())}
    order = [text for text in dict.fromkeys(labels) if text in named]
    # later bands cover earlier ones
    bands = [mark.label for mark in panel.marks if isinstance(mark, Band) and mark.label]
    handles = [
        tuple(named[one] for one in bands[: bands.index(text) + 1])
        if text in bands
        else named[text]
        for text in order
    ]
    axes.legend(
        handles,
        order,
        bbox_to_anchor=(edge, 1.0),
        ncols=across,
    )


def _key(axes, heat: Heat, shades: str, left, above) -> None:
    """Draw the colours of a heat map from its low to its high end, above the axes."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker, OffsetImage, TextArea

    low, high = (
        TextArea(number(end), textprops={"fontsize": SMALL_PRINT}) for end in (heat.low, heat.high)
    )
    colours = MAPS[shades][np.linspace(0, 255, 70).astype(int)]
    colours = OffsetImage(colours[None].repeat(8, 0), zoom=0.72)
    row = HPacker(children=[low, colours, high], **STYLE["row"])
    axes.add_artist(
        AnnotationBbox(
            row,
            (left, 1),
            (0, 3 + above),
            **STYLE["key"],
        )
    )


def _colour(mark, look: Theme) -> dict:
    return {"color": SERIES[mark.kind % len(SERIES)][look.index]}


def _ground(look: Theme) -> dict:
    """Return the style of the box behind words that lie on marks."""
    return {"facecolor": look.background, "edgecolor": "none", "alpha": OPACITY["ground"], "pad": 1}


def _line(axes, mark, look):
    dash = SERIES[mark.kind % len(SERIES)][2]
    axes.plot(
        mark.x,
        mark.y,
        linestyle=(0, dash) if dash else "-",
        linewidth=POINT * mark.width,
        label=mark.label,
        **_colour(mark, look),
    )


def _dots(axes, mark, look):
    axes.plot(
        mark.x,
        mark.y,
        linestyle="",
        marker=SERIES[mark.kind % len(SERIES)][3],
        markersize=1.5 * mark.size,
        markeredgewidth=0,
        label=mark.label,
        rasterized=len(mark.x) > 5000,
        **_colour(mark, look),
    )


def _bars(axes, mark, look):
    axes.bar(
        mark.x,
        mark.y,
        mark.width,
        label=mark.label,
        hatch=SERIES[mark.kind % len(SERIES)][4],
        edgecolor=look.background,
        linewidth=0,
        facecolor=_colour(mark, look)["color"],
    )


def _band(axes, mark, look):
    axes.fill_between(
        mark.x,
        mark.low,
        mark.high,
        alpha=OPACITY["band"],
        linewidth=0,
        label=mark.label,
        **_colour(mark, look),
    )


def _arrows(axes, mark, look):
    axes.quiver(
        mark.x,
        mark.y,
        mark.dx,
        mark.dy,
        width=WIDTH["arrow"] / POINT,
        **STYLE["arrow"],
        label=mark.label,
        **_colour(mark, look),
    )


def _shades(name: str, look: Theme) -> str:
    """Return the name of a map's colours in a theme."""
    dark = f"{name}_dark"
    return dark if look.index and dark in MAPS else name


def _heat(axes, mark, look):
    colours = _shades(mark.map, look)
    _image(axes, Image(mark.values, colours, mark.low, mark.high), look)
    values = np.asarray(mark.values, np.float64)
    rows, columns = values.shape
    wide, tall = axes.bbox.width / columns, axes.bbox.height / rows
    texts = np.reshape(mark.words, values.shape) if mark.words else None
    if mark.digits:
        few = texts is None or max(map(len, mark.words)) * 6 < wide
        texts = (_digits(values, wide) if texts is None else texts) if few and tall > 11 else None
    if texts is None:
        texts = (
            np.where((values < mark.low / 16) & (mark.map == "diverging"), "−", "")
            if min(wide, tall) >= 8
            else []
        )
    light = coloured(values, colours, mark.low, mark.high) @ (0.3, 0.6, 0.1) > 128
    inks = np.where(np.isnan(values), look.ink, np.where(light, CELL["dark"], CELL["light"]))
    for row, column in np.ndindex(np.shape(texts)):
        axes.text(
            column,
            row,
            texts[row][column],
            **STYLE["number"],
            color=str(inks[row, column]),
        )


def _image(axes, mark, look):
    values = np.asarray(mark.values, np.float64)
    colours = np.zeros((*values.shape, 4), np.uint8)
    colours[..., :3] = coloured(values, mark.map, mark.low, mark.high)
    colours[..., 3] = np.where(np.isnan(values), 0, 255)
    (rows, columns), left, top = values.shape, mark.x - 0.5, mark.y - 0.5
    if np.isnan(left):
        return
    axes.imshow(
        colours,
        aspect=axes.get_aspect(),
        interpolation="nearest",
        alpha=float(mark.opacity),
        zorder=0,
        extent=(left, left + columns, top + rows, top),
    )


def _handles(axes, mark, look):
    axes.plot(
        np.ravel(mark.x),
        np.ravel(mark.y),
        "s",
        markersize=2.4,
        color=HANDLE,
        markeredgecolor=CELL["dark"],
        markeredgewidth=WIDTH["handle"],
    )
    axes.plot(
        mark.x[mark.row, mark.column],
        mark.y[mark.row, mark.column],
        "o",
        markeredgecolor=HANDLE,
        **STYLE["ring"],
    )


def _digits(values, wide):
    """Return the numbers of all cells with as many digits as fit a width in pixels, or None."""
    for digits in ("4", "3", "2"):
        texts = [
            ["" if np.isnan(value) else f"{value:.{digits}g}" for value in row] for row in values
        ]
        if max(len(text) for row in texts for text in row) * 6 + 3 <= wide:
            return texts
    return None


def _rule(axes, mark, look):
    if not np.isfinite(mark.at):
        return
    upright = mark.axis == "x"
    drawn = axes.axvline if upright else axes.axhline
    line = drawn(mark.at, linewidth=WIDTH["rule"], **_colour(mark, look))
    place, moved, align = (1.0, mark.at), (-4, 3), "right"
    if upright:
        left, right, at = (
            axes.transScale.transform((x, 1.0))[0] for x in (*axes.get_xlim(), mark.at)
        )
        late = (at - left) / (right - left) > 0.75
        # below the labels of earlier rules
        place, moved = (mark.at, 1.0), (-4 if late else 4, -10 - 10 * len(axes.texts))
        align = "right" if late else "left"
    axes.annotate(
        mark.label,
        place,
        moved,
        xycoords=line.get_transform(),
        ha=align,
        **STYLE["small"],
        bbox=_ground(look),
    )


def _rectangle(axes, x0, y0, x1, y1, **style):
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, linewidth=WIDTH["box"], **style))


def _box(axes, mark, look):
    colour, corners = _colour(mark, look)["color"], (mark.x0, mark.y0, mark.x1, mark.y1)
    colour = look.background if mark.filled < 0 else colour
    _rectangle(
        axes,
        *corners,
        facecolor=(colour, abs(mark.filled)),
        edgecolor=colour,
        ls="--" if mark.dashed else "-",
    )
    down = axes.yaxis_inverted()
    ends = axes.transData.transform([corners[:2], corners[2:]])
    full = mark.filled > 0.5  # a word within it is left out where it has no room
    fits = not full or LETTER * columns(mark.label) < abs(ends[1] - ends[0])[0]
    axes.annotate(
        mark.label if fits else "",
        (min(mark.x0, mark.x1), (min if down else max)(mark.y0, mark.y1)),
        (4, -4),
        va="top",
        **STYLE["small"],
        color=look.background if full else look.ink,
        bbox=None if mark.filled else _ground(look),
    )


def _blocks(axes, mark, look):
    colour = _colour(mark, look)["color"]
    shades = coloured(mark.values, _shades("hues", look), 0, mark.high) / 255
    parts = zip(mark.x0, mark.y0, mark.x1, mark.y1, mark.values, mark.wrong, strict=True)
    for k, (x0, y0, x1, y1, value, wrong) in enumerate(parts):
        frame, bright = np.isnan(value), shades[k] @ (0.3, 0.6, 0.1) > 0.5
        _rectangle(
            axes,
            *(x0, y0, x1, y1),
            facecolor="none" if frame else shades[k],
            edgecolor=colour if wrong or frame else "none",
            hatch="////" if wrong else "",
            alpha=mark.opacity,
        )
        ink = look.ink if frame else CELL["dark" if bright else "light"]
        said = mark.words[k] if mark.words and np.isfinite(x0) else ""
        axes.text(np.nan_to_num(x0 + x1) / 2, (y0 + y1) / 2, said, color=ink, **STYLE["word"])


def _note(axes, mark, look):
    text, size = (f"${mark.math}$", 9) if mark.math else (mark.text, SMALL_PRINT)
    style = {"ha": mark.align, "va": "center", "fontsize": size, "parse_math": bool(mark.math)}
    axes.text(mark.x, mark.y, text, **style)


def _grip(axes, mark, look):
    axes.plot(
        mark.x,
        mark.y,
        "s",
        markersize=5,
        markerfacecolor=look.background,
        markeredgewidth=WIDTH["box"],
        **_colour(mark, look),
    )


def _spots(axes, mark, look):
    """Spots are not drawn."""
