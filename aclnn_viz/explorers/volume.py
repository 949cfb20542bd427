"""Interactive picture (explorer) of a sampler in a volume: the voxels that a point reads, and the gradients of both.

The point is dragged in its plane and along the depth. It reads eight voxels of two slices, with weights drawn as areas. The
lesson: the gradient returns to the eight voxels read, with the same weights, and the point's gradient is the direction of the
largest change.
"""

import numpy as np

from aclnn_viz.explorers.arrays import first, point, strokes, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import ZERO, reach
from aclnn_viz.pictures.marks import Bars, Box, Grip, Heat, Image, Line, Note, record
from aclnn_viz.pictures.panels import Axis, Panel, bare
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, MOVED, PALE, READ
from aclnn_viz.pictures.text import choose, number, told, written
from aclnn_viz.words.messages import tr

NAMES = "x", "y", "z"  # coordinates of the point
SEEN = 0.005  # less is shown as 0.00


def is_volume(op) -> bool:
    return hasattr(op.page, "taps_3d")


def fields_with(op, others: list) -> list[tuple]:
    """Return the fields of the point's place in the grid."""
    return others + listed("volume")


@record
class Volume:
    """The sample of a point in one channel: the place and weight of each corner (n,), with weight 0 outside, and the
    point's gradient (3,).
    """

    voxels: np.ndarray  # values of the voxels, shape (depth, height, width)
    at: np.ndarray  # the point's place in voxels: x, y, z
    scales: list  # (offset, factor) from voxels to the grid's coordinates
    places: list  # x, y, z of each corner
    weights: np.ndarray
    gradient: np.ndarray  # gradient of the point's x, y, z for an incoming gradient of 1
    shares: list  # factors of the weights along x, y, z
    read: np.ndarray  # x, y, z that are read, after padding
    modes: list  # interpolationMode, paddingMode, alignCorners

    def plays(self):
        return sweep(tr("push the point through the slices"), "z", ends=(-0.66, 0.66))

    def caption(self, xp):
        n, share = xp.sum(xp.where(self.weights > 1e-6, 1.0, 0.0)), self.shares[2]
        far, most = xp.abs(self.at - self.read) > SEEN, xp.max(self.weights)
        out, edge = xp.any(far), xp.any(far & (self.gradient == 0.0))
        lost, a, area, most = _shown(
            xp, xp.stack([1.0 - xp.sum(self.weights), share[0], most / xp.max(share), most])
        )
        large, places = xp.maximum(a, 1.0 - a), self.places[2]
        return told(
            first(
                xp,
                n == 0.0,
                lost > 0.0,
                self.modes[0] == 1,
                out & edge & (self.modes[1] == 2),
                out & edge,
                out,
                large == 1.0,
            ),
            "The [7:point] lies outside, where nothing is read. [b:So out is 0, and no gradient comes back.]",
            "The [7:point] is at the edge, and reads [5:{n} of 8 voxels.] [b:Outside, the input counts as 0, and {lost} of the gradient is lost.]",
            "The [7:point] reads the [5:nearest voxel] alone. [b:That gets the whole gradient,] and the point gets none: a small step changes nothing.",
            "Reflection: so near the edge, [7:column {x}, row {y}, slice {z}] is read at [5:{u}, {v}, {w},] as with border. [b:Along axes that differ, the] [8:gradient] [b:is 0.]",
            "Border: [7:column {x}, row {y}, slice {z}] is read at [5:{u}, {v}, {w}.] [b:Along axes that differ, a small step changes nothing:] its [8:gradient] is 0.",
            "Reflection: [7:column {x}, row {y}, slice {z}] is folded back to [5:{u}, {v}, {w}.] [b:A step outwards moves what is read inwards:] the [8:gradient] turns its sign.",
            "The [7:point] reads one slice alone, so a [5:voxel] has its area as its weight. [b:The gradient goes back there, in the same shares.]",
            "The [7:point] takes {a} from slice {k} and {b} from slice {l}. Its largest weight is {share} × area {area} {equals} [5:{most}.] [b:The gradient goes back in the same shares.]",
            equals=choose(xp.abs(large * area - most) > SEEN, "=", "≈"),
            n=number(n),
            **dict(zip("xyzuvw", map(number, (*self.at, *self.read)))),
            k=number(places[0]),
            l=number(places[-1]),
            **{
                name: written(one, ".2f")
                for name, one in zip(
                    "lost a b share area most".split(), (lost, a, 1.0 - a, large, area, most)
                )
            },
        )

    def panels(self, xp):
        return [make(xp, self) for make in (_slices, _grad, _point)]


