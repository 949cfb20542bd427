"""Interactive picture (explorer) of a sampler in a volume: the voxels that a point reads, and the gradients of both.

The slices of the input are one behind another, and the point is dragged in its plane and along the depth. It reads the
corners of its cell, with weights drawn as areas. The lesson: the gradient returns to the eight voxels read, with the same
weights, and the point's gradient is the direction of the largest change.
"""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.explorers.arrays import first, point, strokes, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import ZERO, reach
from aclnn_viz.pictures.marks import Arrows, Bars, Box, Dots, Grip, Heat, Image, Line, Note, Spots
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, MOVED, PALE, READ
from aclnn_viz.pictures.text import choose, number, told, written
from aclnn_viz.words.messages import message, tr

NAMES = "x", "y", "z"  # coordinates of the point
STEP = 0.62, -0.42  # offset between slices, in widths and heights of a slice
FAINT = 0.45  # opacity of slices that are not read
NAMED = 600  # most voxels that show their value under the pointer


def is_volume(op) -> bool:
    return hasattr(op.page, "taps_3d")


def fields_with(op, others: list) -> list[tuple]:
    """Return the fields of the point's place in the grid."""
    return [*others, *listed("volume")]


@dataclass(frozen=True, eq=False)
class Volume:
    """The sample of a point in one channel: the place and weight of each corner (n,), with weight 0 outside, and the
    point's gradient (3,).
    """

    voxels: np.ndarray  # values of the voxels, shape (depth, height, width)
    at: list  # the point's place in voxels: x, y, z
    scales: list  # (offset, factor) from voxels to the grid's coordinates
    places: list  # x, y, z of each corner
    weights: np.ndarray
    gradient: np.ndarray  # gradient of the point's x, y, z for an incoming gradient of 1
    inside: np.ndarray

    def plays(self) -> tuple[dict, ...]:
        end = 1.0 - 1.0 / len(self.voxels)  # beyond it, the cell is partly outside
        return sweep(tr("push the point through the slices"), "z", ends=(-end, end))

    def caption(self, xp):
        n, total = xp.sum(xp.where(self.weights > 0.0, 1.0, 0.0)), xp.sum(self.weights)
        return told(
            first(xp, n == 0.0, total < 1.0 - 1e-9),
            message(
                "The [7:point] lies outside, where nothing is read. [b:So out is 0, and no] [8:gradient] [b:comes back.]"
            ),
            message(
                "The [7:point] is at the edge: it reads [5:{n} voxels], and the rest of its cell is outside. [b:What the point reads there is 0,] and that part of the [8:gradient] is lost."
            ),
            message(
                "The [7:point] reads the [5:nearest voxel] alone. [b:That gets the whole] [8:gradient,] and the point gets none: a small step changes nothing."
            )
            if self.weights.size == 1
            else message(
                "The [7:point] reads the [5:{n} voxels] around it, each with the area drawn as its weight. [b:The] [8:gradient] [b:goes back to these {n}, in the same shares.]"
            ),
            n=written(n, ".0f"),
        )

    def panels(self, xp) -> list[Panel]:
        return [_slices(xp, self), _grad(xp, self), _point(xp, self)]


def volume(xp, op, run, arrays, arranged, given, state) -> Volume:
    """Return the data of the first sample and channel."""
    known, voxels = arranged.attributes, arrays["input"][0, 0]
    modes = [known[name] for name in ("interpolationMode", "paddingMode", "alignCorners")]
    size = voxels.shape
    grid = xp.reshape(xp.concat([point(getattr(state, name)) for name in NAMES]), (1, 1, 3))
    corners = [*op.page.taps_3d(xp, grid, size, *modes)]

    def flat(parts):
        return xp.concat([xp.reshape(part + 0.0, (1,)) for part in parts])

    z, y, x = (flat(place[k] for place, _, _ in corners) for k in range(3))
    inside, index = x == x, 0.0
    for at, n in zip((z, y, x), size):
        inside = inside & (at >= 0.0) & (at < n)
        index = index * n + at
    index = xp.astype(xp.where(inside, index, 0.0), xp.int64)
    values = xp.where(inside, xp.take(xp.reshape(voxels, (-1,)), index), 0.0)
    lengths = [max(n - modes[2], 1) / 2 for n in size[::-1]]
    # voxel u has the coordinate (u + first) / length - 1
    first = 0.0 if modes[2] else 0.5
    return Volume(
        voxels,
        [(getattr(state, name) + 1.0) * n - first for name, n in zip(NAMES, lengths)],
        [(first / n - 1.0, 1.0 / n) for n in lengths],
        [x, y, z],
        xp.where(inside, flat(weight for _, weight, _ in corners), 0.0),
        xp.concat([point(xp.sum(flat(s[k] for _, _, s in corners) * values)) for k in range(3)]),
        inside,
    )


