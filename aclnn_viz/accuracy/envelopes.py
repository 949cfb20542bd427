"""Bound, element by element, how far correct arithmetic in given formats and orders of sums may stray from the exact value, and
name the cause of an error.

The bound of an envelope is rigorous: the plan's arithmetic never exceeds it. The expected width is six standard deviations of
independent roundings. Both include the certain effect of rounding inputs and coordinates. If a comparison or a floor depends
on rounding, the element is *undecided*: its value may jump, and neither width applies. A 16-bit sum without a fixed order, as
in atomic additions of Ascend 950, has a bound far above the usual error: the worst order of 256 terms has a hundred times the
usual error. There the expected width says more.

`explain` compares the error of an output with three yardsticks: the error of the correctly rounded truth, which no output of
the format can undercut; the error of a baseline, the same formula in the same precision on the host; and how far the truth
moves when every floating input moves by at most one ulp. If the last is large, the inputs do not determine the output
better.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from aclnn_viz.accuracy.measures import counted, farthest, need_output, pair, rounded_truth, same
from aclnn_viz.arrays.bounds import BoundedArrays, ExactArrays, FromAnchors, either, plus, rounding
from aclnn_viz.arrays.driver import in_stretches
from aclnn_viz.arrays.local_errors import SLACK
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.arrays.truth import certificate, rounded_sum
from aclnn_viz.arrays.truth import undecided as _undecided
from aclnn_viz.dtypes import float_format, ulp
from aclnn_viz.errors import by_name, function, invalid, mistyped, need, whole
from aclnn_viz.operators import operator
from aclnn_viz.operators.plans import plan_of, trace
from aclnn_viz.tables import as_html, padded
from aclnn_viz.words.messages import message, tr

VERDICTS = message("explained"), message("not explained"), message("undecided")
EXPLAINED, NOT_EXPLAINED, UNDECIDED = range(3)
SIGMAS = 6.0


@dataclass(frozen=True, repr=False, eq=False)
class Envelope:
    """The bounds of one output: the planned `value` in its format, `bound` and `expected` in float64, the mask `undecided`."""

    value: np.ndarray
    bound: np.ndarray
    expected: np.ndarray
    undecided: np.ndarray

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Return rows of a name and a text that summarize the envelope over all elements."""
        fmt = float_format(self.value)
        with np.errstate(all="ignore"):
            spacing = ulp(self.value.astype(np.float64), fmt)
            known = np.isfinite(self.bound) & np.isfinite(spacing) & ~self.undecided
            widths = [
                (width / spacing)[known]
                for width in (self.bound, np.fmin(self.expected, self.bound))
            ]
        text = [
            tr(
                "median {median}, at most {most} ulp",
                median=f"{np.median(part):.3g}",
                most=f"{part.max():.3g}",
            )
            if part.size
            else tr("none known")
            for part in widths
        ]
        return [
            (tr("output"), f"{self.value.dtype}{list(self.value.shape)}"),
            (tr("hard bound"), text[0]),
            (tr("expected (6 sigma)"), text[1]),
            (
                tr("undecided"),
                tr(
                    "{n:,} of {all:,} elements",
                    n=np.count_nonzero(self.undecided),
                    all=self.value.size,
                ),
            ),
        ]

    def __repr__(self) -> str:
        return f"Envelope({'; '.join(f'{name} {text}' for name, text in self.rows)})"

    def _repr_html_(self) -> str:
        return as_html(
            tr("Envelope: how large the error of correct arithmetic can be"), (), self.rows
        )


@dataclass(frozen=True)
class Explanation:
    """Counts of elements by verdict; `worst` is the index of the unexplained element that exceeds its bound most.

    `excess` is its error divided by its bound (infinite when the bound is 0 or the value is not finite). `region` holds
    the first and last index of the unexplained elements along each axis.
    """

    explained: int
    not_explained: int
    undecided: int
    worst: tuple[int, ...] | None = None
    excess: float = 0.0
    region: tuple[tuple[int, int], ...] | None = None

    def __str__(self) -> str:
        total = self.explained + self.not_explained + self.undecided
        counts = {
            "n": total,
            "explained": self.explained,
            "unexplained": self.not_explained,
            "undecided": self.undecided,
        }
        if self.worst is None:
            return tr(
                "{n} elements: {explained} explained by rounding, {unexplained} not explained, {undecided} undecided",
                **counts,
            )
        box = ", ".join(f"{first}..{last}" for first, last in self.region)
        return tr(
            "{n} elements: {explained} explained by rounding, {unexplained} not explained, {undecided} undecided; worst at "
            "{place}, {excess} times the bound; all within [{box}]",
            **counts,
            place=self.worst,
            excess=f"{self.excess:.4g}",
            box=box,
        )


