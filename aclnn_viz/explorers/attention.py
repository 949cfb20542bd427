"""Interactive picture (explorer) of attention, to see what is kept of a row of scores while the keys come tile by tile, and
what backward makes of that.

Of all tiles so far only the largest score, a sum and an output are carried on. A tile with a larger score makes the maximum step up, and
what was added before is rescaled. The sentence to teach: of each query forward saves only a maximum and a sum, for backward
makes P again of them, tile by tile; dS = P (dP - D) then adds up to 0 along the query.
"""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.explorers.arrays import element, only, sweep
from aclnn_viz.explorers.norms import reach
from aclnn_viz.explorers.state import choice, real, vendors, whole
from aclnn_viz.pictures.marks import Bars, Box, Grip, Heat, Line, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, PALE, READ
from aclnn_viz.pictures.text import choose, number, signed, written
from aclnn_viz.words.messages import message, tr

SHAPES = ((12, 16), (16, 16), (16, 12), (4, 16))  # queries and keys
SIZE, MOST_KEYS = 8, 16  # of a query; of the keys
LOW, WIDE = 118, 13  # pixels and columns of panels
MODES = {
    0: message("0: no mask"),
    1: message("1: any mask"),
    2: message("2: causal from the upper left"),
    3: message("3: causal to the lower right"),
    4: message("4: a window"),
    6: message("6: causal behind a prefix"),
}


def is_attention(op) -> bool:
    """Whether a page makes scores, and hides some of them."""
    return hasattr(op.page, "scores") and hasattr(op.page, "hides")


def fields_with(op, others: list) -> list[tuple]:
    """The mask, and what decides of tiles; one head is shown, so that the operator's other parameters stay."""
    shapes = {k: f"{q}×{n}" for k, (q, n) in enumerate(SHAPES)}
    group, last = message("Element"), MOST_KEYS - 1
    operator, help = message("Operator"), message("the share of tiles that have come")
    block = message("queries, and keys, of a tile")
    return [
        ("sparseMode", vendors(choice(3, MODES, "sparseMode", operator))),
        ("shape", choice(0, shapes, message("queries×keys"), message("Shape"), names=True)),
        ("block", whole(4, 1, MOST_KEYS, message("block"), message("Shape"), block, moves=True)),
        ("scaleValue", vendors(real(0.5, -2.0, 2.0, 0.05, "scaleValue", operator))),
        ("row", whole(11, 0, last, message("query"), group, moves=True)),
        ("column", whole(2, 0, last, message("key"), group, moves=True)),
        ("swept", real(1.0, 0.0, 1.0, 0.01, message("swept"), group, help)),
    ]


def options(op, state) -> dict:
    """What a case is asked for: one head, without what would be added to its scores."""
    queries, keys = SHAPES[state.shape]
    masked = {} if state.sparseMode else {"attenMaskOptional": None}
    return masked | {
        "shape": (1, 1, queries, SIZE),
        "keyIn_shape": (keys,),
        "sparseMode": state.sparseMode,
        "scaleValue": getattr(state.scaleValue, "held", state.scaleValue),
        "pseShiftOptional": None,
    }


