"""Interactive picture (explorer) of normalisations, to see which part of a gradient a norm removes: elements are dots, the
removed part is a line.

The incoming gradient is drawn over x-hat. A norm cancels one direction of change, with a mean two, and backward removes them:
the least-squares line through the dots, with epsilon as an extra dot at height 0. The rest, times rstd, is dx. The lesson: a
change along the line cannot change y, so it gets no gradient.
"""

from dataclasses import replace
from math import prod, sqrt

import numpy as np

from aclnn_viz.arrays.driver import place_of
from aclnn_viz.explorers.arrays import double, element, first, placed, point, strokes, sweep
from aclnn_viz.explorers.fields import TABLES, listed
from aclnn_viz.pictures.marks import Bars, Dots, Handles, Line, Rule, Spots, record
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, PALE, READ
from aclnn_viz.pictures.text import choose, number, told, written
from aclnn_viz.words.messages import message, tr

HANDS, SHOWN = 64, 12  # most elements that can be dragged; number of elements at the start
ZERO = Rule("y", 0.0, kind=GUIDE)
LOUD = 0.6  # an element with this share of the squares of x-hat dominates


def is_norm(op) -> bool:
    """Return whether an operator normalises: forward saves statistics, and an epsilon keeps their divisor above 0."""
    return bool(op.saved and epsilon_of(op) and "." in op.page.AXES[op.main])


def epsilon_of(op):
    """Return the epsilon of forward, its first float parameter with a default between
    0 and 0.01; None if there is none.
    """
    return next(
        (p for p in op.forward_parameters if p.kind == "float" and 0 < p.default < 0.01), None
    )


def fields_with(op, others: list) -> list[tuple]:
    """Return the fields: the first two of the stage, epsilon, the
    operator's other parameters, then the stage's others.
    """
    first, own = epsilon_of(op).name, listed("norms")
    others = sorted(others, key=lambda pair: pair[0] != first)
    return [*own[:2], *others, *own[2:]]


def lengths(shape: tuple, block: int) -> tuple:
    """Return `shape` with another last length, so that a block of `block` elements becomes one of about a dozen."""
    return (*shape[:-1], max(1, round(shape[-1] * SHOWN / block)))


def block_of(op, arranged, state) -> dict:
    """Return, by letter of an axis, the slices that select a state's block: the elements that share one statistic."""
    letters = {
        letter: n
        for letter, n in zip(op.page.AXES[op.main], arranged.results[op.main].shape)
        if letter != "."
    }
    sizes = (*letters.values(),)
    places = np.unravel_index(min(getattr(state, "plane", 0), prod(sizes) - 1), sizes)
    return {letter: slice(k, k + 1) for letter, k in zip(letters, places)}


def part_of(op, arranged, arrays: dict, state) -> dict:
    """Return the page's arguments for the block of a state."""
    block = block_of(op, arranged, state)
    axes = op.page.AXES
    return arranged.attributes | {
        name: array if array is None else array[place_of(array, axes[name], block)]
        for name, array in arrays.items()
    }


def in_hand(op, state, given: dict, name: str, xp):
    """Return a function (tensor, column) that returns a tensor, changed where the user dragged elements of the shown
    block; it has the shape of `name`.
    """
    arranged = op.arrange_backward(**given)
    array = arranged.arrays[name]
    block = block_of(op, arranged, state)
    own = np.arange(array.size).reshape(array.shape)[place_of(array, op.page.AXES[name], block)]
    own, where = own.ravel()[:HANDS], np.full(array.size, -1)
    where[own] = np.arange(own.size)
    places = xp.reshape(placed(state.moved, (1, own.size, 2)), (own.size, 2))
    hands = xp.take(xp.concat([places, np.full((1, 2), np.nan)]), where, axis=0)

    def held(tensor, column):
        values = given[tensor]
        hand = xp.reshape(hands[:, column], values.shape)
        return xp.round_to(xp.where(xp.isnan(hand), double(xp, values), hand), values.dtype)

    return held


