"""Judge a kernel's outputs: compute the right values of each element on a test case, and find the wrong outputs.

Each element has an interval: the truth with a rigorous bound of float32 errors on both sides. The bound covers the textbook
page and the other expressions that right kernels evaluate (the device's, PyTorch's), with float32 everywhere, coordinates
included, and sequential sums. `FREEDOM` times as much is allowed, because a kernel may write the same formula in another order.
A 16-bit output must then be the nearest number of its format to some value of the interval: rounding once is free, rounding
twice or truncating is not.

Inputs that are nan, infinite or at the ends of their format leave more open. If right evaluations disagree whether a result is
finite, nothing is judged; these are the page in float64, the kit's kernel, the device's, and the page on inputs moved within
float32's precision. A nan is right wherever the element depends on an input nan, and so is the device's result there. Where a
nan is right but the result is 0 for all finite numbers, the kernel may have skipped the element.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial, wraps
from weakref import WeakKeyDictionary

import numpy as np

from aclnn_viz.accuracy.envelopes import envelope
from aclnn_viz.accuracy.measures import farthest, same
from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.cases import Case
from aclnn_viz.cases.suites import Recipe, recipes
from aclnn_viz.dtypes import float_format, round_to, ulp
from aclnn_viz.operators import operator, plans
from aclnn_viz.operators.plans import preset
from aclnn_viz.operators.products import SOC
from aclnn_viz.operators.registry import own
from aclnn_viz.words.messages import message

FREEDOM = 4.0
FLOAT32 = Plan(
    message("any float32 kernel"),
    coordinates="float32",
    order=SEQUENTIAL,
    division_ulps=2.0,
    rewritten=True,
)
JITTER = 2.0**-21
DRAWS = 4
FAR = 2.0**120  # products of larger numbers may overflow in float32, depending on their order
COARSE = 2.0**-6  # largest relative error of a result computed through subnormal numbers
NEAR_ZERO = 2.0**-100
# XLA and other devices flush numbers below 2^-126 to 0; exp's exponent may enlarge them by 2^8
FLUSHED = 2.0**-118


@dataclass(frozen=True, eq=False)
class Expected:
    """The expectation of one output: `truth` and `allowed` (float64), its format, and the undecided elements.

    For special inputs masks tell where a nan, an infinity or a zero is right, too, and where a zero must be positive; `another`
    is a second right value, nan where there is none.
    """

    truth: np.ndarray
    allowed: np.ndarray
    dtype: np.dtype
    undecided: np.ndarray
    nan_too: np.ndarray | bool = False
    infinite_too: np.ndarray | bool = False
    zero_too: np.ndarray | bool = False
    positive: np.ndarray | bool = False
    another: np.ndarray | float = np.nan

    @cached_property
    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest right number of each element, rounded to the output's format."""
        with np.errstate(all="ignore"):
            return tuple(
                round_to(self.truth + step, self.dtype).astype(np.float64)
                for step in (-self.allowed, self.allowed)
            )

    def misses(self, actual: np.ndarray) -> np.ndarray:
        """Return the mask of wrong values in an output of the right shape and dtype."""
        low, high = self.interval
        with np.errstate(all="ignore"):
            wide = actual.astype(np.float64)
            right = (low <= wide) & (wide <= high) | np.isnan(wide) & np.isnan(self.truth)
            right |= (
                self.nan_too & np.isnan(wide)
                | self.infinite_too & np.isinf(wide)
                | self.zero_too & (wide == 0)
            )
            right |= wide == self.another
            right &= ~(self.positive & (wide == 0) & np.signbit(wide))
        return ~(right | self.undecided)

    def used(self, actual: np.ndarray) -> float:
        """Return the largest share of the allowance that a finite error uses: at most 1 if nothing is wrong.

        The half step of 16-bit storage is free: a correctly rounded number uses nothing.
        """
        fmt, wide = float_format(self.dtype), actual.astype(np.float64)
        with np.errstate(all="ignore"):
            truth = np.asarray(self.truth)
            free = ulp(np.abs(truth) + self.allowed, fmt) / 2 if fmt.bits == 16 else 0.0
            error = np.maximum(np.abs(wide - truth) - free, 0.0)
            part = np.where(error == 0.0, 0.0, error / self.allowed)
        return float(
            part.max(initial=0.0, where=np.isfinite(wide) & np.isfinite(truth) & ~self.undecided)
        )


@dataclass(frozen=True, eq=False)
class Prepared:
    """A case with what is needed to judge a kernel on it; its preparation took `seconds` and ended at `made_at`."""

    recipe: Recipe
    case: Case
    expected: dict[str, Expected]
    made_at: float
    seconds: float

    def prepare(self) -> "Prepared":
        return self

    @property
    def undecided(self) -> int:
        return sum(int(part.undecided.sum()) for part in self.expected.values())


