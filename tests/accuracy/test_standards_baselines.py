"""Dual benchmark, msprobe benchmark and cancellation gate at, just below and just above each limit."""

import math
from itertools import product

import numpy as np
import pytest
from judging import BY_NAME, DOWN, THREE, UP, exactly, expect, nudged, ones, sides

from aclnn_viz.dtypes import round_to

NAN, INF = math.nan, math.inf
FORMATS3 = pytest.mark.parametrize("dtype", THREE)
LEVELS = "L0", "L1", "L2"
SUITES = "dual benchmark", "msprobe benchmark"

# Errors in steps of one ulp, output against baseline, that bring one ratio to its limit and leave the others below.
METRICS = {
    "MARE": {
        level: ([limit, *[1] * 399], [1] * 400)
        for level, limit in (("L0", 10), ("L1", 5), ("L2", 2))
    },
    "MERE": {  # the baseline's errors sum to 100: one of 20 and 80 of 1
        "L0": ([20, *[2] * 60, *[3] * 20], [20, *[1] * 80]),
        "L1": ([20, *[1] * 30, *[2] * 50], [20, *[1] * 80]),
        "L2": ([20, *[1] * 60, *[2] * 20], [20, *[1] * 80]),
    },
    "RMSE": {  # sums of squares 400 : 100, 225 : 100, 36 : 25
        "L0": ([*[5] * 12, *[2] * 4, *[1] * 84], [1] * 100),
        "L1": ([*[3] * 10, *[2] * 15, *[1] * 75], [1] * 100),
        "L2": ([*[2] * 5, *[1] * 16, 0], [2, *[1] * 21]),
    },
}
# At 2**40 the 1e-7 or the machine eps beside |truth| is below the last digit of a float64, so every quotient is a
# number of the format and the limit is met exactly. float16 ends before that and meets its limits from both sides.
STARTS = {
    "float16": (1.0, 2.0**-10),
    "bfloat16": (2.0**40, 2.0**33),
    "float32": (2.0**40, 2.0**17),
}


def judged(name, dtype, outputs, truth, base):
    return BY_NAME[name].judge(exactly(outputs, dtype), truth, baseline=exactly(base, dtype))


def ratios(suite, dtype, start, unit, shift=0.0, pad=False):
    """Yield (metric, verdict) for each level and metric; shifting the truth by part of a unit moves all ratios
    towards 1.

    Exact elements change no ratio; 1024 = 4**5 elements make the roots of the mean squares rational.
    """
    for level, metric in product(LEVELS, METRICS):
        errors = METRICS[metric][level]
        mine, theirs = (np.array(part + pad * (1024 - len(part)) * [0], float) for part in errors)
        truth = np.full(mine.size, start - shift * unit)
        name = f"{suite} {level}"
        yield metric, judged(name, dtype, start + unit * mine, truth, start + unit * theirs)


@FORMATS3
@pytest.mark.parametrize("suite", SUITES)
def test_ratios_meet_their_limits_from_both_sides(suite, dtype):
    start, unit = STARTS[dtype]
    if suite == "msprobe benchmark":
        # The baseline's metric counts as at least this: errors are scaled to 64 ulps of a smaller start.
        floor = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-14}[dtype]
        start = 2.0**40 if dtype == "float32" else 1.0
        unit = start * (2.0**-10 if dtype == "float32" else 2.0**-4)
        assert unit / start / 4 > floor
    for _, found in ratios(suite, dtype, start, unit, 2.0**-12):
        assert found == "pass"
    for metric, found in ratios(suite, dtype, start, unit, -(2.0**-12)):
        assert found == "fail" and found.reason.startswith(metric)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_dual_benchmark_limits_are_included(dtype):
    for metric, at in ratios("dual benchmark", dtype, *STARTS[dtype], pad=True):
        assert at == "pass" and at.number == at.limit and at.reason.startswith(metric)


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


def counted(rows, wrong, right):
    """Yield rows of 64 elements with one truth, and the given numbers of wrong outputs and wrong baselines."""
    for bad, base_bad, outcome in rows:
        outputs, base = ([wrong] * n + [float(right)] * (64 - n) for n in (bad, base_bad))
        yield outcome, [(value, right) for value in outputs], base


TWICE = [(2, 0, "pass"), (3, 0, "fail"), (2, 1, "pass"), (3, 1, "fail"), (10, 5, "pass")]
TWICE += [(11, 5, "fail"), (0, 0, "pass")]


@FORMATS3
@pytest.mark.parametrize("level", LEVELS)
def test_small_value_errors_are_counted(level, dtype):
    small, error = SMALL["dual benchmark"][dtype]
    rows = counted(TWICE, small / 2 + 2 * error, small / 2)
    expect(f"dual benchmark {level}", dtype, rows)
    small, _ = SMALL["msprobe benchmark"][dtype]
    error = 2.0**-20 if dtype == "float16" else small / 8
    rows = counted(TWICE[4:], small / 2 + 2 * error, small / 2)
    expect(f"msprobe benchmark {level}", dtype, rows)


