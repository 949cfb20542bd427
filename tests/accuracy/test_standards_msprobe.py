"""msprobe's verdicts at, just below and just above each limit, worked out by hand."""

import math

import numpy as np
import pytest
from judging import FOUR, THREE, expect, ones, sides, verdict

from aclnn_viz.accuracy import compare
from aclnn_viz.dtypes import float_format

NAN, INF = math.nan, math.inf
FORMATS3 = pytest.mark.parametrize("dtype", THREE)
FORMATS4 = pytest.mark.parametrize("dtype", FOUR)
HALVES = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-8, "float32": 2.0**-23, "float64": 2.0**-52}
TENTHS = (9, 19)  # 81 + 19 = 100: the cosine is 0.9
HUNDREDTHS = (99, 199)  # 9801 + 199 = 10000: the cosine is 0.99


def turns(lengths, scale, outcomes):
    """Return rows with a cosine above, at and below a limit: head / sqrt(head**2 + count), of (head, 1, ..., 1)
    and (1, 0, ...).

    The first output equals its truth, so that the ones have the largest absolute error.
    """
    (head, count), rows = lengths, []
    for outcome, turn in zip(outcomes.split(), (-1e-9, 0, 1e-9)):
        pairs = [(head * scale, head * scale), *[(0.0, scale * (1 + turn))] * count]
        rows.append((outcome, pairs))
    return rows


@FORMATS4
def test_compare_decides_by_the_cosine_and_the_largest_error(dtype):
    # with an absolute error of 2**-11, below 0.001, a cosine below 0.99 alone fails nothing
    rows = turns(TENTHS, 2.0**-11, "pass pass fail") + turns(HUNDREDTHS, 0.5, "pass pass fail")
    # the cosine is 0.969, and then almost 1
    rows += sides(0.001, "pass pass fail", lambda error: [(2.0**-8, 2.0**-8), (0.0, error)])
    rows += sides(1.0, "pass pass fail", lambda error: [(1024.0, 1024.0), (0.0, error)])
    # both are zero: the cosine is 1; one is: it is nan, and fails no comparison, but the error decides
    rows += [("pass", [pair] * 3) for pair in ((0.0, 0.0), (0.0, 0.5), (0.5, 0.0))]
    rows += ("fail", [(0.0, 2.0)] * 3), ("not applicable", [(1.0, 1.0)]), ("fail", [(NAN, 1.0)])
    expect("msprobe compare", dtype, rows)


@FORMATS4
def test_api_decides_by_the_cosine_and_by_relative_errors(dtype):
    # scaled down, the largest absolute error is below 0.001 and decides the rest
    rows = turns(HUNDREDTHS, 2.0**-12, "pass fail fail")
    rows += sides(0.001, "pass fail fail", lambda error: [(0.0, error), *ones(9)])
    rows += [("fail", [pair] * 3) for pair in ((0.0, 0.5), (0.5, 0.0))]
    rows += [("pass", [(0.0, 0.0)] * 3), ("pass", [(1.0, 1.0)])]
    rows += [("fail", [(-1.0, 1.0)]), ("pass", [(0.0, 1e-4)])]
    # (2 - truth) / (truth + eps) next to its limit; the absolute error is above 0.001
    for factor, outcome in ((1 - 1e-9, "pass"), (1 + 1e-9, "fail")):
        relative = (1e-2 if dtype in ("float16", "bfloat16") else 1e-3) * factor
        rows.append((outcome, [(2.0, (2 - relative * EPS[dtype]) / (1 + relative))] * 5))
    expect("msprobe API", dtype, rows)


@FORMATS4
def test_api_shares_of_small_relative_errors(dtype):
    first, last = (99, 999) if dtype in ("float16", "bfloat16") else (999, 9999)
    for right, outcome, warned in (
        (first - 1, "fail", False),
        (first, "fail", False),
        (first + 1, "pass", True),
        (last, "pass", True),
        (last + 1, "pass", False),
    ):
        found = verdict("msprobe API", dtype, [(1.5, 1.0), *ones(right)])
        assert found == outcome and ("msprobe warns" in found.reason) == warned


def ulps(dtype, *errors):
    """Return pairs with these errors in ulps; the truth moves, below a number whose ulp is 1."""
    start = {"float16": 1536.0, "bfloat16": 192.0, "float32": 1.5 * 2**23}[dtype]
    return [(start, start - error) for error in errors]


MORE, LESS = 1 + 2.0**-20, 1 - 2.0**-20


