"""Interactive picture (explorer) of a sampler in a volume: the voxels that a point reads, and the gradients of both.

The point is dragged in its plane and along the depth. It reads eight voxels of two slices, with weights drawn as areas. The
lesson: the gradient returns to the eight voxels read, with the same weights, and the point's gradient is the direction of the
largest change.
"""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.explorers.arrays import first, point, strokes, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import ZERO, reach
from aclnn_viz.pictures.marks import Bars, Box, Grip, Heat, Image, Line, Note, cell
from aclnn_viz.pictures.panels import Axis, Panel, bare
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, MOVED, PALE, READ
from aclnn_viz.pictures.text import told, written
from aclnn_viz.words.messages import message, tr

NAMES = "x", "y", "z"  # coordinates of the point
DOWN, NEAR = 2.9, 1.0  # the second slice: down beside the first, and to the right of it below


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
    shares: list  # factors of the weights along x, y, z
    read: list  # x, y, z that are read, after padding

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("push the point through the slices"), "z", ends=(-0.66, 0.66))

    def caption(self, xp):
        n, total = xp.sum(xp.where(self.weights > 0.0, 1.0, 0.0)), xp.sum(self.weights)
        return told(
            first(xp, n == 0.0, total < 1.0 - 1e-9),
            message(
                "The [7:point] lies outside, where nothing is read. [b:So out is 0, and no] [8:gradient] [b:comes back.]"
            ),
            message(
                "The [7:point] is at the edge: it reads [5:{voxels}], and the rest of its cell is outside. [b:What the point reads there is 0,] and that part of the [8:gradient] is lost."
            ),
            message(
                "The [7:point] reads the [5:nearest voxel] alone. [b:That gets the whole] [8:gradient,] and the point gets none: a small step changes nothing."
            )
            if self.weights.size == 1
            else message(
                "The [7:point] reads the [5:{voxels}] around it, each with the area drawn as its weight. [b:The] [8:gradient] [b:goes back there, in the same shares.]"
            ),
            voxels=told(n == 1.0, message("{n} voxels"), message("one voxel"), n=written(n, ".0f")),
        )

    def panels(self, xp) -> list[Panel]:
        return [_slices(xp, self), _grad(xp, self), _point(xp, self)]


def volume(xp, op, run, arrays, arranged, given, state) -> Volume:
    """Return the data of the first sample and channel."""
    known, voxels = arranged.attributes, arrays["input"][0, 0]
    modes = [known[name] for name in ("interpolationMode", "paddingMode", "alignCorners")]
    size, at = voxels.shape, [getattr(state, name) for name in NAMES]
    grid = xp.reshape(xp.concat([*map(point, at)]), (1, 1, 3))
    places, weights, slopes = zip(*op.page.taps_3d(xp, grid, size, *modes))

    def flat(parts):
        return xp.reshape(xp.stack(parts), (-1,))

    index, inside = map(xp.concat, zip(*(op.page.voxel(xp, one, size) for one in places)))
    values = xp.where(inside, xp.take(xp.reshape(voxels, (-1,)), index), 0.0)
    places, whole = [*map(flat, zip(*places))][::-1], flat(weights)
    shares = [xp.sum(xp.where(xp.reshape(at, (-1, 1)) == at, whole, 0.0), axis=1) for at in places]
    lengths = [max(n - modes[2], 1) / 2 for n in size[::-1]]
    # voxel u has the coordinate (u + first) / length - 1
    first = 0.0 if modes[2] else 0.5
    return Volume(
        voxels,
        [(x + 1.0) * n - first for x, n in zip(at, lengths)],
        [(first / n - 1.0, 1.0 / n) for n in lengths],
        places,
        xp.where(inside, whole, 0.0),
        xp.concat([point(xp.sum(flat(slope) * values)) for slope in zip(*slopes)]),
        shares,
        [xp.sum(whole * at) for at in places],
    )


