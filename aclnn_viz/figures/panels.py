"""Panels: what a picture shows, said once as data. Matplotlib and the browser draw the same panels and compute nothing.

A panel is a title, two axes and marks upon them. Colours are never chosen here: a mark has a `kind`, and every kind
differs in colour, dash and marker, so that nothing is told by colour alone.
"""

from dataclasses import dataclass, field, fields

import numpy as np

NOTHING = np.empty(0)


@dataclass(frozen=True, eq=False)
class Line:
    """A line through points (x, y), each (n,); nan interrupts it. Without a label it is not in the legend."""

    x: np.ndarray
    y: np.ndarray
    kind: int = 0
    label: str = ""
    width: float = 1.8


@dataclass(frozen=True, eq=False)
class Dots:
    """Points (x, y), each (n,), as markers of `size` pixels."""

    x: np.ndarray
    y: np.ndarray
    kind: int = 0
    label: str = ""
    size: float = 2.5


@dataclass(frozen=True, eq=False)
class Bars:
    """Bars from 0 to y around x, each (n,), of `width` in units of x."""

    x: np.ndarray
    y: np.ndarray
    kind: int = 0
    label: str = ""
    width: float = 0.8


@dataclass(frozen=True, eq=False)
class Band:
    """The shaded space between low and high over x, each (n,)."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kind: int = 0
    label: str = ""


@dataclass(frozen=True, eq=False)
class Arrows:
    """Arrows from (x, y) by (dx, dy), each (n,), in units of the axes."""

    x: np.ndarray
    y: np.ndarray
    dx: np.ndarray
    dy: np.ndarray
    kind: int = 0
    label: str = ""


@dataclass(frozen=True, eq=False)
class Heat:
    """A matrix (rows, columns): cell (r, c) covers r - 0.5 to r + 0.5, rows downwards; nan is left empty.

    `map` is "sequential", "diverging" or "grey", from `low` to `high`. With `digits`, numbers stand in cells that hold
    them.
    """

    values: np.ndarray
    map: str
    low: float
    high: float
    digits: bool = False


@dataclass(frozen=True, eq=False)
class Rule:
    """A straight line across the panel where an axis, "x" or "y", has the value `at`."""

    axis: str
    at: float
    label: str = ""
    kind: int = 0


@dataclass(frozen=True, eq=False)
class Box:
    """An outlined rectangle, from (x0, y0) to (x1, y1), with a label inside its upper left corner."""

    x0: float
    y0: float
    x1: float
    y1: float
    label: str = ""
    kind: int = 0
    filled: bool = False


@dataclass(frozen=True, eq=False)
class Note:
    """A few words at (x, y); `align` is "left", "center" or "right" of the point."""

    x: float
    y: float
    text: str
    align: str = "center"


@dataclass(frozen=True)
class Axis:
    """An axis: its label, its ends (None: those of the marks) and its ticks ((value, text), ...; None: round numbers).

    `scale` is "linear" or "log"; an inverted axis has low > high.
    """

    label: str = ""
    low: float | None = None
    high: float | None = None
    scale: str = "linear"
    ticks: tuple | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """One drawing: `span` of 20 columns wide and `height` pixels high, below its title.

    `pick` names the state's fields that a click sets: (field of x,) or (field of x, field of y), rounded for cells.
    """

    name: str
    title: str
    marks: tuple
    x: Axis = Axis()
    y: Axis = Axis()
    span: int = 10
    height: int = 220
    pick: tuple = field(default=())


def limits(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of both axes: the given ones, or those of the finite marks and a twentieth of room."""
    return _ends(panel.x, _reach(panel, "x")), _ends(panel.y, _reach(panel, "y"))


def _reach(panel: Panel, axis: str):
    found = [NOTHING]
    for mark in panel.marks:
        if isinstance(mark, Heat):
            found.append(np.array([-0.5, mark.values.shape["yx".index(axis)] - 0.5]))
        elif isinstance(mark, Rule):
            found.append(np.array([mark.at] if mark.axis == axis else []))
        else:
            own = {"x": ("x", "x0", "x1"), "y": ("y", "y0", "y1", "low", "high")}[axis]
            found += [np.ravel(getattr(mark, name)) for name in own if hasattr(mark, name)]
            if isinstance(mark, Arrows):
                found.append(getattr(mark, axis) + getattr(mark, f"d{axis}"))
            if isinstance(mark, Bars) and axis == "y":
                found.append(np.zeros(1))
    values = np.concatenate([np.asarray(part, np.float64) for part in found])
    return values[np.isfinite(values)]


def _ends(axis: Axis, values) -> tuple[float, float]:
    if axis.scale == "log":
        values = np.log10(values[values > 0])
    low, high = (values.min(), values.max()) if values.size else (0.0, 1.0)
    room = (high - low) / 20 or 0.5
    low, high = low - room, high + room
    if axis.scale == "log":
        low, high = 10.0**low, 10.0**high
    return (float(low if axis.low is None else axis.low), float(high if axis.high is None else axis.high))


def ticks(axis: Axis, low: float, high: float) -> list[tuple[float, str]]:
    """Return (value, text) of the ticks of an axis between its ends."""
    if axis.ticks is not None:
        return list(axis.ticks)
    low, high = sorted((low, high))
    if axis.scale == "log":
        first, last = np.ceil(np.log10(low)), np.floor(np.log10(high))
        powers = np.arange(first, last + 1, max(1, (last - first) // 5 + 1))
        return [(float(10.0**p), f"1e{int(p)}" if abs(p) > 3 else f"{10.0**p:g}") for p in powers]
    from matplotlib.ticker import MaxNLocator
    values = MaxNLocator(5).tick_values(low, high)
    step = float(np.diff(values).min())
    return [(float(v), f"{0.0 if abs(v) < step / 1e6 else v:.6g}") for v in values if low <= v <= high]


def described(panels) -> tuple[dict[str, np.ndarray], list[dict]]:
    """Return (arrays by name, descriptions that name them): what the browser gets of the panels."""
    arrays, told = {}, []
    for panel in panels:
        (left, right), (bottom, top) = limits(panel)
        marks = []
        for at, mark in enumerate(panel.marks):
            one = {"mark": type(mark).__name__}
            for entry in fields(mark):
                value = getattr(mark, entry.name)
                if isinstance(value, np.ndarray):
                    one[entry.name] = name = f"{panel.name}.{at}.{entry.name}"
                    arrays[name] = value
                else:
                    one[entry.name] = value
            marks.append(one)
        told.append({"name": panel.name, "title": panel.title, "span": panel.span, "height": panel.height,
                     "pick": list(panel.pick), "marks": marks,
                     "x": {"label": panel.x.label, "low": left, "high": right, "scale": panel.x.scale,
                           "ticks": ticks(panel.x, left, right)},
                     "y": {"label": panel.y.label, "low": bottom, "high": top, "scale": panel.y.scale,
                           "ticks": ticks(panel.y, bottom, top)}})
    return arrays, told