def _shown(xp, value):
    """Return a number as two digits show it."""
    return xp.floor(100.0 * value + 0.5000001) / 100.0


def volume(xp, op, run, arrays, arranged, given, state) -> Volume:
    """Return the data of the first sample and channel."""
    voxels = arrays["input"][0, 0]
    modes = [
        arranged.attributes[name] for name in ("interpolationMode", "paddingMode", "alignCorners")
    ]
    size, at = voxels.shape, xp.stack([getattr(state, name) for name in NAMES])
    places, weights, slopes = zip(*op.page.taps_3d(xp, at[None, None], size, *modes))

    def flat(parts):
        return xp.reshape(xp.stack(parts), (-1,))

    index, inside = map(xp.concat, zip(*(op.page.voxel(xp, one, size) for one in places)))
    values = xp.where(inside, xp.take(flat(voxels), index), 0.0)
    places, whole = [*map(flat, zip(*places))][::-1], flat(weights)
    shares = [xp.sum(xp.where(at[:, None] == at, whole, 0.0), axis=1) for at in places]
    lengths = np.maximum(size[::-1] - np.array(modes[2]), 1) / 2
    # voxel u has the coordinate (u + first) / length - 1
    first = 0.0 if modes[2] else 0.5
    return Volume(
        voxels,
        (at + 1.0) * lengths - first,
        [(first / n - 1.0, 1.0 / n) for n in lengths],
        places,
        xp.where(inside, whole, 0.0),
        xp.stack([xp.sum(flat(slope) * values) for slope in zip(*slopes)]),
        shares,
        xp.stack([xp.sum(whole * at) for at in places]),
        modes,
    )


def _slices(xp, found):
    """Return the two slices at the point, side by side, or one above the other on a narrow page, and a line for its depth."""
    (depth, height, width), read = found.voxels.shape, found.read[2]
    # beside a slice there is room for a point outside
    right, over, rail = 1.1 * width - 0.3, 1.2 * width + 0.25, height + 0.15
    per = over / (depth + 1.3)  # from slice to slice on the line, in the middle
    start, by = (width - 1 + over - per * (depth - 1)) / 2, over * np.arange(2.0)
    # one lies outside only if it has a share
    first = xp.clip(xp.floor(read), -1.0, depth - 2.0) + xp.where(read > depth - 0.999, 1.0, 0.0)
    slots = first + by / over
    shown = xp.abs(slots - read) < 0.999
    ends = start + per * xp.where(shown, slots, np.nan)
    (u, v), (x, y) = (
        [
            xp.concat([at[0] + by + 0.0 * ends, start + per * at[2:]]),
            xp.concat([at[1] + 0.0 * by, point(rail)]),
        ]
        for at in (found.at, found.read)
    )
    (a, b), (c, d), (o, f) = found.scales
    marks = [
        *(m for k in range(-1, depth + 1) for m in _slice(xp, found, k, over * (k - first) - 0.5)),
        *_shares(xp, found, over * (found.places[2] - first)),
        *(Note(start + per * k, rail + 0.4, tr("slice {k}", k=k)) for k in range(depth)),
        Box(start - per / 2, rail, start + per * (depth - 0.5), rail, kind=PALE),
        Line(ends, rail + 0.0 * by, READ, tr("share of slice × area = weight"), 6.0),
        Line(strokes(xp, u, x), strokes(xp, v, y), READ, "", 2.6),
        Grip(
            u[2],
            rail,
            NAMES[2:],
            ((o - f / per * start, f / per, 0),),
            tr("the depth of the point"),
            MOVED,
            look="turn",
        ),
        *(
            Grip(
                found.at[0] + side,
                v[n],
                NAMES[:2],
                ((a - b * side, b, 0), (c, d, 1)),
                tr("the point within its slice"),
                MOVED,
                look=choose(shown[n], "dot", "pin"),
            )
            for n, side in enumerate(by)
        ),
    ]
    return Panel(
        "volume",
        tr("input: drag the point and its depth"),
        marks,
        bare(-1.7, 2 * over - 0.55),
        bare(rail + 0.7, -1.65),
        15,
        0,
        square=True,
        rows=2,
        folds=(right, -over, height),
    )


