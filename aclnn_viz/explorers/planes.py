"""Interactive picture (explorer) of pooling, upsampling and padding, to see the pixels that an output reads, and their
gradients.

A window slides over the input, one output after the other. Each sends its gradient to the pixels that it read, with the same
weights, and a pixel sums the gradients from several windows. The lesson: a pixel sums the gradients of all outputs that read
it.
"""

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from aclnn_viz.arrays.driver import place_of
from aclnn_viz.cases import case
from aclnn_viz.explorers.arrays import XP, element, point, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import block_of
from aclnn_viz.explorers.state import control, vendors
from aclnn_viz.pictures.marks import Bars, Box, Grip, Heat, Image, Line, Note, Rule, Spots
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, READ
from aclnn_viz.pictures.text import choose, number, written
from aclnn_viz.words.messages import tr

KNOWN = 400  # most outputs of a plane whose windows are computed
GAP, WEIGHED = 2, 64  # cells between the planes; most pixels of a window that show their weights
LOW = 170


def outer(op, arranged, given: dict):
    """Return the numbers of rows and columns of one plane of the incoming gradient; None unless the operator maps
    planes to planes.
    """
    axes, upstream, result = op.page.AXES, next(iter(op.upstream)), arranged.results[op.main]
    inner = [n for n, axis in zip(result.shape, axes[op.main]) if axis == "."]
    names = [
        "".join(
            name
            for name, axis in zip(op.page_axes(key, arranged.attributes), axes[key])
            if axis == "."
        )
        for key in (op.main, upstream)
    ]
    shape, planes = given[upstream].shape[-2:], prod(result.shape) // max(prod(inner), 1)
    alike = (
        len(inner) == 2 == len(shape)
        and names[0] != names[1]
        and prod(shape) * planes == given[upstream].size
        and tuple(inner) == result.documented_shape[-2:]
    )
    return tuple(shape) if alike else None


@cache
def is_plane(op) -> bool:
    given = case(op).inputs
    return outer(op, op.arrange_backward(**given), given) is not None


def fields_with(op, others: list, row: int = 1, column: int = 1) -> list[tuple]:
    """Return the fields: the chosen output, and the number of outputs that have sent gradients."""
    places = {"row": {"start": int(row)}, "column": {"start": int(column)}}
    return [*((name, _tried(made)) for name, made in others), *listed("planes", **places)]


def _tried(made):
    """Return a control with a few values of a real number, because each needs a separate computation."""
    one = made.metadata["control"]
    if one["kind"] != "real":
        return made
    few = {value: f"{value:g}" for value in (made.default, 0.5, 2.0)}
    how = {"label": one["label"], "group": one["group"], "options": few, "names": True}
    return vendors(control(made.default, **how))


@dataclass(frozen=True, eq=False)
class Plane:
    """The pixels that each output reads in a plane of the input, and the gradients that it sends."""

    upstream: str
    output: str
    weights: np.ndarray  # weight of each pixel in each output, shape (outputs, rows, columns)
    gradient: np.ndarray  # incoming gradient of the outputs, shape (rows, columns)
    arrived: np.ndarray  # gradient of each pixel, summed over all outputs, shape (rows, columns)
    state: object

    @property
    def sending(self):
        """Return how many of the outputs with known windows send a gradient."""
        return self.state.sent * len(self.weights)

    def chosen(self, xp):
        """Return the number of the chosen output: the sending one, else the selected one."""
        rows, columns = self.gradient.shape
        own = xp.minimum(self.state.row, rows - 1) * columns + xp.minimum(
            self.state.column, columns - 1
        )
        last = len(self.weights) - 1
        head = xp.astype(xp.minimum(xp.floor(self.sending), float(last)), xp.int64)
        return xp.where(self.state.sent < 1.0, head, xp.minimum(own, last))

    def panels(self, xp) -> list[Panel]:
        return _panels(xp, self)

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("slide the window"), "sent")

    @property
    def counts(self) -> np.ndarray:
        """Return the number of pixels that each output reads."""
        return (self.weights != 0.0).sum(axis=(1, 2)).astype(float)

    def caption(self, xp):
        k, read = self.chosen(xp), self.weights != 0.0
        readers = read.sum(axis=0)
        # for each window, the most outputs that read one of its pixels
        shared = np.array([readers[one].max(initial=0) for one in read], float)
        alike = np.array(
            [np.ptp(w[one]) < 1e-12 if one.any() else True for w, one in zip(self.weights, read)]
        )
        n, m = element(xp, self.counts, k), element(xp, shared, k)
        largest = element(xp, np.abs(self.weights).max(axis=(1, 2)), k)
        least = element(xp, self.weights.min(axis=(1, 2)), k)
        names = {
            "n": written(n, ".0f"),
            "m": written(m, ".0f"),
            "share": written(largest, ".4g"),
        }
        what = choose(
            xp.where(
                n == 0,
                0,
                xp.where(n == 1, 1, xp.where(least < 0, 4, xp.where(element(xp, alike, k), 2, 3))),
            ),
            tr("The [7:output] reads no pixel, and its gradient goes nowhere."),
            tr(
                "The [7:output] reads [5:one pixel], which gets {share} times its gradient.",
                **names,
            ),
            tr(
                "The [7:output] reads [5:{n} pixels], and each gets {share} times its gradient.",
                **names,
            ),
            tr(
                "The [7:output] reads [5:{n} pixels], the nearest one most: {share} times its gradient.",
                **names,
            ),
            tr(
                "The [7:output] reads [5:{n} pixels], some with a negative weight: these get its gradient with the other sign.",
                **names,
            ),
        )
        then = choose(
            m > 1,
            tr("[b:No other output reads this pixel,] so nothing is added."),
            tr(
                "Up to {m} outputs read the same pixel, [b:and it] [8:adds up] [b:what they send.]",
                **names,
            ),
        )
        count = len(self.weights)
        return choose(
            self.state.sent < 1.0,
            tr("{what} {then}", what=what, then=then),
            tr(
                "{k} of {n} [7:outputs] have sent their gradients to the [5:pixels] that they read. [b:Where windows overlap, they add up.]",
                k=written(xp.floor(self.sending), ".0f"),
                n=count,
            ),
        )


