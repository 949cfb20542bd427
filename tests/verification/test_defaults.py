"""Without its own files an operator is verified by what follows from its declaration, and wrong kernels fail."""

import contextlib
import io
import os

import numpy as np
import pytest
from in_child import in_child
from machine import ROOT, SOAK

from aclnn_viz import cli, operator, operators, rooms
from aclnn_viz.verification import contract, formulas, numeric, taylor
from aclnn_viz.verification.subjects import Subject

EVERY = pytest.mark.parametrize("op", operators(), ids=lambda op: op.name)


@pytest.fixture(autouse=True)
def no_own_file(monkeypatch):
    find = rooms.module
    monkeypatch.setattr(rooms, "module", lambda kind, name: None if kind in ("cases", "verification") else
                        find(kind, name))


def in_turn(op, *choices):
    """All of the choices, or one: the next one for the next operator."""
    return choices if SOAK else [choices[operators().index(op) % len(choices)]]


def checks_of(op):
    yield from (numeric.rounding_check(op, dtype) for dtype in in_turn(op, "bfloat16", "float64"))
    yield numeric.rate_check(op, modes=Subject(op).MODES[:2])
    yield from (numeric.device_check(op, product, "9.1") for product in in_turn(op, numeric.A2, numeric.INFERENCE))
    yield contract.check(op)
    yield formulas.formula_check(op, formulas.modes_of(op)[:1])


@EVERY
def test_the_right_kernel_passes(op):
    rows = [check() for check in checks_of(op)]
    assert [row.failure for row in rows if not row.passed] == [] and all(row.cases for row in rows)


@EVERY
def test_lost_digits_are_found(op, monkeypatch):
    right = type(op).backward
    monkeypatch.setattr(type(op), "backward", lambda self, /, **i: {
        k: v * np.float32(1 + 2.0**-16) for k, v in right(self, **i).items()})
    for check in in_turn(op, numeric.rounding_check(op, "float32"), formulas.formula_check(op, formulas.modes_of(op)[:1])):
        assert not check().passed


@EVERY
def test_a_wrong_gradient_is_found(op, monkeypatch):
    right = type(op).backward
    monkeypatch.setattr(type(op), "backward", lambda self, /, **i: {
        k: v * 1.001 + 1e-3 for k, v in right(self, **i).items()})
    assert not numeric.rate_check(op, modes=Subject(op).MODES[:2])().passed


def test_a_definition_that_the_gradient_does_not_belong_to_fails():
    op = operator("rms_norm")
    definition = Subject(op).symbolic_forward
    assert numeric.rate_check(op, "", definition)().passed
    assert not numeric.rate_check(op, "", lambda **i: {"y": 1.01 * definition(**i)["y"]})().passed


@pytest.mark.parametrize(("loss", "smooth"), [
    (lambda x: x, True), (lambda x: x**2, True), (np.sin, True), (lambda x: abs(x - 1e-3), False),
    (lambda x: abs(x + 2.0**-9), False), (lambda x: float(x > 3e-3), False), (lambda x: x**2 + abs(x), False),
])
def test_kinks_within_the_step_are_seen(loss, smooth):
    point, direction = {"x": np.zeros(1)}, {"x": np.ones(1)}
    assert taylor.bends_smoothly(lambda p: float(loss(p["x"][0])), point, direction, taylor.STEP) is smooth


def test_the_folder_of_an_operator_is_verified_like_any_other(monkeypatch):
    """Four required files, numbers and theorems, the latter in a process that starts anew."""
    monkeypatch.undo()
    monkeypatch.setattr(os, "cpu_count", lambda: 1)

    def verified():
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            return cli.main(["verify", str(ROOT / "tests/elsewhere/my_silu")]), printed.getvalue()

    status, text = in_child(verified)  # no other test shall know the operator
    assert status == 0, text
    assert "derivative_is_documented" in text and "kernel against symbols" in text
    assert all(line.startswith("my_silu") for line in text.splitlines()[2:-2])
