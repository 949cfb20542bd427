"""msprobe's verdicts at, just below and just above each limit, worked out by hand."""

import math

import numpy as np
import pytest
from judging import BY_NAME, DOWN, FOUR, THREE, UP, exact_elements, exactly, judge, nudged

from aclnn_viz.accuracy import compare
from aclnn_viz.dtypes import float_format
from together import in_one

NAN, INF = math.nan, math.inf
FORMATS3 = pytest.mark.parametrize("dtype", THREE)
FORMATS4 = pytest.mark.parametrize("dtype", FOUR)
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-8, "float32": 2.0**-23, "float64": 2.0**-52}


def turned(head, ones, scale, turn=0.0):
    """The output (1, 0, ..., 0) and the truth (head, 1, ..., 1): cosine = head / sqrt(head**2 + ones)."""
    return [(scale, head * scale), *[(0.0, scale * (1 + turn))] * ones]


COSINE_TENTHS = (9, 19)  # 81 + 19 = 100: the cosine is 0.9
COSINE_HUNDREDTHS = (99, 199)  # 9801 + 199 = 10000: the cosine is 0.99


def level(pairs):
    """Make the first output equal to its truth, so that the largest absolute error is that of the ones."""
    return [(pairs[0][1], pairs[0][1]), *pairs[1:]]


@in_one
@FORMATS4
@pytest.mark.parametrize("turn, outcome", [(-1e-9, "pass"), (0, "pass"), (1e-9, "fail")])
def test_compare_fails_below_a_cosine_of_nine_tenths(dtype, turn, outcome):
    # With an absolute error of 2**-11, below 0.001, a cosine below 0.99 alone fails nothing.
    assert judge("msprobe compare", dtype, level(turned(*COSINE_TENTHS, 2.0**-11, turn))) == outcome


@in_one
@FORMATS4
@pytest.mark.parametrize("turn, outcome", [(-1e-9, "pass"), (0, "pass"), (1e-9, "fail")])
def test_compare_fails_below_a_cosine_of_99_hundredths_with_a_large_error(dtype, turn, outcome):
    assert judge("msprobe compare", dtype, level(turned(*COSINE_HUNDREDTHS, 0.5, turn))) == outcome


@in_one
@FORMATS4
@pytest.mark.parametrize("direction, outcome", [(DOWN, "pass"), (None, "pass"), (UP, "fail")])
def test_compare_allows_an_error_of_a_thousandth_at_any_cosine_above_nine_tenths(
    dtype, direction, outcome
):
    error = 0.001 if direction is None else nudged(0.001, direction, 1)
    # cosine 0.969
    assert judge("msprobe compare", dtype, [(2.0**-8, 2.0**-8), (0.0, error)]) == outcome


@in_one
@FORMATS4
@pytest.mark.parametrize("direction, outcome", [(DOWN, "pass"), (None, "pass"), (UP, "fail")])
def test_compare_fails_above_an_error_of_one(dtype, direction, outcome):
    error = 1.0 if direction is None else nudged(1.0, direction, 1)
    # the cosine is almost 1
    assert judge("msprobe compare", dtype, [(1024.0, 1024.0), (0.0, error)]) == outcome


@in_one
@FORMATS4
@pytest.mark.parametrize(
    "pairs, outcome",
    [
        ([(0.0, 0.0)] * 3, "pass"),  # both zero: cosine 1
        ([(0.0, 0.5)] * 3, "pass"),  # one zero: the cosine is nan and fails no comparison
        ([(0.5, 0.0)] * 3, "pass"),
        ([(0.0, 2.0)] * 3, "fail"),  # but the error decides
        ([(1.0, 1.0)], "not applicable"),
        ([(NAN, 1.0)], "fail"),
    ],
)
def test_compare_where_the_cosine_is_undefined(dtype, pairs, outcome):
    assert judge("msprobe compare", dtype, pairs) == outcome


@in_one
@FORMATS4
@pytest.mark.parametrize("turn, outcome", [(-1e-9, "pass"), (0, "fail"), (1e-9, "fail")])
def test_api_wants_a_cosine_above_99_hundredths(dtype, turn, outcome):
    # Scaled down, the largest absolute error is below 0.001 and decides the rest.
    assert judge("msprobe API", dtype, level(turned(*COSINE_HUNDREDTHS, 2.0**-12, turn))) == outcome


@in_one
@FORMATS4
@pytest.mark.parametrize("direction, outcome", [(DOWN, "pass"), (None, "fail"), (UP, "fail")])
def test_api_accepts_any_relative_error_below_an_error_of_a_thousandth(dtype, direction, outcome):
    error = 0.001 if direction is None else nudged(0.001, direction, 1)
    assert judge("msprobe API", dtype, [(0.0, error), *exact_elements(9)]) == outcome