def _slices(xp, found: Volume) -> Panel:
    """Return the slices, the point's cell, weights as areas, and the gradient of the point."""
    depth, height, width = found.voxels.shape
    right, up = STEP[0] * width, STEP[1] * height
    x, y, z = found.at
    cx, cy, cz = found.places
    low, high = found.voxels.min(), found.voxels.max() + 1e-30

    def seen(x, y, z):
        return x + right * z, y + up * z

    marks, edge = [], (width - 0.15, height - 0.5)
    for k in reversed(range(depth)):
        a, b = seen(0.0, 0.0, float(k))
        here = xp.sum(xp.where(cz == k, found.weights, 0.0))
        marks += [
            Image(found.voxels[k], "picture", low, high, a, b, xp.where(here > 0.0, 1.0, FAINT)),
            Box(a - 0.5, b - 0.5, a + width - 0.5, b + height - 0.5, kind=GUIDE),
            Note(a - 0.5, b - 0.75, tr("slice {k}", k=k), "left"),
        ]
    if found.weights.size == 8:
        # corners in the order of a line along all edges of the cell
        way = np.array([0, 1, 3, 2, 0, 4, 5, 7, 6, 4, 5, 1, 3, 7, 6, 2])
        px, py = seen(*(xp.take(at, way) for at in found.places))
        marks.append(Line(px, py, READ, tr("the cell that holds the point"), 1.2))
    side = 0.5 * xp.sqrt(found.weights)
    px, py = seen(xp.where(found.inside, cx, np.nan), cy, cz)
    ends = px - side, py - side, px + side, py + side
    for k in range(found.weights.size):
        weight = choose(side[k] > 0.2, "", written(found.weights[k], ".2f"))
        marks.append(Box(*(end[k] for end in ends), weight, READ, 0.85))
    dot, rail, ends = seen(x, y, z), seen(*edge, z), seen(*edge, np.array([-0.5, depth - 0.5]))
    (ox, fx), (oy, fy), (oz, fz) = found.scales
    here = (ox - fx * right * z, fx, 0), (oy - fy * up * z, fy, 1)
    unit = oz - fz * edge[0] / right, fz / right, 0
    marks += [
        # from the point along the depth to each slice that is read
        Line(*seen(x, y, xp.concat([point(z), cz])), MOVED, "", 1.0),
        Dots(*seen(x, y, cz), MOVED, "", 3.0),
        Line(*ends, PALE, "", 4.0),
        *_arrows(xp, found, seen, dot),
        *_named(found, seen),
        Note(ends[0][-1], ends[1][-1] - 0.4, tr("depth"), "right"),
        Grip(*dot, NAMES[:2], here, tr("the point within its slice"), MOVED, look="move"),
        Grip(*rail, NAMES[2:], (unit,), tr("the depth of the point"), MOVED, look="turn"),
    ]
    return Panel(
        "volume",
        tr("input, slice after slice: drag the point, and on the grey line its depth"),
        marks,
        Axis("", -0.9, ends[0][-1] + 0.4, ticks=()),
        Axis("", ends[1][0] + 0.2, up * (depth - 1) - 1.1, ticks=()),
        13,
        0,
        square=True,
        rows=2,
    )


def _named(found: Volume, seen):
    """Yield the number of each voxel, front ones above rear ones."""
    if found.voxels.size > NAMED:
        return
    places = [*np.ndindex(found.voxels.shape)][::-1]
    z, y, x = np.array(places, float).T
    a, b = seen(x, y, z)
    texts = (f"input[{', '.join(map(str, at))}] = {number(found.voxels[at])}" for at in places)
    yield Spots(a - 0.5, b - 0.5, a + 0.5, b + 0.5, tuple(texts))


def _arrows(xp, found: Volume, seen, at):
    """Return arrows for steps of the point that increase the output: along x, y and the depth."""
    step = found.gradient / (xp.max(xp.abs(found.gradient)) + 1e-30)
    step = xp.where(step == 0.0, np.nan, step)
    a, b = seen(0.0, 0.0, 0.6)
    dx, dy = (step * np.array(along) for along in ((1.0, 0.0, a), (0.0, 1.0, b)))
    x, y = (start + 0.0 * step for start in at)
    yield Line(strokes(xp, x, x + dx), strokes(xp, y, y + dy), GRADIENT, "", 3.0)
    yield Arrows(x, y, dx, dy, GRADIENT, "gridGrad")


def _grad(xp, found: Volume) -> Panel:
    """Return the gradient of each voxel, slice below slice."""
    depth, height, width = found.voxels.shape
    x, y, z = found.places
    row = np.arange(depth * (height + 1.0)) - 1.0  # a blank row before each slice
    there = (z * (height + 1) + y == row[:, None, None]) & (x == np.arange(width)[:, None])
    back = xp.sum(xp.where(there, found.weights, 0.0), axis=-1)
    blank = np.zeros((row.size, width))
    blank[:: height + 1] = np.nan
    ticks = (
        (k * (height + 1.0) + at, f"{at - 1}" if at else tr("slice {k}", k=k))
        for k, at in np.ndindex(depth, height + 1)
    )
    return Panel(
        "back",
        tr("inputGrad for a gradient of 1"),
        (Heat(back + blank, "shares", 0.0, xp.max(back) + 1e-30, digits=True),),
        Axis(tr("column")),
        Axis(tr("slice, row"), ticks=tuple(ticks)),
        7,
        330,
    )


def _point(xp, found: Volume) -> Panel:
    at, high = np.arange(3.0), reach(xp, 2.0, found.gradient)
    return Panel(
        "point",
        tr("gridGrad: the change that a step of the point makes"),
        (Bars(at, found.gradient, GRADIENT, "", 0.5), ZERO),
        Axis("", -0.6, 2.6, ticks=tuple(zip(at.tolist(), NAMES))),
        Axis("", -high, high),
        7,
        150,
    )
