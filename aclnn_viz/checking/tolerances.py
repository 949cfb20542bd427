"""Find tolerances for tests: the tightest that no right kernel breaks, and the wrong kernels that a given one lets pass.

A test requires |actual - exact| <= atol + rtol * |exact| of every element, like numpy.allclose and torch.testing.assert_close;
exact is the value in float64, not rounded to the output's format. The rigorous bound of each element is a point (|exact|,
bound): a pair (rtol, atol) is sound if its line lies above all points. The tightest sound line allows least on average; it is
an edge of the upper hull of the points.
"""

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, replace

import numpy as np

from aclnn_viz.accuracy.envelopes import envelope
from aclnn_viz.accuracy.measures import distance
from aclnn_viz.arrays.plan import ORDERS, Plan
from aclnn_viz.cases import Case, case
from aclnn_viz.checking.judge import FLOAT32, documented, pages
from aclnn_viz.dtypes import float_format, numbers
from aclnn_viz.errors import invalid, listed, shown, whole
from aclnn_viz.operators import operator, plans
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.faults.fault import faulty_kernel
from aclnn_viz.storage.results import strict
from aclnn_viz.tables import as_text
from aclnn_viz.words.messages import english, message, ntr, tr

DRAWN = 4  # cases drawn if the caller gives none
LEAST_FACTOR = 1.0 + 2.0**-40  # covers the rounding of a test's own arithmetic


@dataclass(frozen=True)
class Pair:
    """rtol and atol of one output (`output`, or all of them): the sound pair, and the pair that sampled right kernels needed.

    `rtol_alone` is the least sound rtol for atol 0, inf if there is none.
    """

    output: str
    rtol: float
    atol: float
    seen_rtol: float
    seen_atol: float
    rtol_alone: float
    undecided: int


@dataclass(frozen=True)
class Passing:
    """A wrong kernel under a tolerance: `used` is the largest share of the allowance that it uses; up to 1 it passes.

    `beyond` is its largest error over the bound of right kernels; up to 1 these inputs do not show the mistake, and no sound
    tolerance detects it there.
    """

    fault: str
    used: float
    beyond: float


