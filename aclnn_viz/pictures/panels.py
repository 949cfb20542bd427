"""Describe panels, the parts of a picture, as data, which Matplotlib and the browser draw alike without computing anything.

A panel is a title, two axes and marks upon them.
"""

from dataclasses import dataclass, fields, replace
from functools import cache
from math import isfinite

import numpy as np

from aclnn_viz.pictures.marks import Arrows, Bars, Heat, Image, Rule, record

NOTHING = np.empty(0)


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


def bare(low=None, high=None) -> Axis:
    """Return an axis without words."""
    return Axis("", low, high, ticks=())


UNIT = bare(0.0, 1.0)


@record
class Panel:
    """One drawing: `span` of 20 columns wide and `height` pixels high, below its title.

    `pick` names the state's fields that a click sets: (field of x,) or (field of x, field of y), rounded for cells. With
    `square`, units are equal on both axes. A panel may extend over several `rows` of panels beside it. `below` names a panel
    above it with an aligned x axis; a `height` of 0 fits a square panel of its span. A panel that is `near` stays beside the
    first one, or below it, in a narrow window. A panel with `more` is folded away. `opens` is (depth, x0, y0, x1, y1): the
    picture of the next depth opens from this place. On a narrow page, only the share `narrow` of the x axis, in its middle, is
    drawn, and of two matrices that which begins at x = `folds` stands below the other; with `folds` (x, dx, height), what lies
    right of x is moved below a slice of this height.
    """

    name: str
    title: str
    marks: list | tuple
    x: Axis = Axis()
    y: Axis = Axis()
    span: int = 10
    height: int = 220
    pick: tuple = ()
    square: bool = False
    rows: int = 1
    below: str = ""
    near: bool = False
    more: bool = False
    opens: tuple = ()
    narrow: float = 1.0
    folds: int | tuple = 0


def limits(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of both axes: given, or those of the finite marks with a margin of a twentieth.

    Cells have no margin, and their rows run downwards.
    """
    cells = has_cells(panel)
    x, y = (
        _ends(panel, axis, name, 0.0 if cells else 0.05)
        for axis, name in ((panel.x, "x"), (panel.y, "y"))
    )
    return x, y[::-1] if cells and panel.y.low is None and panel.y.high is None else y


def has_cells(panel: Panel) -> bool:
    return any(isinstance(mark, (Heat, Image)) for mark in panel.marks)


def _reach(panel: Panel, axis: str):
    found = [NOTHING]
    for mark in panel.marks:
        if isinstance(mark, (Heat, Image)):
            start = getattr(mark, axis, 0.0) - 0.5
            found.append([start, start + np.shape(mark.values)["yx".index(axis)]])
        elif isinstance(mark, Rule):
            found.append([mark.at] if mark.axis == axis else NOTHING)
        else:
            own = {"x": ("x", "x0", "x1"), "y": ("y", "y0", "y1", "low", "high")}[axis]
            found += [getattr(mark, name) for name in own if hasattr(mark, name)]
            if isinstance(mark, Arrows):
                found.append(np.add(getattr(mark, axis), getattr(mark, f"d{axis}")))
            if isinstance(mark, Bars) and axis == "y":
                found.append(0.0)
    values = np.concatenate([np.ravel(np.asarray(part, np.float64)) for part in found])
    return values[np.isfinite(values)]


def _ends(panel: Panel, axis: Axis, name: str, share: float) -> tuple[float, float]:
    if axis.low is not None and axis.high is not None:
        return float(axis.low), float(axis.high)
    values = _reach(panel, name)
    if axis.scale == "log":
        values = np.log10(values[values > 0])
    low, high = (values.min(), values.max()) if values.size else (0.0, 1.0)
    margin = share * (high - low) if high > low else 0.5
    low, high = low - margin, high + margin
    if axis.scale == "log":
        low, high = 10.0**low, 10.0**high
    return float(low if axis.low is None else axis.low), float(
        high if axis.high is None else axis.high
    )


def ticks(axis: Axis, low: float, high: float, whole: bool = False) -> list[tuple[float, str]]:
    """Return (value, text) of an axis's ticks between its ends: given, or round (`whole`) numbers."""
    if axis.ticks is not None:
        return [(float(value), text) for value, text in axis.ticks]
    low, high = sorted((low, high))
    if axis.scale == "log":
        first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
        if first < last:
            return [_power(p) for p in range(first, last + 1, max(1, -(-(last - first) // 5)))]
        values = [m * 10.0**p for p in (first - 1, first, last + 1) for m in (1, 2, 5)]
        return [(v, f"{v:g}") for v in sorted(set(values)) if low <= v <= high]
    if not high > low:
        return [(low, f"{low:.6g}")]
    rough = (high - low) / 6
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * (1 - 1e-9))
    step = max(1.0, np.ceil(step)) if whole else step
    steps = np.arange(np.ceil(low / step - 1e-6), np.floor(high / step + 1e-6) + 1)
    digits = max(6, 2 + int(np.ceil(np.log10(max(abs(low), abs(high)) / step))))
    return [(float(k * step), f"{k * step + 0.0:.{digits}g}") for k in steps]


def fitted(panel: Panel) -> Panel:
    """Return the panel with the ends and ticks of its axes: whole numbers for cells."""
    x, y = (
        replace(axis, low=low, high=high, ticks=tuple(ticks(axis, low, high, has_cells(panel))))
        for axis, (low, high) in zip((panel.x, panel.y), limits(panel))
    )
    return replace(panel, x=x, y=y)


def _power(exponent: int) -> tuple[float, str]:
    return 10.0**exponent, f"1e{exponent}" if abs(exponent) > 3 else f"{10.0**exponent:g}"


def described(panels) -> tuple[dict[str, np.ndarray], list[dict]]:
    """Return (arrays by name, descriptions that name them), the panels' data for the browser."""
    form = Form()
    return form.arrays, [form.panel(fitted(panel)) for panel in panels]


class Form:
    """Panels and marks as JSON, with names in the places of their `arrays`."""

    def __init__(self):
        self.arrays = {}

    def array(self, value) -> str:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.asarray(value)
        return name

    def plain(self, value):
        """Return a value as JSON; a number that is not finite becomes None."""
        if isinstance(value, (tuple, list)):
            return [self.plain(one) for one in value]
        if isinstance(value, Axis):
            return {name: self.plain(getattr(value, name)) for name, _ in _fields(Axis)}
        if isinstance(value, (np.generic, np.ndarray)):
            value = value.item()
        return None if isinstance(value, float) and not isfinite(value) else value

    def mark(self, one):
        made = {"mark": type(one).__name__}
        for name, is_array in _fields(type(one)):
            value = getattr(one, name)
            made[name] = (self.array if is_array and value is not None else self.plain)(value)
        return made

    def panel(self, one: Panel) -> dict:
        names = [name for name, _ in _fields(Panel) if name != "marks"]
        marks = [self.mark(each) for each in one.marks]
        return {name: self.plain(getattr(one, name)) for name in names} | {"marks": marks}


@cache
def _fields(kind: type) -> list[tuple[str, bool]]:
    """Return the name of each field of a class, and whether the field is an array."""
    return [(entry.name, entry.type is np.ndarray) for entry in fields(kind)]
