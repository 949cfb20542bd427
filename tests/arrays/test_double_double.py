"""Double-double arithmetic against 60 digits and more: results are within their bounds, and the bounds are small."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp

from aclnn_viz.arrays import double_double as dd

COUNT = 400
DIGITS = 720  # numbers from 2**-1074 to 2**1024 are exact


def pairs(rng, low, high):
    """Return double-doubles of every magnitude between two powers of two."""
    value = rng.standard_normal(COUNT) * 2.0 ** rng.integers(low, high, COUNT)
    return dd.two_sum(value, value * 2.0**-53 * rng.uniform(-1, 1, COUNT))


def exact(pair):
    return [
        mp.mpf(float(high)) + (0 if pair[1] is None else mp.mpf(float(low)))
        for high, low in zip(pair[0], pair[0] if pair[1] is None else pair[1])
    ]


def judged(function, reference, *operands, largest=2.0**-97):
    """Assert that a result is within its bound, and the bound within `largest` of the result; return the errors."""
    with mp.workdps(DIGITS), np.errstate(over="ignore"):
        value, error = function(*operands)
        error = np.zeros(COUNT) if error is None else error + np.zeros(COUNT)
        right = [reference(*numbers) for numbers in zip(*map(exact, operands))]
        errors = [abs(a - b) for a, b in zip(exact(value), right)]
        assert all(e <= mp.mpf(float(bound)) for e, bound in zip(errors, error))
        assert all(
            mp.mpf(float(bound)) <= largest * abs(b) + mp.mpf(2) ** -1068
            for bound, b in zip(error, right)
        )
        # the high part is the float64 number next to the sum, except for overflow and underflow
        assert np.array_equal(value[0], value[0] + value[1]) or largest > 1
        return np.array([float(e / abs(b)) if b else float(e) for e, b in zip(errors, right)])


BINARY = [
    (dd.add, lambda a, b: a + b),
    (dd.multiply, lambda a, b: a * b),
    (dd.divide, lambda a, b: a / b),
]


@pytest.mark.parametrize("function,reference", BINARY, ids=["add", "multiply", "divide"])
@pytest.mark.parametrize("one", [False, True], ids=["pairs", "pair and number"])
def test_results_are_within_their_bounds(function, reference, one):
    rng = np.random.default_rng(1)
    a, b = pairs(rng, -300, 300), pairs(rng, -300, 300)
    judged(function, reference, a, (b[0], None) if one else b)


@pytest.mark.parametrize(
    "function,reference,scales",
    [
        (*BINARY[1], ((-800, -250), (-800, -250))),
        (*BINARY[1], ((300, 1000), (-1060, -900))),
        (*BINARY[2], ((-1060, -900), (-200, 200))),
        (*BINARY[2], ((900, 1000), (900, 1000))),
    ],
    ids=range(4),
)
def test_results_next_to_the_ends_of_the_range_are_within_their_bounds(function, reference, scales):
    rng = np.random.default_rng(2)
    operands = [(pairs(rng, *scale)[0], None) for scale in scales]
    judged(function, reference, *operands, largest=mp.inf)


def test_a_product_of_small_numbers_keeps_its_digits_beside_the_largest():
    """Halves of the largest numbers need a scale; one element's scale may not take another's digits."""
    a, b = (
        np.float64([1.7e308, 0.1 * 2.0**-1000, 2.0**-1069]),
        np.float64([0.3, 0.7 * 2.0**1000, 0.44]),
    )
    with np.errstate(over="ignore"):
        high, low, lost = dd.two_product(a, b)
    for x, y, p, e, missing in zip(
        a.tolist(), b.tolist(), high.tolist(), low.tolist(), lost.tolist()
    ):
        assert abs(Fraction(x) * Fraction(y) - Fraction(p) - Fraction(e)) <= Fraction(missing)
    assert lost.tolist() == [0.0, 0.0, dd.LOST] and low[1] != 0.0


def test_a_quotient_does_not_call_exact_what_underflows():
    """2**-300 / 2**600 is exact; the low part's share is below the smallest number, or next to it."""
    rng = np.random.default_rng(4)
    low = rng.uniform(1, 2, COUNT) * 2.0 ** rng.integers(-490, -400, COUNT)
    value, error = dd.divide((np.full(COUNT, 2.0**-300), low), (np.full(COUNT, 2.0**600), None))
    apart = [
        abs(Fraction(x) / 2**600 - Fraction(y)) for x, y in zip(low.tolist(), value[1].tolist())
    ]
    assert (
        all(a <= Fraction(e) for a, e in zip(apart, error.tolist()))
        and sum(map(bool, apart)) > COUNT // 2
    )
    assert np.all(error <= 4 * np.finfo(float).smallest_subnormal + 2.0**-49 * np.abs(value[1]))


