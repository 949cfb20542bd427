"""Random expressions over the number systems of truth and of bounds: every number is within its error of the
exact fraction.

Numbers of every magnitude side by side, equal ones, zeros and the smallest: unlike any tensor of a network.
"""

from dataclasses import replace
from fractions import Fraction
from math import floor
from operator import add, mul, neg, sub, truediv

import numpy as np
import pytest
from machine import SOAK

from aclnn_viz.arrays import truth
from aclnn_viz.arrays.bounds import BoundedArrays
from aclnn_viz.arrays.double_double_arrays import PreciseArrays
from aclnn_viz.arrays.float64_arrays import SizedArrays
from aclnn_viz.arrays.local_errors import SLACK
from aclnn_viz.arrays.plan import HOST, Plan
from aclnn_viz.dtypes import FORMATS, float_format, round_to

EXPRESSIONS = 20_000 if SOAK else 80
COUNT, STEPS = 16, 8
LONGEST = 40_000  # limit in bits of a fraction
DTYPES = [f.name for f in FORMATS]
NARROW = [name for name in DTYPES if name != "float64"]
PLANS = (
    Plan(),
    HOST,
    Plan(division_ulps=1.0, saturate=True),
    Plan(order="sequential", leading="sequential"),
    Plan(compute="float16", accumulate="float16"),
)


def wild(rng, dtype):
    """Return an array of one of seven kinds, from numbers of every size to a few of the smallest."""
    fmt, sign = float_format(dtype), rng.choice([-1.0, 1.0], COUNT)
    low, high = fmt.min_exponent - fmt.significand_bits, int(np.log2(fmt.largest))
    values = [
        lambda: rng.standard_normal(COUNT),
        lambda: sign * 2.0 ** rng.uniform(low, high, COUNT),
        lambda: sign * 2.0 ** (rng.uniform(low, high) + rng.uniform(0, 1, COUNT)),
        lambda: np.where(
            rng.random(COUNT) < 0.3,
            0.0,
            sign * np.where(rng.random(COUNT) < 0.1, fmt.largest / 8, 1.0),
        ),
        lambda: (
            rng.standard_normal()
            * (1 + rng.choice([0, 1, -1], COUNT) * 2.0 ** (2 - fmt.significand_bits))
        ),
        lambda: sign * 2.0 ** rng.integers(low, low + 8, COUNT) * rng.integers(0, 4, COUNT),
        lambda: sign * rng.integers(0, 4, COUNT),
    ][rng.integers(7)]()
    return round_to(np.clip(values, -fmt.largest, fmt.largest), dtype)


def precise(rng):
    return PreciseArrays(), "float64"


def settled(rng):
    """Return short numbers, whose sums and products have known fractions."""
    xp = PreciseArrays()
    xp.settles = True
    return xp, str(rng.choice(NARROW))


def sized(rng):
    return SizedArrays(), str(rng.choice(NARROW))


def bounded(rng):
    plan, dtype = PLANS[rng.integers(len(PLANS))], str(rng.choice(DTYPES))
    if dtype == "float64":
        plan = replace(
            plan, compute="float64", accumulate="float64", coordinates=None, atomics=None
        )
    return BoundedArrays(plan, dtype), dtype


def of_one(function):
    return lambda a, b: function(a), lambda x, y: function(x)


# (operation on arrays, the same on fractions); unary operations ignore the second number.
OPERATIONS = [
    *(((function, function)) for function in (add, sub, mul, truediv, add, mul)),
    *map(of_one, (abs, neg)),
    of_one(lambda x: x / 2),
    of_one(lambda x: x / 3.0 if not isinstance(x, Fraction) else x / 3),
    of_one(lambda x: 1.0 - x if not isinstance(x, Fraction) else 1 - x),
    (np.maximum, max),
    (np.minimum, min),
    (lambda a, b: np.floor(a), lambda x, y: Fraction(floor(x))),
    (lambda a, b: np.rint(a), lambda x, y: Fraction(round(x))),
    (lambda a, b: np.remainder(a, 6.0), lambda x, y: x % 6),
    (lambda a, b: a.xp.where(a < b, a, b * 2.0), lambda x, y: x if x < y else 2 * y),
    (lambda a, b: summed(a.xp, a), None),
]


