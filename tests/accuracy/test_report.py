"""The report: one pass, all measures and verdicts, readable as a table and as JSON."""

import json
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from judging import FOUR, THREE

from aclnn_viz.accuracy import compare, disagreements, measure, measures
from aclnn_viz.accuracy.standard import Verdict
from aclnn_viz.accuracy.standards import STANDARDS
from aclnn_viz.dtypes import float_format, round_to

NAN, INF = math.nan, math.inf
DTYPES = pytest.mark.parametrize("dtype", FOUR)
WITH_BASELINE = {s.name for s in STANDARDS if s.needs_baseline}


def example(dtype, seed=0, shape=(40, 50), error=1e-4):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(shape)
    return round_to(truth * (1 + error), dtype), truth, round_to(truth, dtype)


@DTYPES
def test_report_holds_the_measures_and_the_verdict_of_each_standard(dtype):
    actual, truth, baseline = example(dtype)
    report, measures = compare(actual, truth, baseline=baseline), measure(actual, truth)
    assert all(getattr(report, name) == value for name, value in vars(measures).items())
    assert list(report.verdicts) == [s.name for s in STANDARDS]
    assert report.verdicts == {s.name: s.judge(actual, truth, baseline=baseline) for s in STANDARDS}


@DTYPES
@pytest.mark.sampled(2)
def test_verdicts_do_not_depend_on_the_cut(dtype, monkeypatch):
    actual, truth, baseline = example(dtype)
    whole = compare(actual, truth, baseline=baseline).verdicts
    monkeypatch.setattr(measures, "LENGTH", 7)
    cut = compare(actual, truth, baseline=baseline).verdicts
    assert {n: v.outcome for n, v in cut.items()} == {n: v.outcome for n, v in whole.items()}
    numbers = [v.number for v in whole.values()]
    assert [v.number for v in cut.values()] == pytest.approx(numbers, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("dtype", THREE)
def test_standards_that_need_a_baseline_never_pass_without(dtype):
    report = compare(*example(dtype)[:2])
    assert {
        name for name, verdict in report.verdicts.items() if verdict == "not applicable"
    } == WITH_BASELINE
    assert len(WITH_BASELINE) == 10


@DTYPES
def test_correctly_rounded_output_passes_every_ascend_standard(dtype):
    _, truth, rounded = example(dtype)
    verdicts = compare(rounded, truth, baseline=rounded).verdicts
    # msprobe's limit for small values, 1e-16, and allclose's for all, are below what a 16-bit format can hold.
    strict = (
        {"allclose", "msprobe absolute threshold"} if dtype in ("float16", "bfloat16") else set()
    )
    assert {name for name, verdict in verdicts.items() if verdict == "fail"} <= strict
    assert not strict or verdicts["allclose"] == "fail"


@DTYPES
def test_output_of_zeros_fails_almost_everywhere(dtype):
    _, truth, rounded = example(dtype)
    verdicts = compare(np.zeros_like(rounded), truth, baseline=rounded).verdicts
    assert not {name for name, verdict in verdicts.items() if verdict == "pass"} - {
        "cancellation gate"
    }


@DTYPES
def test_nothing_is_judged_on_empty_data(dtype):
    empty = np.zeros((0,), float_format(dtype).numpy)
    verdicts = compare(empty, np.zeros(0), baseline=empty).verdicts
    assert {v.outcome for v in verdicts.values()} == {"not applicable"}
    assert {v.reason for v in verdicts.values()} == {"there are no elements to judge"}


def test_verdict_equals_its_outcome_and_is_true_when_passed():
    verdict = compare(np.float32([1.0]), np.ones(1)).verdicts["mixed tolerance"]
    assert (
        verdict == "pass"
        and "pass" == verdict
        and verdict != "fail"
        and bool(verdict)
        and str(verdict) == "pass"
    )
    assert not Verdict("fail", 1.0, 0.0, "") and not Verdict("not applicable", NAN, NAN, "")
    assert {verdict: 1}["pass"] == 1 and verdict != 1


def test_reason_tells_the_number_from_its_limit():
    verdict = compare(
        np.zeros(101, np.float32), np.r_[np.nextafter(0.01, 1), np.zeros(100)]
    ).verdicts
    assert verdict["mixed tolerance"].reason == (
        "largest error as a part of its cap (0.01 or 32 ulp) 1.0000000000000002 is not at most 1"
    )


def test_worst_is_the_element_most_ulps_away():
    report = compare(
        np.float32([1.0, 2.0, 1024.5]), np.array([1.0, 2.1, 1024.0]), inputs={"x": np.arange(3)}
    )
    assert (report.worst.index, report.worst.inputs) == ((1,), {"x": 1})
    assert report.extremes["max_abs"].index == (2,)


def test_report_prints_every_statistic_with_its_size_and_place():
    text = str(
        compare(
            np.float16([[1.0, 2.0, NAN]]),
            np.array([[1.0, 2.01, 3.0]]),
            inputs={"x": np.ones((1, 3))},
        )
    )
    for part in (
        "float16 output of shape (1, 3) against the truth: 3 elements, 2 finite pairs",
        "at (0, 2): nan",
        "truth 3.0, x 1.0",
        "exact: 33.33 %",
        "note: 1 pairs are not finite, 1 of them differ from the truth",
        "msprobe compare",
        "not applicable",
    ):
        assert part in text
    for name in (
        "max_ulp",
        "max_abs",
        "max_relative",
        "mare",
        "mere",
        "rmse",
        "cosine",
        "error_balance",
    ):
        assert f"  {name} " in text


def test_html_is_the_table_escaped():
    html = compare(np.float16([1.0]), np.ones(1))._repr_html_()
    assert html.startswith("<div>") and "&gt;3: 0 %" in html


@pytest.mark.parametrize("output", [1.0, NAN, INF])
def test_json_is_strict_and_complete(output):
    actual = np.array([output, 1], ml_dtypes.bfloat16)
    report = compare(actual, np.array([1.0, 1.0]), inputs={"x": np.array(["a", "b"])})
    content = json.loads(
        report.to_json(), parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON")
    )
    assert content["max_ulp"] == (report.max_ulp if math.isfinite(report.max_ulp) else "inf")
    assert (
        content["verdicts"]["mixed tolerance"]["outcome"]
        == report.verdicts["mixed tolerance"].outcome
    )
    assert content["worst"]["index"] == [0] and content["worst"]["inputs"] == {"x": "a"}
    assert set(content) == set(vars(report)) | {"ulp_shares", "worst"}


def test_disagreements_name_both_sides():
    found = disagreements(compare(np.float32([1.0, 1.00002]), np.array([1.0, 1.0])))
    assert found and {"mixed tolerance", "single benchmark"} <= set(found.passed)
    assert {"allclose", "msprobe ULP"} <= set(found.failed)
    assert (
        str(found).startswith("4 standards accept what 3 refuse\n")
        and "<pre>" in found._repr_html_()
    )


@pytest.mark.parametrize(
    "actual, truth, head",
    [
        ([1.0], [1.0], "all standards that apply say pass"),
        ([NAN], [1.0], "all standards that apply say fail"),
        ([], [], "no standard applies"),
    ],
)
def test_unanimous_standards_do_not_disagree(actual, truth, head):
    found = disagreements(compare(np.float32(actual), np.array(truth)))
    assert not found and str(found).startswith(head)


def test_zero_dimensional_data():
    report = compare(np.float32(1.5), np.float64(1.0), inputs={"x": 3.0})
    assert report.worst.index == () and report.worst.inputs == {"x": 3.0}


WRONG = [
    (
        np.zeros(3),
        ValueError,
        r"baseline must have the shape of actual, \(4,\): got \(3,\) \(axis 0 disagrees\); compare",
    ),
    (
        np.zeros(4, np.float32),
        TypeError,
        "baseline must have the dtype of actual, float64: got float32; compute the baseline in the same precision",
    ),
]


@pytest.mark.parametrize("baseline, error, message", WRONG)
def test_baseline_must_fit(baseline, error, message):
    with pytest.raises(error, match=message):
        compare(np.zeros(4), np.zeros(4), baseline=baseline)


@DTYPES
@settings(max_examples=80, deadline=None)
@given(data=st.data())
@pytest.mark.sampled(1)
def test_any_bits_are_judged_without_a_warning(dtype, data):
    fmt = float_format(dtype)
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    bits = hnp.arrays(f"u{fmt.bits // 8}", shape)
    actual, baseline = (data.draw(bits).view(fmt.numpy) for _ in range(2))
    truth = data.draw(hnp.arrays(np.float64, shape, elements=st.floats(width=64)))
    report = compare(actual, truth, baseline=baseline, inputs={"x": truth})
    assert str(report) and report.to_json() and str(disagreements(report))
    assert sum(report.ulp_counts.values()) == report.size == actual.size
    assert report.finite_size + report.differing <= report.size
    assert {v.outcome for v in report.verdicts.values()} <= {"pass", "fail", "not applicable"}
    # nan or infinity for a finite truth: only a baseline's own may be accepted
    if np.any(~np.isfinite(actual) & (np.abs(truth) < 1)):
        assert {n for n, v in report.verdicts.items() if v == "pass"} <= {
            f"dual benchmark L{i}{kind}" for i in range(3) for kind in ("", ", guarded")
        }