@pytest.mark.parametrize("low", [2.0**-1074, 3e-208])
def test_a_quotient_by_a_pair_does_not_lose_what_its_low_part_takes(low):
    """0.75 / (1 + low) equals 0.75 (1 - low) up to next to nothing: a product of low parts underflows."""
    value, error = dd.divide((np.array([0.75, 3e-208]), None), (np.ones(2), np.full(2, low)))
    for top, high, rest, bound in zip((0.75, 3e-208), *(part.tolist() for part in (*value, error))):
        apart = abs(Fraction(top) / (1 + Fraction(low)) - Fraction(high) - Fraction(rest))
        assert 0 < apart <= Fraction(bound)


def test_bounds_of_sums_are_not_rounded_down():
    """1 and three numbers far below, one after another: each addition loses a number of 53 bits."""
    rng = np.random.default_rng(6)
    total, bound = (np.ones(COUNT), None), np.zeros(COUNT)
    exactly = [Fraction(1)] * COUNT
    for scale in (-60, -110, -160):
        term = rng.uniform(1, 2, COUNT) * 2.0**scale
        total, lost = dd.add(total, (term, None))
        bound = bound + (0.0 if lost is None else lost)
        exactly = [e + Fraction(t) for e, t in zip(exactly, term.tolist())]
    assert all(
        abs(e - Fraction(h) - Fraction(x)) <= Fraction(b)
        for e, h, x, b in zip(exactly, *(part.tolist() for part in (*total, bound)))
    )


def test_what_cancels_is_exact():
    rng = np.random.default_rng(3)
    a = pairs(rng, -20, 20)
    near = -a[0] * (1 + 2.0**-50 * rng.integers(-3, 4, COUNT)), -0.7 * a[1]
    value, error = dd.add(a, near)
    with mp.workdps(DIGITS), np.errstate(over="ignore"):
        assert all(
            abs(g - x - y) <= mp.mpf(float(e))
            for g, x, y, e in zip(exact(value), exact(a), exact(near), error)
        )
    assert (error == 0).mean() > 0.9


@pytest.mark.parametrize(
    "function,low,high", [("exp", -60, 9), ("sqrt", -600, 600), ("log", -900, 900)]
)
def test_functions_are_within_their_bounds(function, low, high):
    rng = np.random.default_rng(4)
    a = pairs(rng, low, high)
    a = (a[0], a[1]) if function == "exp" else tuple(part * np.sign(a[0]) for part in a)
    errors = judged(getattr(dd, function), getattr(mp, function), a)
    assert np.max(errors) < 2.0**-100


def test_logarithm_next_to_one():
    rng = np.random.default_rng(5)
    a = dd.two_sum(
        1 + rng.standard_normal(COUNT) * 2.0 ** -rng.integers(3, 52, COUNT),
        rng.standard_normal(COUNT) * 2.0**-56,
    )
    assert np.max(judged(dd.log, mp.log, a)) < 2.0**-98


def test_exponential_over_its_whole_range():
    x = np.random.default_rng(6).uniform(-750, 709, COUNT)
    judged(dd.exp, mp.exp, (x, None))
    right = np.array([float(mp.exp(float(v))) for v in x])
    normal = right > 2.0**-1000
    assert np.max(np.abs(dd.exp_float64(x) / right - 1)[normal]) < 5 * 2.0**-53
    assert (
        np.max(np.abs(dd.exp_float64(x[np.abs(x) < 700]) / right[np.abs(x) < 700] - 1))
        < 2.7 * 2.0**-53
    )


def test_exponential_of_special_numbers():
    x = np.float64([0, np.inf, -np.inf, np.nan, 720, -800])
    with np.errstate(over="ignore"):
        (value, _), error = dd.exp((x, None))
        for found in (value, dd.exp_float64(x)):
            assert np.array_equal(found, [1, np.inf, 0, np.nan, np.inf, 0], equal_nan=True)
    assert error[:4].tolist() == [0, 0, 0, 0] and np.isinf(error[4]) and 0 < error[5] < 1e-300


@pytest.mark.parametrize("function,reference", BINARY, ids=["add", "multiply", "divide"])
def test_the_judge_refuses_a_result_of_fewer_digits(function, reference):
    rng = np.random.default_rng(7)
    a, b = pairs(rng, -10, 10), pairs(rng, -10, 10)

    def rough(a, b):
        (high, low), error = function(a, b)
        return (high, low * (1 - 2.0**-40)), error

    with pytest.raises(AssertionError):
        judged(rough, reference, a, b)


def test_no_mathematical_library_is_asked():
    """Its functions differ from machine to machine in their last bits, as fused operations do."""
    for name in (
        "double_double elementary double_double_arrays float64_arrays truth multiples sums".split()
    ):
        text = (Path(dd.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        for call in (
            "np.exp(",
            "np.expm1(",
            "np.log(",
            "np.power(",
            "np.dot(",
            "einsum",
            "math.exp",
            "math.log",
            "longdouble",
            "np.fma",
            " @ ",
        ):
            assert call not in text, (name, call)


def test_no_number_of_the_kit_is_a_longdouble():
    """A longdouble has 64, 53 or 113 bits, depending on the machine."""
    package = Path(dd.__file__).parents[1]
    assert not [
        path for path in package.rglob("*.py") if "longdouble" in path.read_text(encoding="utf-8")
    ]
