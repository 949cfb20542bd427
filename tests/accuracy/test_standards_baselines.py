"""Dual benchmark, msprobe benchmark and cancellation gate at, just below and just above each limit."""

import math

import numpy as np
import pytest
from judging import BY_NAME, DOWN, THREE, UP, exact_elements, exactly, judge, nudged

from aclnn_viz.dtypes import round_to
from together import in_one

NAN, INF = math.nan, math.inf
FORMATS3 = pytest.mark.parametrize("dtype", THREE)
LEVELS = pytest.mark.parametrize("level", ["L0", "L1", "L2"])

# Errors in steps of one ulp, output against baseline, that bring one ratio to its limit and leave the others below.
MAXIMUM = {
    level: ([limit, *[1] * 399], [1] * 400) for level, limit in (("L0", 10), ("L1", 5), ("L2", 2))
}
MEAN = {  # the baseline's errors sum to 100: one of 20 and 80 of 1
    "L0": ([20, *[2] * 60, *[3] * 20], [20, *[1] * 80]),
    "L1": ([20, *[1] * 30, *[2] * 50], [20, *[1] * 80]),
    "L2": ([20, *[1] * 60, *[2] * 20], [20, *[1] * 80]),
}
SQUARES = {  # sums of squares 400 : 100, 225 : 100, 36 : 25
    "L0": ([*[5] * 12, *[2] * 4, *[1] * 84], [1] * 100),
    "L1": ([*[3] * 10, *[2] * 15, *[1] * 75], [1] * 100),
    "L2": ([*[2] * 5, *[1] * 16, 0], [2, *[1] * 21]),
}
METRICS = pytest.mark.parametrize(
    "metric, table", [("MARE", MAXIMUM), ("MERE", MEAN), ("RMSE", SQUARES)]
)
SUITES = pytest.mark.parametrize("suite", ["dual benchmark", "msprobe benchmark"])


def steps(dtype, table, level, shift=0.0, pad=False):
    """Output, truth and baseline; a truth shifted down by part of an ulp moves all three ratios towards 1.

    Exact elements change no ratio; 1024 = 4**5 elements make the roots of the mean squares rational.
    """
    mine, theirs = (
        np.array(errors + pad * (1024 - len(errors)) * [0], dtype=float) for errors in table[level]
    )
    # At 2**40 the 1e-7 or the machine eps beside |truth| is below the last digit of a float64, so every quotient is a
    # number of the format and the limit is met exactly. float16 ends before that and meets its limits from both sides.
    start, ulp = {
        "float16": (1.0, 2.0**-10),
        "bfloat16": (2.0**40, 2.0**33),
        "float32": (2.0**40, 2.0**17),
    }[dtype]
    return start + ulp * mine, np.full(mine.size, start - shift * ulp), start + ulp * theirs


def judged(name, dtype, outputs, truth, base):
    return BY_NAME[name].judge(exactly(outputs, dtype), truth, baseline=exactly(base, dtype))


@in_one
@FORMATS3
@LEVELS
@METRICS
def test_dual_benchmark_limits(dtype, level, metric, table):
    assert judged(f"dual benchmark {level}", dtype, *steps(dtype, table, level, 2.0**-12)) == "pass"
    above = judged(f"dual benchmark {level}", dtype, *steps(dtype, table, level, -(2.0**-12)))
    assert above == "fail" and above.reason.startswith(metric)


@in_one
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@LEVELS
@METRICS
def test_dual_benchmark_limits_are_included(dtype, level, metric, table):
    at = judged(f"dual benchmark {level}", dtype, *steps(dtype, table, level, pad=True))
    assert at == "pass" and at.number == at.limit and at.reason.startswith(metric)


