"""Benchmarks: a case below PyTorch is measured once more, which then counts; a move that the kernel draws is no move of a hand."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def opened(name, monkeypatch):
    monkeypatch.setattr(
        sys, "path", [*sys.path, str(BENCHMARKS)]
    )  # last: tests/bench has a name of theirs
    spec = spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bench(monkeypatch):
    return opened("bench", monkeypatch)


def test_a_case_below_pytorch_is_measured_in_more_turns(bench):
    seen = []
    rows = bench.rows_of(
        [("a 0", "op", {}), ("b 0", "op", {})],
        lambda turns, name, *case: (
            seen.append((turns, name)) or {"ratio": 0.9 + turns / 100 if name[0] == "a" else 1.0}
        ),
    )
    assert rows == {"a 0": {"ratio": 0.93}, "b 0": {"ratio": 1.0}}
    assert seen == [(1, "a 0"), (1, "b 0"), (bench.AGAIN, "a 0")]


class Drawn:
    """A page whose control the kernel moves: it is drawn once per value, and never for the shown one."""

    shown = None

    def evaluate(self, script, given):
        _, at, _, values = given
        assert values[at % len(values)] != self.shown, "no answer in 20 seconds"
        self.shown = values[at % len(values)]


def test_a_control_that_the_kernel_moves_has_no_moves_of_a_hand(monkeypatch):
    assert opened("explorers", monkeypatch).by_hand(
        Drawn(), 15, 200, "paddingMode", ["1", "2"]
    ) == ([], [])