@dataclass(frozen=True, eq=False)
class Attention:
    """Scores of all queries, (Sq, Skv), nan where hidden; of the chosen one by key (Skv,), and by element of its output (SIZE,)."""

    xp: object
    state: object
    row: np.ndarray
    column: np.ndarray
    scores: np.ndarray
    tile: np.ndarray  # in which tile a key is
    now: np.ndarray  # the tile that has come last
    tops: np.ndarray  # the largest score up to the tile of a key; nan where none was seen
    top: tuple  # the largest score before the last tile, and now; -inf where none was seen
    weights: (
        tuple  # exp(score - maximum) of the keys before that tile, by the maximum then; and now
    )
    carried: tuple  # what these weights make of V
    P: np.ndarray
    dP: np.ndarray
    D: np.ndarray

    @property
    def dS(self):
        return self.P * (self.dP - self.D)

    @property
    def ends(self):
        """The first and the last place of the tile that has come last."""
        start, block = self.now * self.state.block - 0.5, self.state.block
        return start, self.xp.minimum(start + block, self.tile.size - 0.5)

    def borders(self, axis: str, count: int) -> list:
        """Lines where tiles meet."""
        at = self.state.block * np.arange(1.0, count) - 0.5
        return [
            one
            for k in range(count - 1)
            for one in only(self.xp, at[k] < count - 0.5, Rule(axis, at[k], kind=GUIDE))
        ]

    def panels(self, xp) -> list[Panel]:
        return [_sweep(xp, self), _map(xp, self), *_below(xp, self)]

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("sweep the tiles"), "swept")

    def headline(self, xp) -> list[str]:
        p, dp, gradient = (element(xp, one, self.column) for one in (self.P, self.dP, self.dS))
        return [
            tr(
                "Query {row}, key {column}: P {p} × (dP {dp} − D {d}) = dS {gradient}; dS of the query sums to {sum}.",
                row=written(self.row, "d"),
                column=written(self.column, "d"),
                p=number(p),
                dp=number(dp),
                d=number(self.D),
                gradient=signed(gradient),
                sum=number(xp.sum(self.dS)),
            )
        ]

    def caption(self, xp):
        before, top = self.top
        score = element(xp, self.scores, self.row)
        seen = xp.any(~xp.isnan(score) & (self.tile == self.now))
        which = xp.where(top > before, xp.where(before > -np.inf, 3, 2), 1)
        which = xp.where(seen, which, 0)
        names = {
            "j": written(self.now, ".0f"),
            "factor": number(xp.exp(before - xp.where(top > -np.inf, top, 0.0))),
            "row": written(self.row, "d"),
        }
        return choose(
            xp.where(self.state.swept < 1.0, which, xp.where(top > -np.inf, 4, 5)),
            tr(
                "[7:Tile {j}] is hidden from query {row}: [b:nothing of it is loaded,] and nothing is added.",
                **names,
            ),
            tr(
                "[7:Tile {j}] has no larger score. [b:The] [5:maximum] [b:stays,] and its weights are added.",
                **names,
            ),
            tr("[7:Tile {j}] is the first that is seen: it sets the [5:maximum].", **names),
            tr(
                "[7:Tile {j}] has a larger score, and the [5:maximum] steps up. [b:All that was added before is made smaller:] times {factor}.",
                **names,
            ),
            tr(
                "Of all scores forward saves only the [5:maximum and the sum]. [b:Backward makes P again of them,] and the [8:gradient] dS: it adds up to 0."
            ),
            tr(
                "Query {row} sees no key: [b:nothing is added,] its output and its gradient are 0.",
                **names,
            ),
        )


def attention(xp, op, run, arrays, arranged, given, state) -> Attention:
    """Return what the stage shows of a query."""
    page, known = op.page, arranged.attributes
    names = ("query", "keyIn", "value", "dy", "attentionInOptional")
    q, k, v, dy, y = (arrays[name] for name in names)
    queries, keys = q.shape[3], k.shape[2]
    masked = [known[name] for name in ("prefixOptional", "preTokens", "nextTokens", "sparseMode")]
    hidden = page.hides(np, arrays["attenMaskOptional"], *masked, queries, keys)
    seen = np.full((queries, keys), True) if hidden is None else hidden[0, 0, 0] == 0
    scores = page.scores(xp, q, k, None, known["scaleValue"], hidden)
    saved = arrays["softmaxMaxOptional"], arrays["softmaxSumOptional"]
    P = page.softmax(xp, scores, *saved, hidden)
    row = xp.minimum(state.row, queries - 1)
    P, score, there = (element(xp, one, row) for one in (P[0, 0, 0], scores[0, 0, 0], seen))
    dy, y = (element(xp, one[0, 0, 0], row) for one in (dy, y))
    score = xp.where(there, score, -np.inf)
    tile = xp.floor(np.arange(float(keys)) / state.block)
    now = xp.minimum(xp.floor(state.swept * (tile[-1] + 1.0)), tile[-1])

    def most(come):
        return xp.max(xp.where(come, score, -np.inf), axis=-1)

    come = tile < now, tile <= now
    weights = [xp.where(one & there, xp.exp(score - most(one)), 0.0) for one in come]
    tops = most(tile <= tile[:, None])
    return Attention(
        xp,
        state,
        row,
        xp.minimum(state.column, keys - 1),
        xp.where(seen, scores[0, 0, 0], np.nan),
        tile,
        now,
        xp.where(tops > -np.inf, tops, np.nan),
        tuple(map(most, come)),
        tuple(weights),
        tuple(xp.sum(one[:, None] * v[0, 0], axis=0) for one in weights),
        P,
        xp.sum(dy * v[0, 0], axis=1),
        xp.sum(dy * y),
    )


