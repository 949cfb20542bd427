"""Interactive picture (explorer) of elementwise operators, to see the share of a gradient that returns: a dot on the curve,
and its tangent.

The output over the input, the slope below it on the same axis, and beside them the slope at the neighbouring numbers of the
format: a jump lies between two of them, and the value on the kink is a convention. The lesson: the slope at the input is the
share of the gradient that returns. For a sum, such as a mean of losses, one element is drawn.
"""

from dataclasses import replace
from functools import reduce
from types import SimpleNamespace

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.cases.default import kinks_of
from aclnn_viz.explorers.arrays import XP, double, first, paged, point, sweep
from aclnn_viz.explorers.fields import listed
from aclnn_viz.explorers.norms import ZERO
from aclnn_viz.pictures.marks import Bars, Dots, Grip, Line, Rule, record
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, READ
from aclnn_viz.pictures.text import choose, number, told, written
from aclnn_viz.words.messages import message, tr

# points of a curve between two kinks; their smallest distance to a kink, as a share of the distance
# between the kinks; share of a limited input's range that the curve leaves out at either end
POINTS, NEAR, MARGIN = 81, 1e-6, 0.02
# ends of a curve without limits; neighbours of the dot's number on either side
REACH, ASIDE = 5.0, 8
TALL, LOW = 310, 160


def is_slope(op) -> bool:
    """Return whether an element of the main gradient depends on the input only at its own place."""
    return "." not in op.page.AXES[op.main] or bool(op.tensors[op.gradient_of[op.main]].kinks)


def fields_with(op, others: list) -> list[tuple]:
    """Return the field of the dot's place, before all others."""
    given = case(op).inputs
    arranged = op.arrange_backward(**given)

    def run(page, values):
        return page(XP, **values)

    state = SimpleNamespace(x=np.array(0.5), dtype="float32")
    found = slope(XP, op, run, paged(XP, arranged), arranged, given, state)
    if not isinstance(found, Slope):
        return [*listed("slopes", x={"start": 0.5, "low": -REACH, "high": REACH}), *others]
    low, high = (float(np.round(end(found.x), 2)) for end in (np.nanmin, np.nanmax))
    low, high = (low, high) if op.tensors[found.name].low is None else (0.02, 0.98)
    # start on a kink where the slope jumps, if the slider has its value; else where a part of the
    # gradient comes back: at 0.5, or nearest to a half
    kinks = [
        x
        for k, x in enumerate(found.kinks)
        if low < x < high and x == round(x, 2) and found.jumps(k)
    ]
    share = np.abs(np.append(found.here[2], found.slope) - 0.5)
    middle = 0 if abs(share[0] - 0.5) > 0.05 else np.nanargmin(share)
    place = {
        "start": float(max(kinks, default=np.round(np.append(0.5, found.x)[middle], 2))),
        "low": low,
        "high": high,
        "label": found.name,
        "jumps": bool(kinks),
    }
    return [*listed("slopes", x=place), *others]


def _first(xp, arrays: dict) -> dict:
    """Return the first element of every array."""
    return {
        key: array if array is None else xp.reshape(xp.reshape(array, (-1,))[:1], (1,) * array.ndim)
        for key, array in arrays.items()
    }


