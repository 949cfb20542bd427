"""Interactive picture (explorer) of attention: backward computes the weights P of a query again, tile by tile, from the two
numbers that forward saved.

As in the explorer of softmax, a weight is the width of a column, dP its height, their mean D a level; dS = P (dP - D) is the
area between. Forward keeps only the largest score, a sum and an output: a tile with a larger score raises the maximum, and
earlier sums are rescaled. The lesson: a maximum and a sum per query are enough to compute P again; dS sums to 0.
"""

import numpy as np
from numpy import inf, nan

from aclnn_viz.explorers.arrays import element, first, only, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import ZERO, reach, said
from aclnn_viz.explorers.softmax import areas, levels, side_by_side
from aclnn_viz.pictures.marks import Band, Bars, Box, Grip, Heat, Line, Note, Rule, record
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, PALE, READ
from aclnn_viz.pictures.text import choose, number, told, written
from aclnn_viz.words.messages import message, tr

SHAPES = ((12, 16), (16, 16), (16, 12), (4, 16))  # (queries, keys) of the options in controls.toml
SIZE = 7  # length of a query
WIDE = 13  # width of a query's panels, in columns


def is_attention(op) -> bool:
    """Return whether a page computes scores, and hides some of them."""
    return hasattr(op.page, "hides")


def fields_with(op, others: list) -> list[tuple]:
    """Return the fields for the mask and the tiles; one head is shown, so other parameters keep their values."""
    return listed("attention")


def options(op, state) -> dict:
    """Return the options of a case: one head, nothing added to its scores."""
    queries, keys = SHAPES[state.shape]
    masked = {} if state.sparseMode else {"attenMaskOptional": None}
    return masked | {
        "shape": (1, 1, queries, SIZE),
        "keyIn_shape": (keys,),
        "sparseMode": state.sparseMode,
        "scaleValue": getattr(state.scaleValue, "held", state.scaleValue),
        "pseShiftOptional": None,
    }


@record
class Attention:
    """Scores, P and dS of all queries (Sq, Skv), where a hidden score is
    nan, and the chosen query's values by key (Skv,).
    """

    xp: object
    state: object
    row: np.ndarray
    column: np.ndarray
    scores: np.ndarray
    tile: np.ndarray
    now: np.ndarray  # the last tile of the forward sweep that is done
    back: np.ndarray  # the last tile of the backward sweep that is done; -1 before the start
    tops: np.ndarray  # per key, the largest score up to its tile; nan if no key was seen
    top: tuple  # the largest score before and after the last tile; -inf if no key was seen
    sums: np.ndarray  # per key, the sum up to its tile of exp(score - the largest so far)
    edges: tuple  # per key, the sum of the query's weights before and with that
    P: np.ndarray
    dP: np.ndarray
    D: np.ndarray  # sum of P * dP for each query, shape (Sq, 1)

    @property
    def read(self):
        """Return the tile at work."""
        return self.xp.where(self.back < 0.0, self.now, self.back)

    @property
    def factor(self):
        """Return by what the last tile makes smaller all that was added before: exp(old maximum - new one)."""
        before, top = self.top
        return self.xp.exp(before - self.xp.where(top > -inf, top, 0.0))

    @property
    def dS(self):
        return self.P * (self.dP - self.D)

    def of_query(self, values):
        return element(self.xp, values, self.row)

    def ends(self, tile):
        """Return the first and the last place of a tile; nan for none."""
        xp, block = self.xp, self.state.block
        start = xp.where(tile < 0.0, nan, tile * block - 0.5)
        return start, xp.minimum(start + block, self.tile.size - 0.5)

    def borders(self, axis: str, count: int) -> list:
        """Return lines between tiles."""
        return [
            one
            for at in self.state.block * np.arange(1.0, count) - 0.5
            for one in only(self.xp, at < count - 0.5, Rule(axis, at, kind=GUIDE))
        ]

    def at_work(self, tile, left, right, high) -> Box:
        """Return the frame of a tile, with its name."""
        return Box(left, -high, right, high, tr("tile {k}", k=written(tile, ".0f")), MOVED, 0.08)

    def marked(self, low, high) -> Box:
        """Return a frame around the chosen key, if there is one."""
        at = self.xp.where(self.column < 0, nan, self.column)
        return Box(at - 0.5, low, at + 0.5, high, kind=GUIDE)

    def panels(self, xp) -> list[Panel]:
        return [
            _sweep(xp, self),
            _sum(xp, self),
            _backward(xp, self),
            _table(
                xp,
                self,
                "map",
                tr("P: the weights of each query add up to 1"),
                self.P,
                self.read,
                False,
                "roots",
                0.0,
                1.0,
            ),
            _table(
                xp,
                self,
                "gradients",
                tr("dS: the gradient of each query adds up to 0"),
                self.dS,
                self.back,
                True,
                *scale(self.dS, xp),
            ),
        ]

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("sweep the tiles, there and back"), "swept", 9.0, (0.0, 2.0))

    def caption(self, xp):
        before, top = self.top
        seen = xp.any(~xp.isnan(self.of_query(self.scores)) & (self.tile == self.now))
        swept = self.state.swept
        return told(
            first(
                xp,
                self.sums[-1] == 0.0,
                (swept > 1.0) & (swept < 2.0),
                swept >= 1.0,
                ~seen,
                top == before,
                before == -inf,
            ),
            "Query {row} sees no key: every tile is hidden, and [b:the sum stays 0.] Its output is then 0, not a mean of the values, and so is its gradient.",
            "Backward computes P again, now of [7:tile {k}], from its scores and the saved maximum and sum. [b:The gradient of each score is the] [8:distance of dP from its mean] [5:D], [b:times P.]",
            "Forward saves only the [5:maximum and the sum]. [b:Backward computes P again from the two.] The [8:areas] above and below [5:D] cancel: dS adds up to 0.",
            "[7:Tile {j}] is hidden from query {row}: [b:nothing of it is loaded,] and nothing is added.",
            "[7:Tile {j}] has no larger score. [b:The] [5:maximum] [b:stays,] and its weights are added.",
            "[7:Tile {j}] is the first that is seen: it sets the [5:maximum].",
            "[7:Tile {j}] has a larger score, and the [5:maximum] steps up. [b:All that was added before is made smaller:] times {factor}.",
            j=written(self.now, ".0f"),
            k=written(self.back, ".0f"),
            factor=number(self.factor),
            row=written(self.row, "d"),
        )


