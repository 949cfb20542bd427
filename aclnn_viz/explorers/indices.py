"""Interactive picture (explorer) of operators that take rows by an index: an arrow points from each row of the gradient to
its place in the sum.

On the left are the rows of the incoming gradient, on the right the places. A dragged arrow changes the index; rows with one
place pile up, and the row of an excluded index is struck out. The lesson: a row of the gradient goes to the place that its
index names, and rows with one index are summed.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.explorers.arrays import XP, double, element, only, paged, placed, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import bars
from aclnn_viz.pictures.marks import Box, Handles, Heat, Image, Line
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, READ
from aclnn_viz.pictures.text import choose, number, written
from aclnn_viz.words.messages import tr

# most rows; most shown numbers of a row; columns between the panels, for arrows
ROWS, WIDE, GAP = 12, 6, 4
SHARES = np.linspace(0.0, 1.0, 17)  # points of an arrow, as shares of its length


def index_of(op) -> str | None:
    """Return the name of backward's only one-dimensional tensor of whole numbers; None if there are none or several."""
    arrays = op.arrange_backward(**case(op).inputs).arrays
    names = [n for n, a in arrays.items() if a is not None and a.dtype.kind in "iu" and a.ndim == 1]
    return names[0] if len(names) == 1 else None


def left_out(op) -> str | None:
    """Return the name of the attribute that holds an excluded index, or None."""
    own = (name for name, a in op.attributes.items() if "int" in a.c_type and not a.values)
    return next((name for name in own if name not in op.sizes.values()), None)


@cache
def is_indices(op) -> bool:
    """Return whether each row of the incoming gradient goes only to the row of the result that its index names."""
    arranged = op.arrange_backward(**case(op).inputs)
    arrays, name = paged(XP, arranged), index_of(op)
    many, *wide = arranged.results[op.main].shape
    if name is None or arrays[next(iter(op.upstream))].shape != (arrays[name].size, *wide[:1]):
        return False
    each = _each(XP, op, arranged.attributes | arrays, lambda page, values: page(XP, **values))
    return all(not np.delete(row, k).any() for row, k in zip(each.any(axis=2), arrays[name]))


def _each(xp, op, values: dict, run) -> np.ndarray:
    """Return the effect of a gradient of 1 in each row: (rows, places, numbers of a row)."""
    upstream = next(iter(op.upstream))
    ones = np.ones(values[upstream].shape)
    rows = np.eye(min(len(ones), ROWS), len(ones))[:, :, None] * ones
    return xp.stack([run(op.page.backward, values | {upstream: r})[op.main] for r in rows])


def fields_with(op, others: list) -> list[tuple]:
    """Return the fields: `others`, the chosen row, the number of rows, and the
    share of rows already added to the output.
    """
    return [*others, *listed("indices")]


def options(op, state) -> dict:
    """Return the options of a case beside its shape."""
    return {f"{index_of(op)}_shape": (state.rows,)}


def moved(op, state, given: dict, known: dict, xp, forward) -> dict:
    """Return the inputs with the indices that the user changed by dragging arrows."""
    plain = getattr(op, "_op", op)
    name, many = index_of(plain), plain.arrange_backward(**given).results[plain.main].shape[0]
    index = given[name]
    hand = xp.reshape(placed(state.moved, (1, index.size, 2)), (index.size, 2))[:, 1]
    there = xp.round(xp.clip(hand, 0.0, many - 1.0))
    taken = xp.where(xp.isnan(hand), double(xp, index.reshape(-1)), there)
    return given | {name: xp.reshape(xp.astype(taken, index.dtype), index.shape)}


