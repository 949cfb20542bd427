"""The explorers' panel of responses: how one element's gradient depends on its input, or where the gradient of each output goes.

A backward page is linear in the gradient that comes in. With 1 for one output and 0 for all others it gives what this output brings
to each element of the input, a row of the Jacobian. Where an output depends on one element alone, its slope is drawn over that input; of
rows (softmax, norms) the matrix of one row; of planes (sampling, padding, pooling) a matrix of each axis, which holds the taps.
All of it is computed in float64 by the kit's own page, whatever computes the gradient in the other panels.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from aclnn_viz.arrays.driver import place_of
from aclnn_viz.explorers import indices, norms, planes, slopes, softmax
from aclnn_viz.explorers.arrays import double, paged
from aclnn_viz.pictures.marks import Bars, Dots, Heat, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import choose, count
from aclnn_viz.words.messages import message, tr

SHOWN = 64  # of the outputs of a row or an axis, and of the elements beside each
# of a curve between two kinks; how near to these it goes, and to the ends of a range
POINTS, NEAR, MARGIN = 81, 1e-6, 0.02
REACH = 5.0
INPUT, KINK, GRADIENT, GUIDE = 0, 1, 2, 4  # kinds of marks
HEIGHT = 165
IN_ROW = message(
    "The gradient of one output goes to {to} of {columns} elements; one element adds up those of {of} of {rows} outputs."
)


@dataclass(frozen=True, eq=False)
class Spread:
    """What the gradient of each output (rows) brings to each element of the input (columns)."""

    upstream: str
    output: str
    place: list[int]  # of the row or plane among those that are alike
    matrix: np.ndarray
    gradient: np.ndarray | None = None  # of the row
    own: np.ndarray | None = None  # the part of it that comes from the output at the same place

    def panels(self, xp) -> list[Panel]:
        return _matrices(xp, self)

    def headline(self, xp) -> list[str]:
        return [
            tr(
                IN_ROW,
                to=_ends(xp, self.matrix, 1),
                of=_ends(xp, self.matrix, 0),
                columns=self.matrix.shape[1],
                rows=self.matrix.shape[0],
            )
        ]

    def caption(self, xp):
        return self.headline(xp)[0]


def response(xp, op, given: dict, state, run=None):
    """Return the Norm, the Slope or the Spread of an operator, whose arrays are of `xp`; a sentence says why there is none.

    `run(page, values)` calls a page; without it, over `xp`.
    """
    run = run or (lambda page, values: page(xp, **values))
    arranged = op.arrange_backward(**given)
    if op.main not in arranged.results:
        return message(
            "No answer of one element is drawn: {output} is not asked for.", output=op.main
        )
    arrays = paged(xp, arranged)
    arrays = {
        name: array if array is None or array.dtype.kind in "iub" else double(xp, array)
        for name, array in arrays.items()
    }
    if norms.is_norm(op):
        return norms.norm(xp, op, run, arrays, arranged, given, state)
    plain = getattr(op, "_op", op)  # of one that is traced
    if softmax.is_softmax(plain):
        return softmax.softmax(xp, op, run, arrays, arranged, given, state)
    if slopes.is_slope(op):
        return slopes.slope(xp, op, run, arrays, arranged.attributes, given, state)
    if planes.is_plane(plain):
        return planes.plane(op, arrays, arranged, given, state)
    if indices.is_indices(plain):
        return indices.indices(xp, op, run, arrays, arranged, given, state)
    return spread(xp, op, run, arrays, arranged, getattr(state, "plane", 0))


def spread(xp, op, run, arrays, arranged, block):
    page, upstream, attributes = op.page, next(iter(op.upstream)), arranged.attributes
    axes, result = page.AXES, arranged.results[op.main]
    letters = {letter: n for letter, n in zip(axes[op.main], result.shape) if letter != "."}
    last = min(block, prod(letters.values()) - 1)
    place = [int(k) for k in np.unravel_index(last, tuple(letters.values()))] if letters else []
    cut = {letter: slice(k, k + 1) for letter, k in zip(letters, place)}
    part = {
        key: array if array is None else array[place_of(array, axes[key], cut)]
        for key, array in arrays.items()
    }
    part |= {
        key: part[key] * 0.0 for key in op.upstream if key != upstream and part[key] is not None
    }
    size = part[upstream].size

    def brought(gradient):
        return run(
            page.backward,
            attributes | part | {upstream: np.reshape(gradient, part[upstream].shape)},
        )[op.main]

    def unit(k):
        return xp.reshape(brought(np.eye(1, size, k)), (-1,))

    matrix = xp.stack([unit(k) for k in range(min(size, SHOWN))])
    gradient = xp.reshape(run(page.backward, attributes | part)[op.main], (-1,))
    own = None
    if size == gradient.size <= SHOWN:
        own = xp.sum(matrix * np.eye(size), axis=0) * xp.reshape(part[upstream], (-1,))
    return Spread(upstream, op.main, place, matrix, gradient, own)


# What is seen, and in words


def _matrices(xp, found: Spread) -> list[Panel]:
    made, where = [], f" {found.place}" * bool(found.place)
    if found.gradient is not None:
        row = found.gradient[:SHOWN]
        at = np.arange(row.size, dtype=np.float64)
        marks = [Rule("y", 0.0, kind=GUIDE), Bars(at, row, GRADIENT, found.output)]
        marks += (
            []
            if found.own is None
            else [Dots(at, found.own, KINK, tr("its own output's part"), 4.0)]
        )
        made.append(
            Panel(
                "row",
                tr("{output} of row{place}, element by element", output=found.output, place=where),
                tuple(marks),
                Axis("", -0.6, row.size - 0.4),
                Axis(),
                10,
                HEIGHT,
            )
        )
    shown = found.matrix[:, :SHOWN]
    made.append(
        Panel(
            "brought",
            tr("what each output's gradient brings, row{place}", place=where),
            (Heat(shown, *scale(shown, xp), digits=True),),
            Axis(f"{found.output}[j]"),
            Axis(f"{found.upstream}[i]"),
            10,
            HEIGHT,
        )
    )
    return made


def _ends(xp, matrix, axis: int) -> str:
    """How many entries along an axis are not 0, from the least to the most."""
    many = xp.sum(double(xp, matrix != 0.0), axis=axis)
    least, most = xp.min(many), xp.max(many)
    return choose(
        least == most, tr("{first} to {last}", first=count(least), last=count(most)), count(most)
    )