def moved(op, state, given: dict, known: dict, xp, forward) -> dict:
    """Return the inputs with what the user dragged in the shown block. Saved tensors are recomputed."""
    x, upstream = op.gradient_of[op.main], next(iter(op.upstream))
    held = in_hand(op, state, given, x, xp)
    given = given | {x: held(x, 0)}
    known = known | {x: given[x]}
    made = forward(**{name: known[name] for name in op.takes if name in known})
    return (
        given
        | {upstream: held(upstream, 1)}
        | {name: made[output] for name, output in op.saved.items()}
    )


def take_away() -> tuple[dict, ...]:
    """Return the animation in which the removed share grows from none to all."""
    return sweep(tr("take away"), "taken", 4.0, after={"taken": 0.0})


@record
class Norm:
    """The elements of one statistic, (n,) each: x-hat, the incoming gradient, and the part that backward removes."""

    xp: object
    output: str
    x: np.ndarray
    upstream: np.ndarray
    xhat: np.ndarray
    # gradient of x-hat per incoming gradient: gamma, times the slope of an activation after it
    weights: np.ndarray
    arriving: np.ndarray  # with `pull` times x-hat
    taken: np.ndarray
    line: tuple  # the removed part as a line over x-hat: height at 0, slope
    rstd: np.ndarray
    epsilon: np.ndarray
    has_mean: bool
    bent: np.ndarray  # whether an activation after the norm has a slope other than 1
    before: np.ndarray  # the incoming gradient, times gamma if there is an activation
    names: tuple  # of the incoming gradient, of gamma, and of the activation, if there is one
    state: object

    @property
    def n(self) -> int:
        return self.xhat.size

    @property
    def chosen(self):
        return self.xp.minimum(self.state.element, self.n - 1)

    @property
    def times(self) -> int:
        """Return the factor by which the drawn line is too steep: n if the state sets `wrong`, else 1."""
        return self.n if self.state.wrong else 1

    @property
    def removed(self):
        return self.taken * self.times

    @property
    def high(self):
        """Return the end of all scales of gradients; it holds each element while `pull` moves, so that no scale changes with it."""
        xp = self.xp
        still = xp.abs(self.arriving - self.state.pull * self.xhat)
        most = TABLES["norms"]["pull"]["high"] * xp.abs(self.xhat) + still
        return reach(xp, 3.2, xp.concat([self.removed, self.arriving - self.removed, most]))

    def panels(self, xp) -> list[Panel]:
        return [_scatter(xp, self), *_bars(xp, self)]

    plays = staticmethod(take_away)

    def caption(self, xp):
        share = self.epsilon * self.rstd**2
        # less than that may be the rounding of 16 bits
        most = xp.max(xp.abs(self.taken)) > 5e-3 * xp.max(xp.abs(self.arriving))
        little = xp.abs(self.arriving - self.taken) < xp.abs(self.arriving) / 4
        k = xp.argmax(xp.abs(self.xhat))
        loud = element(xp, (self.xhat**2 > LOUD * self.n) & little, k)
        return told(
            # where nothing lies on the line, it has no slope to be wrong
            first(xp, ~most, self.state.wrong, self.state.taken > 0.0, share > 0.1, loud),
            "Nothing lies on a [5:line] here: [b:all of the gradient goes on to x.]",
            "Without 1/n the [5:line] is {n} times too steep. [b:More is taken away than there was:] the [8:sticks] grow with n.",
            "{stretched} So what lies on the [5:line] is taken away. [b:What is left are the] [8:sticks:] times rstd they are the gradient of x.",
            "[7:Epsilon] counts as one more dot, and holds the [5:line] down. [b:So x keeps {kept} % of what lies along it.]",
            "[7:Element {k}] is much larger than the others. [b:The] [5:line] [b:follows its dot:] little of its gradient remains.",
            "{stretched} [b:So whatever lies on the] [5:line] [b:cannot change y, and gets no gradient.] Only the [8:sticks] go on to x: adding x̂ turns the line, and the sticks stay.",
            n=self.n,
            stretched=told(
                xp.where(self.bent, 2, int(self.has_mean)),
                "Stretch x, and y stays the same.",
                "Shift or stretch x, and y stays the same.",
                "{activation} first multiplies each gradient by its slope. Shift or stretch x, and y stays the same.",
                activation=self.names[2].capitalize(),
            ),
            kept=written(100.0 * share, ".0f"),
            k=written(k, "d"),
        )


