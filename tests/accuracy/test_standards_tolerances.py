"""Single benchmark, mixed tolerance and allclose at, just below and just above each limit, worked out by hand."""

import math

import numpy as np
import pytest
from judging import DOWN, FOUR, THREE, UP, at_relative, exact_elements, judge, nudged
from together import in_one

NAN, INF = math.nan, math.inf
FORMATS3 = pytest.mark.parametrize("dtype", THREE)
FORMATS4 = pytest.mark.parametrize("dtype", FOUR)
T = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-13}
EPS = 1e-7

SIDES = pytest.mark.parametrize(
    "direction, at, outcome", [(DOWN, 0, "pass"), (None, 1, "fail"), (UP, 0, "fail")]
)


@FORMATS3
@SIDES
def test_mere_must_be_below_its_limit(dtype, direction, at, outcome):
    output, truth = at_relative(T[dtype], EPS, dtype)
    assert (
        judge("single benchmark", dtype, [(output, truth if at else nudged(truth, direction))])
        == outcome
    )


@FORMATS3
@SIDES
def test_mare_must_be_below_ten_times_the_limit(dtype, direction, at, outcome):
    # with 19 exact elements MERE is half its limit
    output, truth = at_relative(10 * T[dtype], EPS, dtype)
    pairs = [(output, truth if at else nudged(truth, direction)), *exact_elements(19)]
    assert judge("single benchmark", dtype, pairs) == outcome


@FORMATS3
def test_mere_is_a_mean_over_all_elements(dtype):
    output, truth = at_relative(5 * T[dtype], EPS, dtype)
    # 5/6 of the limit
    assert judge("single benchmark", dtype, [(output, truth), *exact_elements(5)]) == "pass"
    # 5/4 of it
    assert judge("single benchmark", dtype, [(output, truth), *exact_elements(3)]) == "fail"


MIXED = {
    "float16": (2.0**-9, 2.0**-9, 0.1),
    "bfloat16": (2.0**-6, 2.0**-6, 1.0),
    "float32": (2.0**-10, 2.0**-16, 0.01),
}
ULP_ONE = {"float16": 1536.0, "bfloat16": 192.0, "float32": 1.5 * 2**23}  # numbers whose ulp is 1


@FORMATS3
@pytest.mark.parametrize("sign", [1, -1])
def test_mixed_tolerance_of_an_element_includes_its_limit(dtype, sign):
    rtol, atol, _ = MIXED[dtype]
    output = sign * (1 + rtol + atol)  # the truth 1 allows an error of rtol + atol
    assert judge("mixed tolerance", dtype, [(output, sign * 1.0)]) == "pass"
    assert judge("mixed tolerance", dtype, [(output, sign * (1.0 + 2.0**-40))]) == "pass"
    assert judge("mixed tolerance", dtype, [(output, sign * (1.0 - 2.0**-40))]) == "fail"
    assert judge("mixed tolerance", dtype, [(0.0, sign * atol)]) == "pass"
    # a zero truth leaves atol alone
    assert judge("mixed tolerance", dtype, [(atol, 0.0)]) == "pass"
    assert judge("mixed tolerance", dtype, [(atol * 1.25, 0.0)]) == "fail"


@FORMATS3
@pytest.mark.parametrize("good, outcome", [(98, "fail"), (99, "pass"), (100, "pass")])
def test_mixed_tolerance_wants_99_percent(dtype, good, outcome):
    rtol, atol, _ = MIXED[dtype]
    assert (
        judge("mixed tolerance", dtype, [(1 + 2 * (rtol + atol), 1.0), *exact_elements(good)])
        == outcome
    )


@FORMATS3
@pytest.mark.parametrize("direction, outcome", [(DOWN, "pass"), (None, "pass"), (UP, "fail")])
def test_mixed_tolerance_caps_the_largest_error(dtype, direction, outcome):
    cap = MIXED[dtype][2]  # at these truths 32 ulps are less than the cap
    truth = cap if direction is None else nudged(cap, direction, 1)
    assert judge("mixed tolerance", dtype, [(0.0, truth), *exact_elements(200)]) == outcome
    assert judge("mixed tolerance", dtype, [(0.0, -truth), *exact_elements(200)]) == outcome


@FORMATS3
@pytest.mark.parametrize(
    "away, outcome", [(2.0**-20, "pass"), (0.0, "pass"), (-(2.0**-20), "fail")]
)
def test_mixed_tolerance_lifts_the_cap_to_32_ulps(dtype, away, outcome):
    base = ULP_ONE[dtype]
    assert (
        judge("mixed tolerance", dtype, [(base + 32, base + away), *exact_elements(200)]) == outcome
    )


# (output, truth): what strict rules say of one such element among exact ones
STRICT = [
    (INF, INF, "pass"),
    (-INF, -INF, "pass"),
    (-INF, INF, "fail"),
    (INF, -INF, "fail"),
    (NAN, NAN, "pass"),
    (NAN, 1.0, "fail"),
    (1.0, NAN, "fail"),
    (INF, 1.0, "fail"),
    (1.0, INF, "fail"),
    (NAN, INF, "fail"),
    (INF, 1e39, "pass"),
    (-INF, -1e39, "pass"),
    (0.0, -0.0, "pass"),
    (-0.0, 0.0, "pass"),
]


@in_one
@FORMATS3
@pytest.mark.parametrize("name", ["single benchmark", "mixed tolerance"])
@pytest.mark.parametrize("output, truth, outcome", STRICT)
def test_special_elements_must_agree(name, dtype, output, truth, outcome):
    assert judge(name, dtype, [*exact_elements(200), (output, truth)]) == outcome
    assert judge(name, dtype, [(output, truth)]) == outcome


@pytest.mark.parametrize("name", ["single benchmark", "mixed tolerance"])
def test_float64_has_no_limits(name):
    assert judge(name, "float64", exact_elements(3)) == "not applicable"


@in_one
@FORMATS4
@pytest.mark.parametrize(
    "output, truth, outcome",
    [
        (1.0, 1 + 1.0009e-5, "pass"),
        (1.0, 1 + 1.0011e-5, "fail"),
        (-1.0, -1 - 1.0009e-5, "pass"),
        (-1.0, -1 - 1.0011e-5, "fail"),
        (0.0, 0.99e-8, "pass"),
        (0.0, 1.01e-8, "fail"),
        (1024.0, 1024.01023, "pass"),
        (1024.0, 1024.01026, "fail"),
    ],
)
def test_allclose_has_one_tolerance_for_every_format(dtype, output, truth, outcome):
    assert judge("allclose", dtype, [*exact_elements(9), (output, truth)]) == outcome


def test_allclose_includes_its_limit():
    assert judge("allclose", "float64", [(1e-8, 0.0)]) == "pass"
    assert judge("allclose", "float64", [(np.nextafter(1e-8, 1), 0.0)]) == "fail"
    assert judge("allclose", "float64", [(1.0 + 2e-5, 1.0)]) == "fail"


@in_one
@FORMATS4
@pytest.mark.parametrize(
    "output, truth, outcome",
    [
        (INF, INF, "pass"),
        (-INF, INF, "fail"),
        (NAN, NAN, "fail"),
        (NAN, 1.0, "fail"),
        (1.0, NAN, "fail"),
        (INF, 1.0, "fail"),
        (1.0, INF, "fail"),
        (INF, 1.7e308, "fail"),
    ],
)
def test_allclose_special_elements(dtype, output, truth, outcome):
    assert judge("allclose", dtype, [*exact_elements(5), (output, truth)]) == outcome
