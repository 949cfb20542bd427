"""The symbolic verification: it holds, it is complete, and it fails for wrong theorems, kernels and definitions."""

import contextlib
import io
import json
import os
from dataclasses import replace

import pytest
from in_child import in_child
from machine import ROOT, taught

from aclnn_viz import cli, operator
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.proving.subjects import of_operator
from aclnn_viz.verification import symbolic
from derivations import theorems


# needs a new process; an ordinary run tests the rows of numbers
@pytest.mark.soak
def test_the_command_line_has_a_row_for_each_theorem(capsys, monkeypatch):
    """One operator: tests/derivations proves the theorems of all, and the tests below judge all kernels."""
    # one new process is enough for them
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert cli.main(["verify", "rms_norm", "--json", "--symbolic"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    text = [t for t in theorems() if t.operator == "rms_norm"]
    assert [row["check"] for row in rows[: len(text)]] == [t.name for t in text]
    assert all(row["cases"] == 1 + len(theorem.mutants) >= 3 for row, theorem in zip(rows, text))
    assert (
        sum(row["value"] != "" for row in rows[: len(text)]) > len(text) // 2
    )  # assumptions of the proofs
    assert {"page against derivative"} == {row["check"] for row in rows[len(text) :]}


def test_every_theorem_and_every_mode_is_checked():
    # a derivation may come before its page
    known, found = {op.name for op in taught()}, symbolic.checks(taught())
    text = [(t.operator, t.name) for t in theorems() if t.operator in known]
    assert (
        len(text) >= 40 and [(check.operator, check.name) for check in found[: len(text)]] == text
    )
    for op in taught():
        assert sum(
            (check.operator, check.name) == (op.name, "page against derivative") for check in found
        ) == -(-len(of_operator(op)) // 3)


def test_a_theorem_that_does_not_hold_fails():
    theorem = next(t for t in theorems() if t.operator == "rms_norm")
    false = theorem.mutants[0]
    row = symbolic.theorem_check(replace(theorem, build=false.build))()
    assert not row.passed and row.failure.startswith("not proved: ")


def test_a_mutant_that_is_proved_fails():
    theorem = next(t for t in theorems() if t.operator == "rms_norm")
    true = replace(theorem.mutants[0], build=theorem.build)
    row = symbolic.theorem_check(replace(theorem, mutants=(true, *theorem.mutants[1:])))()
    assert not row.passed and row.failure.startswith("a false claim was proved: ")


def test_a_page_whose_backward_is_not_the_derivative_fails():
    op = operator("rms_norm")
    for old, passed in (("(dy * gamma - xhat", True), ("(dy * gamma + xhat", False)):
        row = symbolic.page_check(
            op, of_operator(op, changed(op.page, (("(dy * gamma - xhat", old),)))
        )()
        assert row.passed == passed and row.cases == 2 and ("K >= 1" in row.value or not passed)
        assert passed or row.failure.startswith("not proved: dxOut")


@pytest.mark.soak
def test_the_folder_of_an_operator_is_verified_like_any_other(monkeypatch):
    """Four required files, numbers and theorems, the latter in a process that starts anew."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)

    def verified():
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            return cli.main(["verify", str(ROOT / "tests/elsewhere/my_silu")]), printed.getvalue()

    status, text = in_child(verified)  # no other test may know the operator
    assert status == 0, text
    assert "derivative_is_documented" in text
    assert all(line.startswith("my_silu") for line in text.splitlines()[2:-2])
