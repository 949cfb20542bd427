"""Interactive picture (explorer) of pooling, upsampling and padding, to see which pixels an output reads, and what gradient
they get back.

A window slides over the input, one output after the other. Each sends its gradient to the pixels that it read, in the shares in which it
read them, and what a pixel gets from several windows adds up. The sentence to teach: a pixel adds up the gradients of all that read it.
"""

from dataclasses import dataclass
from functools import cache
from math import prod

import numpy as np

from aclnn_viz.arrays.driver import place_of
from aclnn_viz.cases import case
from aclnn_viz.explorers.arrays import XP, element, sweep
from aclnn_viz.explorers.norms import block_of
from aclnn_viz.explorers.state import real, whole
from aclnn_viz.pictures.marks import Box, Heat
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import MOVED, READ
from aclnn_viz.pictures.text import choose, written
from aclnn_viz.words.messages import message, tr

KNOWN = 400  # outputs of a plane whose windows are known
TALL = 380


def outer(op, arranged, given: dict):
    """Rows and columns of the incoming gradient of one plane; None where the operator moves no planes."""
    axes, upstream, result = op.page.AXES, next(iter(op.upstream)), arranged.results[op.main]
    inner = [n for n, axis in zip(result.shape, axes[op.main]) if axis == "."]
    names = [
        "".join(
            name
            for name, axis in zip(op.page_axes(key, arranged.attributes), axes[key])
            if axis == "."
        )
        for key in (op.main, upstream)
    ]
    shape, planes = given[upstream].shape[-2:], prod(result.shape) // max(prod(inner), 1)
    alike = (
        len(inner) == 2 == len(shape)
        and names[0] != names[1]
        and prod(shape) * planes == given[upstream].size
        and tuple(inner) == result.documented_shape[-2:]
    )
    return tuple(shape) if alike else None


@cache
def is_plane(op) -> bool:
    given = case(op).inputs
    return outer(op, op.arrange_backward(**given), given) is not None


def fields_with(op, others: list, row: int = 1, column: int = 1) -> list[tuple]:
    """The output that is looked at, and how many have sent their gradients."""
    group = message("Element")
    return [
        *others,
        ("row", whole(int(row), 0, 63, message("row"), group, moves=True)),
        ("column", whole(int(column), 0, 63, message("column"), group, moves=True)),
        (
            "sent",
            real(
                1.0,
                0.0,
                1.0,
                0.01,
                message("sent"),
                group,
                message("the share of outputs that have sent their gradients"),
            ),
        ),
    ]


@dataclass(frozen=True, eq=False)
class Plane:
    """What each output reads of a plane of the input, and what it sends back."""

    upstream: str
    output: str
    place: list[int]
    weights: np.ndarray  # (outputs, rows, columns) of the input
    gradient: np.ndarray  # (rows, columns) of the outputs
    arrived: np.ndarray  # (rows, columns) of the input: of all outputs
    state: object

    @property
    def sending(self):
        """How many outputs have sent, of those whose windows are known."""
        return self.state.sent * len(self.weights)

    def chosen(self, xp):
        """The number of the output that is looked at: that which sends, else the chosen one."""
        rows, columns = self.gradient.shape
        own = xp.minimum(self.state.row, rows - 1) * columns + xp.minimum(
            self.state.column, columns - 1
        )
        last = len(self.weights) - 1
        head = xp.astype(xp.minimum(xp.floor(self.sending), float(last)), xp.int64)
        return xp.where(self.state.sent < 1.0, head, xp.minimum(own, last))

    def panels(self, xp) -> list[Panel]:
        return _panels(xp, self)

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("slide the window"), "sent")

    @property
    def counts(self) -> np.ndarray:
        """How many pixels each output reads."""
        return (self.weights != 0.0).sum(axis=(1, 2)).astype(float)

    def caption(self, xp):
        k, read = self.chosen(xp), self.weights != 0.0
        readers = read.sum(axis=0)
        # the most outputs that read one of its pixels
        shared = np.array([readers[one].max(initial=0) for one in read], float)
        alike = np.array(
            [np.ptp(w[one]) < 1e-12 if one.any() else True for w, one in zip(self.weights, read)]
        )
        n, m = element(xp, self.counts, k), element(xp, shared, k)
        largest = element(xp, np.abs(self.weights).max(axis=(1, 2)), k)
        least = element(xp, self.weights.min(axis=(1, 2)), k)
        names = {
            "n": written(n, ".0f"),
            "m": written(m, ".0f"),
            "share": written(largest, ".4g"),
        }
        what = choose(
            xp.where(
                n == 0,
                0,
                xp.where(n == 1, 1, xp.where(least < 0, 4, xp.where(element(xp, alike, k), 2, 3))),
            ),
            tr("The [7:output] reads no pixel, and its gradient goes nowhere."),
            tr(
                "The [7:output] reads [5:one pixel], which gets {share} times its gradient.",
                **names,
            ),
            tr(
                "The [7:output] reads [5:{n} pixels], and each gets {share} times its gradient.",
                **names,
            ),
            tr(
                "The [7:output] reads [5:{n} pixels], the nearest one most: {share} times its gradient.",
                **names,
            ),
            tr(
                "The [7:output] reads [5:{n} pixels], some with a negative weight: these get its gradient with the other sign.",
                **names,
            ),
        )
        then = choose(
            m > 1,
            tr("[b:No other output reads there,] so nothing is added."),
            tr("Up to {m} outputs read the same pixel: [b:it adds up what they send.]", **names),
        )
        count = len(self.weights)
        return choose(
            self.state.sent < 1.0,
            tr("{what} {then}", what=what, then=then),
            tr(
                "{k} of {n} [7:outputs] have sent their gradients to the [5:pixels] that they read. [b:Where windows overlap, they add up.]",
                k=written(xp.floor(self.sending), ".0f"),
                n=count,
            ),
        )