@HALVES
def test_ulp_of_16_bits(dtype):
    """Errors count above one, and their share must be below a thousandth; a zero or subnormal truth has the smallest step."""
    rows = [("fail" if n < 1000 else "pass", ulps(dtype, 5, *[0] * n)) for n in (998, 999, 1000)]
    rows += [("pass", ulps(dtype, error) * 3) for error in (LESS, 1, -LESS)]
    rows += [("fail", ulps(dtype, error) * 3) for error in (MORE, -MORE)]
    tiny = float_format(dtype).smallest_subnormal
    for truth in (0.0, 3 * tiny, -3 * tiny):
        rows += ("pass", [(truth + tiny, truth)] * 3), ("fail", [(truth + 2 * tiny, truth)] * 3)
    expect("msprobe ULP", dtype, rows)


def test_ulp_of_float32():
    """The mean must be below 64; or the share of errors above 32 below five hundredths."""
    rows = [(outcome, (error, -error)) for error, outcome in ((64 * LESS, "pass"), (64, "fail"))]
    rows += [("fail", (10000, *[0] * 18)), ("fail", (10000, *[0] * 19))]
    rows += [("pass", (10000, *[0] * 20)), ("fail", (64 * MORE, -64 * MORE))]
    # one huge error lifts the mean above 64; four more make the share 0.05
    for error, outcome in ((32 * LESS, "pass"), (32, "pass"), (32 * MORE, "fail")):
        rows.append((outcome, (10000, *[error] * 4, *[0] * 95)))
    rows = [(outcome, ulps("float32", *errors)) for outcome, errors in rows]
    expect("msprobe ULP", "float32", rows)


@FORMATS3
def test_ulp_share_below_the_baselines_passes(dtype):
    (start, truth), far = ulps(dtype, 0)[0], {"float16": 100, "bfloat16": 32, "float32": 10000}
    wrong, rows = start + far[dtype], []
    pairs = [(wrong, truth)] * 50 + [(start, truth)] * 50
    for bad, outcome in ((49, "fail"), (50, "fail"), (51, "pass")):
        rows.append((outcome, pairs, [wrong] * bad + [start] * (100 - bad)))
    expect("msprobe ULP", dtype, [("fail", pairs), *rows])


# relative to the absolute threshold: relative error, end of small values, their absolute error
THRESHOLDS = {
    "float16": (2.0**-10, 2.0**-10, 2.0**-16),
    "bfloat16": (2.0**-8, 2.0**-10, 1e-16),
    "float32": (2.0**-20, 2.0**-20, 2.0**-30),
}


@FORMATS3
def test_absolute_threshold_includes_its_limits(dtype):
    (relative, small, absolute), truth = THRESHOLDS[dtype], 1 - EPS[dtype]
    rows = [  # truth + eps is 1, and the error exactly the limit
        ("fail" if side < 0 else "pass", [(truth + relative, truth + side * 2.0**-50)])
        for side in (1, 0, -1)
    ]
    rows += sides(absolute, "pass pass fail", lambda truth: [(0.0, truth), (0.0, -truth)])
    # Errors between the limits of the two domains: eps below the fraction makes bfloat16 the looser one for normal
    # values. The documentation's thresholds, 2^-11, 2^-8, 2^-14, lie elsewhere.
    error = 2.0**-35 if dtype == "float32" else 2.0**-17
    outcomes = "fail pass pass" if dtype == "bfloat16" else "pass fail fail"
    rows += sides(small, outcomes, lambda truth: [(small + error, truth)])
    # the largest number stands for an infinity
    pairs = [(1.0, 1.0), (2.0, 2.0), (float_format(dtype).largest, INF)]
    expect("msprobe absolute threshold", dtype, [*rows, ("pass", pairs)])
    expect("msprobe compare", dtype, [("fail", pairs)])


@pytest.mark.parametrize(
    ("actual", "truth", "outcome", "reason"),
    [
        ((1.0, 0.0), (0.0, 1.0), "fail", "cosine 0 is not above 0.9"),
        (
            (0.0, 0.0),
            (0.0, 2.0**-12),
            "pass",
            "one of the two vectors is zero, so the cosine is undefined, but largest absolute error",
        ),
        ((1.0, 2.0), (1.0, 2.0), "pass", "largest absolute error"),
    ],
)
def test_a_verdict_by_another_number_than_the_cosine_says_why(actual, truth, outcome, reason):
    found = compare(np.float32(actual), np.float64(truth)).verdicts["msprobe compare"]
    assert found.outcome == outcome and found.reason.startswith(reason)