@FORMATS3
@pytest.mark.parametrize("suite", SUITES)
def test_the_small_value_domain_and_its_errors_end_at_their_limits(suite, dtype):
    small, error = SMALL[suite][dtype]
    # in float16 no two numbers are as near as msprobe's limit, 1e-16
    if (suite, dtype) != ("msprobe benchmark", "float16"):
        base = [float(round_to(error, dtype))] * 8
        rows = sides(error, "pass pass fail", lambda truth: [(0.0, truth)] * 8)
        expect(f"{suite} L0", dtype, [(*row, base) for row in rows])
    # Two errors beside an exact baseline: allowed by count below the threshold, an infinite MARE ratio from there on.
    # msprobe compares shares with at least 2^-11, 2^-8, 2^-14
    right = [1.0] * (1 if suite == "dual benchmark" else 10**5)
    for truth in (nudged(small, DOWN), small, nudged(small, UP)):
        data = ([number] * 2 + right for number in (small * 1.5, truth, small))
        found = judged(f"{suite} L0", dtype, *data)
        assert found == "pass" if truth < small else found.reason.startswith("MARE"), found.reason


@FORMATS3
@pytest.mark.parametrize("suite", SUITES)
def test_a_faultless_baseline_leaves_no_tolerance(dtype, suite):
    rows = [("pass", ones(4), [1.0] * 4), ("fail", [(1.5, 1.0)] * 4, [1.0] * 4)]
    expect(f"{suite} L0", dtype, rows)


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
    versions = {"": "v9.1.0-beta.1", ", guarded": "commit 3e62966"}
    for kind, version in versions.items():
        assert BY_NAME[f"dual benchmark L0{kind}"].source.endswith(f", {version}")


# (output, truth, baseline) among exact elements, by the start of the reason for a failure
BASELINE_RIGHT = "infinite or nan elements that the baseline has right"
INVESTIGATED = "infinite or nan elements that the standard leaves to an investigation"
DUAL_SPECIAL = {
    "": [
        (INF, INF, INF),
        (-INF, -INF, -INF),
        (NAN, NAN, NAN),
        (INF, INF, 1.0),
        (NAN, NAN, INF),  # equals the truth; the next three equal the baseline
        (-INF, INF, -INF),
        (NAN, 1.0, NAN),
        (1.0, NAN, 1.0),
        (1.0, 1.0, NAN),
    ],
    BASELINE_RIGHT: [(-INF, INF, INF), (1.0, NAN, NAN), (NAN, INF, INF)],
    INVESTIGATED: [(2.0, INF, 3.0), (NAN, 1.0, 1.0), (INF, 1.0, -INF)],
    "MARE": [(1.5, 1.0, INF)],  # a broken baseline excuses nothing
}


@FORMATS3
@pytest.mark.parametrize("level", LEVELS)
def test_dual_benchmark_special_elements(level, dtype):
    for reason, elements in DUAL_SPECIAL.items():
        for element in elements:
            found = judged(f"dual benchmark {level}", dtype, *([1.0, part] for part in element))
            assert (
                found == "fail" and found.reason.startswith(reason) if reason else found == "pass"
            )


GATE = {
    "float16": (2.0**-11, 2.0**-5, 10 * 2.0**-10),
    "bfloat16": (2.0**-8, 2.0**-3, 10 * 2.0**-7),
    "float32": (2.0**-14, 2.0**-8, 10 * 2.0**-13),
}  # from, to, relative error


@FORMATS3
def test_cancellation_gate(dtype):
    start, end, limit = GATE[dtype]

    def gate(output, truth, outcome):
        right = float(round_to(truth, dtype))
        pairs = [(output, truth)] * 9 + [(right, truth)] * 55
        expect("cancellation gate", dtype, [(outcome, pairs, [right] * 64)])

    rows = [*TWICE[:4], (4, 2, "pass"), (5, 2, "fail"), (0, 0, "pass")]
    expect("cancellation gate", dtype, counted(rows, 3 * start, 2 * start))
    gate(2 * start, start, "fail")
    gate(2 * start, nudged(start, DOWN), "pass")  # a small value
    gate(end / 2, nudged(end, DOWN), "fail")
    gate(end / 2, end, "pass")  # the truth is not cancelled
    gate(end, end / 2, "pass")  # the output is not cancelled
    gate(end * (1 - 2.0**-8), end / 2, "fail")
    output = 2 * start
    at = (output - limit * 1e-7) / (1 + limit)  # (output - truth) / (truth + 1e-7) is the limit
    gate(output, at * (1 - 1e-12), "fail")
    gate(output, at * (1 + 1e-12), "pass")


@FORMATS3
@pytest.mark.parametrize("name", ["dual benchmark L2", "msprobe benchmark L2", "cancellation gate"])
def test_never_passes_without_a_baseline(name, dtype):
    expect(name, dtype, [("not applicable", ones(5)), ("pass", ones(5), [1.0] * 5)])