@dataclass(frozen=True, eq=False)
class Miss:
    """One wrong output of a case: the problem, the wrong places, and the worst element with its error in allowances."""

    output: str
    problem: str
    wrong: np.ndarray | None = None
    index: tuple[int, ...] | None = None
    actual: float | None = None
    truth: float | None = None
    excess: float = np.inf

    @property
    def finite(self) -> bool:
        """Whether the worst element is finite, and should be."""
        return bool(np.isfinite([self.actual, self.truth]).all())

    @property
    def worst(self) -> str:
        """What the worst element is, and what it should be; "" if the output cannot be compared."""
        if self.index is None:
            return ""
        return message(
            "{element} is {actual} instead of {truth}",
            element=f"{self.output}{list(self.index)}",
            actual=f"{self.actual:.9g}",
            truth=f"{self.truth:.9g}",
        )


def once_per_case(function: Callable) -> Callable:
    """Cache a function's results for a case, or a run, while it exists, because other kernels run on the same cases."""
    known: WeakKeyDictionary = WeakKeyDictionary()

    @wraps(function)
    def remembered(case: Case, *more):
        answers = known.setdefault(case, {})
        if more not in answers:
            answers[more] = function(case, *more)
        return answers[more]

    return remembered


@once_per_case
def bound(case: Case) -> dict:
    """Return all parameters of a case by name, with defaults for omitted ones."""
    return case.operator.bind(case.inputs)


@once_per_case
def documented(case: Case) -> dict:
    """Return shape and format of each requested output, in the vendor's order."""
    return case.operator.arrange_backward(**bound(case)).results


def prepared(
    recipe: Recipe,
    case: Case,
    plan: Plan | None = None,
    signs: bool = False,
    around: Callable = lambda page: page,
    right: dict[str, np.ndarray] | None = None,
) -> Prepared | None:
    """Return a case with the results that are right for a kernel under `plan` (None: any that computes in float32).

    `signs` includes the signs of zeros where every order of products agrees. If the caller has changed the
    operator's page, `around(page)` makes the same change in each page of the plan. Return None where outputs are
    `right` because they are the truth, rounded: bounds, which take time, only allow more.
    """

    def adapted(plan: Plan) -> Plan:
        return replace(
            plan,
            **{
                name: around(page) for name in ("page", "intended") if (page := getattr(plan, name))
            },
        )

    start = time.monotonic()
    op, inputs = case.operator, case.inputs
    truth = op.truth(**inputs)
    arranged = op.arranged(inputs)[1]
    narrow = float_format(case.dtype).bits == 16
    plans = (
        [plan]
        if plan
        else [
            replace(FLOAT32, storage="float32" if narrow else None, page=page) for page in pages(op)
        ]
    )
    if right is not None:
        sharp = {
            name: Expected(exact, 0.0, arranged.results[name].format.numpy, False)
            for name, exact in truth.items()
        }
        if not judge(Prepared(recipe, case, sharp, start, 0.0), right):
            return None
    envelopes = [] if arranged.empty else [envelope(op, adapted(plan), **inputs) for plan in plans]
    expected = {}
    for name, exact in truth.items():
        bounds = [each[name].bound for each in envelopes] or [np.zeros(exact.shape)]
        undecided = np.any([each[name].undecided for each in envelopes] or [exact != exact], axis=0)
        allowed = FREEDOM * np.max(bounds, axis=0)
        if own("faults", op.name, "CANCELLING", False):
            unit = 2.0**-53 if case.dtype == "float64" else 2.0**-24
            allowed = np.maximum(
                allowed,
                FREEDOM * unit * np.max(np.abs(exact), initial=0.0, where=np.isfinite(exact)),
            )
        if narrow:  # a tie may round either way: Atlas A2 rounds some outputs away from zero
            allowed = np.maximum(allowed, 2.0**-40 * np.abs(exact))
        if case.dtype != "float64":
            allowed = np.where(allowed > 0, np.maximum(allowed, FLUSHED), allowed)
        undecided |= np.isinf(allowed) & np.isfinite(exact) | np.isinf(exact.error)
        expected[name] = Expected(
            exact,
            np.where(np.isfinite(exact), allowed, 0.0),
            arranged.results[name].format.numpy,
            undecided,
        )
    return Prepared(
        recipe,
        case,
        loosened(op, inputs, expected, lambda: adapted(preset(op, SOC)), signs),
        start,
        time.monotonic() - start,
    )


