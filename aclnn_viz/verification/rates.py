"""The gradient of a page against its forward pass, in two ways that share nothing with the page's backward.

By differences: with a right gradient the residual of the first-order Taylor polynomial, |L(p + h v) - L(p) - h <grad, v>|,
is quartered when h is halved (rate 2); with a wrong one it is halved (rate 1). No step size has to be chosen, and the
verdict does not depend on the scale of the numbers. By another derivative: JAX differentiates the forward pass, where it
is installed, and differences at 60 digits do where an operator has neither a derivation nor a reference; the gradients must agree to
`DIGITS` bits of the largest terms that they are made of.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec

import numpy as np

from aclnn_viz.arrays.jax_arrays import derived, evaluated
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.cases import case, default
from aclnn_viz.cases.default import Draw
from aclnn_viz.devices.peers import installed
from aclnn_viz.dtypes import FLOAT64
from aclnn_viz.errors import problem
from aclnn_viz.operators import Operator, registry
from aclnn_viz.operators.parameters import REQUIRED, bind
from aclnn_viz.verification.check import Check
from aclnn_viz.verification.rounding import magnitudes, modes
from aclnn_viz.words.messages import message

SMOOTH, WRONG = 2.0, 1.0
HALVINGS = 8
STEP = 2.0**-10  # of the first Taylor step, for directions whose largest entry is 1
TRIES = 1000
DIRECTIONS = 3
DIGITS = 45  # of 53: sums of thousands of terms, in other orders, and rstd computed anew
UNIT = 2.0**-DIGITS
# of 60 digits a difference of numbers up to 10,000, divided by a step of 1e-20, keeps so much and more
LEAST = 1e-34
Point = Mapping[str, np.ndarray]


def rate(
    loss: Callable[[dict], float], point: Point, gradient: Point, direction: Point, step: float
) -> float:
    """Return the rate of the residual at the smallest step that rounding leaves; 2 where it is nothing but rounding.

    `loss` maps a point (arrays by name) to a number; `gradient` and `direction` have the names that vary.
    """
    at = loss(dict(point))
    slope = sum(float(np.sum(gradient[name] * direction[name])) for name in direction)
    residuals = [abs(loss(moved(point, direction, h)) - at - h * slope) for h in steps(step)]
    size = (
        abs(at)
        + step * abs(slope)
        + step * sum(float(np.sum(np.abs(gradient[name] * direction[name]))) for name in direction)
    )
    floor = 1e4 * np.finfo(np.float64).eps * size  # of the sums in the loss
    rates = [np.log2(a / b) for a, b in zip(residuals, residuals[1:]) if b > floor]
    if not rates:
        return SMOOTH if residuals[0] <= 64 * floor else WRONG
    return float(rates[-1])


def steps(first: float) -> list[float]:
    return [first * 2.0**-k for k in range(HALVINGS)]


def moved(point: Point, direction: Point, h: float) -> dict:
    return dict(point) | {name: point[name] + h * v for name, v in direction.items()}


def bends_smoothly(
    loss: Callable[[dict], float], point: Point, direction: Point, step: float
) -> bool:
    """Tell whether the loss has no kink within the step: its second difference must fall like h^2 from the start.

    Behind a kink it falls like h, and not at all behind a jump.
    """
    at, before = loss(dict(point)), None
    for h in steps(step):
        ends = [loss(moved(point, direction, side * h)) for side in (-1, 1)]
        bend = abs(sum(ends) - 2 * at)
        if before is None:
            floor = 1e4 * np.finfo(np.float64).eps * (abs(at) + max(abs(end - at) for end in ends))
        elif not 2.0**-2.3 * before <= bend <= 2.0**-1.7 * before:
            return False
        if bend <= 8 * floor:  # what is quartered next is lost in rounding
            return True
        before = bend
    return True


def failure(found: float, where: str) -> str | None:
    """What is wrong with a rate, if anything: it must be nearer to 2 than to 1."""
    return (
        None
        if found >= 1.7
        else message(
            "the residual falls with rate {rate} instead of 2 {where}",
            rate=f"{found:.2f}",
            where=where,
        )
    )


def drawn(op: Operator, rng, mode: dict) -> tuple[dict, dict, dict]:
    """The inputs of the forward pass in float64, upstream gradients, and the inputs of backward that belong to them.

    Integers and attributes are those of a case with all defaults stated, so that some rows are ignored; half of the
    other numbers are three times as wide as usual, so that some lie on each side of a kink.
    """
    seed, mode = (
        int(rng.integers(2**31)),
        default.fitted(op, mode | {"shape": default.default_shape(op)}),
    )
    shape = mode.pop("shape")
    stated = {
        p.name: p.default
        for p in op.parameters
        if p.name in op.attributes and p.default is not REQUIRED
    } | mode
    usual = case(op, dtype="float64", shape=shape, seed=seed, **stated).inputs
    fixed = {
        name: value
        for name, value in usual.items()
        if getattr(value, "dtype", None) != np.float64 and value is not None
    }
    taken, _, attributes = default.draw_forward(
        op, Draw(FLOAT64, seed, fixed | mode, kinks=False), shape
    )
    taken = {
        name: value * rng.choice([1.0, 3.0], value.shape)
        if getattr(value, "dtype", None) == np.float64 and op.tensors[name].low is None
        else value
        for name, value in taken.items()
    }
    outputs = op.forward(**taken)
    upstream = {
        name: np.asarray(rng.standard_normal(outputs[of].shape)) for name, of in op.upstream.items()
    }
    bound = {p.name: taken.get(p.name, attributes.get(p.name)) for p in op.parameters}
    saved = {name: outputs[of] for name, of in op.saved.items()}
    return taken, upstream, bound | upstream | saved | op.all_outputs


def smooth(op: Operator, rng, mode: dict, forward: Callable) -> tuple[dict, Callable, dict]:
    """A point, its loss by the given forward pass, and the gradient there.

    The loss is the sum of each upstream gradient times the output that it belongs to. A point with a kink within the
    first step shows nothing and is drawn again; the gradient has no part in that.
    """
    for _ in range(TRIES):
        taken, upstream, given = drawn(op, rng, mode)

        def loss(point, taken=taken, upstream=upstream):
            there = forward(**taken | point)
            return float(
                sum(np.sum(upstream[name] * there[of]) for name, of in op.upstream.items())
            )

        wanted = {of: name for name, of in op.gradient_of.items() if taken[of] is not None}
        point = {of: taken[of] for of in wanted}
        signs = {of: rng.choice([-1.0, 1.0], taken[of].shape) for of in wanted}
        if bends_smoothly(loss, point, signs, STEP):
            found = op.backward(**given)
            return point, loss, {of: found[name] for of, name in wanted.items()}
    raise ValueError(
        problem(
            f"a point of {op.name} without a kink nearby",
            f"none in {TRIES} draws",
            "declare a smaller first shape: it has fewer kinks",
        )
    )


def rate_check(
    op: Operator,
    name: str = message("truth against forward"),
    forward=None,
    tried=None,
    directions=DIRECTIONS,
) -> Check:
    """The gradient of the page against a forward pass: its own, or the definition that the symbols start from."""

    def run():
        for number, mode in enumerate(tried or modes(op)):
            rng = np.random.default_rng(number)
            point, loss, gradient = smooth(op, rng, mode, forward or op.forward)
            for _ in range(directions):
                direction = {name: rng.standard_normal(point[name].shape) for name in gradient}
                scale = max(np.max(np.abs(v)) for v in direction.values())
                found = rate(loss, point, gradient, direction, STEP / scale)
                yield abs(found - SMOOTH), failure(found, message("for {mode}", mode=mode))

    return Check(op.name, name, message("Taylor rate"), message("away from rate 2"), run)


# By another derivative


def derived_checks(op: Operator) -> Iterator[Check]:
    """A check by JAX, where it is installed, and one by differences."""
    unit = message("of 2^-{digits} S", digits=DIGITS)
    if "jax" in installed():
        yield Check(
            op.name, message("jax.grad of forward"), "float64", unit, partial(differing, op)
        )
    if not any(registry.file(kind, op.name) for kind in ("derivation", "reference")) and find_spec(
        "mpmath"
    ):
        for part in (slice(at, at + 4) for at in range(0, len(distinct(op)), 4)):  # a few a check
            yield Check(
                op.name,
                message("differences of forward"),
                message("{n} digits", n=60),
                unit,
                partial(differing, op, by=by_differences, part=part),
            )


def distinct(op: Operator) -> list[dict]:
    """The modes, one alone of those in which the page gets the same: an option that it never reads makes no other function."""
    found = {}
    for mode in modes(op):
        arranged = op.arrange_backward(**drawn(op, np.random.default_rng(0), mode)[2])
        found.setdefault(
            repr(
                (
                    arranged.attributes,
                    {
                        name: getattr(array, "shape", None)
                        for name, array in arranged.arrays.items()
                    },
                )
            ),
            mode,
        )
    return [*found.values()]


def differing(
    op: Operator, backward=None, by=None, part=slice(None)
) -> Iterator[tuple[float, str | None]]:
    """Of each mode and output: the largest difference in units of what is allowed, and what is wrong, if anything."""
    for number, mode in list(enumerate(distinct(op)))[part]:
        taken, upstream, given = drawn(op, np.random.default_rng(number), mode)
        outputs, sizes = (backward or op.backward)(**given), magnitudes(op, given)
        saved = {
            name: given[name]
            for name in op.saved
            if getattr(given.get(name), "dtype", None) == np.float64
        }
        rounded = {
            name: value + 2.0**-52 * np.max(np.abs(value), initial=0.0)
            for name, value in saved.items()
        }
        here, nearby = op.backward(**given), op.backward(**given | rounded)
        for of, gradient in (by or gradients)(op, taken, upstream).items():
            name = next(name for name, tensor in op.gradient_of.items() if tensor == of)
            allowed = UNIT * sizes[name].reshape(gradient.shape) + (LEAST if by else 1e-300)
            allowed = allowed + 4.0 * np.abs(nearby[name] - here[name])  # saved outputs are rounded
            with np.errstate(invalid="ignore"):
                off = np.abs(outputs[name] - gradient) / allowed
            worst = float(np.max(off, initial=0.0, where=~np.isnan(gradient)))
            yield (
                worst,
                None
                if worst <= 1.0
                else message(
                    "{name} is {error} off for {mode}",
                    name=name,
                    mode=mode,
                    error=f"{np.max(np.abs(outputs[name] - gradient)):.3g}",
                ),
            )


def gradients(op: Operator, taken: dict, upstream: dict) -> dict[str, np.ndarray]:
    """JAX's gradient, by each input of the forward operator that has one, of the sum of upstream times outputs."""

    def derivative(terms, point):
        return derived(lambda there: sum(part.sum() for part in terms(there)), point)

    return _derived(
        op,
        taken,
        upstream,
        derivative,
        lambda arranged, arrays: evaluated(
            op.page.forward, arranged.prelude, arrays, arranged.attributes, np.float64
        ),
    )


