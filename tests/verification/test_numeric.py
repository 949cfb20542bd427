"""The verification itself: it passes for the right kernels, and every kind of check fails for wrong ones."""

import json
from collections import Counter

import numpy as np
import pytest

from aclnn_viz import cli, operator, operators
from aclnn_viz.operators.patterns import formula
from aclnn_viz.operators.products import A2, CANN
from aclnn_viz.verification import contract, exact, numeric, rates, rounding
from aclnn_viz.verification.check import Check
from machine import SOAK, sampled


def test_the_checks_are_complete():
    kinds = Counter((check.operator, check.name) for check in numeric.checks())
    for op in sampled(__name__):
        assert (
            kinds[op.name, "kernel against truth"] == 4 and kinds[op.name, "emulated device"] == 6
        )
        assert kinds[op.name, "truth against forward"] == kinds[op.name, "status codes"] == 1
    assert {name for name, kind in kinds if kind == "one-sided at kinks"} == {
        "hardswish",
        "grid_sampler_2d",
        "grid_sampler_3d",
        *(
            op.name
            for op in operators()
            if any(not of_tensors(op, kink) for t in op.tensors.values() for kink in t.kinks)
        ),
    }


def of_tensors(op, kink):
    """Whether a kink lies where another tensor says, or beside it: it has no place that conventions could name."""
    return any(name in op.tensors for name in formula(str(kink)).co_names)


# of the others a sample is elsewhere
CHEAP = ("emulated device", "status codes", "one-sided at kinks")


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
@pytest.mark.sampled(3)
def test_the_kit_holds(op):
    rows = [check() for check in numeric.checks([op]) if SOAK or check.name in CHEAP]
    assert len(rows) > 6 and [row for row in rows if not row.passed] == []


def test_a_report_has_a_row_for_each_check(capsys):
    assert cli.main(["verify", "--json", "--numeric", "rms_norm"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["passed"] and all(
        row["passed"] and row["failure"] is None for row in report["rows"]
    )
    assert len(report["rows"]) == len(list(numeric.checks([operator("rms_norm")])))


def test_the_grid_sampler_is_seen_in_all_18_modes():
    modes = rounding.modes(operator("grid_sampler_2d"))
    assert len({tuple(mode.values()) for mode in modes}) == 18
    check = numeric.rounding_check(operator("grid_sampler_2d"), "float32")
    assert not SOAK or check().cases >= 2 * 18


def spoil(monkeypatch, op, wrong):
    """Replace the outputs of the page by what `wrong` makes of them."""
    page = op.page.backward
    monkeypatch.setattr(op.page, "backward", lambda xp, **inputs: wrong(page(xp, **inputs), inputs))


WRONG = [
    ("hardswish", lambda out, i: {"out": i["gradOutput"]}),
    ("rms_norm", lambda out, i: out | {"dxOut": out["dxOut"] * 1.001}),
    ("rms_norm", lambda out, i: out | {"dxOut": i["dy"] * i["gamma"] * i["rstd"]}),
    ("grid_sampler_2d", lambda out, i: out | {"gridGrad": out["gridGrad"][..., ::-1]}),
    ("grid_sampler_2d", lambda out, i: out | {"inputGrad": out["inputGrad"] * 0}),
    ("cross_entropy_loss", lambda out, i: {"xGradOut": out["xGradOut"] + 1e-3}),
    ("group_norm_swish", lambda out, i: out | {"dxOut": out["dxOut"] + 0.01 * i["dy"]}),
    ("group_norm_swish", lambda out, i: out | {"dbetaOut": out["dgammaOut"]}),
]


@pytest.mark.parametrize("name,wrong", WRONG)
@pytest.mark.sampled(1)
def test_rates_find_a_wrong_page(name, wrong, monkeypatch):
    op = operator(name)
    spoil(monkeypatch, op, wrong)
    row = numeric.rate_check(op)()
    assert not row.passed and "instead of 2" in row.failure


def test_the_other_conventions_fail_at_the_kinks(monkeypatch):
    hardswish = operator("hardswish")
    spoil(
        monkeypatch,
        hardswish,
        lambda out, i: {"out": np.where(np.abs(i["self"]) == 3, i["self"] > 0, out["out"])},
    )
    assert not numeric.kink_check(hardswish)().passed
    grid = operator("grid_sampler_2d")
    spoil(monkeypatch, grid, lambda out, i: out | {"gridGrad": out["gridGrad"] + 1})
    assert not numeric.kink_check(grid)().passed


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        pytest.param(op, dtype, id=f"{op.name}-{dtype}")
        for k, op in enumerate(sampled(__name__))
        for n, dtype in enumerate(("float16", "bfloat16", "float32", "float64"))
        if SOAK or n == k % 4
    ],
)
@pytest.mark.sampled(1)
def test_rounding_finds_lost_digits(op, dtype, monkeypatch):
    lost = {"float64": 2.0**-44, "float32": 2.0**-16}.get(dtype, 2.0**-5)
    right = type(op).backward
    monkeypatch.setattr(
        type(op),
        "backward",
        lambda self, /, **i: {
            k: (v.astype(np.float64) * (1 + lost)).astype(v.dtype)
            for k, v in right(self, **i).items()
        },
    )
    row = numeric.rounding_check(op, dtype)()
    assert not row.passed and " instead of " in row.failure