def norm(xp, op, run, arrays, arranged, given, state) -> Norm:
    """Return the data of a block; backward of a gradient of 1 at each element gives x-hat and the weights."""
    page, axes, upstream = op.page, op.page.AXES, next(iter(op.upstream))
    known = part_of(op, arranged, arrays, state)
    whole = known[upstream]
    x = op.gradient_of[op.main]
    output = [name for name, of in op.gradient_of.items() if axes[of] == axes[x]][-1]
    of_scale, scale = next(
        (name, of)
        for of in page.backward.__code__.co_varnames[1:]
        for name, to in op.gradient_of.items()
        if to == of and axes[to] != axes[x]
    )
    shifts = [
        name for name, of in op.gradient_of.items() if axes[of] != axes[x] and name != of_scale
    ]
    size = min(whole.size, HANDS)
    ones = [
        run(page.backward, known | {upstream: np.reshape(np.eye(1, whole.size, k), whole.shape)})
        for k in range(size)
    ]

    def flat(values):
        return xp.reshape(values, (-1,))[:size]

    def each(name):
        return xp.stack([xp.sum(one[name]) for one in ones])

    slope = each(shifts[0]) if shifts else np.ones(size)
    xhat = each(of_scale) / xp.where(slope == 0.0, 1.0, slope)
    gamma = _scaled(xp, op, arranged.attributes, known, scale, upstream)[:size]
    weights, bent = slope * gamma, xp.any(slope != 1.0)
    arrives, rstd = flat(whole), flat(known[[*op.saved][-1]])[0]
    # what arrives at x-hat as `pull` times x-hat; part of a block has no such gradient
    more = state.pull * (size == whole.size) * xhat
    more = more / xp.where(weights == 0.0, np.inf, weights)
    arriving, answers = weights * (arrives + more), xp.stack([flat(one[output]) for one in ones])
    gradient = flat(run(page.backward, known)[output]) + xp.sum(more[:, None] * answers, axis=0)
    taken = arriving - gradient / rstd
    middle, off = xp.mean(taken), xhat - xp.mean(xhat)
    spread = xp.mean(off * off)
    steep = xp.mean(off * taken) / xp.where(spread == 0.0, 1.0, spread)
    return Norm(
        xp,
        output,
        flat(known[x]),
        arrives,
        xhat,
        weights,
        arriving,
        taken,
        (middle - steep * xp.mean(xhat), steep),
        rstd,
        10.0 ** getattr(state, epsilon_of(op).name),
        len(op.saved) > 1,
        bent,
        arrives * xp.where(bent, gamma, 1.0),
        (upstream, scale, op.name.rpartition("_")[2]),
        state,
    )


def _scaled(xp, op, attributes, part, scale: str, upstream: str):
    """Return the factors of a parameter for each element of a block."""
    gamma, shape = part[scale], part[upstream].shape
    if gamma is None:
        return np.ones(part[upstream].size)
    own, wide = (op.page_axes(name, attributes) for name in (scale, upstream))
    long = dict(zip(own, gamma.shape))
    laid = xp.reshape(gamma, [long.get(name, 1) for name in wide])
    return xp.reshape(xp.broadcast_to(laid, shape), (-1,))


def largest(xp, values):
    return xp.max(xp.where(xp.isfinite(values), xp.abs(values), 0.0))


def reach(xp, least: float, values, step: float = 1.5):
    """Return the end of an axis: `least`, times `step` as often as values need, so that the axis rarely changes while
    the user drags.
    """
    most, end = largest(xp, values) / 0.95, least
    for _ in range(16):
        end = xp.where(most > end, step * end, end)
    return end


