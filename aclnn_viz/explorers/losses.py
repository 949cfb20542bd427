"""Interactive picture (explorer) of losses over softmax, to see how hard a target pulls: bars of probabilities, each with the
target's value.

Backward runs twice: with the row's softmax, and with a softmax of 0, which leaves the pull of the target. The total pull of a
row is its strength: 0 if it is ignored. The lesson: the gradient is the distance of each bar from its target, times the row's
strength; classes gain what others lose, so a row sums to 0.
"""

from functools import cache

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.explorers.arrays import double, element, first, only, placed, point, strokes, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import ZERO, largest, reach, said
from aclnn_viz.pictures.marks import Bars, Box, Dots, Handles, Heat, Line, Rule, cell, record
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, MOVED, PALE, READ
from aclnn_viz.pictures.text import number, told, written
from aclnn_viz.words.messages import message, tr

# least and most probability of a dragged class; the most also of all of a row together
LEAST, MOST = 0.002, 0.999
NEAR = 0.01  # in the caption, a smaller distance of softmax and target counts as none
TALL, LOW = 360, 132
KEPT = 0.6  # share of the rows that count at the end of the play


@cache
def parts(op) -> tuple[str, str] | tuple:
    """Return the names of the log-probabilities, (N, C), and of the targets of a loss that can ignore a row; an empty tuple
    for other operators.
    """
    if "ignoreIndex" not in op.attributes:
        return ()
    given = case(op).inputs
    (logs,) = (
        name for name in (*op.saved, op.gradient_of[op.main]) if np.ndim(given.get(name)) == 2
    )
    return logs, next(name for name, one in given.items() if getattr(one, "dtype", "") == "i8")


def fields_with(op, others: list) -> list[tuple]:
    """Return the fields: two of the operator (smoothing and reduction first), those
    of the stage, then the operator's others.
    """
    order = {"labelSmoothing": 0, "reduction": 1}
    others = sorted(others, key=lambda pair: order.get(pair[0], 2))
    target = int(case(op).inputs[parts(op)[1]][1])  # of the row that is shown first
    return [*others[:2], *listed("losses", column={"start": target}), *others[2:]]


def moved(op, state, given: dict, known: dict, xp, forward) -> dict:
    """Return the inputs with more ignored rows, `lead` added to each target's logit, and the probabilities that the
    user dragged.
    """
    name, classes = parts(op)
    rows, columns = given[name].shape
    # the second row, which is shown first, is ignored last
    turn = np.arange(rows - 2, 2 * rows - 2) % rows
    target = xp.where(turn <= rows * state.ignored - 1.0, given["ignoreIndex"], given[classes])
    logits = double(xp, given[name]) + xp.where(
        given[classes][:, None] == np.arange(columns), state.lead + 0.0, 0.0
    )
    hand = placed(state.moved, (rows, columns, 2))[..., 1]
    free = xp.isnan(hand)
    share = xp.where(free, 0.0, xp.clip(hand, LEAST, MOST))
    share = share * MOST / xp.maximum(xp.sum(share, axis=1, keepdims=True), MOST)
    rest = xp.sum(xp.where(free, xp.exp(logits), 0.0), axis=1, keepdims=True)
    left = 1.0 - xp.sum(share, axis=1, keepdims=True)
    held = xp.log(xp.where(free, 1.0, share) * xp.where(rest == 0.0, 1.0, rest / left))
    logits, own = xp.where(free, logits, held), name not in op.saved
    if own:  # forward takes log-probabilities
        logits = logits - xp.log(xp.sum(xp.exp(logits), axis=1, keepdims=True))
    logits = xp.round_to(logits, state.dtype)
    found = given | {op.gradient_of[op.main]: logits, classes: target}
    made = forward(**{key: value for key, value in found.items() if key in op.takes})
    upstream = next(iter(op.upstream))  # the incoming gradient of a loss is 1
    return (
        given
        | {name: logits}
        # other tensors saved with the probabilities stay: they would only show a shift that all logits share
        | {one: made[output] for one, output in op.saved.items() if own or one == name}
        | {classes: target, upstream: np.ones_like(given[upstream])}
    )


