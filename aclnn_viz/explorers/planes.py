"""Interactive picture (explorer) of an operator without a stage of its own, such as pooling, padding or an embedding, to see the
elements that an output reads, and their gradients.

A backward page is linear in the incoming gradient. With 1 for one output and 0 for all others it gives that output's weight of
each element of the input, a row of the Jacobian. A frame slides over the outputs; each sends its gradient to the elements that
it read, with the same weights. The lesson: an element sums the gradients of all outputs that read it.
"""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.explorers.arrays import XP, element, point, sheet, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import ZERO
from aclnn_viz.explorers.state import control, vendors
from aclnn_viz.pictures.marks import Bars, Box, Grip, Heat, Line, Note, Spots
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, INK, MOVED, READ
from aclnn_viz.pictures.text import choose, number, told, written
from aclnn_viz.words.messages import message, tr

KNOWN = 400  # most outputs whose windows are computed
GAP, WEIGHED = 2, 6  # cells between the matrices; most rows that show their weights
LOW, TALL = 210, 390  # heights of panels in pixels


def fields_with(op, others: list) -> list[tuple]:
    """Return the fields: the chosen output, and the number of outputs that have sent gradients."""
    # nothing lies between the last output of a row and the elements that it read; at the rim of an
    # image upsampling reads fewer elements than within
    last = case(op).inputs[next(iter(op.upstream))].shape[-1] - 1
    own = listed("planes", column={"start": last - ("outputSize" in op.attributes)})
    return [*((name, _tried(made)) for name, made in others), *own]


def options(op, state) -> dict:
    """Return the options of a case: a few indices, of which some are alike; a larger image after upsampling."""
    tensors = op.tensors.items()
    free = (name for name, one in tensors if isinstance(one.high, str) and one.shape[0] == "*")
    found = {f"{name}_shape": (7,) for name in free}
    if "outputSize" in op.attributes:
        found["outputSize"] = state.axis_2 + 1, state.axis_3 + 1
    return found


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
    """The elements that each output reads in a matrix of the input, and the gradients that it sends."""

    upstream: str
    output: str
    weights: np.ndarray  # weight of each element in each output, shape (outputs, rows, columns)
    gradient: np.ndarray  # incoming gradient of the outputs, shape (rows, columns)
    arrived: np.ndarray  # gradient of each element, summed over all outputs, shape (rows, columns)
    windows: np.ndarray  # rectangle around what each output reads, (outputs, 4), nan for nothing
    pooled: bool  # of its window, each output takes the largest element
    places: tuple  # name of an index for each row of outputs, and the indices; else ()
    state: object

    def chosen(self, xp):
        """Return the number of the chosen output: the sending one, else the selected one."""
        (rows, columns), last = self.gradient.shape, len(self.weights) - 1
        row = xp.minimum(self.state.row, rows - 1)
        column = xp.minimum(self.state.column, columns - 1)
        head = xp.astype(xp.minimum(self.sent(xp), float(last)), xp.int64)
        return xp.where(self.state.sent < 1.0, head, xp.minimum(row * columns + column, last))

    def sent(self, xp):
        """Return the number of outputs that have sent their gradients."""
        return xp.floor(self.state.sent * len(self.weights))

    def panels(self, xp) -> list[Panel]:
        return _panels(xp, self)

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("send the gradients back"), "sent")

    def caption(self, xp):
        k, read = self.chosen(xp), self.weights != 0.0
        counts, readers = read.sum(axis=(1, 2)), read.sum(axis=0)
        # the least and the greatest weight, and the most outputs that read one of a window's elements
        used = np.where(read, self.weights, np.nan)
        low, high = (end.reduce(used, axis=(1, 2)) for end in (np.fmin, np.fmax))
        shared = np.array([readers[one].max(initial=0) for one in read])
        kinds = np.where(counts == 1, 1 + 2 * self.pooled, np.minimum(counts, 2))
        kinds[(counts > 1) & (low == high)] = 4
        kinds[(kinds == 1) & (low == 1.0)] = 5
        kind, n, low, high, m = (element(xp, one, k) for one in (kinds, counts, low, high, shared))
        what = told(
            kind,
            message("The [7:output] sends its gradient to no element."),
            message(
                "The [7:output] lies in a copy of row {at} of the table: it reads [5:one element], which gets {low} times its gradient."
            )
            if self.places
            else message(
                "The [7:output] reads [5:one element], which gets {low} times its gradient."
            ),
            message(
                "The [7:output] reads [5:{n} elements], and each gets its gradient times the element's weight, from {low} to {high}."
            ),
            message(
                "The [7:output] took its value from [5:one element], the largest of its window. This element gets the whole gradient."
            ),
            message(
                "The [7:output] reads [5:{n} elements], and each gets {low} times its gradient."
            ),
            message("The [7:output] reads [5:one element], which gets the whole gradient."),
            n=written(n, "d"),
            low=number(low),
            high=number(high),
            at=written(element(xp, self.windows[:, 1] + 0.5, k), ".0f"),
        )
        then = told(
            m > 1,
            message("[b:No other output sends to this element,] so nothing is added."),
            message(
                "Up to {m} copies of this row send to it, [b:and it] [8:adds up] [b:what they send.]"
            )
            if self.places
            else message(
                "Up to {m} outputs send to the same element, [b:and it] [8:adds up] [b:what they send.]"
            ),
            m=written(m, "d"),
        )
        sent = tr(
            "{k} of {n} [7:outputs] have sent their gradients back. [b:An] [5:element] [8:adds up] [b:what several outputs send.]",
            k=written(self.sent(xp), ".0f"),
            n=len(read),
        )
        both = tr("{what} {then}", what=what, then=then)
        return choose(xp.where(self.state.sent < 1.0, 2, xp.minimum(n, 1)), what, both, sent)