@record
class Slope:
    """An element's output and slope over the input `name`: POINTS from kink to kink, then a nan; `at` is the slope on each
    kink.
    """

    name: str
    output: str
    x: np.ndarray
    slope: np.ndarray
    y: np.ndarray | None  # curve of the output; None if no output of one element is known
    kinks: np.ndarray
    at: np.ndarray
    held: dict  # the other inputs, which stay constant
    here: tuple  # the moving dot: input, output, slope
    beside: np.ndarray  # slopes at the dot and at neighbouring numbers of the format
    state: object

    def panels(self, xp) -> list[Panel]:
        (low, high), (x, y, slope) = _ends(xp, self.x), self.here
        over = _over(self, low, high)
        kinks = [
            Rule("x", self.kinks[k], choose(self.jumps(k), "", tr("kink") * (k < 3)), GUIDE)
            for k in range(self.kinks.size)
        ]
        below = (
            *[replace(kink, label="") for kink in kinks],
            ZERO,
            Line(self.x, self.slope, GRADIENT, "", 3.0),
            Rule("x", x, kind=MOVED),
            Dots(point(x), point(slope), GRADIENT, "", 6.0),
            *([Dots(self.kinks, self.at, INK, tr("slope at the point itself"), 4.5)][: len(kinks)]),
        )
        name = tr("slope {slope}: the share that comes back", slope=written(slope, ".3g"))
        under = Panel("slope", name, below, over, Axis(tr("slope")), 13, LOW, ("x",))
        if y is None:
            return [replace(under, span=20)]
        aside = 0.14 * (high - low) * np.array([-1.0, 1.0]) / xp.hypot(1.0, slope)
        marks = (
            *kinks,
            Line(self.x, self.y, READ, "", 3.0),
            Line(x + aside, y + slope * aside, GRADIENT, tr("slope"), 2.5),
            Rule("x", x, kind=MOVED),
            Grip(x, y, ("x",), ((0.0, 1.0, 0),), tr("the dot on the curve"), MOVED, "place", "dot"),
        )
        low, high = _ends(xp, self.y)
        margin = 0.05 * (high - low + 1.0)  # the tangent, which moves, may be cut
        curve = Panel(
            "forward",
            tr("{output} over {name}: drag the dot", output=self.output, name=self.name),
            marks,
            over,
            Axis(tr("{name}", name=self.output), low - margin, high + margin),
            13,
            TALL,
        )
        under, share = replace(under, below="forward"), _share(xp, self)
        if self.place["jumps"]:
            return [curve, _lens(xp, self), under, share]
        return [replace(curve, span=15), replace(share, span=5, rows=2), replace(under, span=15)]

    @property
    def place(self) -> dict:
        """Return the control of the dot's place."""
        return type(self.state).__dataclass_fields__["x"].metadata["control"]

    def plays(self) -> tuple[dict, ...]:
        return sweep(tr("slide the dot"), "x", ends=(self.place["low"], self.place["high"]))

    def beside_kink(self, k: int) -> tuple:
        """Return the slopes just below and just above a kink."""
        at = (k + 1) * (POINTS + 1)
        return self.slope[at - 2], self.slope[at]

    def jumps(self, k: int):
        """Return whether the slope jumps there: on a smooth curve, it is equal at NEAR below and above."""
        below, above = self.beside_kink(k)
        return (above - below) ** 2 > 1e-6

    def caption(self, xp):
        x, _, slope = self.here
        said = told(
            first(xp, slope == 0.0, slope < 0.0, slope > 1.005),
            "The [5:curve] is flat here: [b:the dot may move, and the output stays.] So no [8:gradient] comes back.",
            "Move the [7:dot] to the right by a step, and the output falls by {share} % of it. [b:So {share} % of the] [8:gradient] [b:comes back, with the other sign.]",
            "Move the [7:dot] by a step, and the output moves by {share} % of it. [b:More] [8:gradient] [b:comes back than arrives.]",
            "Move the [7:dot] by a step, and the output moves by {share} % of it. [b:So {share} % of the] [8:gradient] [b:comes back.]",
            share=written(100.0 * xp.abs(slope), ".3g"),
        )
        for k in range(self.kinks.size):
            below, above = self.beside_kink(k)
            there = tr(
                "[7:On the kink] the slope jumps from {below} to {above}. Backward takes {at}, a convention: [b:{at} times the] [8:gradient] [b:comes back.]",
                below=number(below),
                above=number(above),
                at=number(self.at[k]),
            )
            said = choose((x == self.kinks[k]) & self.jumps(k), said, there)
        return said


def _places(xp, op, name: str, one: dict, known: dict):
    """Return (x, kinks): x holds the points between kinks with a nan after each stretch, then the kinks."""
    found = [
        *kinks_of(op, name, known),
        *(
            one[other][(0,) * one[other].ndim]
            for other, tensor in op.tensors.items()
            if name in tensor.kinks
        ),
    ]
    kinks = xp.concat([np.zeros(0), *map(point, found)])
    kinks = xp.take(kinks, xp.argsort(kinks, stable=True))
    low, high = op.tensors[name].low, op.tensors[name].high
    low, high = (
        (-REACH, REACH)
        if low is None
        else (low + MARGIN * (high - low), high - MARGIN * (high - low))
    )
    ends = [np.full(1, low), *(kinks[k : k + 1] for k in range(len(found))), np.full(1, high)]
    if found:  # the curve extends at least 2 beyond the outermost kinks
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