def _scatter(xp, found: Norm) -> Panel:
    k, t, xhat, high = found.chosen, found.state.taken, found.xhat, found.high
    heavy = sqrt(found.n) * xp.sqrt(found.epsilon) * found.rstd
    (start, steep), taken, flat = found.line, found.removed, 1.0 - t
    every = xp.concat([xhat, point(heavy)])
    # on each side as far as there are dots
    ends = xp.stack([side * reach(xp, 1.7, xp.maximum(side * every, 0.0)) for side in (-1.0, 1.0)])
    dots, low, sticks = found.arriving - t * taken, flat * taken, strokes(xp, xhat, xhat)
    line = flat * (start + steep * ends)
    weight, at = element(xp, found.weights, k), element(xp, dots, k)
    factor = 1.0 / xp.where(weight == 0.0, np.inf, weight)
    order = xp.argsort(xhat, stable=True)
    x, arrives, gone = (xp.take(one, order) for one in (xhat, found.arriving, taken))
    edges = xp.concat([ends[:1], (x[1:] + x[:-1]) / 2.0, ends[1:]])
    return Panel(
        "norm",
        tr("Which part of the gradient is taken away? Drag a dot."),
        (
            ZERO,
            Rule("x", 0.0, kind=GUIDE),
            Line(sticks, strokes(xp, low, 0.0 * low), READ, "", 1.0),
            Line(ends, found.times * line, READ, tr("taken away"), 3.5),
            Line(sticks, strokes(xp, low, dots), GRADIENT, tr("remains"), 5.0),
            *([Line(ends, line, GUIDE, tr("with 1/n"), 2.0)] * found.state.wrong),
            Handles(
                xhat[None, :],
                dots[None, :],
                0,
                k,
                ("", "element"),
                "moved",
                (
                    (element(xp, found.x, k) - element(xp, xhat, k) / found.rstd, 1.0 / found.rstd),
                    (element(xp, found.upstream, k) - at * factor, factor),
                ),
                0.1,
                tr("elements"),
            ),
            Dots(xhat, dots, INK, "", 5.5),
            Dots(point(heavy), point(flat * start), MOVED, tr("ε, one more dot"), 6.0),
            said(
                edges[:-1],
                edges[1:],
                high,
                message("element {k}\nx̂ {x}\narrives {a}\ntaken away {t}\nremains {r}"),
                k=order,
                x=x,
                a=arrives,
                t=gone,
                r=arrives - gone,
            ),
        ),
        Axis(tr("x̂, the normalised x"), *ends),
        Axis(tr("gradient at x̂"), -high, high),
        12,
        470,
        rows=3,
    )


def said(start, end, high, text: str, **values) -> Spots:
    """Return what is said of each element, from its start to its end."""
    texts = [
        tr(text, **{name: number(one[k]) for name, one in values.items()})
        for k in range(start.size)
    ]
    return Spots(start, 0.0 * start - high, end, 0.0 * end + high, texts)


def _bars(xp, found: Norm) -> list[Panel]:
    upstream, scale, activation = found.names
    product = f"{upstream} × {scale}"
    pull = found.state.pull
    title = choose(
        found.bent,
        product,
        tr("{product} × slope of {activation}", product=product, activation=activation),
    ) + choose(pull < 0.0, " + ", " − ")
    rows = (
        ("arrives", title + number(xp.abs(pull)) + " × x̂", found.arriving, INK),
        ("taken", tr("− taken away: what lies on the line"), found.removed, READ),
        (
            "remains",
            tr("= what remains: {output} / rstd", output=found.output),
            found.arriving - found.removed,
            GRADIENT,
        ),
    )
    first, *others = (bars(*row, (-found.high, found.high), found.chosen, 8, 142) for row in rows)
    zero, dots, chosen = first.marks
    before = Bars(dots.x, found.before, PALE, choose(found.bent, upstream, product), 0.9)
    after = replace(dots, label=tr("arrives at x̂"), width=0.45)
    return [replace(first, marks=(zero, before, after, chosen)), *others]


def bars(name, title, values, kind, ends, chosen, span, height) -> Panel:
    """Return bars of a number per element; a click chooses an element."""
    return Panel(
        name,
        title,
        (
            ZERO,
            Bars(np.arange(values.size), values, kind),
            Rule("x", chosen, kind=MOVED),
        ),
        Axis(tr("element"), -0.6, values.size - 0.4, ticks=()),
        Axis("", *ends),
        span,
        height,
        ("element",),
    )