def plane(xp, op, run, arrays, arranged, given, state) -> Plane:
    """Return the elements read and gradients sent by the shown outputs; nothing moves, so a trace holds all."""
    upstream, result = next(iter(op.upstream)), arranged.results[op.main]
    still = {name: 0.0 * arrays[name] for name in op.upstream if arrays[name] is not None}
    whole = arrays[upstream]

    def brought(gradient):
        known = arranged.attributes | arrays | still | {upstream: gradient.reshape(whole.shape)}
        made = op.page.backward(XP, **known)[op.main]
        return sheet(XP, made.reshape(result.documented_shape), state)

    own = sheet(XP, np.arange(whole.size).reshape(given[upstream].shape), state)
    weights = [brought(np.eye(1, whole.size, k)) for k in own.flat[:KNOWN]]
    weights, gradient, arrived = np.stack(weights), whole.reshape(-1)[own], brought(whole)
    pooled = "kernelSize" in given and bool((np.count_nonzero(weights, axis=(1, 2)) == 1).all())
    windows = _pooled(given, own.shape, arrived.shape) if pooled else _windows(weights != 0.0)
    named = (
        (name, one)
        for name, one in given.items()
        if getattr(one, "dtype", np.dtype(float)).kind == "i" and one.shape == own.shape[:1]
    )
    places = next(named, ())
    return Plane(upstream, op.main, weights, gradient, arrived, windows, pooled, places, state)