@in_one
@FORMATS3
@LEVELS
@METRICS
def test_msprobe_benchmark_limits(dtype, level, metric, table):
    # Here the baseline's metric counts as at least 2^-11, 2^-8, 2^-14: errors are scaled to 64 ulps of a smaller start.
    name, scale = (
        f"msprobe benchmark {level}",
        {"float16": 1.0, "bfloat16": 1.0, "float32": 2.0**40}[dtype],
    )
    floor = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-14}[dtype]
    mine, theirs = (np.array(errors, dtype=float) for errors in table[level])
    start, unit = scale, scale * (2.0**-4 if dtype != "float32" else 2.0**-10)
    assert unit / start / 4 > floor
    for shift, outcome in ((2.0**-12, "pass"), (-(2.0**-12), "fail")):
        truth = np.full(mine.size, start - shift * unit)
        verdict = judged(name, dtype, start + unit * mine, truth, start + unit * theirs)
        assert verdict == outcome, (verdict.reason, shift)
        assert outcome == "pass" or verdict.reason.startswith(metric)


SMALL = {  # threshold and error limit in the small-value domain
    "dual benchmark": {
        "float16": (2.0**-11, 2.0**-16),
        "bfloat16": (2.0**-8, 2.0**-16),
        "float32": (2.0**-14, 2.0**-30),
    },
    "msprobe benchmark": {
        "float16": (2.0**-10, 1e-16),
        "bfloat16": (2.0**-10, 1e-16),
        "float32": (2.0**-20, 2.0**-30),
    },
}


def small_data(bad, base_bad, truth, error, count=64):
    """`bad` outputs and `base_bad` baselines beyond the error limit at a small truth, and exact ones."""
    outputs = [truth + 2 * error] * bad + [truth] * (count - bad)
    base = [truth + 2 * error] * base_bad + [truth] * (count - base_bad)
    return [(o, truth) for o in outputs], base


@in_one
@FORMATS3
@LEVELS
@pytest.mark.parametrize(
    "bad, base_bad, outcome",
    [
        (1, 0, "pass"),
        (2, 0, "pass"),
        (3, 0, "fail"),
        (2, 1, "pass"),
        (3, 1, "fail"),
        (10, 5, "pass"),
        (11, 5, "fail"),
    ],
)
def test_dual_benchmark_counts_small_value_errors(dtype, level, bad, base_bad, outcome):
    small, error = SMALL["dual benchmark"][dtype]
    assert (
        judge(f"dual benchmark {level}", dtype, *small_data(bad, base_bad, small / 2, error))
        == outcome
    )


@in_one
@FORMATS3
@LEVELS
@pytest.mark.parametrize(
    "bad, base_bad, outcome", [(10, 5, "pass"), (11, 5, "fail"), (0, 0, "pass")]
)
def test_msprobe_benchmark_counts_small_value_errors(dtype, level, bad, base_bad, outcome):
    small, _ = SMALL["msprobe benchmark"][dtype]
    error = 2.0**-20 if dtype == "float16" else small / 8
    assert (
        judge(f"msprobe benchmark {level}", dtype, *small_data(bad, base_bad, small / 2, error))
        == outcome
    )


@pytest.mark.parametrize(
    "suite, dtype",
    [
        *(("dual benchmark", dtype) for dtype in THREE),
        ("msprobe benchmark", "float32"),
        # no two numbers of float16 are as near as its limit in msprobe, 1e-16
        ("msprobe benchmark", "bfloat16"),
    ],
)
def test_small_value_errors_are_strictly_above_their_limit(suite, dtype):
    error = SMALL[suite][dtype][1]
    base = [float(round_to(error, dtype))] * 8
    for truth, outcome in (
        (nudged(error, DOWN, 1), "pass"),
        (error, "pass"),
        (nudged(error, UP, 1), "fail"),
    ):
        assert judge(f"{suite} L0", dtype, [(0.0, truth)] * 8, base) == outcome


@FORMATS3
@SUITES
def test_the_small_value_domain_ends_below_its_threshold(dtype, suite):
    # Two errors beside an exact baseline: allowed by count below the threshold, an infinite MARE ratio from there on.
    small, error = SMALL[suite][dtype]
    # msprobe compares shares with at least 2^-11, 2^-8, 2^-14
    size = 1 if suite == "dual benchmark" else 10**5
    for truth, outcome in (
        (nudged(small, DOWN, 1), "pass"),
        (small, "fail"),
        (nudged(small, UP, 1), "fail"),
    ):
        verdict = judged(
            f"{suite} L0",
            dtype,
            [small * 1.5] * 2 + [1.0] * size,
            [truth] * 2 + [1.0] * size,
            [small] * 2 + [1.0] * size,
        )
        assert verdict == outcome and (verdict == "pass" or verdict.reason.startswith("MARE")), (
            verdict.reason
        )