def envelope(op, plan: Plan | str | None = None, /, **inputs) -> dict[str, Envelope]:
    """Return the envelope of every output of `op.backward(**inputs)` under a plan.

    `op` is an operator or its name; `plan` a Plan, the name of a product such as "A2" or "A2, CANN 9.0" for its kernels,
    or None for the kit's own. For your own kernel, describe its arithmetic: `Plan(compute="float32",
    order="sequential")` adds terms one after another, `order="blocked", tile=256` in tiles; `accumulate` is the format
    of sums, `rounding` the last rounding. A plan with less precision is on the safe side.

    >>> import aclnn_viz as av, numpy as np
    >>> x = np.float16([1.0, 2.0])
    >>> out = envelope(av.operator("hardswish"), gradOutput=np.ones(2, np.float16), self=x)["out"]
    >>> bool((out.bound < 0.001).all())
    True
    """
    op = operator(op)
    plan = plan_of(op, plan)
    page = plan.intended or plan.page
    values, results, xp = trace(op, plan, BoundedArrays, page, inputs)
    if not xp.anchors_moved:
        moved = dict.fromkeys(values, (0.0, False))
    else:
        there = trace(op, plan, partial(FromAnchors, run=xp), page, inputs).values
        right = trace(op, plan, ExactArrays, page, inputs).values
        moved = {name: _apart(there[name], right[name]) for name in values}
    with np.errstate(all="ignore"):
        return {
            name: _envelope(xp.plan, name, values[name], *moved[name], fmt, shape)
            for name, (fmt, shape) in results.items()
        }


def _apart(a, b):
    """Return an upper bound of |a - b| for bounded results, and the mask of elements with an open decision."""
    with np.errstate(all="ignore"):
        distance = plus(np.abs(a.wide - b.wide), a.error, b.error)
    decisions = either(a.decisions, b.decisions)
    return distance, False if decisions is None else decisions != 0


def _envelope(plan, name, result, moved, open_, fmt, shape):
    value = plan.output(name, result.data, fmt).reshape(-1)
    data, before, variances, decisions, moved, open_ = (
        part if part is None else np.broadcast_to(part, result.data.shape).reshape(-1)
        for part in (result.data, result.error, result.variance, result.decisions, moved, open_)
    )
    bound, expected, undecided = (
        np.empty(value.size),
        np.empty(value.size),
        np.empty(value.size, bool),
    )

    def fill(at):
        rounded, wide = value[at].astype(np.float64), data[at].astype(np.float64)
        error, variance = rounding(value[at], rounded == wide)
        whole, variance = (
            0.0 if total is None else total
            for total in (
                plus(moved[at], error, before if before is None else before[at]),
                plus(variance, variances if variances is None else variances[at]),
            )
        )
        expected[at] = moved[at] + SIGMAS * np.sqrt(variance)
        bound[at] = np.where(np.isnan(whole), np.inf, whole * SLACK)
        if plan.saturate:
            bound[at][np.abs(rounded) == fmt.largest] = np.inf
        undecided[at] = np.isinf(bound[at]) & np.isfinite(wide) & np.isfinite(rounded)
        undecided[at] |= open_[at] | (False if decisions is None else decisions[at] != 0)

    in_stretches(fill, value.size)
    return Envelope(*(part.reshape(shape) for part in (value, bound, expected, undecided)))


def verdicts(actual, truth, envelope: Envelope) -> np.ndarray:
    """Return the verdict on each element of an output, as a position in VERDICTS.

    `actual` has the format of the envelope, `truth` is float64, all three have one shape. A correctly rounded element
    is explained under any bound. The verdict is undecided for undecided elements, for wrong values under an infinite
    bound, and if the certificate of the truth does not determine on which side of the bound an element lies. Raises
    TypeError for another format, ValueError for another shape; both name the argument.

    >>> import aclnn_viz as av, numpy as np
    >>> op, x = av.operator("hardswish"), dict(gradOutput=np.ones(2, np.float16), self=np.float16([1.0, 2.0]))
    >>> found = verdicts(np.float16([0.8335, 1.2]), op.truth(**x)["out"], envelope(op, **x)["out"])
    >>> [VERDICTS[verdict] for verdict in found]
    ['explained', 'not explained']
    """
    need_output(actual, truth)
    _need_one_output(actual, truth, envelope)
    actual, (low, error), truth = np.asarray(actual), certificate(truth), np.asarray(truth)
    _check_roles(actual, truth, envelope)
    shape, found = actual.shape, np.empty(actual.size, np.int8)
    parts = [
        part if part is None else np.ravel(part)
        for part in (actual, truth, low, error, envelope.bound, envelope.undecided)
    ]
    in_stretches(
        lambda at: np.copyto(
            found[at], _verdicts(*(part if part is None else part[at] for part in parts))
        ),
        found.size,
    )
    return found.reshape(shape)