def _panels(xp, found: Plane) -> list[Panel]:
    k, many, columns = found.chosen(xp), len(found.weights), found.weights.shape[2]
    gone = xp.clip(found.state.sent * many - np.arange(float(many)), 0.0, 1.0)
    each = found.weights * found.gradient.ravel()[:many, None, None]
    sending = xp.sum(xp.reshape(gone, (-1, 1, 1)) * each, axis=0)
    arrived = xp.where(found.state.sent < 1.0, sending, found.arrived)
    most = max(np.abs(part).max(initial=0.0) for part in (found.arrived, found.gradient, each))
    read = found.weights != 0.0
    readers = read.sum(axis=0)
    # for each output, the element that most outputs read among its own, and these outputs, then -1
    shared = np.array([np.where(one, readers, -1).argmax() for one in read])
    senders = np.full((many, max(1, readers.max(initial=0))), -1)
    for row, at in zip(senders, shared):
        who = np.flatnonzero(read.reshape(many, -1)[:, at])
        row[: who.size] = who
    sends = np.where(senders < 0, 0.0, each.reshape(many, -1)[senders, shared[:, None]])
    who, shared = element(xp, senders, k), element(xp, shared, k)
    parts = xp.take(gone, xp.maximum(who, 0)) * element(xp, sends, k)
    high = 1.15 * np.abs(np.hstack([sends, sends.cumsum(axis=1)])).max(initial=0.0) or 1.0
    return [
        _both(xp, found, who, arrived, most or 1.0),
        _adds(xp, found, who, parts, (shared // columns, shared % columns), high),
    ]


def _both(xp, found: Plane, who, arrived, most: float) -> Panel:
    """Return the incoming gradients, where the outputs `who` have a frame, and the gradients from the chosen output to the
    elements that it read.
    """
    k, (height, columns), (rows, wide) = found.chosen(xp), found.gradient.shape, found.arrived.shape
    row, column, far, tall = k // columns, k % columns, columns + GAP, max(height, rows)
    both, below = np.full((tall, far), np.nan), np.full((tall - rows, wide), np.nan)
    both[:height, :columns] = found.gradient
    cells = xp.concat([both, xp.concat([arrived, below], axis=0)], axis=1)
    ends = (element(xp, found.windows[:, at], k) for at in range(4))
    left, top, right, bottom = (end + far * (at in (0, 2)) for at, end in enumerate(ends))
    # within a matrix the beam runs along borders of cells, so it strikes no number out
    gap = columns + 0.2, far - 0.5
    beam = (
        (column + 0.5, *gap, left, np.nan, column + 0.5, *gap, left),
        (row - 0.5, row - 0.5, top, top, np.nan, row + 0.5, row + 0.5, bottom, bottom),
    )
    x, y = xp.where(who < 0, np.nan, who % columns), who // columns
    marks = [
        Heat(cells, "diverging", -most, most, digits=True),
        Note((columns - 1) / 2, -0.85, found.upstream),
        Note(far + (wide - 1) / 2, -0.85, found.output),
        *(Box(x[n] - 0.5, y[n] - 0.5, x[n] + 0.5, y[n] + 0.5, kind=INK) for n in range(who.size)),
        Line(*(xp.concat([point(end) for end in ends]) for ends in beam), READ, "", 2.4),
        Box(left, top, right, bottom, kind=READ),
        Box(column - 0.5, row - 0.5, column + 0.5, row + 0.5, kind=MOVED),
    ]
    weights = element(xp, found.weights, k)
    for r, c in np.ndindex(rows, wide) if tall <= WEIGHED else ():
        tag = [xp.where(weights[r, c] != 0.0, c + far + side, np.nan) for side in (-0.42, 0.42)]
        share = tr("×{weight}", weight=written(weights[r, c], ".3g"))
        marks.append(Box(tag[0], r + 0.14, tag[1], r + 0.48, share, READ, 1.0))
    if found.places:
        name, places = found.places
        marks.append(Note(columns + 0.1, -0.85, name))
        marks += [Note(columns - 0.4, float(r), f"→ {at}", "left") for r, at in enumerate(places)]
    known = [*np.ndindex(height, columns)][: len(found.weights)]
    r, c = np.array(known, float).reshape(-1, 2).T
    texts = (f"{found.upstream}[{y}, {x}] = {number(found.gradient[y, x])}" for y, x in known)
    sets = tuple((("row", y), ("column", x)) for y, x in known)
    label = tr("the chosen output: drag to choose another output")
    units = (-0.42, 1.0, 0), (-0.42, 1.0, 1)
    marks += [
        Spots(c - 0.5, r - 0.5, c + 0.5, r + 0.5, tuple(texts), sets),
        Grip(column + 0.42, row + 0.42, ("column", "row"), units, label, MOVED),
    ]
    across = [(x + start, f"{x}") for start, n in ((0.0, columns), (far, wide)) for x in range(n)]
    title = tr("where does the gradient of an output go? Drag its frame.")
    over = Axis(tr("column"), -0.5, far + wide - 0.5, ticks=tuple(across))
    down = Axis(tr("row"), tall - 0.5, -1.2, ticks=tuple((y, f"{y}") for y in range(tall)))
    square = 0.3 <= tall / (far + wide) <= 0.6
    height = 0 if square else TALL
    return Panel("planes", title, marks, over, down, 13, height, square=square)


def _adds(xp, found: Plane, who, parts, shared, high: float) -> Panel:
    """Return the gradients that the outputs `who` send to one of the chosen output's elements."""
    many, columns = who.size, found.gradient.shape[1]

    def place(row, column):
        return tr("{row}, {column}", row=written(row, "d"), column=written(column, "d"))

    at = ((who[k] // columns, who[k] % columns) for k in range(many))
    named = [(k, choose(who[k] < 0, place(*at), "")) for k, at in enumerate(at)]
    marks = (
        ZERO,
        Bars(np.arange(float(many)), parts, INK, tr("gradient that an output sends"), 0.7),
        Bars(
            point(many + 0.5),
            point(xp.sum(parts)),
            GRADIENT,
            tr("gradient that the element gets"),
            0.7,
        ),
    )
    title = tr("element {place} of {output} adds up", output=found.output, place=place(*shared))
    over = Axis(tr("output"), -0.7, many + 1.2, ticks=(*named, (many + 0.5, tr("the sum"))))
    return Panel("adds", title, marks, over, Axis("", -high, high), 7, LOW)


def _windows(read: np.ndarray) -> np.ndarray:
    """Return the rectangle around each output's elements, (outputs, 4), nan if it reads none."""
    made = np.full((len(read), 4), np.nan)
    for at, one in enumerate(read):
        rows, columns = np.nonzero(one)
        if rows.size:
            made[at] = columns.min() - 0.5, rows.min() - 0.5, columns.max() + 0.5, rows.max() + 0.5
    return made


def _pooled(given: dict, outputs: tuple, inputs: tuple) -> np.ndarray:
    """Return the windows of pooling, (outputs, 4), without what lies in the padding."""
    names = ("kernelSize", "stride", "padding", "dilation")
    kernel, stride, padding, dilation = (
        np.resize(given[name] or given["kernelSize"], 2) for name in names
    )
    low = np.indices(outputs).reshape(2, -1).T[:KNOWN] * stride - padding
    high = np.minimum(low + (kernel - 1) * dilation, np.array(inputs) - 1)
    return np.hstack([np.maximum(low, 0)[:, ::-1] - 0.5, high[:, ::-1] + 0.5])