def slope(xp, op, run, arrays, arranged, given, state):
    """Return the Slope of an operator, or a sentence on why there is none."""
    page, name, upstream = op.page, op.gradient_of[op.main], next(iter(op.upstream))
    one, attributes = _first(xp, arrays), arranged.attributes
    if "reduction" in attributes:
        # reduction 0 is none: the loss of the one element is the output
        attributes = attributes | {"reduction": 0}
    known = {"max": xp.maximum, "min": xp.minimum} | given | attributes
    x, kinks = _places(xp, op, name, one, known)
    held = {
        key: array
        for key, array in one.items()
        if array is not None and key not in (name, *op.upstream, *op.saved) and array.size
    }
    here = double(xp, xp.round_to(xp.reshape(state.x, (1,)), state.dtype))
    beside = here + np.arange(-ASIDE, ASIDE + 1.0) * xp.ulp(here, state.dtype)
    size, curve = x.size, x.size - kinks.size
    x = xp.concat([x, beside])
    wide = (x.size, *(1,) * (len(page.AXES[name]) - 1))
    moved = {name: xp.reshape(x, wide)}
    try:
        asked = page.forward.__code__.co_varnames[1 : page.forward.__code__.co_argcount]
        made = run(page.forward, {key: (known | one | moved)[key] for key in asked})
    except KeyError as missing:
        return message("No slope is drawn: backward is not given {name}.", name=missing.args[0])
    moved |= {key: made[of] for key, of in op.saved.items()} | {upstream: np.ones(wide)}
    out = run(
        page.backward,
        attributes | one | {key: array for key, array in moved.items() if key in arrays},
    )[op.main]
    y, gap = made[op.upstream[upstream]], x * 0.0  # x * 0 keeps a nan of x
    out = xp.reshape(out, (-1,)) + gap
    y = xp.reshape(y, (-1,)) + gap if y.size == x.size else None
    middle = size + ASIDE
    return Slope(
        name,
        op.upstream[upstream],
        x[:curve],
        out[:curve],
        None if y is None else y[:curve],
        kinks,
        out[curve:size],
        held,
        (here[0], None if y is None else y[middle], out[middle]),
        out[size:],
        state,
    )


def _over(found: Slope, *ends) -> Axis:
    """Return the axis of the input, common to both curves."""
    held = [
        tr("{name} = {value}", name=key, value=number(array[(0,) * array.ndim]))
        for key, array in found.held.items()
    ]
    if not held:
        return Axis(found.name, *ends)
    said = reduce(lambda some, more: tr("{some}, {more}", some=some, more=more), held)
    return Axis(tr("{name}, at {held}", name=found.name, held=said), *ends)


def _ends(xp, values):
    known = xp.where(xp.isfinite(values), values, 0.0)
    return xp.min(known), xp.max(known)


def _height(xp, found: Slope, label: str) -> Axis:
    """Return an axis of slopes, which stays while the dot moves: all up to 3, and those beside the dot."""
    low, high = _ends(xp, found.slope)
    low = xp.minimum(xp.maximum(low, -3.0), xp.min(found.beside)) - 0.1
    high = xp.maximum(xp.clip(high, 1.0, 3.0), xp.max(found.beside)) + 0.1
    return Axis(label, low, high)


def _lens(xp, found: Slope) -> Panel:
    steps, dtype, x = np.arange(-ASIDE, ASIDE + 1.0), found.state.dtype, found.here[0]
    marks = (
        Dots(steps, found.beside, GRADIENT, "", 4.0),
        Dots(np.zeros(1), found.beside[ASIDE : ASIDE + 1], MOVED, "", 6.0),
    )
    title = told(
        xp.any(xp.abs(found.kinks - x) <= ASIDE * xp.ulp(x, dtype)),
        "no kink within {n} steps: the slope does not jump",
        "slope at the nearest {dtype} numbers",
        n=ASIDE,
        dtype=dtype,
    )
    return Panel(
        "beside",
        title,
        marks,
        Axis(
            tr("steps of {dtype} from {name}", dtype=dtype, name=found.name),
            -ASIDE - 0.7,
            ASIDE + 0.7,
        ),
        _height(xp, found, tr("slope")),
        7,
        TALL,
    )


def _share(xp, found: Slope) -> Panel:
    marks = (
        ZERO,
        Bars(np.zeros(1), np.ones(1), INK, "", 0.6),
        Bars(np.ones(1), point(found.here[2]), GRADIENT, "", 0.6),
    )
    ticks = ((0.0, tr("arrives")), (1.0, tr("comes back")))
    return Panel(
        "share",
        tr("for a gradient of 1"),
        marks,
        Axis("", -0.6, 1.6, ticks=ticks),
        _height(xp, found, ""),
        7,
        LOW,
    )