def test_a_wrong_status_is_found(monkeypatch):
    op = operator("rms_norm")
    monkeypatch.setattr(contract, "clauses", lambda _: [({}, 0), ({"x": None}, 0)])
    row = contract.status_check(op)()
    assert not row.passed and row.failure == "status 161001 instead of 0 for {'x': None}"


def test_a_device_that_differs_is_found(monkeypatch):
    op = operator("hardswish")
    page = type(op).backward
    calls = iter(range(1000))
    monkeypatch.setattr(
        type(op),
        "backward",
        lambda self, /, **i: {k: v + next(calls) for k, v in page(self, **i).items()},
    )
    assert "other values than the page" in numeric.device_check(op, A2, CANN)().failure


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
def test_a_small_error_of_the_gradient_is_found(op, monkeypatch):
    right = type(op).backward
    monkeypatch.setattr(
        type(op),
        "backward",
        lambda self, /, **i: {k: v * 1.001 + 1e-3 for k, v in right(self, **i).items()},
    )
    assert not numeric.rate_check(op, tried=rounding.modes(op)[:2])().passed


def test_a_check_without_cases_fails():
    assert Check("hardswish", "nothing", "", "", lambda: iter(()))().failure == "no case was seen"


def test_rates_of_known_functions():
    point, direction = {"x": np.array([0.7])}, {"x": np.array([1.0])}
    rate = lambda f, slope: rates.rate(f, point, {"x": np.array([slope])}, direction, 2.0**-4)  # noqa: E731
    cube = lambda p: float(p["x"][0] ** 3)  # noqa: E731
    assert abs(rate(cube, 3 * 0.49) - 2) < 0.1 and abs(rate(cube, 3 * 0.49 + 1e-2) - 1) < 0.3
    assert (
        rate(lambda p: 5 * float(p["x"][0]), 5.0) == 2
        and rate(lambda p: 5 * float(p["x"][0]), 5.1) < 1.1
    )


@pytest.mark.parametrize(
    ("loss", "smooth"),
    [
        (lambda x: x, True),
        (lambda x: x**2, True),
        (np.sin, True),
        (lambda x: abs(x - 1e-3), False),
        (lambda x: abs(x + 2.0**-9), False),
        (lambda x: float(x > 3e-3), False),
        (lambda x: x**2 + abs(x), False),
    ],
)
def test_kinks_within_the_step_are_seen(loss, smooth):
    point, direction = {"x": np.zeros(1)}, {"x": np.ones(1)}
    assert (
        rates.bends_smoothly(lambda p: float(loss(p["x"][0])), point, direction, 2.0**-7) is smooth
    )


def test_differences_move_what_shares_no_term_at_once_and_see_what_rounding_hides():
    x, runs = np.arange(12.0).reshape(3, 4) - 5, []

    def terms(point):
        runs.append(point["x"].dtype == object)
        return [
            (point["x"] ** 3).sum(axis=1) ** 2,
            abs(point["x"][1]),
            np.where(point["x"] > 2.5, point["x"] * 7, 0.0),
        ]

    found = exact.differences(terms, {"x": x})["x"]
    right = 6 * x**2 * (x**3).sum(axis=1, keepdims=True)
    right[1] += np.sign(x[1])
    right += 7.0 * (x > 2.5)
    right[1, 1] = np.nan  # a kink of abs
    assert np.array_equal(np.isnan(found), np.isnan(right)) and np.allclose(
        found, right, rtol=1e-12, atol=1e-30, equal_nan=True
    )
    assert sum(runs) == 1 + 2 * 4
    # float64 shows no change
    small = exact.differences(lambda point: [1.0 + point["x"] * 2.0**-90], {"x": x})["x"]
    assert np.allclose(small, 2.0**-90, rtol=1e-9, atol=0.0)


def test_a_failure_sets_the_exit_status_and_is_printed(monkeypatch, capsys):
    spoil(monkeypatch, operator("hardswish"), lambda out, i: {"out": out["out"] * 2})
    assert cli.main(["verify", "--numeric", "hardswish"]) == 1
    printed = capsys.readouterr().out
    assert (
        "FAILED" in printed and "the residual falls with rate" in printed and " failed, " in printed
    )


def test_an_option_that_the_page_never_reads_makes_no_other_function():
    tried = [
        {"innerPrecise": 0, "sparseMode": 0, "inputLayout": "BNSD"} | mode
        for mode in rates.distinct(operator("flash_attention_score"))
    ]
    values = {
        name: {mode[name] for mode in tried}
        for name in ("innerPrecise", "sparseMode", "inputLayout")
    }
    assert values == {
        "innerPrecise": {0},
        "sparseMode": {*range(7)},
        "inputLayout": {"BNSD", "BSND", "BSH", "SBH"},
    }
    assert any(mode.get("attenMaskOptional", "given") is None for mode in tried)