def plane(xp, op, run, arrays, arranged, given, state) -> Plane:
    """Return what the outputs of the shown plane read and send: none of it moves, so all of it is known in a trace."""
    page, axes, upstream = op.page, op.page.AXES, next(iter(op.upstream))
    block, place = block_of(op, arranged, getattr(state, "plane", 0))
    part = {
        name: array if array is None else array[place_of(array, axes[name], block)]
        for name, array in arrays.items()
    }
    shape, size = part[upstream].shape, part[upstream].size
    inner = arranged.results[op.main].documented_shape[-2:]

    def brought(gradient):
        known = arranged.attributes | part | {upstream: np.reshape(gradient, shape)}
        return np.reshape(page.backward(XP, **known)[op.main], inner)

    weights = np.stack([brought(np.eye(1, size, k)) for k in range(min(size, KNOWN))])
    return Plane(
        upstream,
        op.main,
        place,
        weights,
        np.reshape(part[upstream], outer(op, arranged, given)),
        brought(part[upstream]),
        state,
    )


def _panels(xp, found: Plane) -> list[Panel]:
    k, columns = found.chosen(xp), found.gradient.shape[1]
    gone = xp.clip(found.sending - np.arange(float(len(found.weights))), 0.0, 1.0)
    each = found.weights * found.gradient.ravel()[: len(found.weights), None, None]
    sending = xp.sum(xp.reshape(gone, (-1, 1, 1)) * each, axis=0)
    arrived = xp.where(found.state.sent < 1.0, sending, found.arrived)
    most = max(np.abs(found.arrived).max(initial=0.0), np.abs(each).max(initial=0.0)) or 1.0
    weights, top = element(xp, found.weights, k), np.abs(found.weights).max(initial=0.0) or 1.0
    row, column = k // columns, k % columns
    windows = _windows(found.weights)
    ends = [element(xp, windows[:, at], k) for at in range(4)]
    window = Box(*ends, kind=READ)
    high = np.abs(found.gradient).max(initial=0.0) or 1.0
    read = xp.where(weights == 0.0, np.nan, weights)
    bare = Axis(ticks=())
    return [
        Panel(
            "arrived",
            tr("{output}: what has arrived", output=found.output),
            (Heat(arrived, "diverging", -most, most, digits=True), window),
            Axis(tr("column")),
            Axis(tr("row")),
            8,
            TALL,
            square=True,
        ),
        Panel(
            "sends",
            tr("{upstream}: choose an output", upstream=found.upstream),
            (
                Heat(found.gradient, "diverging", -high, high, digits=True),
                Box(column - 0.5, row - 0.5, column + 0.5, row + 0.5, kind=MOVED),
            ),
            bare,
            bare,
            6,
            TALL,
            ("column", "row"),
            square=True,
        ),
        Panel(
            "weights",
            tr("what it reads, and its weights"),
            (
                Heat(read, "diverging", -top, top, digits=True),
                window,
            ),
            bare,
            bare,
            6,
            TALL,
            square=True,
        ),
    ]


def _windows(weights: np.ndarray) -> np.ndarray:
    """The rectangle around the pixels that each output reads: (outputs, 4), nan where it reads none."""
    made = np.full((len(weights), 4), np.nan)
    for at, one in enumerate(weights != 0.0):
        rows, columns = np.nonzero(one)
        if rows.size:
            made[at] = columns.min() - 0.5, rows.min() - 0.5, columns.max() + 0.5, rows.max() + 0.5
    return made