def explained(
    difference,
    ready: Prepared,
    output: str,
    actual: np.ndarray,
    around: Callable = lambda page: page,
) -> np.ndarray:
    """Return the mask of elements that a peer's documented `difference` explains; `around` is that of `prepared`."""
    if difference.plan is not None:
        return ~replace(
            prepared(ready.recipe, ready.case, difference.plan, around=around).expected[output],
            dtype=actual.dtype,
        ).misses(actual)
    if difference.values is None:
        return np.zeros(actual.shape, bool)
    mask, values = difference.values(ready.case.inputs).get(output, (False, np.nan))
    with np.errstate(all="ignore"):
        there = round_to(np.broadcast_to(values, actual.shape), actual.dtype)
    return np.broadcast_to(mask, actual.shape) & same(there, actual)


@lru_cache
def pages(op) -> set:
    """Return the arrangements of the formula that a kernel may use: None (the textbook's), the device's, the peers'."""
    return {None, preset(op, SOC).page, *own("peer", op.name, "ARRANGEMENTS", ())}


@lru_cache
def suite_recipes(name: str) -> tuple[Recipe, ...]:
    return tuple(recipes(name))


@lru_cache(maxsize=600)
def case_at(name: str, number: int, seed: int) -> Case:
    """Return a case of the suite; each has its own seed, so numbers never repeat."""
    return suite_recipes(name)[number].case(1000 * seed + number)


@lru_cache(maxsize=400)
def prepared_at(name: str, number: int, seed: int) -> Prepared:
    """Return a prepared case of the suite, cached for the next kernel."""
    return prepared(suite_recipes(name)[number], case_at(name, number, seed))


def prepared_suite(op, seed: int):
    """Yield the judged cases of the whole suite."""
    name = operator(op).name
    return (prepared_at(name, number, seed) for number in range(len(suite_recipes(name))))


def judge(prepared: Prepared, outputs: dict[str, np.ndarray]) -> list[Miss]:
    """Return the wrong outputs of a kernel on a case."""
    misses = [
        Miss(name, message("{output} is missing", output=name))
        for name in prepared.expected
        if name not in outputs
    ]
    misses += [
        Miss(name, message("{output} is returned, but was not asked for", output=name))
        for name in outputs
        if name not in prepared.expected
    ]
    for name, expected in prepared.expected.items():
        if name in outputs:
            misses += _judge_one(name, expected, outputs[name])
    return misses


def _judge_one(name: str, expected: Expected, actual: np.ndarray) -> list[Miss]:
    if actual.shape != expected.truth.shape:
        return [
            Miss(
                name,
                message(
                    "{output} has shape {shape} instead of {right}",
                    output=name,
                    shape=actual.shape,
                    right=expected.truth.shape,
                ),
            )
        ]
    if actual.dtype != expected.dtype:
        return [
            Miss(
                name,
                message(
                    "{output} has dtype {dtype} instead of {right}",
                    output=name,
                    dtype=actual.dtype,
                    right=expected.dtype,
                ),
            )
        ]
    wrong = expected.misses(actual)
    if not wrong.any():
        return []
    with np.errstate(all="ignore"):
        excess = np.abs(actual.astype(np.float64) - expected.truth.astype(np.float64)) / (
            expected.allowed + 1e-300
        )
    excess = np.where(wrong, np.nan_to_num(excess, nan=np.inf), -1.0)
    at = farthest(excess)
    text = message(
        "{output} is wrong in {n} of {all} elements",
        output=name,
        n=int(wrong.sum()),
        all=wrong.size,
    )
    return [
        Miss(name, text, wrong, at, float(actual[at]), float(expected.truth[at]), float(excess[at]))
    ]


def in_float64(inputs: dict) -> dict[str, np.ndarray]:
    """Return the floating arrays among inputs, widened to float64."""
    return {
        name: value.astype(np.float64)
        for name, value in inputs.items()
        if isinstance(value, np.ndarray) and value.dtype.kind in "fV"
    }


def loosened(op, inputs: dict, expected: dict, device, signs: bool) -> dict:
    """Return the expectation, wider where special inputs allow several results; `device()` is a product's plan."""
    floats = in_float64(inputs)
    nan = any(np.isnan(value).any() for value in floats.values())
    infinite = any(np.isinf(value).any() for value in floats.values())
    sizes = {n: np.abs(value[np.isfinite(value) & (value != 0)]) for n, value in floats.items()}
    far = {name for name, size in sizes.items() if size.max(initial=0) >= FAR}
    tiny = any(size.min(initial=1) <= 1 / FAR for size in sizes.values())
    # The truth may be nan, such as a mean over weights that sum to 0: 0 / 0 also in ignored rows,
    # which a kernel may skip.
    undefined = any(np.isnan(part.truth).any() for part in expected.values())
    if nan or infinite or undefined:
        expected = _special(op, inputs, floats, expected, device, nan)
    if far or tiny:
        expected = _far(op, inputs, floats, expected, far, not tiny and far <= {*op.saved})
    if signs and any((value == 0).any() for value in floats.values()):
        expected = _signs(op, inputs, floats, expected)
    return expected


