"""Interactive picture (explorer) of operators that take rows by an index: an arrow leads each row of the gradient to the place
where it is added.

On the left are the rows of the gradient that arrives, on the right the places. A dragged arrow changes the index; where several arrows
end, what they bring piles up, and the row of an index that is left out is struck out. The sentence to teach: a row of the gradient
falls on the place that its index names, and rows with one index are added up.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.explorers.arrays import XP, double, element, only, paged, placed, sweep
from aclnn_viz.explorers.norms import bars
from aclnn_viz.explorers.state import real, whole
from aclnn_viz.pictures.marks import Box, Handles, Heat, Image, Line, Spots
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, READ
from aclnn_viz.pictures.text import choose, number, written
from aclnn_viz.words.messages import message, tr

# rows that a hand can move; numbers of one that are shown; columns that arrows cross
ROWS, WIDE, GAP = 12, 6, 4
SHARES = np.linspace(0.0, 1.0, 17)  # of the way of an arrow
BARBS = np.array([[-0.13, 0.0, -0.13, np.nan], [-0.13, 0.0, 0.13, np.nan]])


def index_of(op) -> str | None:
    """The one tensor of backward that holds a list of whole numbers."""
    arrays = op.arrange_backward(**case(op).inputs).arrays
    names = [n for n, a in arrays.items() if a is not None and a.dtype.kind in "iu" and a.ndim == 1]
    return names[0] if len(names) == 1 else None


def keeps_rows(op) -> bool:
    """Whether each index has a row of the result for itself, and names a number there; else it names the row."""
    rows, result = (op.tensors[name].shape.split() for name in (index_of(op), op.main))
    return bool({*rows} & {*result})


def left_out(op) -> str | None:
    """The attribute that holds an index to be left out."""
    own = (name for name, a in op.attributes.items() if "int" in a.c_type and not a.values)
    return next((name for name in own if name not in op.sizes.values()), None)


@cache
def is_indices(op) -> bool:
    """Whether each row of the incoming gradient goes to the one place that its index names."""
    arranged = op.arrange_backward(**case(op).inputs)
    arrays, name = paged(XP, arranged), index_of(op)
    shape = arranged.results[op.main].shape
    if name is None or len(shape) != 2:
        return False
    kept, got, rows = keeps_rows(op), arrays[next(iter(op.upstream))].shape, arrays[name].size
    if got not in (((rows,), (1,)) if kept else ((rows, shape[1]),)):
        return False
    each = _each(XP, op, arranged.attributes | arrays, lambda page, values: page(XP, **values))
    there = each if kept else each.any(axis=2)
    return all(not np.delete(row, k).any() for row, k in zip(there, arrays[name]))


def _each(xp, op, values: dict, run) -> np.ndarray:
    """What a gradient of 1 in each row brings: (rows, places, numbers of a row), or (rows, places) where rows are kept."""
    upstream = next(iter(op.upstream))
    ones = np.ones(values[upstream].shape)
    if not keeps_rows(getattr(op, "_op", op)):
        rows = np.eye(min(len(ones), ROWS), len(ones))[:, :, None] * ones
        return xp.stack([run(op.page.backward, values | {upstream: r})[op.main] for r in rows])
    return run(op.page.backward, values | {upstream: ones})[op.main][:ROWS]


def fields_with(op, others: list) -> list[tuple]:
    """The row that is looked at, how many have fallen, and how many there are, where no other length says so."""
    group = message("Element")
    help = message("the share of rows that have fallen on their places")
    count = whole(7, 1, ROWS, message("rows"), group)
    return [
        *others,
        ("element", whole(1, 0, ROWS - 1, message("row"), group, moves=True)),
        *([] if keeps_rows(op) else [("rows", count)]),
        ("sent", real(1.0, 0.0, 1.0, 0.01, message("sent"), group, help)),
    ]


def options(op, state) -> dict:
    """What a case is asked for beside its shape."""
    return {f"{index_of(op)}_shape": (state.rows,)} if hasattr(state, "rows") else {}


def moved(op, state, given: dict, known: dict, xp, forward) -> dict:
    """The inputs with the indices that a hand moved; what forward saves is made anew."""
    plain = getattr(op, "_op", op)
    name, kept = index_of(plain), keeps_rows(plain)
    end, slot = _ends(plain, plain.arrange_backward(**given))
    index = given[name].reshape(-1)
    rows = index[:ROWS]
    hand = xp.reshape(placed(state.moved, (1, rows.size, 2)), (rows.size, 2))[:, 1 - kept]
    there = xp.round(xp.clip(hand, 0.0, end - 1.0 + (slot is not None)))
    there = there if slot is None else xp.where(there == end, float(slot), there)
    taken = xp.astype(xp.where(xp.isnan(hand), double(xp, rows), there), index.dtype)
    given = given | {name: xp.reshape(xp.concat([taken, index[ROWS:]]), given[name].shape)}
    if op.saved:
        made = forward(**{n: (known | given)[n] for n in op.takes if n in known | given})
        given = given | {n: made[output] for n, output in op.saved.items()}
    return given


def _ends(op, arranged) -> tuple[int, int | None]:
    """How many places there are, and the number that is left out where it is none of them."""
    many, name = arranged.results[op.main].shape[keeps_rows(op)], left_out(op)
    value = arranged.attributes.get(name, 0)
    free = op.tensors[index_of(op)].low is None and not 0 <= value < many
    return many, value if free else None


@dataclass(frozen=True, eq=False)
class Indices:
    """The rows that arrive, (rows, numbers), their places, and what they bring there."""

    xp: object
    upstream: str
    output: str
    index: np.ndarray
    place: np.ndarray  # of an index that is none of a place, the one behind the last
    factor: np.ndarray  # what a row is multiplied by on its way; 0: its index is left out
    arriving: np.ndarray
    out: np.ndarray  # (places, numbers of a row), or (rows, places) where rows are kept
    kept: bool
    named: str  # what holds the index that is left out
    slot: bool  # whether there is a place behind the last
    rows: int  # of which the first are shown
    state: object

    @property
    def chosen(self):
        return self.xp.minimum(self.state.element, len(self.index) - 1)

    @property
    def gone(self):
        """How far each row has fallen, from 0 to 1."""
        n = len(self.index)
        return self.xp.clip(self.state.sent * n - np.arange(float(n)), 0.0, 1.0)

    @property
    def ends(self):
        """The first cell of the place of each row: columns, then rows of the picture."""
        right, still = self.arriving.shape[1] + GAP, 0.0 * self.place
        if self.kept:
            return right + self.place, still + np.arange(float(len(self.index)))
        return still + right, self.place

    @property
    def brought(self):
        return self.factor[:, None] * self.arriving

    @property
    def colours(self):
        parts = self.arriving, self.brought, self.out
        return scale(self.xp.concat([self.xp.reshape(part, (-1,)) for part in parts]), self.xp)

    @property
    def fallen(self):
        """What the places hold so far."""
        xp, there = self.xp, double(self.xp, self.gone >= 1.0)[:, None]
        if self.kept:
            return self.out * there
        at = double(xp, self.place[:, None] == np.arange(float(len(self.out))))[:, :, None]
        late = xp.sum(at * ((1.0 - there) * self.brought)[:, None], axis=0)
        return xp.where(self.state.sent < 1.0, self.out - late, self.out)

    @property
    def beside(self):
        """Which rows fall on the place of the chosen one."""
        return (self.place == element(self.xp, self.place, self.chosen)) & (self.factor != 0.0)

    def panels(self, xp) -> list[Panel]:
        return [_arrows(xp, self), *_aside(xp, self)]

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("let the rows fall"), "sent")

    def caption(self, xp):
        k, n = self.chosen, xp.sum(double(xp, self.beside))
        factor, many = element(xp, self.factor, k), len(self.index)
        names = {
            "k": written(k, "d"),
            "p": written(element(xp, self.index, k), ".0f"),
            "n": written(n, ".0f"),
            "factor": number(factor),
            "name": self.named,
        }
        reads = tr(
            "[7:Row {k}] reads one number alone, that of [5:column {p}]. [b:So all of its gradient goes there,] times {factor}, and the others get none.",
            **names,
        )
        usual = (
            reads
            if self.kept
            else choose(
                xp.where(n == 1.0, 0, xp.where(factor == 1.0, 1, 2)),
                tr(
                    "[7:Row {k}] of the gradient falls on [5:row {p}], which its index names. [b:No other row does,] so nothing is added.",
                    **names,
                ),
                tr(
                    "{n} rows of the gradient name [5:row {p}], [7:row {k}] among them. [b:They pile up, and are added.]",
                    **names,
                ),
                tr(
                    "{n} rows of the gradient name [5:row {p}], and each counts {factor} times: [b:what piles up is their mean.]",
                    **names,
                ),
            )
        )
        lost = tr(
            "[7:Row {k}] is struck out, for {name} is its index. [b:Its gradient goes nowhere.]",
            **names,
        )
        falling = tr(
            "{k} of {n} rows have fallen, each on the [5:place] that its index names. [b:Where indices are alike, rows pile up.]",
            k=written(xp.floor(self.state.sent * many), ".0f"),
            n=many,
        )
        return choose(
            xp.where(self.state.sent < 1.0, 2, xp.where(factor == 0.0, 1, 0)), usual, lost, falling
        )


def indices(xp, op, run, arrays, arranged, given, state) -> Indices:
    """Return what the stage shows: what a gradient of 1 in each row brings tells by what a row is multiplied."""
    plain, upstream = getattr(op, "_op", op), next(iter(op.upstream))
    name, kept, values = index_of(plain), keeps_rows(plain), arranged.attributes | arrays
    each, arriving = (
        _each(xp, op, values, run),
        xp.reshape(arrays[upstream], (-1, 1) if kept else arrays[upstream].shape),
    )
    out = run(op.page.backward, values)[op.main]
    out = out[:ROWS] if kept else out[:, :WIDE]
    many, index = out.shape[kept], double(xp, arrays[name])[: len(each)]
    return Indices(
        xp,
        upstream,
        op.main,
        index,
        xp.where((index >= 0.0) & (index < many), index, float(many)),
        xp.sum(each, axis=1) if kept else xp.mean(xp.sum(each, axis=1), axis=1),
        xp.broadcast_to(arriving, (len(arrays[name]), arriving.shape[1]))[:ROWS, :WIDE],
        out,
        kept,
        left_out(plain) or "",
        _ends(plain, arranged)[1] is not None,
        len(arrays[name]),
        state,
    )


def _tips(found: Indices):
    """Where the arrows end, those to one place below each other."""
    (x, y), n = found.ends, len(found.index)
    return x - 0.65, y + (0.0 if found.kept else 0.7 * (np.arange(n) + 0.5) / n - 0.35)


def _strokes(xp, found: Indices, there, kind: int, width: float) -> Line:
    """The arrows of those rows that are `there`."""
    rows, left = found.arriving.shape
    y0, (x1, y1) = np.arange(float(rows))[:, None], (end[:, None] for end in _tips(found))
    x = xp.concat([left - 0.5 + (x1 - left + 0.5) * SHARES, x1 + BARBS[0]], axis=1)
    y = xp.concat([y0 + (y1 - y0) * bent(SHARES), y1 + BARBS[1]], axis=1)
    x = xp.where(there[:, None], x, np.nan)
    return Line(xp.reshape(x, (-1,)), xp.reshape(y, (-1,)), kind, "", width)


def bent(share):
    return share * share * (3.0 - 2.0 * share)


def _flying(xp, found: Indices) -> Image:
    """The row that falls now, on its way."""
    rows = len(found.index)
    k = xp.astype(xp.minimum(xp.floor(found.state.sent * rows), rows - 1.0), xp.int64)
    share, x, y, row = (element(xp, v, k) for v in (found.gone, *found.ends, found.brought))
    return Image(row[None, :], *found.colours, share * x, k + bent(share) * (y - k))


def _arrows(xp, found: Indices) -> Panel:
    (rows, left), out, k = found.arriving.shape, found.fallen, found.chosen
    right, tall = left + GAP, max(rows, len(out))
    wide = right + out.shape[1]

    def block(values):
        return xp.concat([values, np.full((tall - len(values), values.shape[1]), np.nan)])

    shown = xp.where(out == 0.0, np.nan, out) if found.kept else out
    cells = xp.concat([block(found.arriving), np.full((tall, GAP), np.nan), block(shown)], axis=1)
    lost, own = found.factor == 0.0, np.arange(rows) == k
    (x, y), tips = (element(xp, end, k) for end in found.ends), _tips(found)
    struck = xp.where(lost, np.arange(float(rows)), np.nan)[:, None] + np.zeros(3)
    over = np.tile([-0.5, left - 0.5, np.nan], rows)
    units = (0.65 - right, 1.0) if found.kept else (0.0, 0.0), (0.0, float(not found.kept))
    marks = (
        Heat(cells, *found.colours, digits=True),
        Box(right - 0.5, -0.5, wide - 0.5, len(out) - 0.5, kind=GUIDE),
        Box(-0.5, k - 0.5, left - 0.5, k + 0.5, kind=MOVED),
        Box(x - 0.5, y - 0.5, x + 0.5 if found.kept else wide - 0.5, y + 0.5, kind=READ),
        _strokes(xp, found, ~lost, READ, 2.0),
        _strokes(xp, found, lost, GUIDE, 2.0),
        _strokes(xp, found, own, MOVED, 3.5),
        Line(over, xp.reshape(struck, (-1,)), INK, choose(xp.any(lost), "", tr("left out")), 2.0),
        *only(xp, found.state.sent < 1.0, _flying(xp, found)),
        Handles(*(t[None] for t in tips), 0, k, ("", "element"), "moved", units, 1.0, tr("arrows")),
        _spots(xp, found, out, right),
    )
    if found.kept:
        ticks = [(0.0, found.upstream), *((float(right + c), str(c)) for c in range(out.shape[1]))]
        over = tr("column of {output}", output=found.output)
    else:
        ticks, over = [((left - 1) / 2, found.upstream), ((right + wide - 1) / 2, found.output)], ""
    if found.slot:
        ticks.append((float(wide), tr("left out")))
    title = tr(
        "where does a row of {upstream} go? Drag the end of its arrow.", upstream=found.upstream
    )
    label = tr("row") if found.rows == rows else tr("row, of {n}", n=found.rows)
    down = Axis(label, tall - 0.5, -0.5, ticks=tuple((float(j), str(j)) for j in range(tall)))
    return Panel(
        "arrows",
        title,
        marks,
        Axis(over, -0.5, wide + found.slot - 0.5, ticks=tuple(ticks)),
        down,
        13,
        390,
        rows=2,
    )


def _spots(xp, found: Indices, out, right: int) -> Spots:
    """What hovering says: each number, and the index of each arrow."""
    rows = len(found.index)
    places, texts, sets = [], [], []
    for values, name, first in ((found.arriving, found.upstream, 0), (out, found.output, right)):
        for r, c in np.ndindex(values.shape):
            places.append((first + c, r))
            at = {"name": name, "row": r, "column": c, "value": number(values[r, c])}
            texts.append(tr("{name}[{row}, {column}] = {value}", **at))
            sets.append(() if first else (("element", r),))
    x, y = (xp.concat([cells, end]) for cells, end in zip(np.array(places, float).T, _tips(found)))
    half = np.repeat([0.5, 0.15], [len(places), rows])
    for k in range(rows):
        texts.append(tr("row {k} has the index {index}", k=k, index=written(found.index[k], ".0f")))
    return Spots(x - half, y - half, x + half, y + half, tuple(texts), (*sets, *[()] * rows))


def _aside(xp, found: Indices) -> list[Panel]:
    low, high = (1.15 * end(found.factor) for end in (xp.min, xp.max))
    ends = xp.minimum(low, -0.05 * high), xp.maximum(high, -0.05 * low) + 1e-30
    title, tall = tr("each row is multiplied by"), 390 if found.kept else 130
    values, at = found.factor, found.chosen
    factors = bars("factors", title, values, GRADIENT, ends, at, 7, tall, tr("row"))
    factors = replace(factors, y=Axis("", *ends))
    return [replace(factors, rows=2)] if found.kept else [factors, _pile(xp, found)]


def _pile(xp, found: Indices) -> Panel:
    """What falls on the place of the chosen row, and below it the sum."""
    (rows, left), there = found.arriving.shape, found.beside & (found.gone >= 1.0)
    order = xp.argsort(1.0 - double(xp, there), stable=True)
    pile = xp.take(xp.where(there[:, None], found.brought, np.nan), order, axis=0)
    place = xp.minimum(element(xp, found.place, found.chosen), len(found.out) - 1.0)
    total = element(xp, found.fallen, xp.astype(place, xp.int64))[None, :]
    heat = Heat(xp.concat([total, np.full((1, left), np.nan), pile]), *found.colours, digits=True)
    many = xp.sum(double(xp, there))
    ticks = [(0.0, tr("the sum"))] + [
        (k + 2.0, choose(many > k, "", written(order[k], "d"))) for k in range(rows)
    ]
    title = tr("row {p} of {output} adds up", p=written(place, ".0f"), output=found.output)
    up = Axis(tr("row"), -0.5, rows + 1.5, ticks=tuple(ticks))
    return Panel("pile", title, (heat,), Axis(tr("column"), ticks=()), up, 7, 250)