WARNED, QUIET = True, False
# formats, exact elements beside one of large relative error, outcome, whether msprobe warns
SHARES = [
    (("float16", "bfloat16"), 98, "fail", QUIET),
    (("float16", "bfloat16"), 99, "fail", QUIET),
    (("float16", "bfloat16"), 100, "pass", WARNED),
    (("float16", "bfloat16"), 999, "pass", WARNED),
    (("float16", "bfloat16"), 1000, "pass", QUIET),
    (("float32", "float64"), 998, "fail", QUIET),
    (("float32", "float64"), 999, "fail", QUIET),
    (("float32", "float64"), 1000, "pass", WARNED),
    (("float32", "float64"), 9999, "pass", WARNED),
    (("float32", "float64"), 10000, "pass", QUIET),
]


@in_one
@pytest.mark.parametrize(
    "dtype, good, outcome, warned", [(d, *rest) for ds, *rest in SHARES for d in ds]
)
def test_api_shares_of_small_relative_errors(dtype, good, outcome, warned):
    pairs = [(1.5, 1.0), *exact_elements(good)]
    assert judge("msprobe API", dtype, pairs) == outcome
    outputs, truth = zip(*pairs)
    assert (
        "msprobe warns" in BY_NAME["msprobe API"].judge(exactly(outputs, dtype), list(truth)).reason
    ) == warned


RELATIVE_LIMITS = [("float16", 1e-2), ("bfloat16", 1e-2), ("float32", 1e-3), ("float64", 1e-3)]


@pytest.mark.parametrize("dtype, limit", RELATIVE_LIMITS)
@pytest.mark.parametrize("factor, outcome", [(1 - 1e-9, "pass"), (1 + 1e-9, "fail")])
def test_api_relative_error_has_machine_eps_in_its_denominator(dtype, limit, factor, outcome):
    relative = limit * factor  # (2 - truth) / (truth + eps); the absolute error is above 0.001
    truth = (2 - relative * EPS[dtype]) / (1 + relative)
    assert judge("msprobe API", dtype, [(2.0, truth)] * 5) == outcome


@in_one
@FORMATS4
@pytest.mark.parametrize(
    "pairs, outcome",
    [
        ([(0.0, 0.0)] * 3, "pass"),
        ([(0.0, 0.5)] * 3, "fail"),
        ([(0.5, 0.0)] * 3, "fail"),
        ([(1.0, 1.0)], "pass"),
        ([(-1.0, 1.0)], "fail"),
        ([(0.0, 1e-4)], "pass"),
    ],
)
def test_api_where_the_cosine_is_undefined(dtype, pairs, outcome):
    assert judge("msprobe API", dtype, pairs) == outcome


def ulps(dtype, *errors):
    """Pairs whose errors are these numbers of ulps; the truth moves, below a number whose ulp is 1."""
    start = {"float16": 1536.0, "bfloat16": 192.0, "float32": 1.5 * 2**23}[dtype]
    return [(start, start - error) for error in errors]


HALVES = pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
MORE, LESS = 1 + 2.0**-20, 1 - 2.0**-20


@HALVES
@pytest.mark.parametrize("good, outcome", [(998, "fail"), (999, "fail"), (1000, "pass")])
def test_ulp_16_bit_share_must_be_below_a_thousandth(dtype, good, outcome):
    assert judge("msprobe ULP", dtype, ulps(dtype, 5) + ulps(dtype, *[0] * good)) == outcome


@HALVES
@pytest.mark.parametrize(
    "error, outcome",
    [(LESS, "pass"), (1, "pass"), (MORE, "fail"), (-LESS, "pass"), (-MORE, "fail")],
)
def test_ulp_16_bit_errors_count_above_one(dtype, error, outcome):
    assert judge("msprobe ULP", dtype, ulps(dtype, error) * 3) == outcome


@pytest.mark.parametrize("error, outcome", [(64 * LESS, "pass"), (64, "fail"), (64 * MORE, "fail")])
def test_ulp_float32_mean_must_be_below_64(error, outcome):
    assert judge("msprobe ULP", "float32", ulps("float32", error, -error)) == outcome


@pytest.mark.parametrize("good, outcome", [(18, "fail"), (19, "fail"), (20, "pass")])
def test_ulp_float32_share_must_be_below_five_hundredths(good, outcome):
    assert judge("msprobe ULP", "float32", ulps("float32", 10000, *[0] * good)) == outcome


@pytest.mark.parametrize("error, outcome", [(32 * LESS, "pass"), (32, "pass"), (32 * MORE, "fail")])
def test_ulp_float32_errors_count_above_32(error, outcome):
    # One huge error lifts the mean above 64; four more make the share 0.05.
    assert (
        judge("msprobe ULP", "float32", ulps("float32", 10000, *[error] * 4, *[0] * 95)) == outcome
    )


@FORMATS3
@pytest.mark.parametrize("base_bad, outcome", [(49, "fail"), (50, "fail"), (51, "pass")])
def test_ulp_share_below_the_baselines_passes(dtype, base_bad, outcome):
    (start, truth), far = (
        ulps(dtype, 0)[0],
        {"float16": 100, "bfloat16": 32, "float32": 10000}[dtype],
    )
    pairs = [(start + far, truth)] * 50 + [(start, truth)] * 50
    assert judge("msprobe ULP", dtype, pairs) == "fail"
    assert (
        judge("msprobe ULP", dtype, pairs, [start + far] * base_bad + [start] * (100 - base_bad))
        == outcome
    )