def _special(op, inputs, floats, expected, device, nan: bool) -> dict:
    with np.errstate(all="ignore"):
        rng, changed = np.random.default_rng(0), partial(_changed, op, inputs, floats)
        on_device = plans.run(op, device(), **inputs)
        right = [op.backward(**inputs), on_device] + [
            changed(lambda value: value * (1 + JITTER * rng.choice([-1, 1], value.shape)))
            for _ in range(2)
        ]
        drawn = [changed(lambda value: rng.uniform(-1, 1, value.shape)) for _ in range(DRAWS)]
        replaced = [
            changed(
                lambda value: np.where(
                    np.isnan(value),
                    rng.uniform(-4, 4, value.shape),
                    np.where(np.isinf(value), np.sign(value), value),
                )
            )
            for _ in range(DRAWS)
        ] * nan
        special = {}
        for name, part in expected.items():
            kind = _kind(round_to(part.truth, part.dtype))
            agreed = np.all([_kind(values[name]) == kind for values in right], axis=0)
            finite, void = kind == 0, np.all([values[name] == 0 for values in drawn], axis=0)
            depends = np.zeros(part.truth.shape, bool)
            if replaced:
                depends = ~np.all(
                    [same(values[name], replaced[0][name]) for values in replaced[1:]], axis=0
                )
            special[name] = replace(
                part,
                undecided=part.undecided | ~agreed,
                nan_too=depends | ~finite | void,
                another=np.where(depends, on_device[name].astype(np.float64), np.nan),
                infinite_too=kind == 3,
                zero_too=~finite & void,
            )
    return special


def _changed(op, inputs: dict, floats: dict, change: Callable) -> dict:
    """Return the gradients for inputs with each floating array changed."""
    return op.backward(**inputs | {name: change(value) for name, value in floats.items()})


def _kind(values) -> np.ndarray:
    """Return 0 for a number, 1 and 2 for the infinities, 3 for a nan."""
    wide = np.asarray(values).astype(np.float64)
    return np.where(np.isnan(wide), 3, np.where(np.isinf(wide), 1 + (wide < 0), 0))


def _far(op, inputs, floats, expected, far: set, saved: bool) -> dict:
    """Return the expectation that accepts any overflow, and any digits that subnormal numbers lose.

    An element that depends on a far number is judged only if it is proportional to it: a coordinate, for example, may overflow
    before it is mirrored, and then reach every pixel of its sample. If only forward made far numbers, such as the maximum of a
    fully masked row, other elements are judged as usual.
    """
    rng, distant = np.random.default_rng(0), {}

    def with_far(change):
        return _changed(
            op,
            inputs,
            floats,
            lambda value: np.where(np.abs(value) >= FAR, change(value), value),
        )

    with np.errstate(all="ignore"):
        # numbers of no special size, and coordinates at both ends of an image
        others = [
            *(with_far(lambda value: rng.uniform(-4, 4, value.shape)) for _ in range(2)),
            *(with_far(lambda value: np.full(value.shape, end)) for end in (-0.9, 0.9)),
        ]
        half = with_far(lambda value: value / 2)
        for name, part in expected.items():
            size = np.where(np.isfinite(part.truth), np.abs(part.truth), 0.0)
            changed = [~(np.abs(values[name] - part.truth) <= part.allowed) for values in others]
            depends = np.any(changed, axis=0)
            if all(floats[each].shape != depends.shape for each in far):
                moves = depends & ~np.all(changed, axis=0)
                depends |= moves.any(axis=tuple(range(1, depends.ndim)), keepdims=True)
            loose = depends | (not saved)
            allowed = np.maximum(part.allowed, loose * np.maximum(COARSE * size, NEAR_ZERO))
            proportional = (size > 0) & (np.abs(half[name] - part.truth / 2) <= COARSE * size)
            distant[name] = replace(
                part,
                allowed=np.asarray(allowed),
                nan_too=part.nan_too | loose,
                infinite_too=part.infinite_too | loose,
                undecided=part.undecided | depends & ~proportional,
            )
    return distant


def _signs(op, inputs, floats, expected) -> dict:
    """Return the expectation with `positive` set where a 0 is the upstream gradient times 0, and so +0 in any order."""
    turned = {name: -value if name in op.upstream else value for name, value in floats.items()}
    with np.errstate(all="ignore"):
        ways = [
            [plans.run(op, Plan(page=page), **inputs | some) for some in (floats, turned)]
            for page in pages(op)
        ]

    def positive(name) -> np.ndarray:
        return np.all(
            [
                (first[name] == 0)
                & ~np.signbit(first[name])
                & (other[name] == 0)
                & np.signbit(other[name])
                for first, other in ways
            ],
            axis=0,
        )

    return {
        name: replace(part, positive=positive(name) & (part.allowed == 0))
        for name, part in expected.items()
    }
