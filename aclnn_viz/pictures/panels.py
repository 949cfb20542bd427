"""Describe panels, the parts of a picture, as data, which Matplotlib and the browser draw alike without computing anything.

A panel is a title, two axes and marks upon them.
"""

from dataclasses import dataclass, fields
from functools import cache
from math import isfinite

import numpy as np

from aclnn_viz.pictures.marks import Arrows, Bars, Heat, Image, Rule

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


@dataclass(frozen=True, eq=False)
class Panel:
    """One drawing: `span` of 20 columns wide and `height` pixels high, below its title.

    `pick` names the state's fields that a click sets: (field of x,) or (field of x, field of y), rounded for cells. With
    `square`, units are equal on both axes. A panel may extend over several `rows` of panels beside it. Below `least` pixels
    of width, the browser scrolls it sideways. `below` names a panel above it with an aligned x axis; a `height` of 0 fits a
    square panel of its span. A panel with `more` is folded away. `opens` is (depth, x0, y0, x1, y1): the picture of the next
    depth opens from this place.
    """

    name: str
    title: str
    marks: tuple
    x: Axis = Axis()
    y: Axis = Axis()
    span: int = 10
    height: int = 220
    pick: tuple = ()
    square: bool = False
    rows: int = 1
    least: int = 0
    below: str = ""
    more: bool = False
    opens: tuple = ()


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


def all_ticks(panel: Panel) -> tuple[list, list]:
    """Return the ticks of both axes: whole numbers for cells."""
    return _all_ticks(panel, limits(panel))


def _all_ticks(panel: Panel, ends):
    return tuple(
        ticks(axis, *both, has_cells(panel)) for axis, both in zip((panel.x, panel.y), ends)
    )


def _power(exponent: int) -> tuple[float, str]:
    return 10.0**exponent, f"1e{exponent}" if abs(exponent) > 3 else f"{10.0**exponent:g}"


def described(panels) -> tuple[dict[str, np.ndarray], list[dict]]:
    """Return (arrays by name, descriptions that name them), the panels' data for the browser."""
    arrays, text = {}, []
    for panel in panels:
        ends = limits(panel)
        axes = {
            name: {
                "label": axis.label,
                "low": low,
                "high": high,
                "scale": axis.scale,
                "ticks": places,
            }
            for name, axis, (low, high), places in zip(
                "xy", (panel.x, panel.y), ends, _all_ticks(panel, ends)
            )
        }
        marks = []
        for at, mark in enumerate(panel.marks):
            one = {"mark": type(mark).__name__}
            for field, kind in _fields(type(mark)):
                value = getattr(mark, field)
                if kind is np.ndarray:
                    one[field] = name = f"{panel.name}.{at}.{field}"
                    arrays[name] = np.asarray(value)
                else:
                    one[field] = value if type(value) is str else _plain(kind(value))
            marks.append(one)
        plain = {
            entry.name: _plain(getattr(panel, entry.name))
            for entry in fields(panel)
            if entry.name not in ("marks", "x", "y")
        }
        text.append(plain | {"marks": marks, **axes})
    return arrays, text


@cache
def _fields(mark: type) -> list[tuple[str, type]]:
    return [(entry.name, entry.type) for entry in fields(mark)]


def _plain(value):
    """Return a value as JSON; a number that is not finite becomes None."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, np.generic | np.ndarray):
        value = value.item()
    return None if isinstance(value, float) and not isfinite(value) else value
