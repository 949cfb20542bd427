"""Fixtures of the checker's tests: none writes where a person keeps solved puzzles."""

from dataclasses import replace

import pytest
from machine import SOAK

from aclnn_viz.checking import scope, sealed_check


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ACLNN_VIZ_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Give each check ten times its seconds, so that other work on the machine changes no verdict."""
    monkeypatch.setattr(sealed_check, "REORDERED_SECONDS", 10 * sealed_check.REORDERED_SECONDS)
    for name, level in scope.DEPTHS.items():
        seconds = {of: 10 * getattr(level, of) for of in ("seconds", "call", "enough")}
        monkeypatch.setitem(scope.DEPTHS, name, replace(level, **seconds))


@pytest.fixture
def unexplained(monkeypatch):
    """Skip the search for explanations: it takes a second or two, and most tests do not use it."""
    for name, level in scope.DEPTHS.items():
        monkeypatch.setitem(scope.DEPTHS, name, replace(level, searching=0))


@pytest.fixture
def unshrunken(monkeypatch):
    """Leave a counterexample as found, for the same reason; a full-size sweep shrinks each."""
    for name, level in () if SOAK else scope.DEPTHS.items():
        monkeypatch.setitem(scope.DEPTHS, name, replace(level, shrinking=0))
