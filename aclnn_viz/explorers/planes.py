"""Interactive picture (explorer) of an operator without a stage of its own, such as pooling, padding or an embedding, to see the
elements that an output reads, and their gradients.

A backward page is linear in the incoming gradient. With 1 for one output and 0 for all others it gives that output's weight of
each element of the input, a row of the Jacobian. A frame slides over the outputs; each sends its gradient to the elements that
it read, with the same weights. The lesson: an element sums the gradients of all outputs that read it.
"""

from dataclasses import replace

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.explorers.arrays import XP, element, only, point, sheet, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import ZERO
from aclnn_viz.explorers.state import control, vendors
from aclnn_viz.pictures.marks import Bars, Box, Dots, Grip, Heat, Line, Note, Spots, cell, record
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, READ
from aclnn_viz.pictures.text import choose, number, told, written
from aclnn_viz.words.messages import message, tr

KNOWN = 400  # most outputs whose windows are computed
GAP, WEIGHED = 2, 6  # cells between the matrices; most rows that show their weights
LOW, TALL = 210, 390  # heights of panels in pixels
HELD = (-0.42, 1.0, 0), (-0.42, 1.0, 1)  # an output by the corner of its frame


def fields_with(op, others: list) -> list[tuple]:
    """Return the fields: the chosen output, and the number of outputs that have sent gradients."""
    # nothing lies between the last output of a row and the elements that it read; at the rim of an
    # image upsampling reads fewer elements than within
    up = "outputSize" in op.attributes
    last = case(op).inputs[next(iter(op.upstream))].shape[-1] - 1 - up
    return [(name, _tried(made)) for name, made in others] + listed(
        "planes",
        row={"start": 1 + up - ("countIncludePad" in op.attributes)},
        column={"start": last},
    )


def options(op, state) -> dict:
    """Return the options of a case: a few indices, of which some are alike; a larger image after upsampling."""
    found = {
        f"{name}_shape": (7,)
        for name, one in op.tensors.items()
        if isinstance(one.high, str) and one.shape[0] == "*"
    }
    if "outputSize" in op.attributes:
        found["outputSize"] = state.axis_2 + 1, state.axis_3 + 1
    return found


def _tried(made):
    """Return a control with a few values of a real number, because each needs a separate computation; of padding with the
    index of the chosen output.
    """
    start, one = made.default, made.metadata["control"]
    few = {start: message("none"), 3: "3"}
    if one["kind"] == "real":
        few = {start: message("0: from the sizes"), 0.5: "0.5", 2.0: "2"}
    elif one["label"] != "paddingIdx":
        return made
    return vendors(control(start, one["label"], one["group"], options=few, without="alignCorners"))


