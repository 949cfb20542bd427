"""What tests of the checker share: none of them writes where a person keeps what was solved."""

from dataclasses import replace

import pytest
from machine import SOAK

from aclnn_viz.checking import scope


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ACLNN_VIZ_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def unexplained(monkeypatch):
    """Search no explanation: it takes a second or two, for which tests of other things have no use."""
    for name, level in scope.DEPTHS.items():
        monkeypatch.setitem(scope.DEPTHS, name, replace(level, searching=0))


@pytest.fixture
def unshrunken(monkeypatch):
    """Leave a counterexample as it was found, for the same reason; a full-size sweep makes each small."""
    for name, level in () if SOAK else scope.DEPTHS.items():
        monkeypatch.setitem(scope.DEPTHS, name, replace(level, shrinking=0))
