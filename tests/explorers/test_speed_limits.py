"""The benchmark of the explorers moves the right control and says so when a limit is broken."""

import sys
from pathlib import Path

import pytest
from machine import SOAK, sampled_explorers

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
pytest.importorskip("nbformat", reason="needs nbformat: pip install nbformat")

from explorers import FLAGSHIP, first_control, judged  # noqa: E402


def broken(name, **medians):
    times = {way: [value] * 20 for way, value in medians.items()}
    return [what for what, value, limit in judged(name, times) if value > limit]


def test_times_within_the_limits_break_none():
    assert (
        broken(FLAGSHIP, explorer=30.0, echo=24.0, interact=400.0)
        == broken("hardswish", explorer=60.0, interact=400.0)
        == []
    )


def test_each_limit_is_broken_by_its_own_time():
    assert broken(FLAGSHIP, explorer=30.0, echo=22.0, interact=400.0) == ["explorer / echo"]
    assert broken(FLAGSHIP, explorer=30.0, echo=24.0, interact=290.0) == [
        "10 x explorer / interact"
    ]
    assert broken("hardswish", explorer=60.0, interact=350.0) == ["6 x explorer / interact"]
    late = judged("hardswish", {"explorer": [30.0] * 18 + [90.0] * 2, "interact": [400.0] * 20})
    assert [what for what, value, limit in late if value > limit] == ["explorer p95 / median"]


@pytest.mark.parametrize("name", sampled_explorers(__name__)[:: 1 if SOAK else 4])
@pytest.mark.sampled(1)
def test_every_explorer_has_a_control_that_can_be_moved_to_and_fro(name):
    field, values, shown = first_control(name)
    assert len(values) == len(shown) == len(set(values)) >= 2


def test_the_grid_is_turned_by_its_slider():
    field, values, shown = first_control(FLAGSHIP)
    assert field == "rotate" and [float(text) for text in shown] == values and max(values) == 180.0
