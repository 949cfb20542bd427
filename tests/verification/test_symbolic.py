"""The symbolic verification: it holds, it is complete, and it fails for wrong theorems, kernels and definitions."""

import contextlib
import io
import json
import os
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from in_child import in_child
from machine import ROOT, SOAK, taught

from aclnn_viz import cli, operator
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.proving.subjects import of_operator
from aclnn_viz.verification import numeric, rounding, symbolic
from derivations import theorems


# a process that starts anew; of numbers the command prints a row for each check in an ordinary run
@pytest.mark.soak
def test_the_command_line_has_a_row_for_each_theorem(capsys, monkeypatch):
    """Of one operator: the theorems of all are proved in tests/derivations, the kernels of all judged below."""
    # one process that starts anew is enough for them
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert cli.main(["verify", "rms_norm", "--json", "--symbolic"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    text = [t for t in theorems() if t.operator == "rms_norm"]
    assert [row["check"] for row in rows[: len(text)]] == [t.name for t in text]
    assert all(row["cases"] == 1 + len(theorem.mutants) >= 3 for row, theorem in zip(rows, text))
    # what the proofs assume
    assert sum(row["value"] != "" for row in rows[: len(text)]) > len(text) // 2
    assert {"kernel against symbols", "symbols against forward", "page against derivative"} == {
        row["check"] for row in rows[len(text) :]
    }


def test_every_theorem_and_every_mode_is_checked():
    # a derivation may come before its page
    known, found = {op.name for op in taught()}, symbolic.checks(taught())
    text = [(t.operator, t.name) for t in theorems() if t.operator in known]
    assert (
        len(text) >= 45 and [(check.operator, check.name) for check in found[: len(text)]] == text
    )
    for op in taught():
        assert sum(
            (check.operator, check.name) == (op.name, "kernel against symbols") for check in found
        ) == -(-len(symbolic.formula_modes(op)) // 6)
        assert sum(
            (check.operator, check.name) == (op.name, "page against derivative") for check in found
        ) == -(-len(of_operator(op)) // 3)


@pytest.mark.parametrize(
    "op", [op for op in taught() if SOAK or not op.name.startswith("grid")], ids=lambda op: op.name
)
@pytest.mark.sampled(1)
def test_kernels_agree_with_their_formulas(op):
    modes = symbolic.formula_modes(op)
    part = modes if SOAK else modes[:: max(1, len(modes) // 3)]  # `aclnn-viz verify` takes all
    row = symbolic.formula_check(op, part)()
    assert row.passed and row.cases == len(part), row.failure


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


CHEAP = {"grid_sampler_2d": rounding.modes(operator("grid_sampler_2d"))[:1]}


def modes_of(op):
    return CHEAP.get(op.name, symbolic.formula_modes(op)[:2])


@pytest.mark.parametrize("op", taught(), ids=lambda op: op.name)
@pytest.mark.sampled(4)
def test_a_kernel_that_differs_from_its_formula_fails(op, monkeypatch):
    right = type(op).backward
    monkeypatch.setattr(
        type(op),
        "backward",
        lambda self, /, **i: {k: v * np.float32(1 + 2.0**-18) for k, v in right(self, **i).items()},
    )
    row = symbolic.formula_check(op, modes_of(op))()
    assert not row.passed and " instead of " in row.failure


def test_a_definition_that_the_gradient_does_not_belong_to_fails():
    defined = ((op, definition) for op in taught() if (definition := symbolic.symbolic_forward(op)))
    tried = list(islice(defined, None if SOAK else 1))
    assert tried
    for op, definition in tried:

        def other(definition=definition, **inputs):
            return {name: 1.01 * np.asarray(value) for name, value in definition(**inputs).items()}

        assert numeric.rate_check(op, "", definition, modes_of(op), directions=1)().passed
        assert not numeric.rate_check(op, "", other, modes_of(op), directions=1)().passed


@pytest.mark.soak
def test_the_folder_of_an_operator_is_verified_like_any_other(monkeypatch):
    """Four required files, numbers and theorems, the latter in a process that starts anew."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)

    def verified():
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            return cli.main(["verify", str(ROOT / "tests/elsewhere/my_silu")]), printed.getvalue()

    status, text = in_child(verified)  # no other test shall know the operator
    assert status == 0, text
    assert "derivative_is_documented" in text and "kernel against symbols" in text
    assert all(line.startswith("my_silu") for line in text.splitlines()[2:-2])
