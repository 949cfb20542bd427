"""Interactive picture (explorer) of softmax, to see the part that it removes from a gradient: probabilities are widths,
incoming gradients are heights.

The columns lie side by side and fill the width of 1. The level is their mean height, weighted by width, and backward removes
it: the rest of a column, above the level or below, has the area of its gradient. The lesson: a push on all probabilities
alike changes none, as they sum to 1; so only deviations from the mean return, times the probability.
"""

from functools import cache

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.explorers.arrays import element, first, strokes
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import HANDS, ZERO, bars, in_hand, part_of, reach, said, take_away
from aclnn_viz.pictures.marks import Box, Handles, Line, record
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, INK, READ
from aclnn_viz.pictures.text import signed, told, written
from aclnn_viz.words.messages import message, tr

LOUD = 0.9  # a larger probability gets a caption of its own


@cache
def is_softmax(op) -> str:
    """Return "plain" or "log" if backward takes only forward's output, rows of probabilities or of their logarithms."""
    if {*op.saved.values()} != {*op.upstream.values()} or "." not in op.page.AXES[op.main]:
        return ""
    name = next(iter(op.saved))
    rows = op.arrange_backward(**case(op).inputs).arrays[name]
    axes = tuple(k for k, letter in enumerate(op.page.AXES[name]) if letter == ".")
    kinds = ("plain", rows), ("log", np.exp(rows))
    return next(
        (kind for kind, one in kinds if np.allclose(one.sum(axis=axes), 1.0, atol=1e-5)), ""
    )


def fields_with(op, others: list) -> list[tuple]:
    return [*others, *listed("softmax")]


def moved(op, state, given: dict, known: dict, xp, forward) -> dict:
    """Return the inputs with the gradients that the user dragged in the shown row, and the output that forward saves."""
    name = next(iter(op.upstream))
    made = forward(**{one: known[one] for one in op.takes})
    saved = {one: made[output] for one, output in op.saved.items()}
    return given | saved | {name: in_hand(op, state, given, name, xp)(name, 1)}


@record
class Softmax:
    """The elements of one row, (n,) each."""

    xp: object
    output: str
    share: np.ndarray
    arriving: np.ndarray
    # what backward takes away: the mean of the incoming gradients, weighted by the probabilities; of logarithms each
    # probability's share of their sum
    level: np.ndarray
    gradient: np.ndarray
    log: bool
    state: object

    @property
    def chosen(self):
        return self.xp.minimum(self.state.element, self.share.size - 1)

    def panels(self, xp) -> list[Panel]:
        return [_columns(xp, self), *_bars(xp, self)]

    plays = staticmethod(take_away)

    def caption(self, xp):
        k, t = xp.argmax(self.share), self.state.taken
        if self.log:
            return told(
                t > 0.0,
                "The gradients add up to {sum}. [b:Each element gives back its probability's] [5:share of this sum.] What remains is its [8:gradient].",
                "Each element gives back its probability's [5:share of the sum]. [b:What remains adds up to 0:] each [8:column] is the gradient of one element.",
                sum=signed(xp.sum(self.arriving)),
            )
        most = xp.max(self.share)
        even = xp.max(xp.abs(self.arriving - self.level)) <= 1e-9 * xp.max(xp.abs(self.arriving))
        return told(
            first(xp, t > 0.0, even, most > LOUD),
            "Equal gradients can move no probability, so their [5:mean] is taken away. [b:Each] [8:area] [b:that remains is the gradient of one element.]",
            "All columns are pushed alike: [b:softmax cannot answer,] and no [8:gradient] comes back. Drag one column up.",
            "[7:Element {k}] has {share} % of the probability, and the [5:mean] follows its column. [b:So hardly any] [8:gradient] [b:comes back.]",
            "The probabilities always add up to 1: equal gradients can move none of them. [b:So the] [5:mean of the gradients] [b:is taken away.] Only the [8:distance from the mean] comes back, times the probability.",
            k=written(k, "d"),
            share=written(100.0 * most, ".0f"),
        )


