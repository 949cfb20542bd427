"""How one element's gradient depends on its input: the slope over that input, or where the gradient of each output goes.

A backward page is linear in the gradient that comes in. With 1 for one output and 0 for all others it gives what this output brings
to each element of the input, a row of the Jacobian. Where an output depends on one element alone, its slope is drawn over that input; of
rows (softmax, norms) the matrix of one row; of planes (sampling, padding, pooling) a matrix of each axis, which holds the taps.
All of it is computed in float64 by the kit's own page, whatever computes the gradient in the other panels.
"""

from dataclasses import dataclass
from functools import reduce
from math import prod

import numpy as np

from aclnn_viz.arrays.driver import place_of
from aclnn_viz.cases.default import kinks_of
from aclnn_viz.explorers import norms
from aclnn_viz.explorers.arrays import double
from aclnn_viz.pictures.marks import Bars, Dots, Heat, Line, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import choose, count, number
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
ALONG = (
    message(
        "Along rows the gradient of one output goes to {to} of {columns} elements; one element adds up those of {of} of "
        "{rows} outputs."
    ),
    message(
        "Along columns the gradient of one output goes to {to} of {columns} elements; one element adds up those of {of} "
        "of {rows} outputs."
    ),
)


@dataclass(frozen=True, eq=False)
class Slope:
    """An element's output and its slope over the input `name`: POINTS from kink to kink, then a nan; `at` is the slope on each kink."""

    name: str
    x: np.ndarray
    slope: np.ndarray
    y: np.ndarray | None  # None where the output is a sum over elements
    kinks: np.ndarray
    at: np.ndarray
    held: dict  # the other inputs, which stay

    def panels(self, xp) -> list[Panel]:
        return _slopes(xp, self)

    def headline(self, xp) -> list[str]:
        return [
            tr(
                "At the kink {name} = {kink} the slope is {at}; just below it {below}, just above {above}.",
                name=self.name,
                kink=number(self.kinks[k]),
                at=number(self.at[k]),
                below=number(self.slope[at - 2]),
                above=number(self.slope[at]),
            )
            for k in range(self.kinks.size)
            for at in [(k + 1) * (POINTS + 1)]
        ] or [tr("No kink of {name} is declared.", name=self.name)]

    def caption(self, xp):
        return self.headline(xp)[0]