@HALVES
def test_ulp_of_zero_and_subnormal_truth_is_the_smallest_step(dtype):
    tiny = float_format(dtype).smallest_subnormal
    for truth in (0.0, 3 * tiny, -3 * tiny):
        assert judge("msprobe ULP", dtype, [(truth + tiny, truth)] * 3) == "pass"
        assert judge("msprobe ULP", dtype, [(truth + 2 * tiny, truth)] * 3) == "fail"


RTOL = {"float16": 2.0**-10, "bfloat16": 2.0**-8, "float32": 2.0**-20}
SMALL = {"float16": 2.0**-10, "bfloat16": 2.0**-10, "float32": 2.0**-20}
ATOL = {"float16": 2.0**-16, "bfloat16": 1e-16, "float32": 2.0**-30}


@FORMATS3
@pytest.mark.parametrize("side, outcome", [(1, "pass"), (0, "pass"), (-1, "fail")])
def test_absolute_threshold_relative_error_includes_its_limit(dtype, side, outcome):
    truth = 1 - EPS[dtype]  # truth + eps is 1, and the error exactly the limit
    assert (
        judge("msprobe absolute threshold", dtype, [(truth + RTOL[dtype], truth + side * 2.0**-50)])
        == outcome
    )


@FORMATS3
@pytest.mark.parametrize("direction, outcome", [(DOWN, "pass"), (None, "pass"), (UP, "fail")])
def test_absolute_threshold_of_small_values_includes_its_limit(dtype, direction, outcome):
    truth = ATOL[dtype] if direction is None else nudged(ATOL[dtype], direction, 1)
    assert judge("msprobe absolute threshold", dtype, [(0.0, truth), (0.0, -truth)]) == outcome


# Errors between the limits of the two domains: eps below the fraction makes bfloat16 the looser one for normal values.
# The documentation's thresholds, 2^-11, 2^-8, 2^-14, lie elsewhere.
@pytest.mark.parametrize(
    "dtype, error, small_outcome, normal_outcome",
    [
        ("float16", 2.0**-17, "pass", "fail"),
        ("bfloat16", 2.0**-17, "fail", "pass"),
        ("float32", 2.0**-35, "pass", "fail"),
    ],
)
def test_absolute_threshold_small_values_end_where_the_code_says(
    dtype, error, small_outcome, normal_outcome
):
    small = SMALL[dtype]
    for truth, outcome in (
        (nudged(small, DOWN, 1), small_outcome),
        (small, normal_outcome),
        (nudged(small, UP, 1), normal_outcome),
    ):
        assert judge("msprobe absolute threshold", dtype, [(small + error, truth)]) == outcome


# (output, truth, verdict by position, verdict by clipped value)
SPECIAL = [
    (INF, INF, "pass", "pass"),
    (-INF, -INF, "pass", "pass"),
    (-INF, INF, "pass", "fail"),
    (INF, -INF, "pass", "fail"),
    (NAN, NAN, "pass", "pass"),
    (NAN, INF, "fail", "fail"),
    (INF, NAN, "fail", "fail"),
    (NAN, 1.0, "fail", "fail"),
    (1.0, NAN, "fail", "fail"),
    (INF, 1.0, "fail", "fail"),
    (1.0, -INF, "fail", "fail"),
]


@in_one
@FORMATS3
@pytest.mark.parametrize(
    "name", ["msprobe compare", "msprobe API", "msprobe ULP", "msprobe absolute threshold"]
)
@pytest.mark.parametrize("output, truth, position, clipped", SPECIAL)
def test_msprobe_special_elements(name, dtype, output, truth, position, clipped):
    outcome = clipped if name.endswith("threshold") else position
    assert judge(name, dtype, [(1.0, 1.0), (2.0, 2.0), (output, truth)]) == outcome


@FORMATS3
def test_the_largest_number_stands_for_an_infinity_in_the_absolute_threshold_alone(dtype):
    pairs = [(1.0, 1.0), (2.0, 2.0), (float_format(dtype).largest, INF)]
    assert judge("msprobe absolute threshold", dtype, pairs) == "pass"
    assert judge("msprobe compare", dtype, pairs) == "fail"


@pytest.mark.parametrize("name", ["msprobe ULP", "msprobe absolute threshold"])
def test_float64_has_no_limits(name):
    assert judge(name, "float64", exact_elements(3)) == "not applicable"


@pytest.mark.parametrize(
    ("actual", "truth", "outcome", "reason"),
    [
        ((1.0, 0.0), (0.0, 1.0), "fail", "cosine 0 is not above 0.9"),
        (
            (0.0, 0.0),
            (0.0, 2.0**-12),
            "pass",
            "one vector is zero, the cosine undefined, but largest absolute error",
        ),
        ((1.0, 2.0), (1.0, 2.0), "pass", "largest absolute error"),
    ],
)
def test_a_verdict_by_another_number_than_the_cosine_says_why(actual, truth, outcome, reason):
    verdict = compare(np.float32(actual), np.float64(truth)).verdicts["msprobe compare"]
    assert verdict.outcome == outcome and verdict.reason.startswith(reason)
