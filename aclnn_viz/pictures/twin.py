"""The text twin of a picture: what its panels show, read from their marks."""

import re

import numpy as np

from aclnn_viz.pictures.marks import Arrows, Band, Bars, Box, Dots, Handles, Heat, Image, Line, Note, Rule
from aclnn_viz.pictures.panels import Panel
from aclnn_viz.pictures.text import extent, number
from aclnn_viz.tables import as_text
from aclnn_viz.words.speech import tr

MOST = 64  # places that are written out; of more, the least, the greatest and the mean


def in_words(panels) -> list[str]:
    """Return what panels show, in lines: titles, series as tables over their common x, matrices, and words on marks."""
    return [line for panel in panels for line in ("", panel.title, *_marks(panel))]


def _marks(panel: Panel) -> list[str]:
    named = [text for _, text in panel.y.ticks or () if re.search(r"[^\W\d_]{3}", text)]
    lines, series = [f"  {panel.y.label}: {', '.join(named)}"] if named else [], {}
    for mark in panel.marks:
        if isinstance(mark, (Line, Dots, Bars, Band)):
            series.setdefault(_places(mark).tobytes(), []).append(mark)
    for marks in series.values():
        lines += _series(panel, marks)
    for mark in panel.marks:
        lines += [f"  {line}" for line in _SAID.get(type(mark), lambda mark: [])(mark)]
    return lines


def _places(mark) -> np.ndarray:
    """Where the points of a mark are; bars that stand beside others belong to the whole number between them."""
    x = np.asarray(mark.x, np.float64)
    return np.rint(x) + 0.0 if isinstance(mark, Bars) else x


def _series(panel: Panel, marks: list) -> list[str]:
    """A table of marks with the same places; points without a label that repeat a line are left out."""
    columns = {}
    for mark in marks:
        parts = {"low": mark.low, "high": mark.high} if isinstance(mark, Band) else {"y": mark.y}
        for part, values in parts.items():
            name = mark.label or panel.y.label or part
            values = np.asarray(values, np.float64)
            if mark.label or not any(np.array_equal(values, known, equal_nan=True) for known in columns.values()):
                columns[name if part == "y" else f"{name}: {part}"] = values
    x, names, values = _places(marks[0]), list(columns), list(columns.values())
    if x.size > MOST:
        return [f"  {name}: " + tr("{n} places", n=x.size) + _extent(each) for name, each in zip(names, values)]
    said = dict(panel.x.ticks or ())
    rows = [[said.get(float(at), number(at)), *(number(each[k]) for each in values)] for k, at in enumerate(x) if np.isfinite(at)]
    return [f"  {line}" for line in as_text([panel.x.label or "x", *names], rows)]


def _extent(values) -> str:
    there = values[np.isfinite(values)]
    return ", " + extent(there) if there.size else ""


def _matrix(mark) -> list[str]:
    values = np.asarray(mark.values, np.float64)
    words = getattr(mark, "words", ())
    if words:
        return [", ".join(word.replace("\n", " / ") for word in words)]
    if values.size > MOST:
        return ["×".join(map(str, values.shape)) + _extent(values)]
    return [" ".join(f"{number(value):>9}" for value in row) for row in values]


def _arrows(mark) -> list[str]:
    parts = [np.ravel(np.asarray(each, np.float64)) for each in (mark.x, mark.y, mark.dx, mark.dy)]
    if parts[0].size > 4:
        return [tr("{n} places", n=parts[0].size) + "".join(map(_extent, parts[2:]))]
    return [f"{mark.label} ({number(x)}, {number(y)}) → ({number(x + dx)}, {number(y + dy)})".strip() for x, y, dx, dy in zip(*parts)]


_SAID = {Heat: _matrix, Image: _matrix, Arrows: _arrows, Note: lambda mark: [mark.text],
         Handles: lambda mark: [f"{mark.label}: " + "×".join(map(str, np.shape(mark.x)))],
         Rule: lambda mark: [f"{mark.label}: {mark.axis} = {number(mark.at)}"] if mark.label else [],
         Box: lambda mark: [mark.label] if mark.label else []}
