"""The verification itself: it passes for the right kernels, and every kind of check fails for wrong ones."""

import json
from collections import Counter

import numpy as np
import pytest
from machine import SOAK, sampled

from aclnn_viz import cli, operator, operators
from aclnn_viz.checking.judge import prepared_at
from aclnn_viz.operators.patterns import formula
from aclnn_viz.operators.products import A2, CANN
from aclnn_viz.verification import contract, numeric
from aclnn_viz.verification.check import Check


def test_the_checks_are_complete():
    kinds = Counter((check.operator, check.name) for check in numeric.checks())
    for op in sampled(__name__):
        assert kinds[op.name, "kernel against truth"] == kinds[op.name, "status codes"] == 1
        assert kinds[op.name, "emulated device"] == 6
    assert {name for name, kind in kinds if kind == "one-sided slopes at kinks"} == {
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
    """Return whether a kink depends on another tensor, and so has no fixed place to name."""
    return any(name in op.tensors for name in formula(str(kink)).co_names)


# of the others a sample is elsewhere
CHEAP = ("emulated device", "status codes", "one-sided slopes at kinks")


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
@pytest.mark.sampled(3)
def test_the_kit_holds(op):
    rows = [check() for check in numeric.checks([op]) if SOAK or check.name in CHEAP]
    assert len(rows) > 6 and [row for row in rows if not row.passed] == []


def test_a_report_has_a_row_for_each_check(capsys):
    assert cli.main(["verify", "--json", "--numeric", "hardshrink"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["passed"] and all(
        row["passed"] and row["failure"] is None for row in report["rows"]
    )
    assert len(report["rows"]) == len(list(numeric.checks([operator("hardshrink")])))


@pytest.fixture(autouse=True)
def judged_anew():
    """Clear cached results of right kernels, which a spoiled page must not use."""
    yield
    prepared_at.cache_clear()


def spoil(monkeypatch, op, wrong):
    """Replace the outputs of the page by `wrong(outputs)`."""
    page = op.page.backward
    monkeypatch.setattr(op.page, "backward", lambda xp, **inputs: wrong(page(xp, **inputs), inputs))


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


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
@pytest.mark.sampled(2)
def test_lost_digits_are_found(op, monkeypatch):
    right = type(op).backward

    def rounded(self, /, **inputs):
        return {
            name: (value.astype(np.float64) * (1 + 2.0**-16)).astype(value.dtype)
            for name, value in right(self, **inputs).items()
        }

    assert numeric.truth_check(op)().passed
    monkeypatch.setattr(type(op), "backward", rounded)
    row = numeric.truth_check(op)()
    assert not row.passed and " is wrong in " in row.failure


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
    assert (
        "values for float16 that differ from those of the page"
        in numeric.device_check(op, A2, CANN)().failure
    )


def test_a_check_without_cases_fails():
    assert Check("hardswish", "nothing", "", lambda: iter(()))().failure == "no case was seen"


def test_a_failure_sets_the_exit_status_and_is_printed(monkeypatch, capsys):
    spoil(monkeypatch, operator("hardswish"), lambda out, i: {"out": out["out"] * 2})
    assert cli.main(["verify", "--numeric", "hardswish"]) == 1
    printed = capsys.readouterr().out
    wrong = [line for line in printed.splitlines() if " FAILED " in line]
    assert any("one-sided slopes at kinks" in line for line in wrong)
    assert f" {len(wrong)} failed, " in printed  # more than one if a peer is installed