@dataclass(frozen=True, eq=False)
class Spread:
    """What the gradient of each output (rows) brings to each element of the input (columns), one matrix or one of each axis."""

    upstream: str
    output: str
    place: list[int]  # of the row or plane among those that are alike
    matrices: tuple
    gradient: np.ndarray | None = None  # of the row
    own: np.ndarray | None = None  # the part of it that comes from the output at the same place

    def panels(self, xp) -> list[Panel]:
        return _matrices(xp, self)

    def headline(self, xp) -> list[str]:
        sentences = ALONG if len(self.matrices) == 2 else (IN_ROW,)
        return [
            tr(
                sentence,
                to=_ends(xp, matrix, 1),
                of=_ends(xp, matrix, 0),
                columns=matrix.shape[1],
                rows=matrix.shape[0],
            )
            for sentence, matrix in zip(sentences, self.matrices)
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
    arrays = arranged.arrays | (arranged.prelude(xp, arranged.arrays) if arranged.prelude else {})
    arrays = {
        name: array if array is None or array.dtype.kind in "iub" else double(xp, array)
        for name, array in arrays.items()
    }
    if norms.is_norm(op):
        return norms.norm(xp, op, run, arrays, arranged, given, state)
    block = getattr(state, "plane", 0)
    alone = "." not in op.page.AXES[op.main] or op.tensors[op.gradient_of[op.main]].kinks
    return (
        slope(xp, op, run, arrays, arranged.attributes, given)
        if alone
        else spread(xp, op, run, arrays, arranged, given, block)
    )


def _places(xp, op, name: str, one: dict, known: dict):
    """Where the slope over an input is drawn: points between its kinks and a nan behind each stretch, then the kinks; and these."""
    found = [
        *kinks_of(op, name, known),
        *(
            one[other][(0,) * one[other].ndim]
            for other, tensor in op.tensors.items()
            if name in tensor.kinks
        ),
    ]
    kinks = (
        xp.stack([xp.reshape(kink + np.zeros(1), ()) for kink in found]) if found else np.zeros(0)
    )
    kinks = xp.take(kinks, xp.argsort(kinks, stable=True)) if found else kinks
    low, high = op.tensors[name].low, op.tensors[name].high
    low, high = (
        (-REACH, REACH)
        if low is None
        else (low + MARGIN * (high - low), high - MARGIN * (high - low))
    )
    ends = [np.full(1, low), *(kinks[k : k + 1] for k in range(len(found))), np.full(1, high)]
    if found:  # beyond the outermost kinks, too
        ends[0], ends[-1] = xp.minimum(ends[0], ends[1] - 2.0), xp.maximum(ends[-1], ends[-2] + 2.0)
    share = np.clip(np.linspace(0.0, 1.0, POINTS), NEAR, 1.0 - NEAR)
    x = xp.concat(
        [
            *(
                part
                for first, last in zip(ends, ends[1:])
                for part in (first + (last - first) * share, np.full(1, np.nan))
            ),
            kinks,
        ]
    )
    return x, kinks


def slope(xp, op, run, arrays, attributes, given):
    page, name, upstream = op.page, op.gradient_of[op.main], next(iter(op.upstream))
    one = {
        key: array if array is None else xp.reshape(xp.reshape(array, (-1,))[:1], (1,) * array.ndim)
        for key, array in arrays.items()
    }
    known = {"max": xp.maximum, "min": xp.minimum} | given | attributes
    x, kinks = _places(xp, op, name, one, known)
    held = {
        key: array
        for key, array in one.items()
        if array is not None and key not in (name, *op.upstream, *op.saved) and array.size
    }
    moved = {name: xp.reshape(x, (x.size,) + (1,) * (len(page.AXES[name]) - 1))}
    try:
        asked = page.forward.__code__.co_varnames[1 : page.forward.__code__.co_argcount]
        made = run(page.forward, {key: (known | one | moved)[key] for key in asked})
    except KeyError as missing:
        return message("No slope is drawn: backward is not given {name}.", name=missing.args[0])
    moved |= {key: made[of] for key, of in op.saved.items()} | {
        upstream: np.ones(moved[name].shape)
    }
    out = run(
        page.backward,
        attributes | one | {key: array for key, array in moved.items() if key in arrays},
    )[op.main]
    size, y, gap = x.size - kinks.size, made[op.upstream[upstream]], x * 0.0  # nan where x is
    out = xp.reshape(out, (-1,)) + gap
    return Slope(
        name,
        x[:size],
        out[:size],
        (xp.reshape(y, (-1,)) + gap)[:size] if y.size == x.size else None,
        kinks,
        out[size:],
        held,
    )


def spread(xp, op, run, arrays, arranged, given, block):
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

    dots = [n for n, axis in zip(result.shape, axes[op.main]) if axis == "."]
    names, others = (
        [name for name, axis in zip(op.page_axes(key, attributes), axes[key]) if axis == "."]
        for key in (op.main, upstream)
    )
    outer = given[upstream].shape[-2:]
    if (
        len(dots) == 2 == len(outer)
        and "".join(names) != "".join(others)
        and prod(outer) == size
        and tuple(dots) == result.documented_shape[-2:]
    ):
        rows, columns = outer
        along = [
            [k * columns + columns // 2 for k in range(rows)],
            [rows // 2 * columns + k for k in range(columns)],
        ]
        return Spread(
            upstream,
            op.main,
            place,
            tuple(
                xp.stack(
                    [xp.sum(xp.reshape(unit(k), tuple(dots)), axis=1 - axis) for k in ones[:SHOWN]]
                )
                for axis, ones in enumerate(along)
            ),
        )
    matrix = xp.stack([unit(k) for k in range(min(size, SHOWN))])
    gradient = xp.reshape(run(page.backward, attributes | part)[op.main], (-1,))
    own = None
    if size == gradient.size <= SHOWN:
        own = xp.sum(matrix * np.eye(size), axis=0) * xp.reshape(part[upstream], (-1,))
    return Spread(upstream, op.main, place, (matrix,), gradient, own)


# What is seen, and in words


def _slopes(xp, found: Slope) -> list[Panel]:
    held = reduce(
        lambda some, more: tr("{some}, {more}", some=some, more=more),
        [
            tr("{name} = {value}", name=key, value=number(xp.sum(array)))
            for key, array in found.held.items()
        ]
        or [""],
    )
    over = Axis(tr("{name}, at {held}", name=found.name, held=held) if held else found.name)
    kinks = [Rule("x", found.kinks[k], kind=GUIDE) for k in range(found.kinks.size)]
    forward = (
        []
        if found.y is None
        else [
            Panel(
                "forward",
                tr("the output over {name}", name=found.name),
                (*kinks, Line(found.x, found.y, INPUT)),
                over,
                Axis(),
                8,
                HEIGHT,
            )
        ]
    )
    marks = (
        *kinks,
        Line(found.x, found.slope, GRADIENT, tr("slope")),
        *([Dots(found.kinks, found.at, KINK, tr("on a kink"), 4.0)] if kinks else []),
    )
    title = (
        tr("its gradient over {name}, of an incoming gradient of 1", name=found.name)
        if forward
        else tr(
            "the gradient over {name} of one element of a sum, of an incoming gradient of 1",
            name=found.name,
        )
    )
    return [*forward, Panel("slope", title, marks, over, Axis(), 12 if forward else 20, HEIGHT)]


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
    titles = (
        [message("taps along rows, plane{place}"), message("taps along columns, plane{place}")]
        if len(found.matrices) == 2
        else [message("what each output's gradient brings, row{place}")]
    )
    for title, matrix in zip(titles, found.matrices):
        shown = matrix[:, :SHOWN]
        made.append(
            Panel(
                f"brought {len(made)}",
                tr(title, place=where),
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