@record
class Loss:
    """All rows and classes, (N, C), and each row's target and strength, (N,)."""

    xp: object
    output: str
    softmax: np.ndarray
    wanted: np.ndarray  # values of the target; nan where nothing pulls
    away: np.ndarray  # distance of the softmax from `wanted`
    gradient: np.ndarray
    total: np.ndarray  # of all weights; only of a loss of log-probabilities
    # gradient of each class in a row that it is the target of; only of a loss of log-probabilities
    levels: np.ndarray
    strength: np.ndarray
    target: np.ndarray
    counted: np.ndarray
    own: bool  # the log-probabilities are an input of the loss
    state: object

    @property
    def chosen(self) -> tuple:
        """Return row and column of the chosen class."""
        return self.state.row, self.state.column

    @property
    def off(self):
        """Return whether the chosen row of the gradient does not add up to 0."""
        return self.xp.abs(self.xp.sum(self.of_row(self.away))) > NEAR

    @property
    def mean(self) -> bool:
        return self.state.reduction in ("mean", 1)

    @property
    def most(self):
        """Return the end of the gradient's scale: a target's largest pull, which no distance exceeds."""
        xp = self.xp
        return largest(
            xp,
            xp.concat([point(0.02), self.levels, self.strength, xp.reshape(self.gradient, (-1,))]),
        )

    def of_row(self, values):
        return element(self.xp, values, self.chosen[0])

    def panels(self, xp) -> list[Panel]:
        return [_row(xp, self), _map(xp, self), _gradient(xp, self)]

    def plays(self) -> tuple[dict, ...]:
        # a target raised to the end pulls in no row
        return sweep(
            tr("raise targets"), "lead", 6.0, (-3.0, 9.0), after={"lead": 0.0}, drops=["moved"]
        ) + sweep(tr("ignore rows"), "ignored", ends=(0.0, 1.0 - KEPT))

    def caption(self, xp):
        strength, target = self.of_row(self.strength), self.of_row(self.target)
        away = self.of_row(self.away)
        own = element(xp, away, xp.where(self.of_row(self.counted), target, 0))
        smoothing = getattr(self.state, "labelSmoothing", 0.0) > 0.0
        fewer = self.state.ignored * len(self.softmax) >= 1.0
        return told(
            first(
                xp,
                xp.isnan(strength),
                (strength == 0.0) & self.mean,
                strength == 0.0,
                fewer & self.mean,
                fewer,
                self.own,
                self.off,
                xp.max(xp.abs(away)) < NEAR,
                own > 0.0,
                smoothing & self.mean,
                smoothing,
                self.mean,
            ),
            "No row counts, and the mean divides 0 by 0: [b:the whole gradient is NaN.]",
            "Row {row} is ignored. [b:No target pulls here,] and no [8:gradient] comes back. The mean does not count it.",
            "Row {row} is ignored. [b:No target pulls here,] and no [8:gradient] comes back.",
            "{k} of {n} rows count, and the mean divides by their weights alone. [b:So each] [5:target] [b:pulls harder:] the factor of row {row} is now {pulls}.",
            "{k} of {n} rows count, and nothing is divided: [b:so row {row} keeps its factor,] {pulls}.",
            "The loss reads only the [5:target] of a row, class {t}. [b:So only class {t} gets a] [8:gradient,] which its weight sets. Its probability does not matter.",
            "The z-loss pushes as well, at all bars alike: [b:the] [8:gradient] [b:of this row does not add up to 0.]",
            "Every bar is where its [5:target] wants it. [b:Nothing is left to pull,] and the [8:gradient] is almost 0.",
            "Class {t} is above its [5:target], because smoothing leaves a share to the other classes. [b:Now the] [8:gradient] [b:pushes this class down.]",
            "The [5:target] pulls class {t} up. Smoothing gives all other classes a small target too, by their weights. [b:The] [8:gradient] [b:is softmax minus target;] the mean divides it by the weights of {k} rows.",
            "The [5:target] pulls class {t} up. Smoothing gives all other classes a small target too, by their weights. [b:The] [8:gradient] [b:is softmax minus target;] nothing is divided.",
            "The [5:target] pulls class {t} up. [b:The] [8:gradient] [b:is softmax minus target:] what one class gains the others lose. The mean divides it by the weights of the {k} rows that count.",
            "The [5:target] pulls class {t} up. [b:The] [8:gradient] [b:is softmax minus target:] what one class gains the others lose. None and sum divide nothing: row {row} keeps its weight, {pulls}.",
            k=written(xp.sum(double(xp, self.counted)), ".0f"),
            n=len(self.softmax),
            pulls=number(strength),
            row=written(self.chosen[0], "d"),
            t=written(target, "d"),
        )


def loss(xp, op, run, arrays, arranged, given, state) -> Loss:
    """Return the data of a loss's panels."""
    name, classes = parts(getattr(op, "_op", op))
    known, target = arranged.attributes | arrays, given[classes]
    own = name not in op.saved
    gradient = run(op.page.backward, known)[op.main]
    pull = -run(op.page.backward, known | {name: np.full(arrays[name].shape, -np.inf)})[op.main]
    strength = xp.sum(pull, axis=1)
    total = xp.sum(arrays[next(iter(op.saved))])
    pulls = xp.where(strength == 0.0, np.nan, strength)[:, None]
    return Loss(
        xp,
        op.main,
        xp.exp(arrays[name]),
        pull / pulls,
        gradient / pulls,
        gradient,
        total,
        -given["weight"] / (total if state.reduction == 1 else 1.0) if own else point(0.0),
        strength,
        target,
        target != given["ignoreIndex"],
        own,
        state,
    )