def attention(xp, op, run, arrays, arranged, given, state) -> Attention:
    """Return the data of the stage for a query."""
    page, known = op.page, arranged.attributes
    q, k, v, dy, y = (
        arrays[name] for name in ("query", "keyIn", "value", "dy", "attentionInOptional")
    )
    queries, keys = q.shape[3], k.shape[2]
    hidden = page.hides(
        np,
        arrays["attenMaskOptional"],
        *[known[name] for name in ("prefixOptional", "preTokens", "nextTokens", "sparseMode")],
        queries,
        keys,
    )
    seen = np.full((queries, keys), True) if hidden is None else hidden[0, 0, 0] == 0
    scores = page.scores(xp, q, k, None, known["scaleValue"], hidden)
    P = page.softmax(
        xp, scores, arrays["softmaxMaxOptional"], arrays["softmaxSumOptional"], hidden
    )[0, 0, 0]
    row = xp.minimum(state.row, queries - 1)
    score = element(xp, xp.where(seen, scores[0, 0, 0], -inf), row)
    dy, y = dy[0, 0, 0], y[0, 0, 0]
    tile = xp.floor(np.arange(float(keys)) / state.block)
    now = xp.minimum(xp.floor(state.swept * (tile[-1] + 1.0)), tile[-1])
    edges = side_by_side(xp, element(xp, P, row))
    # backward has read the keys whose columns start by here
    back = xp.max(xp.where(edges[0] <= state.swept - 1.0 + 1e-9, tile, 0.0))

    so_far = xp.where(tile <= tile[:, None], score, -inf)
    tops = xp.max(so_far, axis=-1)
    return Attention(
        xp,
        state,
        row,
        xp.minimum(state.column, keys - 1),
        xp.where(seen, scores[0, 0, 0], nan),
        tile,
        now,
        xp.where(state.swept > 1.0, back, -1.0),
        xp.where(tops > -inf, tops, nan),
        tuple(xp.max(xp.where(come, score, -inf)) for come in (tile < now, tile <= now)),
        xp.sum(xp.exp(so_far - xp.where(tops > -inf, tops, 0.0)[:, None]), axis=1),
        edges,
        P,
        xp.sum(dy[:, None, :] * v[0, 0], axis=2),
        xp.sum(dy * y, axis=1)[:, None],
    )


def _sweep(xp, found: Attention) -> Panel:
    """Return the panel of the forward pass: the chosen query's scores, and their
    maximum so far, which a tile may raise.
    """
    n = found.tile.size
    score, come = found.of_query(found.scores), found.tile <= found.now
    high = reach(xp, 2.0, found.scores, 1.25)
    # each place occurs twice, for a step function with vertical edges
    at = np.arange(n)
    twice = np.repeat(at, 2)
    across = twice + np.tile([-0.5, 0.5], n)
    masked = xp.take(xp.where(xp.isnan(score), high, nan), twice)
    steps = xp.take(xp.where(come, found.tops, nan), twice)
    return Panel(
        "scores",
        tr("1. Forward, query {row}: drag the square", row=written(found.row, "d")),
        (
            *found.borders("x", n),
            *only(
                xp, found.state.sparseMode > 0, Band(across, -masked, masked, GUIDE, tr("masked"))
            ),
            found.at_work(found.read, *found.ends(found.read), high),
            found.marked(-high, high),
            ZERO,
            Bars(at, xp.where(come, nan, score), PALE, tr("later tile"), 0.6),
            Bars(at, xp.where(come, score, nan), INK, tr("tile read"), 0.6),
            Line(across, steps, READ, tr("maximum so far"), 3.5),
            Grip(
                xp.minimum(found.state.swept, 1.0) * n - 0.5,
                -0.8 * high,
                ("swept",),
                ((0.5 / n, 1.0 / n, 0),),
                tr("progress of the forward pass over the tiles"),
                choose(found.back < 0.0, GUIDE, MOVED),
            ),
        ),
        Axis(tr("key"), -1.0, n, ticks=[(k, f"{k}") for k in range(0, n, 2)]),
        Axis(tr("score"), -high, high),
        WIDE,
        240,
        ("column",),
    )