@in_one
@FORMATS3
@SUITES
@pytest.mark.parametrize("output, outcome", [(1.0, "pass"), (1.5, "fail")])
def test_a_faultless_baseline_leaves_no_tolerance(dtype, suite, output, outcome):
    assert judge(f"{suite} L0", dtype, [(output, 1.0)] * 4, [1.0] * 4) == outcome


@pytest.mark.parametrize("level, limit", [("L0", 10), ("L1", 5), ("L2", 2)])
def test_the_versions_of_the_dual_benchmark_disagree_beside_an_exact_baseline(level, limit):
    """One error of 6e-8: over 0 it is infinitely many times the baseline's, over 0 + 1e-7 it is 0.6 times."""
    truth, base = np.ones(4), [1.0] * 4
    outputs = [float(np.nextafter(np.float32(1), np.float32(0))), *truth[1:]]
    tagged, guarded = (
        judged(f"dual benchmark {level}{kind}", "float32", outputs, truth, base)
        for kind in ("", ", guarded")
    )
    assert tagged == "fail" and tagged.number == INF
    assert guarded == "pass" and guarded.number < 1
    many = [1 + 2.0**-23 * (limit + 2), *truth[1:]]  # an ulp is 1.2e-7
    assert judged(f"dual benchmark {level}, guarded", "float32", many, truth, base) == "fail"


def test_each_version_of_the_dual_benchmark_has_its_source():
    sources = {
        BY_NAME[f"dual benchmark L0{kind}"].source.rpartition(", ")[2] for kind in ("", ", guarded")
    }
    assert sources == {"v9.1.0-beta.1", "commit 3e62966"}


# (output, truth, baseline) among exact elements; the last column is the start of the reason
DUAL_SPECIAL = [
    (INF, INF, INF, "pass", ""),
    (-INF, -INF, -INF, "pass", ""),
    (NAN, NAN, NAN, "pass", ""),
    (INF, INF, 1.0, "pass", ""),
    (NAN, NAN, INF, "pass", ""),  # equals the truth
    # equals the baseline
    (-INF, INF, -INF, "pass", ""),
    (NAN, 1.0, NAN, "pass", ""),
    (1.0, NAN, 1.0, "pass", ""),
    (-INF, INF, INF, "fail", "infinite or nan elements that the baseline has right"),
    (1.0, NAN, NAN, "fail", "infinite or nan elements that the baseline has right"),
    (NAN, INF, INF, "fail", "infinite or nan elements that the baseline has right"),
    (
        2.0,
        INF,
        3.0,
        "fail",
        "infinite or nan elements that the standard leaves to an investigation",
    ),
    (
        NAN,
        1.0,
        1.0,
        "fail",
        "infinite or nan elements that the standard leaves to an investigation",
    ),
    (
        INF,
        1.0,
        -INF,
        "fail",
        "infinite or nan elements that the standard leaves to an investigation",
    ),
    # a broken baseline excuses nothing
    (1.0, 1.0, NAN, "pass", ""),
    (1.5, 1.0, INF, "fail", "MARE"),
]


@in_one
@FORMATS3
@LEVELS
@pytest.mark.parametrize("output, truth, base, outcome, reason", DUAL_SPECIAL)
def test_dual_benchmark_special_elements(dtype, level, output, truth, base, outcome, reason):
    verdict = judged(f"dual benchmark {level}", dtype, [1.0, output], [1.0, truth], [1.0, base])
    assert verdict == outcome and (outcome == "pass" or verdict.reason.startswith(reason)), (
        verdict.reason
    )