def by_differences(op: Operator, taken: dict, upstream: dict) -> dict[str, np.ndarray]:
    """The same by differences, nan at kinks."""
    from aclnn_viz.verification import exact  # which needs mpmath

    def forward(arranged, arrays):
        xp = NumPyArrays()
        if any(array.dtype == object for array in arrays.values() if array is not None):
            xp, arrays = (
                exact.ExactArrays(),
                {
                    name: array
                    if array is None or array.dtype.kind in "iubO"
                    else exact.exact(array)
                    for name, array in arrays.items()
                },
            )
        more = {} if arranged.prelude is None else arranged.prelude(xp, arrays)
        return op.page.forward(xp, **arrays, **more, **arranged.attributes)

    return _derived(op, taken, upstream, exact.differences, forward)


def _derived(
    op: Operator, taken: dict, upstream: dict, derivative, forward
) -> dict[str, np.ndarray]:
    arranged = op.arrange_forward(**bind(f"{op.name} forward", op.forward_parameters, taken))
    weights = {
        of: upstream[name].reshape(arranged.results[of].shape) for name, of in op.upstream.items()
    }
    wanted = {
        of: arranged.arrays[of] for of in op.gradient_of.values() if taken.get(of) is not None
    }

    def terms(point):
        there = forward(arranged, arranged.arrays | point)
        return [weight * there[of].reshape(weight.shape) for of, weight in weights.items()]

    return {of: array.reshape(taken[of].shape) for of, array in derivative(terms, wanted).items()}
