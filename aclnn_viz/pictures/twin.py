"""Write panels in words, from their marks, for people who cannot see the picture."""

import re

import numpy as np

from aclnn_viz.pictures.marks import (
    Arrows,
    Band,
    Bars,
    Box,
    Dots,
    Handles,
    Heat,
    Image,
    Line,
    Note,
    Rule,
)
from aclnn_viz.pictures.panels import Panel, limits
from aclnn_viz.pictures.text import extent, number
from aclnn_viz.tables import as_text
from aclnn_viz.words.messages import message, tr

BANDS = {"low": message("{name}: lower end"), "high": message("{name}: upper end")}
PLACES_WRITTEN = 64  # most places that are written out; of more, only least, greatest and mean


def in_words(panels) -> list[str]:
    """Return panels in lines of words: titles, series as tables over their common x, matrices, and words on marks."""
    return [line for panel in panels for line in ("", *filter(None, [panel.title]), *_marks(panel))]


def _marks(panel: Panel) -> list[str]:
    named = [text.replace("\n", " ") for _, text in panel.y.ticks or () if _is_word(text)]
    lines = ["  " + _named(panel.y.label, tr(", ").join(named))] if named else []
    for marks in _together(
        [mark for mark in panel.marks if isinstance(mark, (Line, Dots, Bars, Band))]
    ):
        lines += _series(panel, marks)
    for mark in panel.marks:
        lines += [f"  {line}" for line in _SAID.get(type(mark), lambda mark: [])(mark)]
    return [*lines, *_notes(panel)]


def _is_word(text: str) -> bool:
    return bool(re.search(r"[^\W\d_]{3}", text))


def _points(mark) -> tuple[np.ndarray, dict]:
    """Return x and values of a mark's points; bars side by side share an x, the whole number nearest to them, if each has its own."""
    x = np.asarray(mark.x, np.float64)
    parts = {
        name: np.asarray(getattr(mark, name), np.float64)
        for name in (("low", "high") if isinstance(mark, Band) else ("y",))
    }
    there = np.isfinite(x) & ~np.all([np.isnan(values) for values in parts.values()], axis=0)
    x, whole = x[there], np.rint(x[there]) + 0.0
    return whole if isinstance(mark, Bars) and len({*whole}) == x.size else x, {
        name: values[there] for name, values in parts.items()
    }


def _together(marks) -> list[list[tuple]]:
    """Return groups of marks (mark, places, values); in a group all places are among those of the first mark.

    Points without a label on top of others are omitted.
    """
    groups, known = [], set()
    for mark in sorted(marks, key=lambda mark: -len(_points(mark)[0])):
        x, parts = _points(mark)
        home = next(
            (
                group
                for group in groups
                if np.array_equal(group[0][1], x)
                or len({*x}) == x.size <= PLACES_WRITTEN
                and len({*group[0][1]}) == group[0][1].size
                and {*x} <= {*group[0][1]}
            ),
            None,
        )
        pairs = {*zip(x, *parts.values())}
        if not mark.label and pairs <= known:
            continue
        known |= pairs
        if home:
            home.append((mark, x, parts))
        elif x.size:
            groups.append([(mark, x, parts)])
    return groups


def _series(panel: Panel, marks: list[tuple]) -> list[str]:
    """Return a table of marks with the same places."""
    at, columns = marks[0][1], {}
    for mark, x, parts in marks:
        for part, values in parts.items():
            if part == "low" and not (
                values.size and np.ptp(values)
            ):  # a constant base line says nothing
                continue
            name = mark.label or panel.y.label or part
            if x.size < at.size:
                known = dict(zip(x, values))
                values = np.array([known.get(place, np.nan) for place in at])
            columns[tr(BANDS[part], name=name) if part in BANDS else name] = values
    names, values = list(columns), list(columns.values())
    if at.size > PLACES_WRITTEN:
        return [
            "  " + _named(name, tr("{n} places", n=at.size) + _extent(each))
            for name, each in zip(names, values)
        ]
    across, down = (dict(axis.ticks or ()) for axis in (panel.x, panel.y))
    down = {place: text for place, text in down.items() if _is_word(text)}
    rows = [
        [
            across.get(float(place), number(place)),
            *(
                ""
                if np.isnan(each[k]) and len(names) > 1
                else down.get(float(each[k]), number(each[k]))
                for each in values
            ),
        ]
        for k, place in enumerate(at)
    ]
    return [f"  {line}".rstrip() for line in as_text([panel.x.label or "x", *names], rows)]


def _notes(panel: Panel) -> list[str]:
    """Return the words on a panel in reading order: one line per row, top first, with the names of the axes' ticks."""
    rows, (_, (low, high)) = {}, limits(panel)
    for mark in panel.marks:
        if isinstance(mark, Note) and mark.text.strip():
            rows.setdefault(mark.y, []).append(mark)
    across, down = (dict(axis.ticks or ()) for axis in (panel.x, panel.y))
    lines = []
    for y in sorted(rows, reverse=high > low):
        row = sorted(rows[y], key=lambda mark: mark.x)
        said = [" ".join(mark.text.split("\n")).rstrip() for mark in row]
        if panel.x.label or across:  # name places only if the axis has labels
            said = [
                _named(across.get(mark.x, number(mark.x)), text)
                if panel.x.label or mark.x in across
                else text
                for mark, text in zip(row, said)
            ]
        lines.append("  " + _named(down.get(y), "  ".join(said)))
    return lines


def _named(name: str | None, what: str) -> str:
    return tr("{name}: {what}", name=name, what=what) if name else what


def _extent(values) -> str:
    there = values[np.isfinite(values)]
    return tr(", ") + extent(there) if there.size else ""


def _matrix(mark) -> list[str]:
    values = np.asarray(mark.values, np.float64)
    words = getattr(mark, "words", ())
    if words:
        return [tr(", ").join(word.replace("\n", " / ") for word in words if word)]
    if values.size > PLACES_WRITTEN:
        return ["×".join(map(str, values.shape)) + _extent(values)]
    return [" ".join(f"{number(value):>9}" for value in row) for row in values]


def _arrows(mark) -> list[str]:
    parts = [np.ravel(np.asarray(each, np.float64)) for each in (mark.x, mark.y, mark.dx, mark.dy)]
    if parts[0].size > 4:
        return [tr("{n} places", n=parts[0].size) + "".join(map(_extent, parts[2:]))]
    return [
        f"{mark.label} ({number(x)}, {number(y)}) → ({number(x + dx)}, {number(y + dy)})".strip()
        for x, y, dx, dy in zip(*parts)
    ]


_SAID = {
    Heat: _matrix,
    Image: _matrix,
    Arrows: _arrows,
    Handles: lambda mark: [_named(mark.label, "×".join(map(str, np.shape(mark.x))))],
    Rule: lambda mark: (
        [_named(mark.label, f"{mark.axis} = {number(mark.at)}")] if mark.label else []
    ),
    Box: lambda mark: [mark.label] if mark.label else [],
}