def _sum(xp, found: Attention) -> Panel:
    """Return the panel of the sum before a tile and after it, which makes smaller what was added before."""

    def until(tile):
        return xp.max(xp.where(found.tile == tile, found.sums, 0.0))

    sides, k = np.arange(2.0), written(found.now, ".0f")  # before and after
    forward, factor = found.back < 0.0, found.factor
    # backward needs only the last sum
    old, new = xp.where(forward, until(found.now - 1.0), nan), until(found.now)
    kept = old * (1.0 - sides * (1.0 - factor))
    high = 1.2 * xp.maximum(xp.max(found.sums), 1.0)  # 1 is the least sum of any key
    return Panel(
        "sum",
        tr("The sum of exp(score − maximum so far)"),
        (
            Line(0.6 * sides + 0.2, kept, PALE),  # from corner to corner
            Bars(
                sides,
                xp.where(sides > 0.0, new, nan),
                choose(forward, READ, MOVED),
                told(forward, "saved", "added by this tile"),
                0.4,
            ),
            Bars(sides, kept, PALE, choose(forward, "", tr("added before")), 0.4),
            Note(
                0.5,
                0.9 * high,
                choose(
                    old * factor < old,
                    "",
                    tr("× exp(old max − new) = {factor}", factor=number(factor)),
                ),
            ),
        ),
        Axis(
            "",
            -0.5,
            1.5,
            ticks=(
                (0.0, choose(forward, "", tr("before tile {k}", k=k))),
                (1.0, told(forward, "after the last tile", "after tile {k}", k=k)),
            ),
        ),
        Axis("", 0.0, high),
        20 - WIDE,
        240,
        near=True,
    )


def _table(xp, found: Attention, name, title, values, tile, more, *colours) -> Panel:
    """Return a table of queries and keys, in tiles, with the chosen query marked."""
    (queries, keys), row, (left, right) = found.scores.shape, found.row, found.ends(tile)
    return Panel(
        name,
        title,
        (
            Heat(xp.where(xp.isnan(found.scores), nan, values), *colours),
            *found.borders("x", keys),
            *found.borders("y", queries),
            Box(-0.5, row - 0.5, keys - 0.5, row + 0.5, kind=MOVED),
            Box(left, row - 0.5, right, row + 0.5, kind=MOVED),
            found.marked(-0.5, queries - 0.5),
        ),
        Axis(tr("key")),
        Axis(tr("query")),
        20 - WIDE,
        240,
        ("column", "row"),
        more=more,
    )


def _backward(xp, found: Attention) -> Panel:
    """Return the backward panel: a query's P as widths, its dP as heights, D as their level, and dS as areas, tile by tile."""
    come, now = found.tile <= found.back, found.tile == found.back
    P, dP, D = map(found.of_query, (found.P, found.dP, found.D))
    high, level = reach(xp, 1.3, xp.where(P > 0.0, dP, 0.0)), D + 0.0 * dP
    left = xp.where(found.back < 0.0, nan, xp.min(xp.where(now, found.edges[0], 1.0)))
    right = xp.max(xp.where(now, found.edges[1], 0.0))
    # a key without a weight has no place
    start, ends = (xp.where(P > 0.0, one, nan) for one in found.edges)
    nothing = np.full(1, nan)
    return Panel(
        "backward",
        tr("2. Backward: dS = P × (dP − D). Drag the dot."),
        (
            found.at_work(found.back, left, right, high),
            *areas(start, ends, xp.where(come, nan, dP), level, PALE),
            *areas(start, ends, xp.where(come, dP, nan), level),
            *levels(xp, start, ends, dP, level, tr("dP"), tr("D: the mean of dP, weighted by P")),
            Note(1.015, D[0], "D", "left"),
            Bars(nothing, nothing, GRADIENT, tr("dS")),
            Bars(nothing, nothing, PALE, tr("later tile")),
            Rule(
                "x",
                element(xp, xp.concat([(start + ends) / 2, nothing]), found.column),
                tr("key {k}", k=written(found.column, "d")),
                GUIDE,
            ),
            said(
                start,
                ends,
                high,
                message("key {k}\nP {p}\ndP {a}\ndS {g}"),
                k=np.arange(start.size),
                p=P,
                a=dP,
                g=P * (dP - D),
            ),
            Grip(
                xp.maximum(found.state.swept - 1.0, 0.0),
                -0.9 * high,
                ("swept",),
                ((1.0, 1.0, 0),),
                tr("progress of the backward pass"),
                choose(found.back < 0.0, MOVED, GUIDE),
                look="move",
            ),
        ),
        Axis(tr("P, the width of a column"), -0.03, 1.06),
        Axis(tr("dP: the gradient of P"), -high, high),
        WIDE,
        240,
        below="scores",
    )
