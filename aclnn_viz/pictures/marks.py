"""Marks of a picture (lines, dots, cells, texts) as data, each a few arrays and a kind, for Matplotlib and the browser to
draw.

Colours are never chosen here: a mark has a `kind`, and kinds differ in colour, dash and marker, never by colour alone.
"""

from dataclasses import dataclass

import numpy as np

#: Makes a class of data that never change, and are equal only to themselves.
record = dataclass(frozen=True, eq=False)


@record
class Line:
    """A line through points (x, y), each (n,); nan interrupts it. Without a label it is not in the legend."""

    x: np.ndarray
    y: np.ndarray
    kind: int = 0
    label: str = ""
    width: float = 1.8


@record
class Dots:
    """Points (x, y), each (n,), as markers with a radius of `size` pixels."""

    x: np.ndarray
    y: np.ndarray
    kind: int = 0
    label: str = ""
    size: float = 2.5


@record
class Bars:
    """Bars from 0 to y around x, each (n,), of `width` in units of x."""

    x: np.ndarray
    y: np.ndarray
    kind: int = 0
    label: str = ""
    width: float = 0.8


@record
class Band:
    """The shaded space between low and high over x, each (n,)."""

    x: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kind: int = 0
    label: str = ""


@record
class Arrows:
    """Arrows from (x, y) by (dx, dy), each (n,), in units of the axes."""

    x: np.ndarray
    y: np.ndarray
    dx: np.ndarray
    dy: np.ndarray
    kind: int = 0
    label: str = ""


@record
class Heat:
    """A matrix (rows, columns): cell (r, c) covers r - 0.5 to r + 0.5, rows downwards; nan is left empty.

    `map` is "sequential", "diverging", "shares" or "grey", from `low` to `high`. With `digits`, cells show numbers that fit; `words`,
    row by row, replace them, with `digits` only in cells that they fit. Of cells as many as `bright` has, at the upper right, the
    browser fades those that are 0 there; elsewhere those without a frame.
    """

    values: np.ndarray
    map: str
    low: float
    high: float
    digits: bool = False
    words: tuple = ()
    bright: np.ndarray = None


@record
class Image:
    """A matrix as pixels without a key: the centre of the first one is at (x, y), rows downwards; nan is left empty.

    `map`, `low` and `high` are as in `Heat`; an `opacity` below 1 makes it fainter.
    """

    values: np.ndarray
    map: str
    low: float
    high: float
    x: float = 0.0
    y: float = 0.0
    opacity: float = 1.0


@record
class Blocks:
    """Rectangles from (x0, y0) to (x1, y1), each (n,), coloured by `values` from 0 to `high`; nan draws only a frame.

    Blocks with nonzero `wrong` have stripes, and show `words`. Blocks with one value form a group: pointing at one frames
    all.
    """

    x0: np.ndarray
    y0: np.ndarray
    x1: np.ndarray
    y1: np.ndarray
    values: np.ndarray
    wrong: np.ndarray
    high: float
    words: tuple = ()
    kind: int = 8  # kind of the stripes and frames
    opacity: float = 1.0


@record
class Handles:
    """Points (x, y), each (rows, columns), for dragging in the browser; a ring marks the point at (row, column).

    Pressing at a point sets the fields of the state that `choose` names to its row and column; Page Up and Page Down choose
    its neighbours. Dragging it, or an arrow key (`step`, with Shift four of them), puts (row, column, value of x, value of y)
    into the list in the field `move`, and Home removes it. A value is offset + factor * place, by `units`: (offset, factor)
    of x, then of y. `label` names the points.
    """

    x: np.ndarray
    y: np.ndarray
    row: int
    column: int
    choose: tuple
    move: str
    units: tuple
    step: float
    label: str


@record
class Grip:
    """A handle that the user drags or moves by keys to change the fields `sets`; `label` names the handle.

    `way` is the motion: "place" by the unit of each field, (offset, factor, 0 for x or 1 for y): its value is offset + factor *
    place;
    "scale" by the distance from `about`, "turn" by the angle about that. It looks "square", like a "turn", a "move" or a "shift".
    """

    x: float
    y: float
    sets: tuple
    units: tuple
    label: str
    kind: int = 0
    way: str = "place"
    look: str = "square"
    about: tuple = ()


@record
class Rule:
    """A straight line across the panel where an axis, "x" or "y", has the value `at`."""

    axis: str
    at: float
    label: str = ""
    kind: int = 0


@record
class Box:
    """A rectangle from (x0, y0) to (x1, y1) with a label in its upper left corner; `filled` is the opacity inside. Filled
    wholly, it is the ground of its label; without room for it, its first word or a weight is small at the foot of the cell, or a line is drawn; below
    0, it fades what it lies on. Its frame may be `dashed`.
    """

    x0: float
    y0: float
    x1: float
    y1: float
    label: str = ""
    kind: int = 0
    filled: float = 0.0
    dashed: bool = False


def cell(x, y, kind: int) -> Box:
    """Return the frame of the cell in column x and row y."""
    return Box(x - 0.5, y - 0.5, x + 0.5, y + 0.5, kind=kind)


@record
class Spots:
    """Invisible rectangles from (x0, y0) to (x1, y1), each (n,); the one under the pointer shows its text of `texts`.

    A click sets the fields in its entry of `sets`, (field, value) pairs.
    """

    x0: np.ndarray
    y0: np.ndarray
    x1: np.ndarray
    y1: np.ndarray
    texts: tuple
    sets: tuple = ()


def row_spots(texts, sets=()) -> Spots:
    """Return spots from 0 to 1, one below another around 0, 1, ..."""
    top = np.arange(len(texts)) - 0.5
    return Spots(0 * top, top, 0 * top + 1, top + 1, texts, sets)


@record
class Note:
    """A few words at (x, y); `align` is "left", "center" or "right" of the point. Their width is at most `room` in units of
    x; 0: up to their neighbours.

    With `math` a formula replaces them, in TeX with only the commands \\frac, \\hat, \\overline, \\mathrm, ^ and _.
    """

    x: float
    y: float
    text: str
    align: str = "center"
    room: float = 0.0
    math: str = ""