def _verdicts(actual, truth, low, error, bound, undecided):
    fmt = float_format(actual)
    wide = actual.astype(np.float64)
    right = same(wide, rounded_sum(truth, low, fmt).astype(np.float64))
    apart = np.abs(wide - truth if low is None else (wide - truth) - low)
    # A truth without an error bound may have been rounded to float64, by up to 2**-53 of its size.
    unknown = np.abs(truth) * 2.0**-53 if error is None else error * SLACK
    covered = right | (apart <= bound + unknown)
    undecided = undecided | (np.isinf(bound) & ~right)
    if error is not None:
        # an element stays explained if truth, low and error prove it correctly rounded
        unsure = covered & ~(apart + unknown <= bound * SLACK)
        unsure[unsure] = ~right[unsure] | _undecided(truth[unsure], low[unsure], error[unsure], fmt)
        undecided |= unsure
    return np.where(undecided, UNDECIDED, np.where(covered, EXPLAINED, NOT_EXPLAINED))


def _need_one_output(actual, truth, envelope) -> None:
    for name, value in (("actual", actual), ("truth", truth), ("envelope", envelope)):
        if isinstance(value, Mapping):
            raise mistyped(
                f"{name} is that of one output",
                f"a dict of {', '.join(map(str, value))}",
                f"pick one: {name}[{next(iter(value), 'out')!r}]",
            )
    need(
        actual,
        (np.ndarray, np.generic),
        "actual must be an output",
        "pass an array of a floating format",
    )
    need(truth, (np.ndarray, np.generic), "truth must be an array", "pass op.truth(**inputs)[name]")
    need(
        envelope,
        Envelope,
        "envelope is that of the output",
        "pass envelope(op, plan, **inputs)[name]",
    )


def _check_roles(actual: np.ndarray, truth: np.ndarray, envelope: Envelope) -> None:
    """Raise an error if the arrays cannot be an output, its truth and its envelope, such as swapped ones."""
    expected = envelope.value.dtype
    if not actual.shape == truth.shape == envelope.bound.shape:
        raise invalid(
            "actual, truth and envelope must have one shape",
            f"{actual.shape}, {truth.shape} and {envelope.bound.shape}",
            "compare one output",
        )
    if actual.dtype != expected:
        exchanged = actual.dtype == np.float64 and truth.dtype == expected
        raise mistyped(
            f"actual must have the format of its envelope, {expected.name}",
            actual.dtype.name,
            "swap the first two arguments: actual comes before truth"
            if exchanged
            else "pass the output as the kernel returned it, and the envelope of the same inputs",
        )
    if truth.dtype != np.float64:
        raise mistyped("truth must be float64", truth.dtype.name, "pass op.truth(**inputs)[name]")


def explain(actual, truth, envelope: Envelope) -> Explanation:
    """Return how many elements of an output its envelope explains, by the rule of `verdicts`.

    >>> import aclnn_viz as av, numpy as np
    >>> op, x = av.operator("hardswish"), dict(gradOutput=np.ones(2, np.float16), self=np.float16([1.0, 2.0]))
    >>> found = explain(np.float16([0.8335, 1.2]), op.truth(**x)["out"], envelope(op, **x)["out"])
    >>> found.explained, found.not_explained, found.worst, round(found.excess, 2)
    (1, 1, (1,), 68.65)
    """
    found = verdicts(actual, truth, envelope)
    counts = np.bincount(found.reshape(-1), minlength=len(VERDICTS)).tolist()
    missed = found == NOT_EXPLAINED
    if not missed.any():
        return Explanation(*counts)
    with np.errstate(all="ignore"):
        error = np.abs(np.asarray(actual).astype(np.float64) - np.asarray(truth))
        excess = np.where(missed, np.nan_to_num(error / envelope.bound, nan=np.inf), 0.0)
    worst = farthest(excess)
    region = tuple((int(at.min()), int(at.max())) for at in np.nonzero(missed))
    return Explanation(*counts, worst, float(excess[worst]), region)


CAUSES = message("format"), message("baseline"), message("input"), message("kernel")