def _row(xp, found: Loss) -> Panel:
    (rows, classes), (row, column) = found.softmax.shape, found.chosen
    at = np.arange(float(classes))
    softmax, wanted, away = (
        found.of_row(values) for values in (found.softmax, found.wanted, found.away)
    )
    return Panel(
        "row",
        tr("Row {row}: drag the top of a bar", row=written(row, "d")),
        (
            Bars(at, softmax, PALE, tr("softmax: the probability now"), 0.7),
            *only(
                xp,
                not found.own,
                Line(
                    strokes(xp, at, at),
                    strokes(xp, wanted, wanted + away),
                    GRADIENT,
                    tr("distance to the target"),
                    6.0,
                ),
            ),
            Line(
                strokes(xp, at - 0.44, at + 0.44),
                strokes(xp, wanted, wanted),
                READ,
                tr("target: the wanted probability"),
                3.5,
            ),
            said(
                at - 0.5,
                at + 0.5,
                1.05,
                message("class {k}\nsoftmax {softmax}\ntarget {wanted}\ngradient {gradient}"),
                k=at,
                softmax=softmax,
                wanted=wanted,
                gradient=found.of_row(found.gradient),
            ),
            Handles(
                np.broadcast_to(at, (rows, classes)),
                xp.where(np.arange(rows)[:, None] == row, softmax, np.nan),
                row,
                column,
                ("row", "column"),
                "moved",
                ((0.0, 0.0), (0.0, 1.0)),
                0.02,
                tr("classes"),
            ),
        ),
        _over(found),
        Axis(tr("probability"), 0.0, 1.05),
        12,
        TALL,
    )


def _over(found: Loss) -> Axis:
    return Axis(tr("class"), -0.6, found.softmax.shape[1] - 0.4)


def _gradient(xp, found: Loss) -> Panel:
    strength = found.of_row(found.strength)
    plain = ~(strength > 0.0) if found.own else found.off | xp.isnan(strength)
    at = np.arange(found.softmax.shape[1])
    # of a mean room for what is ignored by the play, so that bars are seen to grow
    room = xp.maximum(1.0 - found.state.ignored, KEPT) / KEPT if found.mean else 1.0
    high = reach(xp, 0.02, room * found.most, 2.0)
    return Panel(
        "gradient",
        told(
            first(xp, plain, not found.own and found.mean, not found.own, found.mean),
            "{output} of the chosen row",
            "{output} of the chosen row: (softmax − target) × {strength}, its share of the weights",
            "{output} of the chosen row: (softmax − target) × {strength}, its weight",
            "{output} of the chosen row: −weight / sum of weights = −{weight} / {total} = −{strength}",
            "{output} of the chosen row: −weight = −{strength}",
            output=found.output,
            strength=number(strength),
            weight=number(strength * found.total),
            total=number(found.total),
        ),
        (
            ZERO,
            Bars(at, found.of_row(found.gradient), GRADIENT),
            Rule("x", found.chosen[1], kind=MOVED),
            *only(
                xp,
                found.own,
                Dots(at, found.levels, READ, tr("each class, if it were the target"), 4),
            ),
        ),
        _over(found),
        Axis(found.output, -high, high),
        12,
        LOW,
        ("column",),
        below="row",
    )


def _map(xp, found: Loss) -> Panel:
    (rows, classes), (row, column) = found.softmax.shape, found.chosen
    at, edge = np.arange(float(rows)), np.full(rows, -0.5)
    struck = xp.where(found.counted | xp.isnan(found.strength), np.nan, at)
    return Panel(
        "map",
        tr("{output}: targets are framed, ignored rows struck out", output=found.output),
        (
            Heat(found.gradient, "diverging", -found.most, found.most, digits=rows * classes < 100),
            Line(strokes(xp, edge, edge + classes), strokes(xp, struck, struck), GUIDE, "", 2.5),
            *(
                one
                for k in range(rows)
                for one in only(xp, found.counted[k], cell(found.target[k], k, READ))
            ),
            Box(-0.5, row - 0.5, classes - 0.5, row + 0.5, kind=MOVED),
            cell(column, row, MOVED),
        ),
        Axis(tr("class")),
        Axis(tr("row")),
        8,
        TALL,
        ("column", "row"),
        rows=2,
    )
