"""Choose the interactive picture that suits an operator; by default show how outputs send their gradients to inputs.

A backward page is linear in the incoming gradient. With 1 for one output and 0 for all others it gives that output's effect
on each element of the input, a row of the Jacobian; each output sends its gradient along its row, and a column sums the
arrivals. The kit's page computes all of it in float64, whatever computes the gradient of the tensors. The lesson: an output
sends its gradient to the inputs that move it, with the same weights.
"""

import sys
from dataclasses import dataclass, replace
from math import prod
from types import SimpleNamespace

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.explorers import attention, indices, losses, norms, planes, slopes, softmax, volume
from aclnn_viz.explorers.arrays import XP, double, element, paged, sweep
from aclnn_viz.pictures.marks import Box, Heat
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, INK, MOVED, READ
from aclnn_viz.pictures.text import choose, number, written
from aclnn_viz.words.messages import message, tr

SHOWN = 64  # most outputs of a row that are shown, and most elements that each reads
STAGES = (
    (norms, norms.is_norm, norms.norm),
    (softmax, softmax.is_softmax, softmax.softmax),
    (losses, losses.parts, losses.loss),
    (slopes, slopes.is_slope, slopes.slope),
    (planes, planes.is_plane, planes.plane),
    (indices, indices.is_indices, indices.indices),
    (attention, attention.is_attention, attention.attention),
    (volume, volume.is_volume, volume.volume),
)


def stage_of(op):
    """Return the module of an operator's stage, by its declaration, and the function of its data."""
    found = ((stage, answer) for stage, fits, answer in STAGES if fits(op))
    return next(found, (sys.modules[__name__], spread))


def fields_with(op, others: list) -> list[tuple]:
    """Return `others`, then the cell of the Jacobian, at first the one that sends most, and the number of outputs that have
    sent gradients.
    """
    found = response(XP, op, case(op).inputs, SimpleNamespace())
    sizes = np.abs(found.arriving[:, None] * found.matrix)
    return planes.fields_with(op, others, *np.unravel_index(sizes.argmax(), sizes.shape))


def response(xp, op, given: dict, state, run=None):
    """Return the data of an operator's stage, as arrays of `xp`, or a sentence on why there are none.

    `run(page, values)` calls a page; by default over `xp`.
    """
    arranged = op.arrange_backward(**given)
    if op.main not in arranged.results:
        return message(
            "The picture of one element's effect is missing, because {output} is switched off.",
            output=op.main,
        )
    arrays = {
        name: array if array is None or array.dtype.kind in "iub" else double(xp, array)
        for name, array in paged(xp, arranged).items()
    }
    _, answer = stage_of(getattr(op, "_op", op))  # a traced operator wraps the operator itself
    run = run or (lambda page, values: page(xp, **values))
    return answer(xp, op, run, arrays, arranged, given, state)


@dataclass(frozen=True, eq=False)
class Spread:
    """The effect of each output's gradient of 1 (rows) on each element of the input (columns)."""

    upstream: str
    output: str
    matrix: np.ndarray
    arriving: np.ndarray  # incoming gradient of each output element
    state: object

    def chosen(self, xp):
        """Return row and column of the chosen cell."""
        rows, columns = self.matrix.shape
        last = xp.minimum(xp.floor(self.state.sent * rows), rows - 1.0)
        own = xp.minimum(self.state.row, rows - 1)
        row = xp.where(self.state.sent < 1.0, xp.astype(last, xp.int64), own)
        return row, xp.minimum(self.state.column, columns - 1)

    def weight(self, xp):
        row, column = self.chosen(xp)
        return element(xp, element(xp, self.matrix, row), column)

    def panels(self, xp) -> list[Panel]:
        row, column = self.chosen(xp)
        rows, columns = self.matrix.shape
        gone = xp.clip(self.state.sent * rows - np.arange(float(rows)), 0.0, 1.0)
        back = xp.sum((gone * self.arriving)[:, None] * self.matrix, axis=0)
        most = xp.max(xp.abs(self.matrix)) + 1e-30
        marks = (
            Heat(self.matrix, "diverging", -most, most, digits=True),
            Box(-0.5, row - 0.5, columns - 0.5, row + 0.5, kind=READ),
            Box(column - 0.5, row - 0.5, column + 0.5, row + 0.5, kind=MOVED),
        )
        title = tr(
            "gradient that each output sends to each input, for a gradient of 1: choose a cell (now {weight})",
            weight=number(self.weight(xp)),
        )
        over, up = Axis(f"{self.output}[j]"), Axis(f"{self.upstream}[i]")
        main = Panel("brought", title, marks, over, up, 13, 390, ("column", "row"), rows=2)

        def barred(name, title, values, kind, at, label):
            top = 1.1 * xp.max(xp.abs(values)) + 1e-30
            made = norms.bars(name, title, values, kind, (-top, top), at, 7, 185, label)
            return replace(made, pick=("row" if name == "sends" else "column",))

        sends = tr("{upstream}: what arrives at each output", upstream=self.upstream)
        comes = tr("{output}: the sum of what the outputs send to each input", output=self.output)
        return [
            main,
            barred("sends", sends, self.arriving, INK, row, up.label),
            barred("row", comes, back, GRADIENT, column, over.label),
        ]

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("send the gradients back"), "sent")

    def caption(self, xp):
        (row, column), (rows, _), weight = self.chosen(xp), self.matrix.shape, self.weight(xp)
        many = xp.sum(double(xp, element(xp, self.matrix, column, 1) != 0.0))
        names = {
            "i": written(row, "d"),
            "j": written(column, "d"),
            "weight": number(weight),
        }
        alone = tr("No other output sends a gradient there.")
        together = tr("What {n} outputs send adds up.", n=written(many, ".0f"))
        return choose(
            xp.where(self.state.sent < 1.0, 2, xp.where(weight == 0.0, 0, 1)),
            tr(
                "Move [7:input {j}], and [5:output {i}] stays. [b:So nothing of its gradient goes there.]",
                **names,
            ),
            tr(
                "Move [7:input {j}] by a step, and [5:output {i}] moves by {weight} of it. [b:So {weight} times its gradient goes back there.] {then}",
                then=choose(many > 1.0, alone, together),
                **names,
            ),
            tr(
                "{k} of {n} [5:outputs] have sent their gradients to the inputs that move them. [b:What arrives at an input] [8:adds up].",
                k=written(xp.floor(self.state.sent * rows), ".0f"),
                n=rows,
            ),
        )


def spread(xp, op, run, arrays, arranged, given, state) -> Spread:
    """Return the gradients that the shown row's outputs send."""
    page, upstream = op.page, next(iter(op.upstream))
    part = norms.part_of(op, arranged, arrays, state)
    shape, size = part[upstream].shape, prod(part[upstream].shape)
    others = {k: part[k] * 0.0 for k in op.upstream if k != upstream and part[k] is not None}

    def brought(k):
        made = run(page.backward, part | others | {upstream: np.reshape(np.eye(1, size, k), shape)})
        return xp.reshape(made[op.main], (-1,))[:SHOWN]

    matrix = xp.stack([brought(k) for k in range(min(size, SHOWN))])
    return Spread(upstream, op.main, matrix, xp.reshape(part[upstream], (-1,))[:SHOWN], state)
