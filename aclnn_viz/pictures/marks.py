"""Marks of a picture (lines, dots, cells, texts) as data, each a few arrays and a kind, for Matplotlib and the browser to draw.

Colours are never chosen here: a mark has a `kind`, and every kind differs in colour, dash and marker, so that nothing
differs by colour alone.
"""

from dataclasses import dataclass

import numpy as np


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
    """Points (x, y), each (n,), as markers that reach `size` pixels to each side."""

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
    them; `words` stand in the cells in their place, row by row, and with `digits` only where cells hold them.
    """

    values: np.ndarray
    map: str
    low: float
    high: float
    digits: bool = False
    words: tuple = ()


@dataclass(frozen=True, eq=False)
class Image:
    """A matrix as pixels without a key: the centre of the first one is at (x, y), rows downwards; nan is left empty.

    `map`, `low` and `high` are those of `Heat`; an `opacity` below 1 sets it back.
    """

    values: np.ndarray
    map: str
    low: float
    high: float
    x: float = 0.0
    y: float = 0.0
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rectangles from (x0, y0) to (x1, y1), each (n,), in the hues of `values` from 0 to `high`; nan is a frame.

    Where `wrong` is not 0 there are stripes. `words` stand in them. What has one value belongs together: pointing at one frames all.
    """

    x0: np.ndarray
    y0: np.ndarray
    x1: np.ndarray
    y1: np.ndarray
    values: np.ndarray
    wrong: np.ndarray
    high: float
    words: tuple = ()
    kind: int = 8  # of stripes, and of frames
    opacity: float = 1.0


@dataclass(frozen=True, eq=False)
class Handles:
    """Points (x, y), each (rows, columns), that a hand moves in the browser; a ring is around that at (row, column).

    Pressing at a point sets the fields of the state that `choose` names to its row and column; Page Up and Page Down
    choose its neighbours. Dragging it, or an arrow key (`step`, with Shift four of them), puts (row, column, value of
    x, value of y) into the list in the field `move`, and Home takes it out again. A value is offset + factor * place,
    by `units`: (offset, factor) of x, then of y. `label` names the points.
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


@dataclass(frozen=True, eq=False)
class Grip:
    """A place that a hand drags in the browser, or moves by keys, to set the fields `sets`; `label` names it.

    `way` says how: "place" by the unit of each field, (offset, factor, 0 for x or 1 for y): its value is offset + factor * place;
    "scale" by the distance from `about`, "turn" by the angle about that. It looks "square", like a "turn" or a "move".
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


@dataclass(frozen=True, eq=False)
class Rule:
    """A straight line across the panel where an axis, "x" or "y", has the value `at`."""

    axis: str
    at: float
    label: str = ""
    kind: int = 0


@dataclass(frozen=True, eq=False)
class Box:
    """An outlined rectangle, from (x0, y0) to (x1, y1), with a label in its upper left corner, `filled` as densely as that says."""

    x0: float
    y0: float
    x1: float
    y1: float
    label: str = ""
    kind: int = 0
    filled: float = 0.0


@dataclass(frozen=True, eq=False)
class Spots:
    """Places from (x0, y0) to (x1, y1), each (n,), that are not drawn; the one under the pointer shows its text of `texts`.

    A click there sets fields of the state, (field, value) pairs each, of `sets`; none where it is empty.
    """

    x0: np.ndarray
    y0: np.ndarray
    x1: np.ndarray
    y1: np.ndarray
    texts: tuple
    sets: tuple = ()


@dataclass(frozen=True, eq=False)
class Note:
    """A few words at (x, y); `align` is "left", "center" or "right" of the point. They may be `room` wide in units of x; 0: up to their neighbours.

    With `math` a formula is drawn in their place, in TeX of its commands \\frac, \\hat, \\overline, \\mathrm, ^ and _ alone.
    """

    x: float
    y: float
    text: str
    align: str = "center"
    room: float = 0.0
    math: str = ""