@dataclass(frozen=True, eq=False)
class Attribution:
    """Errors of one output, element by element: `error`, the yardsticks `rounding`, `baseline` and `spread`, the `cause`.

    `cause` names the first yardstick that is as large as the error: "format" (correctly rounded), "baseline" (the host
    in the same precision is not better; only with a baseline), "input" (rounding plus spread), otherwise "kernel".
    `spread` is the largest of `samples` draws; the true one may be larger still.
    """

    error: np.ndarray
    rounding: np.ndarray
    baseline: np.ndarray | None
    spread: np.ndarray
    cause: np.ndarray
    samples: int
    seed: int

    @property
    def counts(self) -> dict[str, int]:
        return {name: counted(self.cause == name[:]) for name in CAUSES}

    @property
    def worst(self) -> tuple[int, ...] | None:
        """Return the index of the largest error that the kernel causes, or None."""
        blamed = self.cause == "kernel"
        if not blamed.any():
            return None
        return farthest(np.where(blamed, self.error, -1.0))

    def __str__(self) -> str:
        lines = [
            tr(
                "{n} elements, {draws} draws of inputs within one ulp, seed {seed}",
                n=self.error.size,
                draws=self.samples,
                seed=self.seed,
            ),
            *(f"  {padded(tr(name), 9)} {count}" for name, count in self.counts.items()),
        ]
        if self.worst is not None:
            error, rounding, spread = (
                f"{one[self.worst]:.4g}" for one in (self.error, self.rounding, self.spread)
            )
            lines.append(
                tr(
                    "largest error of the kernel at {place}: {error}, where rounding is {rounding} and spread {spread}",
                    place=self.worst,
                    error=error,
                    rounding=rounding,
                    spread=spread,
                )
            )
        return "\n".join(lines)


def attribute_errors(
    actual, truth: Callable, inputs: dict, *, baseline=None, samples: int = 16, seed: int = 0
) -> Attribution:
    """Name the cause of each element's error by moving the inputs by at most one ulp.

    `actual` is an output of any of the four formats; `truth(**inputs)` returns float64 of the same shape. Of `inputs`,
    arrays of a floating format move, each in its own format; integers and attributes do not. `baseline` has the dtype
    and shape of `actual`. Raises TypeError or ValueError for what does not fit.

    >>> x = np.float32([1.0, 2.0])
    >>> attribute_errors(np.float32([3.0, 3.0]), lambda x: 1.5 * x.astype(float), {"x": x}).counts
    {'format': 1, 'baseline': 0, 'input': 0, 'kernel': 1}
    """
    samples, seed, truth = (
        whole("samples", samples, 1),
        whole("seed", seed),
        function("truth", truth),
    )
    by_name("inputs", inputs, "pass such as case.inputs")
    with np.errstate(all="ignore"):
        right = np.asarray(truth(**inputs))
        pairing = pair(actual, right, baseline)
        rng, spread = np.random.default_rng(seed), np.zeros(right.shape)
        for _ in range(samples):
            near = np.asarray(
                truth(**{name: _nudged(value, rng) for name, value in inputs.items()})
            )
            spread = np.maximum(spread, _distance(near, right))
        rounded = rounded_truth(pairing.truth, pairing.fmt).reshape(pairing.shape)
        actual = pairing.actual.reshape(pairing.shape)
        error, rounding = _distance(actual, right, rounded), _distance(rounded, right, rounded)
        host = (
            None
            if baseline is None
            else _distance(pairing.baseline.reshape(pairing.shape), right, rounded)
        )
        cause = np.select(
            [
                error <= rounding,
                False if host is None else error <= host,
                error <= rounding + spread,
            ],
            # a slice of a message is a plain str, which a NumPy array can store
            [name[:] for name in CAUSES[:3]],
            CAUSES[3][:],
        )
    return Attribution(error, rounding, host, spread, cause, samples, seed)


def _nudged(value, rng: np.random.Generator):
    """Move each finite element of a floating array by -1, 0 or 1 ulp of its format, never to an infinity."""
    try:
        fmt = float_format(value) if isinstance(value, np.ndarray) else None
    except ValueError:
        fmt = None
    if fmt is None:
        return value
    towards = rng.choice([-np.inf, np.nan, np.inf], value.shape).astype(fmt.numpy)
    near = np.nextafter(value, towards)
    return np.where(np.isfinite(near) & np.isfinite(value), near, value)


def _distance(
    values: np.ndarray, truth: np.ndarray, rounded: np.ndarray | None = None
) -> np.ndarray:
    """Return |values - truth|: 0 where both are the same special value after rounding to the format, inf for other special
    pairs.
    """
    distance = np.abs(values.astype(truth.dtype) - truth).astype(np.float64)
    distance[~np.isfinite(distance)] = np.inf
    target = truth if rounded is None else rounded
    settled = same(values.astype(np.float64), target.astype(np.float64)) & ~np.isfinite(target)
    return np.where(settled, 0.0, distance)