@in_one
@FORMATS3
@pytest.mark.parametrize(
    "output, truth, outcome",
    [
        (INF, INF, "pass"),
        (-INF, INF, "pass"),
        (NAN, NAN, "pass"),
        (INF, NAN, "fail"),
        (1.0, INF, "fail"),
        (NAN, 1.0, "fail"),
        (INF, 1e39, "pass"),
    ],
)
def test_msprobe_benchmark_special_elements_ignore_the_sign(dtype, output, truth, outcome):
    assert (
        judge("msprobe benchmark L2", dtype, [(1.0, 1.0), (output, truth)], [1.0, 1.0]) == outcome
    )


GATE = {
    "float16": (2.0**-11, 2.0**-5, 10 * 2.0**-10),
    "bfloat16": (2.0**-8, 2.0**-3, 10 * 2.0**-7),
    "float32": (2.0**-14, 2.0**-8, 10 * 2.0**-13),
}  # from, to, relative error


def gate(dtype, output, truth, bad, base_bad):
    """Judge 64 elements of one truth: `bad` outputs and `base_bad` baselines are `output`, the others are right."""
    right = float(round_to(truth, dtype))
    outputs, base = ([output] * count + [right] * (64 - count) for count in (bad, base_bad))
    return judge("cancellation gate", dtype, [(value, truth) for value in outputs], base)


@in_one
@FORMATS3
@pytest.mark.parametrize(
    "bad, base_bad, outcome",
    [
        (2, 0, "pass"),
        (3, 0, "fail"),
        (2, 1, "pass"),
        (3, 1, "fail"),
        (4, 2, "pass"),
        (5, 2, "fail"),
        (0, 0, "pass"),
    ],
)
def test_cancellation_gate_allows_twice_the_errors_of_the_baseline(dtype, bad, base_bad, outcome):
    start, _, _ = GATE[dtype]
    assert gate(dtype, 3 * start, 2 * start, bad, base_bad) == outcome


@FORMATS3
def test_cancellation_gate_looks_at_its_region_only(dtype):
    start, end, _ = GATE[dtype]
    assert gate(dtype, 2 * start, start, 9, 0) == "fail"
    assert gate(dtype, 2 * start, nudged(start, DOWN, 1), 9, 0) == "pass"  # a small value
    assert gate(dtype, end / 2, nudged(end, DOWN, 1), 9, 0) == "fail"
    assert gate(dtype, end / 2, end, 9, 0) == "pass"  # the truth is not cancelled
    assert gate(dtype, end, end / 2, 9, 0) == "pass"  # the output is not cancelled
    assert gate(dtype, end * (1 - 2.0**-8), end / 2, 9, 0) == "fail"


@FORMATS3
def test_cancellation_gate_counts_errors_above_the_mare_limit(dtype):
    start, _, limit = GATE[dtype]
    output = 2 * start
    at = (output - limit * 1e-7) / (1 + limit)  # (output - truth) / (truth + 1e-7) is the limit
    assert gate(dtype, output, at * (1 - 1e-12), 9, 0) == "fail"
    assert gate(dtype, output, at * (1 + 1e-12), 9, 0) == "pass"


@in_one
@FORMATS3
@pytest.mark.parametrize(
    "output, truth, outcome",
    [
        (INF, INF, "pass"),
        (NAN, NAN, "pass"),
        (-INF, INF, "fail"),
        (NAN, 1.0, "fail"),
        (1.0, INF, "fail"),
    ],
)
def test_cancellation_gate_special_elements_must_agree(dtype, output, truth, outcome):
    assert judge("cancellation gate", dtype, [(1.0, 1.0), (output, truth)], [1.0, 1.0]) == outcome


@FORMATS3
@pytest.mark.parametrize("name", ["dual benchmark L2", "msprobe benchmark L2", "cancellation gate"])
def test_never_passes_without_a_baseline(name, dtype):
    assert judge(name, dtype, exact_elements(5)) == "not applicable"
    assert judge(name, dtype, exact_elements(5), [1.0] * 5) == "pass"


@pytest.mark.parametrize("name", ["dual benchmark L0", "msprobe benchmark L0", "cancellation gate"])
def test_float64_has_no_limits(name):
    assert judge(name, "float64", exact_elements(5), [1.0] * 5) == "not applicable"