def softmax(xp, op, run, arrays, arranged, given, state) -> Softmax:
    """Return the data of one row of a softmax."""
    name, upstream = next(iter(op.saved)), next(iter(op.upstream))
    part = part_of(op, arranged, arrays, state)
    share, arriving, gradient = (
        xp.reshape(values, (-1,))[:HANDS]
        for values in (part[name], part[upstream], run(op.page.backward, part)[op.main])
    )
    log = is_softmax(getattr(op, "_op", op)) == "log"
    share = xp.exp(share) if log else share
    level = (share * xp.sum(arriving) if log else xp.sum(share * arriving)) + np.zeros(share.size)
    return Softmax(xp, op.main, share, arriving, level, gradient, log, state)


def side_by_side(xp, wide):
    """Return where columns side by side start and end, by their widths."""
    n = wide.size
    ends = xp.sum(xp.reshape(wide, (1, n)) * np.tril(np.ones((n, n))), axis=1)
    return ends - wide, ends


def areas(start, ends, height, level, kind: int = GRADIENT) -> list:
    """Return what lies between columns and their level; nan for none."""
    return [
        Box(start[j], level[j], ends[j], height[j], kind=kind, filled=0.45)
        for j in range(start.size)
    ]


def levels(xp, start, ends, height, level, *words) -> tuple:
    """Return the tops of columns and their level, with words for both."""
    across = strokes(xp, start, ends)
    return (
        ZERO,
        Line(across, strokes(xp, height, height), INK, words[0], 2.5),
        Line(across, strokes(xp, level, level), READ, words[1], 3.0),
    )


def _columns(xp, found: Softmax) -> Panel:
    n, t, k = found.share.size, found.state.taken, found.chosen
    start, ends = side_by_side(xp, np.full(n, 1.0 / n) if found.log else found.share)
    height, level = found.arriving - t * found.level, found.level * (1.0 - t)
    high = reach(xp, 1.3, found.arriving)
    mean = told(found.log, "weighted mean", "share of the sum")
    marks = (
        *areas(start, ends, height, level),
        *levels(xp, start, ends, height, level, tr("gradient"), mean),
        Handles(
            ((start + ends) / 2)[None, :],
            height[None, :],
            0,
            k,
            ("", "element"),
            "moved",
            ((0.0, 0.0), (t * element(xp, found.level, k), 1.0)),
            0.1,
            tr("elements"),
        ),
        said(
            start,
            ends,
            high,
            message("element {k}\nprobability {p}\narrives {a}\ntaken away {t}\ncomes back {g}"),
            k=np.arange(n),
            p=found.share,
            a=found.arriving,
            t=found.level,
            g=found.gradient,
        ),
    )
    words = told(found.log, "probability, the width of a column", "element")
    ticks = [((j + 0.5) / n, f"{j}") for j in range(n)]
    return Panel(
        "columns",
        tr("Which part of the gradient is taken away? Drag a column."),
        marks,
        Axis(words, 0.0, 1.0, ticks=ticks if found.log else None),
        Axis(tr("gradient"), -high, high),
        13,
        440,
        rows=3,
    )


def _bars(xp, found: Softmax) -> list[Panel]:
    """Return both sides of the equation of a gradient."""
    share = "share", tr("probability"), found.share, INK, 0.1
    rest = "rest", tr("× (gradient − mean)"), found.arriving - found.level, GRADIENT, 1.0
    if found.log:
        share = "arrives", tr("gradient"), found.arriving, INK, 1.0
        rest = "level", tr("− probability × sum"), found.level, READ, 1.0
    rows = (share, rest, ("areas", f"= {found.output}", found.gradient, GRADIENT, 1.0))
    return [
        bars(name, title, values, kind, (-top * below, top), found.chosen, 7, 130)
        for name, title, values, kind, below in rows
        for top in [1.1 * xp.max(xp.abs(values)) + 1e-30]
    ]