def parts(array):
    """Return (numbers whose sum is the array, its errors)."""
    if hasattr(array.xp, "settles"):
        return list(truth._parts(array))
    if isinstance(array.xp, PreciseArrays):
        numbers = array.high, array.low
    else:
        numbers = array.data if isinstance(array.xp, SizedArrays) else array.wide, None
    found = [np.zeros(array.shape) if part is None else part for part in (*numbers, array.error)]
    undecided = getattr(array, "decisions", None)
    return (
        found if undecided is None else [np.where(undecided != 0, np.nan, part) for part in found]
    )


def beyond(array, exact, slack=Fraction(1)):
    """Return the elements farther from the exact numbers (None: unknown) than their errors, and the number judged."""
    found, judged = [], 0
    for place, (right, *numbers) in enumerate(
        zip(exact, *(np.broadcast_to(part, COUNT).tolist() for part in parts(array)))
    ):
        if right is not None and np.isfinite(numbers).all():
            high, low, error = map(Fraction, numbers)
            found += [place] * (abs(high + low - right) > error * slack)
            judged += 1
    return found, judged


def exactly(operation, a, b):
    """Return the operation on fractions (None: the sum of the first); None without a result, or for a too long one."""
    if operation is None:
        return COUNT * [None if None in a else sum(a)]
    results = [
        None if x is None or y is None or operation is truediv and not y else operation(x, y)
        for x, y in zip(a, b)
    ]
    return [
        x
        if x is not None and x.numerator.bit_length() + x.denominator.bit_length() < LONGEST
        else None
        for x in results
    ]


def summed(xp, array):
    """Return the sum of an array for each of its elements."""
    total = xp.sum(array, axis=0, keepdims=True)
    return total + xp.zeros(COUNT, total.dtype)


@np.errstate(all="ignore")
def judged(system, seed):
    """Assert that every number of a random expression is within its error; return their number."""
    rng, count = np.random.default_rng(seed), 0
    slack = Fraction(SLACK) if system is bounded else Fraction(1)  # envelopes include this slack
    xp, dtype = system(rng)
    pool, story = [], []
    for _ in range(3):
        given = xp.astype(xp.given(wild(rng, dtype)), getattr(xp, "compute", np.float64))
        if system is bounded:  # bounds start after this rounding
            given = xp.given(np.asarray(given.data))
        pool.append(
            (given, [Fraction(x) if np.isfinite(x) else None for x in parts(given)[0].tolist()])
        )
    for _ in range(STEPS):
        left, right = rng.integers(len(pool), size=2)
        (a, x), (b, y) = pool[left], pool[right]
        kind = rng.integers(len(OPERATIONS))
        operation, on_fractions = OPERATIONS[kind]
        result, exact = operation(a, b), exactly(on_fractions, x, y)
        if getattr(xp, "open", False) or not hasattr(result, "xp"):
            break  # an unsure decision, or whole numbers
        story.append((int(kind), int(left), int(right)))
        found, numbers = beyond(result, exact, slack)
        assert not found, (seed, dtype, story, found)
        pool.append((result, exact))
        count += numbers
    return count


@pytest.mark.parametrize("system", [precise, settled, sized, bounded])
@pytest.mark.sampled(1)
def test_every_number_is_within_its_error(system, record_property):
    count = sum(judged(system, seed) for seed in range(EXPRESSIONS))
    record_property("numbers", count)
    assert count > 40 * EXPRESSIONS


def test_the_judge_refuses_an_error_that_is_too_small():
    thirds = PreciseArrays().given(np.ones(COUNT)) / 3.0
    thirds.error = thirds.error * 0.0
    assert len(beyond(thirds, [Fraction(1, 3)] * COUNT)[0]) == COUNT


def test_what_an_overflow_divides_is_not_known():
    """1e308 / 2**-10 is no float64 number; 1 divided by it is 1e-311."""
    for xp in (
        PreciseArrays(),
        BoundedArrays(Plan(compute="float64", accumulate="float64"), "float64"),
    ):
        with np.errstate(all="ignore"):
            quotient = xp.given(np.float64([1e308])) / 2.0**-10
            inverse = 1.0 / quotient
        assert np.isinf(quotient.error).all() and not inverse.error <= 9e-312


def test_nothing_is_known_of_zero_over_what_may_be_zero():
    xp = PreciseArrays()
    unknown = xp.given(np.ones(1))
    unknown.error = np.full(1, np.inf)
    with np.errstate(all="ignore"):
        assert np.isinf((xp.given(np.zeros(1)) / unknown).error).all()