def _slices(xp, found: Volume) -> Panel:
    """Return the two slices at the point, side by side, or one above the other on a narrow page, and a line for its depth."""
    depth, height, width = found.voxels.shape
    room = 0.06 * max(width, height, 5)  # of a line of text
    # beside a slice there is room for a point outside
    over, rail, deep = 1.2 * width + 0.6, -0.1 * width - 1.05, 1.1 * height - 0.2
    first = xp.clip(xp.min(found.places[2]), 0.0, max(depth - 2.0, 0.0))
    per = height / max(depth, 3)  # from slice to slice on the line

    def seen(x, y, z):
        slot = z - first
        slot = xp.where(slot * slot == slot, slot, np.nan)  # of 0 and 1
        return x + over * slot, y + DOWN * slot

    marks = [mark for k in range(depth) for mark in _slice(xp, found, k, seen, room)]
    marks += [
        Note(rail - 0.8 * room, per * k, tr("slice {k}", k=k), "right")
        for k in range(0, depth, int(room / per) + 1)
    ]
    moved, turned = tr("the point within its slice"), tr("the depth of the point")
    pair = np.array([[over], [DOWN]]) * np.arange(min(depth, 2.0))
    (*units, (o, f)), at = found.scales, [place + by for place, by in zip(found.at, pair)]
    read = xp.where(found.weights > 0.0, found.places[2], np.nan)
    marks += [
        Line(*at, MOVED, "", 1.0),
        *_shares(xp, found, seen, read),
        Line(np.full(2, rail), per * np.array([-0.5, depth - 0.5]), PALE, "", 4.0),
        Line(rail + 0.0 * read, per * read, READ, "", 6.0),
        Bars(*np.full((2, 1), np.nan), READ, tr("area = weight = share of the gradient")),
        Grip(
            rail, per * found.at[2], NAMES[2:], ((o, f / per, 1),), turned, MOVED, "place", "turn"
        ),
    ]
    for *place, by in zip(*at, pair.T):
        here = tuple((o - f * by[n], f, n) for n, (o, f) in enumerate(units))
        marks.append(Grip(*place, NAMES[:2], here, moved, MOVED, "place", "pin"))
    right = 1.1 * width - 0.25
    return Panel(
        "volume",
        tr("input: drag the point and its depth"),
        marks,
        bare(rail - 4.3 * room, right + over),
        bare(deep + DOWN, -0.5 - 2.7 * room),
        14,
        0,
        square=True,
        rows=2,
        folds=(right, NEAR - over, deep + 1.1 + room - DOWN),
    )


def _slice(xp, found: Volume, k: int, seen, room: float):
    """Yield a slice with its name."""
    _, height, width = found.voxels.shape
    share = xp.sum(xp.where(found.places[2] == k, found.weights, 0.0))
    a, b = seen(-0.5, -0.5, float(k))
    name = told(
        share > 0.0,
        message("slice {k}: not read"),
        message("slice {k}, share {share}"),
        k=k,
        share=written(share, ".2f"),
    )
    grey = "picture", found.voxels.min(), found.voxels.max()
    # fainter if it is not read
    yield Image(found.voxels[k], *grey, a + 0.5, b + 0.5, xp.where(share > 0.0, 1.0, 0.45))
    yield Box(a, b, a + width, b + height, kind=GUIDE)
    yield Note(a, b - room, name, "left")


def _shares(xp, found: Volume, seen, z):
    """Yield the way of the point into the slices `z` that it reads, frames of the voxels read, and in each slice a square as
    large as its share, cut by them: areas are weights.
    """
    places, weights = found.places[:2], found.weights
    sides = [share * xp.sqrt(found.shares[2]) for share in found.shares[:2]]
    corners = (
        xp.where(at == xp.min(at), at + 0.5 - side, at - 0.5) for at, side in zip(places, sides)
    )
    (x, y), (left, top) = seen(*places, z), seen(*corners, z)
    ways = zip(seen(*found.at[:2], z), seen(*found.read[:2], z))
    yield Line(*(strokes(xp, *ends) for ends in ways), READ, "", 2.6)
    for k in range(weights.size):
        ends = left[k], top[k], left[k] + sides[0][k], top[k] + sides[1][k]
        yield cell(x[k], y[k], READ)
        yield Box(*ends, written(weights[k], ".2f"), READ, 0.85)


def _grad(xp, found: Volume) -> Panel:
    """Return the gradient of each voxel, slice below slice."""
    depth, height, width = found.voxels.shape
    x, y, z = found.places
    row = np.arange(depth * (height + 1.0)) - 1.0  # a blank row before each slice
    there = (z * (height + 1) + y == row[:, None, None]) & (x == np.arange(width)[:, None])
    back = xp.sum(xp.where(there, found.weights, 0.0), axis=-1)
    blank, high = np.zeros((row.size, width)), xp.maximum(xp.max(back), 0.01)
    blank[:: height + 1] = np.nan
    return Panel(
        "back",
        tr("inputGrad for a gradient of 1"),
        (Heat(back + blank, "shares", 0.0, high, digits=True),),
        Axis(tr("column")),
        Axis(
            tr("slice, row"),
            ticks=[
                (k * (height + 1.0) + at, f"{at - 1}" if at else tr("slice {k}", k=k))
                for k, at in np.ndindex(depth, height + 1)
            ],
        ),
        6,
        330,
    )


def _point(xp, found: Volume) -> Panel:
    at, high = np.arange(3.0), reach(xp, 2.0, found.gradient)
    return Panel(
        "point",
        tr("gridGrad: the change that a step of the point makes"),
        (Bars(at, found.gradient, GRADIENT, "", 0.5), ZERO),
        Axis("", -0.6, 2.6, ticks=[*zip(at, NAMES)]),
        Axis("", -high, high),
        6,
        150,
    )