@dataclass(frozen=True, eq=False, repr=False)
class Tolerance:
    """The tightest sound `rtol` and `atol` of an operator on its `cases`; `pairs` has them by output.

    `upstream` is the largest size of incoming gradients: backward operators are linear in them, so atol grows with it.
    `passing` are the named faults that `let_through` lets pass, the smallest first; `caught` are the others.
    """

    operator: str
    dtype: str
    rtol: float
    atol: float
    pairs: tuple[Pair, ...]
    cases: tuple[str, ...]
    kernels: int
    plan: str
    upstream: float
    let_through: tuple[float, float] | None = None
    passing: tuple[Passing, ...] = ()
    caught: tuple[Passing, ...] = ()

    @property
    def smallest(self) -> Passing | None:
        """The smallest passing fault that is wrong beyond rounding on these cases."""
        return next((passing for passing in self.passing if passing.beyond > 1.0), None)

    @property
    def notes(self) -> list[str]:
        """The meaning of the numbers in words."""
        said = [
            tr(
                "|actual - exact| <= atol + rtol * |exact| for every element; exact is in float64, not rounded to {dtype}",
                dtype=self.dtype,
            ),
            tr(
                "sound on these inputs for every kernel that computes a known arrangement of the formula and rounds each step once; plan: {plan}; "
                "{n} right kernels were sampled",
                plan=tr(self.plan),
                n=self.kernels,
            ),
        ]
        if any(pair.atol for pair in self.pairs):
            said.append(
                tr(
                    "where the terms of a sum cancel, the error is relative to their sizes, not to the sum, which may be 0: no rtol is sound "
                    "without atol for all inputs. atol is relative to the gradients that come in, here at most {size}: it is to grow with them",
                    size=f"{self.upstream:.3g}",
                )
            )
        if undecided := self.pairs[-1].undecided:
            said.append(
                tr(
                    "{n} elements depend on how an intermediate value is rounded, or may overflow: no tolerance is sound there, and they are left out",
                    n=undecided,
                )
            )
        return said

    def __str__(self) -> str:
        lines = [
            f"{self.operator}, {self.dtype}: rtol={self.rtol:.3g}, atol={self.atol:.3g}",
            self.cases[0],
        ]
        lines += [ntr("and {n} more case", "and {n} more cases", len(self.cases) - 1)] * (
            len(self.cases) > 1
        ) + [""]
        lines += as_text(
            [
                tr("output"),
                "rtol",
                "atol",
                tr("smallest rtol that the sampled right kernels need"),
                tr("smallest atol that the sampled right kernels need"),
                tr("rtol without atol"),
            ],
            [
                [tr(name), *(f"{number:.3g}" for number in numbers)]
                for name, *numbers, _ in map(astuple, self.pairs)
            ],
        )
        if self.let_through:
            lines += [
                "",
                tr(
                    "rtol={rtol:g}, atol={atol:g} lets {n} of {all} named faults pass",
                    rtol=self.let_through[0],
                    atol=self.let_through[1],
                    n=len(self.passing),
                    all=len(self.passing) + len(self.caught),
                ),
            ]
            if self.passing:
                lines += as_text(
                    [
                        tr("fault"),
                        tr("share of what is allowed"),
                        tr("share of the bound of right kernels"),
                    ],
                    [
                        [
                            tr(passing.fault),
                            f"{passing.used:.3g}",
                            f"{passing.beyond:.3g}"
                            if passing.beyond > 1
                            else tr(
                                "{n}: these inputs do not show the fault", n=f"{passing.beyond:.3g}"
                            ),
                        ]
                        for passing in self.passing
                    ],
                )
            if least := self.smallest:
                lines.append(
                    tr("the smallest such fault that is wrong here: {fault}", fault=tr(least.fault))
                )
        return "\n".join([*lines, "", *self.notes])

    __repr__ = __str__

    def to_json(self) -> str:
        """Return everything as JSON text in English; infinities become strings."""
        with english():
            content = asdict(self) | {
                "notes": self.notes,
                "smallest": self.smallest and self.smallest.fault,
            }
        return json.dumps(strict(content), indent=1)


def tolerance(
    op,
    /,
    *,
    shape=None,
    dtype: str = "float32",
    plan=None,
    seed: int = 0,
    cases: Sequence[Case] | None = None,
    let_through: tuple[float, float] | None = None,
    **inputs,
) -> Tolerance:
    """Return the tightest sound tolerances of an operator, and the faults that your own let pass.

    Parameters
    ----------
    op : Operator or str
        An operator, or its name.
    shape : tuple of int, optional
        The shape for `av.case`, which draws the inputs.
    dtype : str
        "float16", "bfloat16", "float32" or "float64".
    plan : Plan or str, optional
        The arithmetic of right kernels: a Plan, a product such as "A2", or the order of their sums
        ("sequential", "pairwise", "blocked", "shuffled"). By default float32 with sums in any
        order, in every known arrangement of the formula.
    seed : int
        The seed for `av.case`.
    cases : sequence of Case, optional
        Cases to use instead of drawn ones.
    let_through : tuple of float, optional
        Your own pair (rtol, atol); atol has the unit of the output.
    **inputs : array or value
        Any parameter of the vendor, as in `av.case`.

    Returns
    -------
    Tolerance
        It has `rtol`, `atol` and the faults that `let_through` lets pass.

    Raises
    ------
    ValueError
        For inputs that `av.case` refuses, and if nothing can be compared.
    TypeError
        For a name that the operator lacks, and for wrong types.

    Examples
    --------
    >>> found = tolerance("hardswish", shape=(64,), dtype="float16", let_through=(1e-3, 1e-3))
    >>> found.rtol < 2.0**-10, found.smallest.fault
    (True, '16-bit outputs truncated')
    """
    op = operator(op)
    drawn = {"dtype": float_format(dtype).name, "shape": shape}
    if cases is None:
        cases = [case(op, seed=whole("seed", seed) + k, **drawn, **inputs) for k in range(DRAWN)]
    else:
        cases = listed("cases", cases, Case)
    if not cases or any(case.operator.name != op.name for case in cases):
        raise invalid(f"cases are those of {op.name}", shown(cases), "make them with av.case")
    limits = None if let_through is None else _pair(let_through)
    allowed = _plans(op, plan)
    points = [point for case in cases for point in _points(op, allowed, case)]
    seen = [
        (point, np.abs(kernel(point.case)[point.output].astype(np.float64) - point.exact))
        for kernel in _samples(op, allowed)
        for point in points
    ]
    for point, error in seen:  # one order of a sum may overflow where another does not
        point.known[~np.isfinite(error)] = False
    if not any(point.known.any() for point in points):
        raise invalid(
            "a tolerance compares finite elements",
            "none in these cases",
            "use another shape or dtype",
        )
    every = message("all outputs")
    names = list(dict.fromkeys(point.output for point in points))
    pairs = tuple(
        _row(
            name,
            [point for point in points if name in (every, point.output)],
            [pair for pair in seen if name in (every, pair[0].output)],
        )
        for name in (*names, *[every] * (len(names) > 1))
    )
    passing, caught = _judged(op, cases, points, limits) if limits else ((), ())
    return Tolerance(
        op.name,
        cases[0].dtype,
        pairs[-1].rtol,
        pairs[-1].atol,
        pairs,
        tuple(map(repr, cases)),
        len(seen) // len(points),
        allowed[0].name,
        _upstream(op, cases),
        limits,
        passing,
        caught,
    )


