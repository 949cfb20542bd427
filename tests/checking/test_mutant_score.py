"""The score on mechanical mutants: a sample of it, why some need not be caught, and that wrong explanations are counted."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from machine import ROOT, SOAK

from aclnn_viz import operator
from aclnn_viz.checking.check import check
from aclnn_viz.checking.scope import DEPTHS
from aclnn_viz.checking.score import (
    COMPUTED,
    EXPLAINED,
    MutantScore,
    MutantTable,
    _equal,
    drawn,
    kernel_of,
    score_mutant,
    score_mutants,
)
from aclnn_viz.operators.hardswish import page as hardswish

SWISH, RMS = operator("hardswish"), operator("rms_norm")
sys.path.append(str(ROOT / "benchmarks"))
import mutants as report  # noqa: E402


@pytest.fixture(scope="module")
def table():
    return score_mutants(None if SOAK else ("hardswish",), each=3 if SOAK else 1)


def test_caught_mutants_are_explained_and_none_wrongly(table, record_property):
    record_property("mutants", len(table.rows))
    record_property("explained", table.count(*EXPLAINED))
    assert table.where(lambda one: one.outcome in ("wrongly explained", "missed")).rows == ()
    assert table.count("unexplained") <= 0.1 * len(table.rows)
    assert {one.computed for one in table.rows} == set(COMPUTED)


def test_the_mutants_are_drawn_without_repetition():
    texts = [str(edit) for edit in drawn(RMS, 0)]
    assert len(set(texts)) == len(texts) > 90 and texts != [str(edit) for edit in drawn(RMS, 1)]


def test_kernels_have_the_precision_that_they_are_said_to_have():
    x = np.float32([0.1, 0.7])
    inputs = {"gradOutput": np.float32([1.1, 1.3]), "self": x}
    wide = SWISH.backward(**{name: value.astype(np.float64) for name, value in inputs.items()})[
        "out"
    ]
    single, double = (
        kernel_of(SWISH, hardswish, computed)(**inputs)["out"] for computed in COMPUTED
    )
    assert single.dtype == double.dtype == np.float32 and (double == wide.astype(np.float32)).all()
    assert (single == SWISH.backward(**inputs)["out"]).all()
    asked = []

    def backward(xp, gradOutput, self):
        asked.append(np.dtype(xp.float64))
        return {"out": gradOutput * self}

    for computed in COMPUTED:
        kernel_of(SWISH, SimpleNamespace(AXES=hardswish.AXES, backward=backward), computed)(
            **inputs
        )
    assert asked == [np.float32, np.float64]


def edited(change, name=""):
    """An edit whose page changes the output by hand: (xp, right output, self)."""

    def backward(xp, gradOutput, self):
        return {"out": change(hardswish.backward(xp, gradOutput, self)["out"], self)}

    page = SimpleNamespace(**vars(hardswish) | {"backward": backward})
    return SimpleNamespace(
        kind="by hand", unit=SimpleNamespace(name=name), before="", after="", page=page
    )


@pytest.mark.parametrize(
    "outcome,edit",
    {
        "same bits": edited(lambda out, x: out),
        "never called": edited(lambda out, x: out, "forward"),
        "within rounding": edited(lambda out, x: out * (1 + 2.0**-40)),
        "missed": edited(lambda out, x: np.where(np.isnan(x), 0, out)),
        "unexplained": edited(lambda out, x: out * (1.5 + np.sin(x * 99) / 3)),
        "fails": edited(lambda out, x: out[np.newaxis][1]),
    }.items(),
    ids=lambda one: one if isinstance(one, str) else "",
)
@pytest.mark.sampled(1)
def test_what_becomes_of_a_mutant_is_reported(outcome, edit):
    assert score_mutant(SWISH, edit, "float64").outcome == outcome


@pytest.mark.soak
def test_an_edit_after_which_the_page_cannot_be_read_fails():
    """BILINEAR, NEAREST, BICUBIC = range(2): an error of the page itself, before any case."""
    sampler = operator("grid_sampler_2d")
    edit = next(
        edit for edit in drawn(sampler, 0) if edit.before.startswith("BILINEAR") and _unread(edit)
    )
    assert score_mutant(sampler, edit, "float64").outcome == "fails"


def _unread(edit):
    try:
        return not edit.page
    except Exception as error:
        return not isinstance(error, SyntaxError)


def test_what_a_check_has_no_runs_for_counts_as_unexplained(monkeypatch):
    monkeypatch.setattr(
        sys.modules["aclnn_viz.checking.score"],
        "DEPTHS",
        {"normal": replace(DEPTHS["normal"], searching=0)},
    )
    assert score_mutant(SWISH, drawn(SWISH, 0)[0], "float64").outcome == "unexplained"


def test_an_explanation_of_another_mutant_is_a_wrong_one():
    first, second = (
        edit
        for edit in drawn(RMS, 0)
        if edit.after
        in ("'dgammaOut': xp.sum(dy * dy, axis=0)", "'dgammaOut': xp.sum(rstd * xhat, axis=0)")
    )
    text = check("rms_norm", replace(RMS, page=first.page).backward, depth="quick").explanation
    assert _equal(RMS, text, kernel_of(RMS, first.page, "float64"), 11)
    assert not _equal(RMS, text, kernel_of(RMS, second.page, "float64"), 11)


def row(outcome, seconds=0.1, mutant="x"):
    return MutantScore("hardswish", "factor", mutant, "float32", outcome, "", seconds)


GOOD = (
    [row("the very edit")] * 15
    + [row("an equal one")] * 4
    + [row("unexplained")] * 2
    + [row("fails", None)]
)


@pytest.mark.parametrize(
    "more,passed",
    [
        ([], True),
        ([row("unexplained")], False),
        ([row("wrongly explained")], False),
        ([row("missed", None)], False),
        ([row("the very edit", 9.0)] * 99, False),
    ],
)
def test_a_bad_score_does_not_pass(more, passed):
    assert MutantTable(tuple(GOOD + more), {"hardswish": 57}).passed is passed
    assert not MutantTable((), {}).passed


def test_the_tables_count(table):
    some = MutantTable(tuple(GOOD + [row("missed", None, "is wrong")]), {"hardswish": 57})
    lines = str(some).splitlines()
    assert lines[2] == (
        "| hardswish, float32 | 57 | 23 | 22 | 1 | 21 | 90.5 % | 15 | 4 | 0 | 0.10 s | 0 | 0 | 0 | 1 |"
    )
    assert (
        any(line.startswith("| factor | 1 | 23 |") for line in lines)
        and "is wrong is right on the suite" in lines[-1]
    )
    assert (
        json.loads(json.dumps(some.to_dict()))["totals"] == {"hardswish": 57}
        and some.to_dict()["passed"] is False
    )


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "operators", lambda: [SWISH])
    monkeypatch.setattr(report, "drawn", lambda op, seed: drawn(op, seed)[:2])
    asked = []
    monkeypatch.setattr(
        report,
        "score_mutant",
        lambda op, edit, computed, seed: (
            asked.append(computed)
            or replace(row("the very edit", 0.1, str(edit)), computed=computed)
        ),
    )
    rows = report.run(tmp_path / "rows", 9.0)
    assert (
        len(rows) == len(asked) == 4
        and report.run(tmp_path / "rows", 9.0) == rows
        and len(asked) == 4
    )
    assert "Here: all 4." in report.report(rows) and "Here: 3 of 4." in report.report(rows[:3])
    assert report.run(tmp_path / "none", 0.0) == []
