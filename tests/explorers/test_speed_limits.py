"""The benchmark of the explorers moves the right control."""

import sys
from pathlib import Path

import pytest
from machine import SOAK, sampled_explorers

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
pytest.importorskip("nbformat", reason="needs nbformat: pip install nbformat")

from explorers import first_control  # noqa: E402


@pytest.mark.parametrize("name", sampled_explorers(__name__)[:: 1 if SOAK else 4])
@pytest.mark.sampled(1)
def test_every_explorer_has_a_control_that_can_be_moved_to_and_fro(name):
    _, values = first_control(name)
    assert len(values) == len(set(values)) >= 2