def plane(xp, op, run, arrays, arranged, given, state) -> Plane:
    """Return the pixels read and gradients sent by the shown plane's outputs; nothing moves, so a trace holds all."""
    page, axes, upstream = op.page, op.page.AXES, next(iter(op.upstream))
    block = block_of(op, arranged, state)
    part = {
        name: array if array is None else array[place_of(array, axes[name], block)]
        for name, array in arrays.items()
    }
    shape, size = part[upstream].shape, part[upstream].size
    inner = arranged.results[op.main].documented_shape[-2:]

    def brought(gradient):
        known = arranged.attributes | part | {upstream: np.reshape(gradient, shape)}
        return np.reshape(page.backward(XP, **known)[op.main], inner)

    weights = np.stack([brought(np.eye(1, size, k)) for k in range(min(size, KNOWN))])
    return Plane(
        upstream,
        op.main,
        weights,
        np.reshape(part[upstream], outer(op, arranged, given)),
        brought(part[upstream]),
        state,
    )


def _panels(xp, found: Plane) -> list[Panel]:
    k, many, rows = found.chosen(xp), len(found.weights), found.weights.shape[1:]
    gone = xp.clip(found.sending - np.arange(float(many)), 0.0, 1.0)
    each = found.weights * found.gradient.ravel()[:many, None, None]
    sending = xp.sum(xp.reshape(gone, (-1, 1, 1)) * each, axis=0)
    arrived = xp.where(found.state.sent < 1.0, sending, found.arrived)
    most = max(np.abs(part).max(initial=0.0) for part in (found.arrived, found.gradient, each))
    read = found.weights != 0.0
    window = [element(xp, _windows(read)[:, at], k) for at in range(4)]
    readers = read.sum(axis=0).astype(float)
    # for each window, the pixel that most outputs read
    pixel = element(xp, np.array([np.where(one, readers, -1.0).argmax() for one in read]), k)
    parts = gone * element(xp, each.reshape(many, -1), pixel, axis=1)
    high = 1.15 * np.abs(each).sum(axis=0).max(initial=0.0) or 1.0
    return [
        _both(xp, found, arrived, most or 1.0, window),
        _counts(readers, window, np.prod(rows) <= WEIGHED),
        _adds(xp, found, parts, (pixel // rows[1], pixel % rows[1]), high),
    ]


def _both(xp, found: Plane, arrived, most: float, window) -> Panel:
    """Return the incoming gradients, and the gradients from the chosen output to the pixels that it read."""
    k, (height, columns), (rows, wide) = found.chosen(xp), found.gradient.shape, found.arrived.shape
    row, column, far = k // columns, k % columns, columns + GAP
    both = np.full((max(height, rows), far), np.nan)
    both[:height, :columns] = found.gradient
    below = np.full((len(both) - rows, wide), np.nan)
    left, top, right, bottom = (end + far * (at in (0, 2)) for at, end in enumerate(window))
    beam = (
        (column + 0.5, left, np.nan, column + 0.5, left),
        (row - 0.5, top, np.nan, row + 0.5, bottom),
    )
    marks = [
        Heat(
            xp.concat([both, xp.concat([arrived, below], axis=0)], axis=1),
            "diverging",
            -most,
            most,
            digits=True,
        ),
        Note((columns - 1) / 2, -0.85, found.upstream),
        Note(far + (wide - 1) / 2, -0.85, found.output),
        Line(*(xp.concat([point(end) for end in ends]) for ends in beam), READ, "", 1.6),
        Box(left, top, right, bottom, kind=READ),
        Box(column - 0.5, row - 0.5, column + 0.5, row + 0.5, kind=MOVED),
    ]
    weights = element(xp, found.weights, k)
    for r, c in np.ndindex(rows, wide) if rows * wide <= WEIGHED else ():
        tag = [xp.where(weights[r, c] != 0.0, c + far + side, np.nan) for side in (-0.42, 0.42)]
        share = tr("×{weight}", weight=written(weights[r, c], ".3g"))
        marks.append(Box(tag[0], r + 0.18, tag[1], r + 0.46, share, READ, 0.9))
    known = [*np.ndindex(height, columns)][: len(found.weights)]
    r, c = np.array(known, float).reshape(-1, 2).T
    texts = (f"{found.upstream}[{y}, {x}] = {number(found.gradient[y, x])}" for y, x in known)
    sets = tuple((("row", y), ("column", x)) for y, x in known)
    label, units = (
        tr("the chosen output: drag to choose another output"),
        ((-0.42, 1.0, 0), (-0.42, 1.0, 1)),
    )
    marks += [
        Spots(c - 0.5, r - 0.5, c + 0.5, r + 0.5, tuple(texts), sets),
        Grip(column + 0.42, row + 0.42, ("column", "row"), units, label, MOVED),
    ]
    across = [(x + start, f"{x}") for start, n in ((0.0, columns), (far, wide)) for x in range(n)]
    down = tuple((y, f"{y}") for y in range(len(both)))
    return Panel(
        "planes",
        tr("where does the gradient of an output go? Drag its frame."),
        tuple(marks),
        Axis(tr("column"), -0.5, far + wide - 0.5, ticks=tuple(across)),
        Axis(tr("row"), len(both) - 0.5, -1.2, ticks=down),
        11,
        0,
        square=True,
    )


def _counts(readers, window, few: bool) -> Panel:
    shades = Image(readers, "sequential", 0.0, 2.0 * readers.max(initial=1.0), opacity=0.3)
    words = [Note(c, r, f"{n:.0f}") for (r, c), n in np.ndenumerate(readers) if few]
    marks, over, up = (shades, *words, Box(*window, kind=READ)), tr("column"), tr("row")
    title = tr("how many outputs read each pixel")
    return Panel("counts", title, marks, Axis(over), Axis(up), 4, LOW, square=True)


def _adds(xp, found: Plane, parts, pixel, high: float) -> Panel:
    """Return the gradients that all outputs send to one of the chosen output's pixels."""
    many, columns = len(found.weights), found.gradient.shape[1]
    end = np.full(1, many + 0.5)
    named = tuple((k, f"{k // columns},{k % columns}") for k in range(many))
    row, column = (written(at, "d") for at in pixel)
    marks = (
        Rule("y", 0.0, kind=GUIDE),
        Bars(np.arange(float(many)), parts, INK, tr("gradient that an output sends"), 0.7),
        Bars(end, point(xp.sum(parts)), GRADIENT, tr("gradient that the pixel gets"), 0.7),
    )
    title = tr(
        "pixel {row}, {column} of {output} adds up", output=found.output, row=row, column=column
    )
    over = Axis(tr("output"), -0.7, many + 1.2, ticks=(*named, (many + 0.5, tr("the sum"))))
    return Panel("adds", title, marks, over, Axis("", -high, high), 5, LOW)


def _windows(read: np.ndarray) -> np.ndarray:
    """Return the rectangle around each output's pixels, (outputs, 4), nan if it reads none."""
    made = np.full((len(read), 4), np.nan)
    for at, one in enumerate(read):
        rows, columns = np.nonzero(one)
        if rows.size:
            made[at] = columns.min() - 0.5, rows.min() - 0.5, columns.max() + 0.5, rows.max() + 0.5
    return made