@record
class Plane:
    """The elements that each output reads in a matrix of the input, and the gradients that it sends."""

    upstream: str
    output: str
    source: str  # forward's parameter with this gradient
    weights: np.ndarray  # weight of each element in each output, shape (outputs, rows, columns)
    gradient: np.ndarray  # incoming gradient of the outputs, shape (rows, columns)
    arrived: np.ndarray  # gradient of each element, summed over all outputs, shape (rows, columns)
    read: np.ndarray  # whether each output reads each element, shape (outputs, rows, columns)
    senders: np.ndarray  # outputs that read one element of each output, after -1
    shared: np.ndarray  # the number of this element, that with the largest weight
    inputs: object  # the elements, where each output takes the largest of its window; else None
    places: tuple  # name of an index for each row of outputs, and the indices; else ()
    state: object

    def chosen(self, xp):
        """Return the number of the chosen output, which sends its gradient in the animation."""
        rows, columns = self.gradient.shape
        row = xp.minimum(self.state.row, rows - 1)
        return xp.minimum(
            row * columns + xp.minimum(self.state.column, columns - 1), len(self.weights) - 1
        )

    def panels(self, xp) -> list[Panel]:
        k, many = self.chosen(xp), len(self.weights)
        gone = xp.clip(self.state.sent * many - np.arange(many), 0.0, 1.0)
        each = self.weights * self.gradient.ravel()[:many, None, None]
        arrived = xp.where(
            self.state.sent < 1.0, xp.sum(gone[:, None, None] * each, axis=0), self.arrived
        )
        most = max(np.abs(part).max() for part in (self.arrived, self.gradient, each)) or 1.0
        sends = each.reshape(many, -1)[self.senders, self.shared[:, None]] * (self.senders >= 0)
        who, shared = element(xp, self.senders, k), element(xp, self.shared, k)
        parts = xp.take(gone, xp.maximum(who, 0)) * element(xp, sends, k)
        # it does not change with the chosen output
        high = 1.1 * np.abs([sends, sends.cumsum(1)]).max() or 1.0
        return [
            _both(xp, self, k, who, arrived, shared, most),
            _adds(xp, self, k, who, parts, shared, high),
        ]

    def plays(self) -> tuple[dict, ...]:
        n = len(self.weights)
        places = [*np.ndindex(self.gradient.shape)][:n]
        return sweep(
            tr("send the gradients back"),
            "sent",
            # each holds the output that has sent last
            frames=[
                {"sent": k / n, "row": row, "column": column}
                for k, (row, column) in enumerate(places[:1] + places)
            ],
            steps=n,
            after={"sent": 1.0},
        )

    def caption(self, xp):
        k, read, many = self.chosen(xp), self.weights != 0.0, len(self.weights)
        counts, shared = read.sum((1, 2)), (self.senders >= 0).sum(1)
        low, high = _ends(read, self.weights)
        whole = np.isclose(low, 1.0) * (3 + (self.inputs is not None))
        kinds = np.select([counts == 0, counts == 1, low == high], [0, 1 + whole, 3], 2)
        at = read.reshape(many, -1).argmax(axis=1)
        kind, n, low, high, m, at = (
            element(xp, one, k) for one in (kinds, counts, low, high, shared, at)
        )
        what = told(
            kind,
            message("The [7:output] has the index of the padding: its row gets no gradient.")
            if self.places
            else message("The [7:output] sends its gradient to no element."),
            "The [7:output] reads [5:one element], which gets {low} times its gradient.",
            "The [7:output] reads [5:{n} elements]: each gets the gradient times its weight [5:w], {low} to {high}.",
            "The [7:output] reads [5:{n} elements], and each gets its gradient divided by {divisor}.",
            "The [7:output] reads [5:one element], which gets the whole gradient.",
            "Index {at} of the [7:output], counted along the rows of the input, names [5:one element], the largest of its window. This gets the whole gradient.",
            n=written(n, "d"),
            low=number(low),
            high=number(high),
            divisor=number(1.0 / low),
            at=written(at, "d"),
        )
        then = told(
            m > 1,
            "[b:No other output sends there,] so nothing is added.",
            "{m} outputs send to one element, [b:and it] [8:adds up] [b:what they send.]",
            m=written(m, "d"),
        )
        sent = tr(
            "{k} of {n} [7:outputs] have sent their gradients back. [b:An] [5:element] [8:adds up] [b:what several outputs send.]",
            k=written(xp.floor(self.state.sent * many + 1e-9), ".0f"),
            n=many,
        )
        return choose(
            xp.where(self.state.sent < 1.0, 2, xp.minimum(n, 1)),
            what,
            tr("{what} {then}", what=what, then=then),
            sent,
        )