def _slice(xp, found, k, left):
    """Yield slice `k`, fainter if it has no share, and its share as a bar; an empty one outside."""
    voxels = found.voxels
    depth, height, width = voxels.shape
    # of two slices, shown shares are 1 in all
    share = xp.maximum(1.0 - xp.abs(k + _shown(xp, -found.read[2])), 0.0)
    outside = not 0 <= k < depth
    if not outside:
        yield Image(
            voxels[k],
            "picture",
            voxels.min(),
            voxels.max(),
            left + 0.5,
            0.0,
            xp.where(share > 0.001, 1.0, 0.45),
        )
    yield Box(left, -1.15, left + share * width, -1.07, "", READ, 0.85)
    yield Box(left, -0.5, left + width, height - 0.5, kind=GUIDE, dashed=outside)
    yield Note(
        left,
        -1.35,
        told(
            outside,
            "slice {k}, share {share}",
            "outside, share {share}, counts as 0",
            k=k,
            share=written(share, ".2f"),
        ),
        "left",
    )


def _shares(xp, found, by):
    """Yield the parts of the square about the point: their areas, times the share of the slice, are weights; outside they
    are empty.
    """
    wide, high, deep = found.shares
    whole = wide * high * deep
    filled = xp.where(found.weights > 0.0, 0.85 * deep, 0.0)
    left, top = (
        xp.where(at == xp.min(at), at + 0.5 - side, at - 0.5)
        for at, side in zip(found.places, (wide, high))
    )
    left = left + xp.where(whole > 0.0, by, np.nan)
    for x, y, w, h, weight, full in zip(left, top, wide, high, whole, filled):
        yield Box(x, y, x + w, y + h, written(weight + 1e-9, ".2f"), READ, full, dashed=full == 0.0)


def _grad(xp, found):
    """Return the gradient of each voxel, slice below slice."""
    depth, height, width = found.voxels.shape
    x, y, z = found.places
    row = np.arange(depth * (height + 1.0)) - 1.0  # a blank row before each slice
    there = (z * (height + 1) + y == row[:, None, None]) & (x == np.arange(width)[:, None])
    back = xp.sum(xp.where(there, found.weights, 0.0), axis=-1)
    back = xp.where(row[:, None] % (height + 1) < height, back, np.nan)
    return Panel(
        "back",
        tr("inputGrad for a gradient of 1"),
        [Heat(back, "shares", 0.0, 1.0, True)],
        Axis(tr("column")),
        Axis(
            tr("slice, row"),
            ticks=[
                (k * (height + 1.0) + at, f"{at - 1}" if at else tr("slice {k}", k=k))
                for k, at in np.ndindex(depth, height + 1)
            ],
        ),
        5,
        290,
    )


def _point(xp, found):
    at, high = np.arange(3.0), reach(xp, 6.0, found.gradient)
    return Panel(
        "point",
        tr("gridGrad: the change that a step of the point makes"),
        (Bars(at, found.gradient, GRADIENT, "", 0.5), ZERO),
        Axis("", -0.6, 2.6, ticks=[*zip(at, (tr("x, column"), tr("y, row"), tr("z, slice")))]),
        Axis("", -high, high),
        5,
        120,
    )