@dataclass(frozen=True, eq=False)
class Indices:
    """The incoming rows (rows, numbers), their places, and the effect of each at its place."""

    xp: object
    upstream: str
    output: str
    place: np.ndarray
    factor: np.ndarray  # factor by which each row is multiplied; 0 for an excluded index
    arriving: np.ndarray
    out: np.ndarray  # output, shape (places, shown numbers of a row)
    named: str  # name of the attribute that excludes an index
    state: object

    @property
    def chosen(self):
        return self.xp.minimum(self.state.element, len(self.place) - 1)

    @property
    def gone(self):
        """Return the share of its way to the output that each row has gone, from 0 to 1."""
        n = len(self.place)
        return self.xp.clip(self.state.sent * n - np.arange(float(n)), 0.0, 1.0)

    @property
    def brought(self):
        return self.factor[:, None] * self.arriving

    @property
    def colours(self):
        parts = self.arriving, self.brought, self.out
        return scale(self.xp.concat([self.xp.reshape(part, (-1,)) for part in parts]), self.xp)

    @property
    def fallen(self):
        """Return the output (places, numbers), summed over the rows that have arrived so far."""
        xp, late = self.xp, double(self.xp, self.gone < 1.0)[:, None] * self.brought
        at = double(xp, self.place[:, None] == np.arange(float(len(self.out))))[:, :, None]
        return xp.where(
            self.state.sent < 1.0, self.out - xp.sum(at * late[:, None], axis=0), self.out
        )

    @property
    def beside(self):
        """Return the rows at the place of the chosen row."""
        return (self.place == element(self.xp, self.place, self.chosen)) & (self.factor != 0.0)

    def panels(self, xp) -> list[Panel]:
        title = tr("factor by which each row is multiplied")
        most = xp.max(self.factor)
        ends = xp.minimum(1.15 * xp.min(self.factor), -0.05 * most), 1.15 * most + 1e-30
        made = bars("factors", title, self.factor, GRADIENT, ends, self.chosen, 7, 130, tr("row"))
        return [_arrows(xp, self), replace(made, y=Axis("", *ends)), _pile(xp, self)]

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("let the rows fall"), "sent")

    def caption(self, xp):
        k, n = self.chosen, xp.sum(double(xp, self.beside))
        factor, many = element(xp, self.factor, k), len(self.place)
        names = {
            "k": written(k, "d"),
            "p": written(element(xp, self.place, k), ".0f"),
            "n": written(n, ".0f"),
            "factor": number(factor),
            "name": self.named,
        }
        which = xp.where(n == 1.0, 0, xp.where(factor == 1.0, 1, 2))
        which = xp.where(self.state.sent < 1.0, 4, xp.where(factor == 0.0, 3, which))
        return choose(
            which,
            tr(
                "[7:Row {k}] of the gradient falls on [5:row {p}], which its index names. [b:No other index names that row,] so nothing is added.",
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
            tr(
                "[7:Row {k}] is struck out, because its index is {name}. [b:Its gradient goes nowhere.]",
                **names,
            ),
            tr(
                "{k} of {n} rows have fallen, each on the [5:place] that its index names. [b:Where indices are alike, rows pile up.]",
                k=written(xp.floor(self.state.sent * many), ".0f"),
                n=many,
            ),
        )


def indices(xp, op, run, arrays, arranged, given, state) -> Indices:
    """Return the data of the stage; the factor of a row is what a gradient of 1 in that row adds to the output."""
    plain, upstream = getattr(op, "_op", op), next(iter(op.upstream))
    values = arranged.attributes | arrays
    each, out = _each(xp, op, values, run), run(op.page.backward, values)[op.main]
    return Indices(
        xp,
        upstream,
        op.main,
        double(xp, arrays[index_of(plain)]),
        xp.mean(xp.sum(each, axis=1), axis=1),
        arrays[upstream][:, :WIDE],
        out[:, :WIDE],
        left_out(plain) or "",
        state,
    )


def bent(share):
    return share * share * (3.0 - 2.0 * share)


def _arrows(xp, found: Indices) -> Panel:
    (rows, left), out, k = found.arriving.shape, found.fallen, found.chosen
    right, tall, down = left + GAP, max(rows, len(out)), np.arange(float(rows))
    wide = right + left

    def block(values):
        return xp.concat([values, np.full((tall - len(values), left), np.nan)])

    cells = [block(found.arriving), np.full((tall, GAP), np.nan), block(out)]
    # tips of arrows to one place lie below each other
    tips = np.full(rows, right - 0.65), found.place + 0.7 * (down + 0.5) / rows - 0.35
    lost = found.factor == 0.0

    def strokes(there, kind: int, width: float) -> Line:
        """Return the arrows of the rows marked `there`."""
        y = down[:, None] + (tips[1] - down)[:, None] * bent(SHARES)
        x = xp.where(there[:, None], left - 0.5 + (tips[0][0] - left + 0.5) * SHARES, np.nan)
        gap = np.full((rows, 1), np.nan)
        lines = (xp.reshape(xp.concat([part, gap], axis=1), (-1,)) for part in (x, y))
        return Line(*lines, kind, "", width)

    struck = xp.where(lost, down, np.nan)[:, None] + np.zeros(3)
    over = np.tile([-0.5, left - 0.5, np.nan], rows)
    # the last row that started to move
    last = xp.astype(xp.minimum(xp.floor(found.state.sent * rows), rows - 1.0), xp.int64)
    share, at, row = (element(xp, v, last) for v in (found.gone, found.place, found.brought))
    flying = Image(row[None, :], *found.colours, share * right, last + bent(share) * (at - last))
    y = element(xp, found.place, k)
    marks = (
        Heat(xp.concat(cells, axis=1), *found.colours, digits=True),
        Box(right - 0.5, -0.5, wide - 0.5, len(out) - 0.5, kind=GUIDE),
        Box(-0.5, k - 0.5, left - 0.5, k + 0.5, kind=MOVED),
        Box(right - 0.5, y - 0.5, wide - 0.5, y + 0.5, kind=READ),
        strokes(~lost, READ, 2.0),
        strokes(lost, GUIDE, 2.0),
        strokes(down == k, MOVED, 3.5),
        Line(over, xp.reshape(struck, (-1,)), INK, choose(xp.any(lost), "", tr("left out")), 2.0),
        *only(xp, found.state.sent < 1.0, flying),
        Handles(
            *(t[None] for t in tips),
            0,
            k,
            ("", "element"),
            "moved",
            ((0.0, 0.0), (0.0, 1.0)),
            1.0,
            tr("arrows"),
        ),
    )
    ticks = tuple((float(first + c), str(c)) for first in (0, right) for c in range(left))
    title = tr(
        "where does a row of {upstream} go? Drag the end of its arrow.", upstream=found.upstream
    )
    names = tuple((float(j), str(j)) for j in range(tall))
    across = Axis(f"{found.upstream} → {found.output}", -0.5, wide - 0.5, ticks=ticks)
    up = Axis(tr("row"), tall - 0.5, -0.5, ticks=names)
    return Panel("arrows", title, marks, across, up, 13, 390, rows=2)


def _pile(xp, found: Indices) -> Panel:
    """Return the panel of the rows that go to the chosen row's place, with their sum below."""
    (rows, left), there = found.arriving.shape, found.beside & (found.gone >= 1.0)
    order = xp.argsort(1.0 - double(xp, there), stable=True)
    pile = xp.take(xp.where(there[:, None], found.brought, np.nan), order, axis=0)
    place = element(xp, found.place, found.chosen)
    total = element(xp, found.fallen, xp.astype(place, xp.int64))[None, :]
    heat = Heat(xp.concat([total, np.full((1, left), np.nan), pile]), *found.colours, digits=True)
    many = xp.sum(double(xp, there))
    ticks = [(0.0, tr("the sum"))] + [
        (k + 2.0, choose(many > k, "", written(order[k], "d"))) for k in range(rows)
    ]
    title = tr("row {p} of {output} adds up", p=written(place, ".0f"), output=found.output)
    up = Axis(tr("row"), -0.5, rows + 1.5, ticks=tuple(ticks))
    return Panel("pile", title, (heat,), Axis(tr("column"), ticks=()), up, 7, 250)
