"""Single benchmark, mixed tolerance and allclose at, just below and just above each limit, worked out by hand; and what
every standard says of infinities and nan."""

import math

import numpy as np
import pytest
from judging import BY_NAME, FOUR, THREE, at_relative, expect, ones, sides

NAN, INF = math.nan, math.inf
FORMATS3 = pytest.mark.parametrize("dtype", THREE)
T = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-13}
EPS = 1e-7


@FORMATS3
def test_mere_and_mare_of_the_single_benchmark_are_below_their_limits(dtype):
    for factor, right in ((1, 0), (10, 19)):  # with 19 exact elements MERE is half its limit
        output, truth = at_relative(factor * T[dtype], EPS, dtype)
        rows = sides(truth, "pass fail fail", lambda t: [(output, t), *ones(right)], steps=16)
        expect("single benchmark", dtype, rows)
    pair = at_relative(5 * T[dtype], EPS, dtype)  # a mean of 5/6 and of 5/4 of the limit
    rows = ("pass", [pair, *ones(5)]), ("fail", [pair, *ones(3)])
    expect("single benchmark", dtype, rows)


MIXED = {
    "float16": (2.0**-9, 2.0**-9, 0.1),
    "bfloat16": (2.0**-6, 2.0**-6, 1.0),
    "float32": (2.0**-10, 2.0**-16, 0.01),
}
ULP_ONE = {"float16": 1536.0, "bfloat16": 192.0, "float32": 1.5 * 2**23}  # numbers whose ulp is 1


@FORMATS3
def test_mixed_tolerance_includes_its_limits(dtype):
    rtol, atol, cap = MIXED[dtype]
    start, far = ULP_ONE[dtype], (1 + 2 * (rtol + atol), 1.0)
    # a zero truth leaves atol alone
    rows = [("pass", (atol, 0.0)), ("fail", (atol * 1.25, 0.0))]
    for sign in (1, -1):  # the truth 1 allows an error of rtol + atol
        output, near = sign * (1 + rtol + atol), sign * 2.0**-40
        rows += ("pass", (output, sign)), ("pass", (output, sign + near))
        rows += ("fail", (output, sign - near)), ("pass", (0.0, sign * atol))
        # at these truths 32 ulps are less than the cap
        capped = sides(cap, "pass pass fail", lambda t: [(0.0, sign * t), *ones(200)])
        expect("mixed tolerance", dtype, capped)
    for outcome, right in ("fail", 98), ("pass", 99), ("pass", 100):
        rows.append((outcome, [far, *ones(right)]))
    for outcome, away in ("pass", 2.0**-20), ("pass", 0.0), ("fail", -(2.0**-20)):
        rows.append((outcome, [(start + 32, start + away), *ones(200)]))
    expect("mixed tolerance", dtype, rows)


def test_allclose_has_one_tolerance_for_every_format():
    near = [(1.0, 1 + 1.0009e-5), (-1.0, -1 - 1.0009e-5), (0.0, 0.99e-8), (1024.0, 1024.01023)]
    far = [(1.0, 1 + 1.0011e-5), (-1.0, -1 - 1.0011e-5), (0.0, 1.01e-8), (1024.0, 1024.01026)]
    for dtype in FOUR:
        for outcome, pairs in (("pass", near), ("fail", far)):
            expect("allclose", dtype, [(outcome, [*ones(9), pair]) for pair in pairs])
    rows = [("pass", (1e-8, 0.0)), ("fail", (np.nextafter(1e-8, 1), 0.0)), ("fail", (1 + 2e-5, 1))]
    expect("allclose", "float64", rows)


RULES = {
    "strict": ("single benchmark", "mixed tolerance", "cancellation gate"),
    "position": ("msprobe compare", "msprobe API", "msprobe ULP", "msprobe benchmark L2"),
    "clipped": ("msprobe absolute threshold",),
    "near": ("allclose",),
}
# (output, truth): the rules that let one such element among exact ones pass
SPECIAL = [
    (INF, INF, "strict position clipped near"),
    (-INF, -INF, "strict position clipped near"),
    (-INF, INF, "position"),
    (INF, -INF, "position"),
    (NAN, NAN, "strict position clipped"),
    (NAN, 1.0, ""),
    (1.0, NAN, ""),
    (INF, 1.0, ""),
    (1.0, INF, ""),
    (1.0, -INF, ""),
    (NAN, INF, ""),
    (INF, NAN, ""),
    (INF, 1e39, "strict position clipped"),
    (-INF, -1e39, "strict position clipped"),
    (0.0, -0.0, "strict position clipped near"),
    (-0.0, 0.0, "strict position clipped near"),
]


@FORMATS3
@pytest.mark.parametrize("rule", RULES)
def test_special_elements(rule, dtype):
    for *pair, passes in SPECIAL:
        outcome = "pass" if rule in passes.split() else "fail"
        for name in RULES[rule]:
            for right in (0, 200) if rule == "strict" else (200,):
                base = [[1.0] * (right + 1)] if BY_NAME[name].needs_baseline else []
                expect(name, dtype, [(outcome, [*ones(right), tuple(pair)], *base)])


def test_float64_has_limits_in_few_standards():
    names = "single benchmark", "mixed tolerance", "msprobe ULP", "msprobe absolute threshold"
    for name in (*names, "dual benchmark L0", "msprobe benchmark L0", "cancellation gate"):
        expect(name, "float64", [("not applicable", ones(5), [1.0] * 5)])
    expect("allclose", "float64", [("fail", (INF, 1.7e308)), ("pass", (INF, INF))])