def _keys(found: Attention) -> Axis:
    n = found.tile.size
    ticks = tuple((float(k), f"{k}") for k in range(0, n, 2))
    return Axis(tr("key"), -0.6, n - 0.4, ticks=ticks)


def _sweep(xp, found: Attention) -> Panel:
    n, at, (left, right) = found.tile.size, np.arange(float(found.tile.size)), found.ends
    score, come = element(xp, found.scores, found.row), found.tile <= found.now
    high = reach(xp, 2.0, found.scores, 1.25)
    twice = np.repeat(np.arange(n), 2)  # it steps, and slopes nowhere
    steps = xp.take(xp.where(come, found.tops, np.nan), twice)
    swept = ("swept",), ((0.5 / n, 1.0 / n, 0),), tr("how far the tiles have come"), MOVED
    marks = (
        *found.borders("x", n),
        Box(left, -high, right, high, kind=MOVED, filled=0.08),
        Rule("y", 0.0, kind=GUIDE),
        Bars(at, xp.where(come, np.nan, score), PALE, tr("score to come"), 0.6),
        Bars(at, xp.where(come, score, np.nan), INK, tr("score that has come"), 0.6),
        Line(twice + np.tile([-0.5, 0.5], n), steps, READ, tr("maximum so far"), 3.5),
        Grip(found.state.swept * n - 0.5, 0.86 * high, *swept, look="move"),
    )
    title = tr("scores of query {row}, tile by tile: drag the dot", row=written(found.row, "d"))
    up = Axis(tr("score"), -high, high)
    return Panel("scores", title, marks, _keys(found), up, WIDE, 250, ("column",))


def _map(xp, found: Attention) -> Panel:
    (queries, keys), row, (left, right) = found.scores.shape, found.row, found.ends
    marks = (
        Heat(found.scores, *scale(found.scores, xp)),
        *found.borders("x", keys),
        *found.borders("y", queries),
        Box(-0.5, row - 0.5, keys - 0.5, row + 0.5, kind=MOVED),
        Box(left, row - 0.5, right, row + 0.5, kind=MOVED, filled=0.2),
    )
    title = tr("scores Q K, in tiles: hidden ones are empty")
    over, up = Axis(tr("key")), Axis(tr("query"))
    return Panel("map", title, marks, over, up, 20 - WIDE, 250, ("column", "row"), rows=2)


def _below(xp, found: Attention) -> list[Panel]:
    at, elements = np.arange(float(found.tile.size)), np.arange(float(SIZE))
    chosen, over = Rule("x", found.column, kind=MOVED), _keys(found)
    high, zero = reach(xp, 1.0, xp.concat(found.carried), 1.25), Rule("y", 0.0, kind=GUIDE)

    def both(where, pair):
        before, now = tr("before the last tile"), tr("now")
        return Bars(where, pair[0], PALE, before, 0.8), Bars(where, pair[1], READ, now, 0.5)

    again = (
        zero,
        Bars(at - 0.2, found.P, READ, "P", 0.36),
        Bars(at + 0.2, found.dS, GRADIENT, tr("dS"), 0.36),
        chosen,
    )
    added = tr("exp(score − maximum): its sum is {sum}", sum=number(xp.sum(found.weights[1])))
    backward = tr("backward: P again, and dS = P × (dP − D)")
    output = tr("output so far, before the sum divides it")
    size, pick = (over, Axis("", 0.0, 1.1, ticks=((0.0, "0"), (1.0, "1"))), WIDE, LOW), ("column",)
    weights = Panel(
        "weights", added, (*both(at, found.weights), chosen), *size, pick, below="scores"
    )
    made = Panel("backward", backward, again, over, Axis(), WIDE, LOW, pick, below="scores")
    bars = zero, *both(elements, found.carried)
    up = Axis("", -high, high)
    carried = Panel(
        "carried", output, bars, Axis(tr("element"), -0.6, SIZE - 0.4), up, 20 - WIDE, LOW
    )
    return [weights, made, carried]