def plane(xp, op, run, arrays, arranged, given, state) -> Plane:
    """Return the elements read and gradients sent by the shown outputs; nothing moves, so a trace holds all."""
    upstream, source, inputs = next(iter(op.upstream)), op.gradient_of[op.main], None
    still = {name: 0.0 * arrays[name] for name in op.upstream if arrays[name] is not None}
    whole = arrays[upstream]

    def brought(gradient):
        known = arranged.attributes | arrays | still | {upstream: gradient.reshape(whole.shape)}
        made = op.page.backward(XP, **known)[op.main]
        return sheet(XP, made.reshape(arranged.results[op.main].documented_shape), state)

    own = sheet(XP, np.arange(whole.size).reshape(given[upstream].shape), state)
    weights = np.stack([brought(np.eye(1, whole.size, k)) for k in own.flat[:KNOWN]])
    arrived = brought(whole)
    read = weights != 0.0
    if "kernelSize" in given and (read.sum(axis=(1, 2)) == 1).all():
        inputs = sheet(XP, given[source], state)
        read = _pooled(given, own.shape, arrived.shape)
    named = (
        (name, one)
        for name, one in given.items()
        if getattr(one, "dtype", "") == "i8" and one.shape == own.shape[:1]
    )
    return Plane(
        upstream,
        op.main,
        source,
        weights,
        whole.reshape(-1)[own],
        arrived,
        read,
        *_senders(weights),
        inputs,
        next(named, ()),
        state,
    )