def _upstream(op, cases) -> float:
    """Return the largest number in the upstream gradients of cases."""
    return max(
        float(np.max(np.abs(case.arrays[name].astype(np.float64)), initial=0.0))
        for case in cases
        for name in op.upstream
        if name in case.arrays
    )


@dataclass(frozen=True, eq=False)
class _Points:
    """One output of a case: its exact values, their bounds, and a mask of the elements whose value and bound are finite and decided."""

    case: Case
    output: str
    exact: np.ndarray
    bound: np.ndarray
    known: np.ndarray

    @property
    def undecided(self) -> int:
        return int(np.count_nonzero(np.isfinite(self.exact) & ~self.known))


def _pair(pair) -> tuple[float, float]:
    pair = numbers("let_through", pair)
    if pair.shape != (2,) or not (pair >= 0).all() or np.isinf(pair).any():
        raise invalid(
            "let_through is (rtol, atol), numbers from 0 on",
            shown(pair),
            "pass such as (1e-3, 1e-5)",
        )
    return float(pair[0]), float(pair[1])


def _plans(op, plan) -> list[Plan]:
    """Return the plans that right kernels may follow."""
    if plan is None:
        return [replace(FLOAT32, page=page) for page in pages(op)]
    return [
        Plan(plan, order=plan)
        if isinstance(plan, str) and plan in ORDERS
        else plans.plan_of(op, plan)
    ]


def _points(op, allowed: list[Plan], case: Case):
    truth = op.truth(**case.inputs)
    if any(not documented(case)[name].shape or value.size for name, value in truth.items()):
        envelopes = [envelope(op, plan, **case.inputs) for plan in allowed]
        for name, exact in truth.items():
            wide = np.asarray(exact, np.float64)
            # Bounds hold for the exact number. A test compares with this number rounded to float64,
            # and for float64 outputs that rounding is as large as a kernel's error.
            bound = (
                np.max([each[name].bound for each in envelopes], axis=0)
                + exact.error
                + np.abs(exact.low)
            )
            undecided = np.any([each[name].undecided for each in envelopes], axis=0)
            yield _Points(
                case,
                name,
                wide,
                bound,
                np.asarray(np.isfinite(wide) & np.isfinite(bound) & ~undecided),
            )


def _samples(op, allowed: list[Plan]):
    """Yield right kernels: the plans, with sums in every order if any is allowed."""
    free = allowed[0].name == FLOAT32.name
    for plan in allowed:
        for order in ORDERS if free else (plan.order,):
            yield lambda case, plan=replace(plan, order=order): plans.run(op, plan, **case.inputs)