def _both(xp, found: Plane, k, who, arrived, shared, most: float) -> Panel:
    """Return both matrices of gradients, with frames about output `k`, the outputs `who`, and the element at `shared`."""
    (height, columns), (rows, wide) = found.gradient.shape, found.arrived.shape
    row, column, far, tall = k // columns, k % columns, columns + GAP, max(height, rows)
    both = np.pad(found.gradient, ((0, tall - height), (0, GAP)), constant_values=np.nan)
    below = np.full((tall - rows, wide), np.nan)
    cells = xp.concat([both, xp.concat([arrived, below], axis=0)], axis=1)
    r, c = np.indices(found.arrived.shape)
    ends = *_ends(found.read, c + far), *_ends(found.read, r)
    lies = (np.einsum("kij,ij", found.weights, at) for at in (c + far, r))
    left, right, top, bottom, u, v = (element(xp, end, k) for end in (*ends, *lies))
    gap, edge = (columns + (0.2 if found.places else -0.5), far - 0.5), row + 0.0 * top
    down = edge - 0.5, top - 0.5, np.nan, edge + 0.5, bottom + 0.5  # nan where nothing is read
    x, y = xp.where(who < 0, np.nan, who % columns), who // columns
    head = tr("{output}: gradient of {input}", output=found.output, input=found.source)
    weights, read = (element(xp, each, k) for each in (found.weights, found.read))
    marks = [
        Heat(cells, "diverging", -most, most, True, (), read),
        Note(-0.45, -0.85, tr("{name}: gradient of the output", name=found.upstream), "left"),
        Note(far + wide - 0.55, -0.85, head, "right"),
        *(cell(*place, INK) for place in zip(x, y)),
        Line(np.array([*gap, np.nan, *gap]), xp.stack(down), READ, "", 2.4),
        Box(left - 0.5, top - 0.5, right + 0.5, bottom + 0.5, kind=READ),
    ]
    if hasattr(found.state, "alignCorners"):  # weights whose centre is where the output lies
        marks.append(Dots(point(u), point(v), MOVED, tr("where the output lies"), 4.5))
    for r, c in np.ndindex(rows, wide) if tall <= WEIGHED else ():
        x, takes = c + far, weights[r, c] != 0.0
        tag = Box(x - 0.47, r + 0.14, x + 0.47, r + 0.48, "", READ, 1.0)
        share = tr("w={weight}", weight=written(weights[r, c], ".3g"))
        if found.inputs is not None:
            value = f"{found.source} {found.inputs[r, c]:.2g}"
            marks += only(xp, read[r, c] & ~takes, replace(tag, label=value, kind=GUIDE))
            share = f"{r * wide + c}: max {found.inputs[r, c]:.2g}"
        marks += only(xp, takes, replace(tag, label=share))
    if found.places:
        name, places = found.places
        marks.append(Note(columns - 0.1, -0.85, name))
        marks += [Note(columns - 0.4, float(r), f"→ {at}", "left") for r, at in enumerate(places)]
    every = [*np.ndindex(height, columns)]
    texts = [f"{found.upstream}[{y}, {x}] = {number(found.gradient[y, x])}" for y, x in every]
    sets = [(("row", y), ("column", x)) for y, x in every]
    label, (r, c) = tr("the chosen output: drag to choose another output"), np.array(every).T
    marks += [
        cell(xp.where(who[-1] < 0, np.nan, shared % wide + far), shared // wide, GRADIENT),
        cell(column, row, MOVED),
        Spots(c - 0.5, r - 0.5, c + 0.5, r + 0.5, texts, sets),
        Grip(column + 0.42, row + 0.42, ("column", "row"), HELD, label, MOVED),
    ]
    across = [(x + start, f"{x}") for start, n in ((0.0, columns), (far, wide)) for x in range(n)]
    square = 0.3 <= tall / (far + wide) <= 0.6
    return Panel(
        "planes",
        tr("Drag the frame: where does its gradient go?"),
        marks,
        Axis(tr("column"), -0.5, far + wide - 0.5, ticks=across),
        Axis(tr("row"), tall - 0.5, -1.2, ticks=[(y, f"{y}") for y in range(tall)]),
        13,
        0 if square else TALL,
        square=square,
        folds=far,
    )


def _adds(xp, found: Plane, k, who, parts, shared, high: float) -> Panel:
    """Return the gradients that the outputs `who` send to one of the elements of the chosen output `k`."""
    many, none = who.size, who[-1] < 0
    slots = np.arange(many)
    who = xp.where(slots >= many - none, k, who)  # one that sends nothing keeps its place
    at, part = (xp.sum(xp.where(who == k, each, 0.0)) for each in (slots, parts))

    def place(at, matrix):
        wide = matrix.shape[1]
        return tr("{row}, {column}", row=written(at // wide, "d"), column=written(at % wide, "d"))

    named = [(n, choose(who[n] < 0, place(who[n], found.gradient), "")) for n in slots]
    return Panel(
        "adds",
        told(
            none,
            "gradient of {source}[{place}]: the sum of what outputs send",
            "nothing is sent to {source}",
            source=found.source,
            place=place(shared, found.arrived),
        ),
        (
            ZERO,
            Bars(slots, parts, INK, tr("an output sends"), 0.7),
            Bars(
                point(many + 0.5),
                point(xp.sum(parts)),
                GRADIENT,
                tr("the element gets"),
                0.7,
            ),
            Box(at - 0.35, 0.0, at + 0.35, part, kind=MOVED),
        ),
        Axis(
            found.upstream,
            xp.sum(xp.where(who < 0, 1.0, 0.0)) - 0.7,
            many + 1.2,
            ticks=(*named, (many + 0.5, tr("the sum"))),
        ),
        Axis("", -high, high),
        7,
        LOW,
    )


def _senders(weights: np.ndarray) -> tuple:
    """Return the outputs that read one element of each output, after -1; and this element, that with the largest weight, of
    equal ones that which most outputs read.
    """
    flat = weights.reshape(len(weights), -1)
    read = flat != 0.0
    shared = (np.abs(flat) + 1e-9 * read.sum(axis=0)).argmax(axis=1)
    who = np.where(read[:, shared] & read.any(axis=1), np.arange(len(read))[:, None], -1)
    return np.sort(who, axis=0).T[:, -max(1, read.sum(axis=0).max()) :], shared


def _ends(read: np.ndarray, values: np.ndarray) -> list:
    """Return the least and the greatest value of the elements that each output reads, nan if it reads none."""
    used = np.where(read, values, np.nan)
    return [end.reduce(used, axis=(-2, -1)) for end in (np.fmin, np.fmax)]


def _pooled(given: dict, outputs: tuple, inputs: tuple) -> np.ndarray:
    """Return whether a window of pooling covers an element, (outputs, rows, columns)."""
    kernel, stride, padding, dilation = (
        np.resize(given[name] or given["kernelSize"], 2)[:, None, None]
        for name in ("kernelSize", "stride", "padding", "dilation")
    )
    start = np.indices(outputs).reshape(2, -1).T[:KNOWN, :, None, None] * stride
    away = np.indices(inputs) + padding - start
    return ((away >= 0) & (away < kernel * dilation) & (away % dilation == 0)).all(axis=1)