def _row(name: str, points: list[_Points], seen: list) -> Pair:
    sizes, bounds = (
        np.concatenate([part(point)[point.known] for point in points])
        for part in (lambda point: np.abs(point.exact), lambda point: point.bound)
    )
    errors = [
        np.concatenate(part)
        for part in zip(
            *((np.abs(point.exact)[point.known], error[point.known]) for point, error in seen)
        )
    ]
    with np.errstate(all="ignore"):
        alone = float(np.max(np.where(bounds > 0, bounds / sizes, 0.0), initial=0.0)) * LEAST_FACTOR
    return Pair(
        name, *line(sizes, bounds), *line(*errors), alone, sum(point.undecided for point in points)
    )


def line(sizes: np.ndarray, bounds: np.ndarray) -> tuple[float, float]:
    """Return the nonnegative (rtol, atol) with bounds <= atol + rtol * sizes everywhere that allows least on average.

    >>> rtol, atol = line(np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.5, 1.0]))
    >>> round(rtol, 6), round(atol, 6)
    (0.25, 0.5)
    """
    if not bounds.any():
        return 0.0, 0.0
    middle = np.clip(np.mean(sizes), sizes.min(), sizes.max())
    left, right = (
        int(np.argmax(np.where(side, bounds, -1.0))) for side in (sizes <= middle, sizes >= middle)
    )
    # The line goes through the points `left` and `right`. While a point lies above the line, this
    # point replaces the one of the two on its side of the middle.
    while True:
        rtol = (
            (bounds[right] - bounds[left]) / (sizes[right] - sizes[left])
            if sizes[right] > sizes[left]
            else 0.0
        )
        rest = bounds - rtol * sizes
        far = int(np.argmax(rest))
        if rest[far] <= max(rest[left], rest[right]) + abs(rtol) * middle * 2.0**-44 or far in (
            left,
            right,
        ):
            break
        left, right = (far, right) if sizes[far] <= middle else (left, far)
    rtol = max(float(rtol), 0.0)
    atol = float(np.max(bounds - rtol * sizes))
    if atol < 0.0:
        rtol, atol = float(np.max(bounds / sizes)), 0.0
    return rtol * LEAST_FACTOR, atol * LEAST_FACTOR


def _judged(op, cases: list[Case], points: list[_Points], limits: tuple[float, float]):
    """Return the faults that a tolerance lets pass, the smallest first, and the others."""
    passing = []
    for fault in faults(op):
        kernel, used, beyond = faulty_kernel(op, fault), 0.0, 0.0
        for drawn in cases:
            outputs = {}
            # a broken page may raise anything, which a test would notice, too
            with np.errstate(all="ignore"), suppress(Exception):
                outputs = kernel(**drawn.inputs)
            for point in points:
                if point.case is drawn:
                    used, beyond = map(
                        max, (used, beyond), _parts(outputs.get(point.output), point, limits)
                    )
        passing.append(Passing(fault.name, used, beyond))
    passing.sort(key=lambda passed: passed.used)
    return tuple(passed for passed in passing if passed.used <= 1.0), tuple(
        passed for passed in passing if passed.used > 1.0
    )


def _parts(actual, point: _Points, limits: tuple[float, float]) -> tuple[float, float]:
    """Return the largest error over the allowance, and over the bound of right kernels; inf for incomparable values."""
    if actual is None or actual.shape != point.exact.shape:
        return math.inf, math.inf
    rtol, atol = limits
    with np.errstate(all="ignore"):
        error = distance(actual, point.exact)
        allowed = atol + rtol * np.abs(point.exact)
        used, beyond = (
            np.where(error == 0.0, 0.0, error / size)
            for size in (np.where(np.isfinite(allowed), allowed, 0.0), point.bound)
        )
    return float(np.max(used, initial=0.0)), float(
        np.max(beyond, initial=0.0, where=point.known | ~np.isfinite(point.exact))
    )
