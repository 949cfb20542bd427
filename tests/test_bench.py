"""Benchmarks: a ratio of the loops that fell twice is named, one that fell once is not; a move that the kernel draws is no move of a hand."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
ROWS = {
    "ratio": 1.0,
    "kit": 100.0,
    "least": 0.9,
    "most": 1.1,
}


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


@pytest.mark.parametrize(
    ("runs", "fell"),
    [
        ((1.6, 1.6), ["a 0"]),
        ((1.6, 1.8), []),
        ((1.72,), []),
        ((0.9, 0.8), ["a 0"]),
        ((0.99, 1.9), []),
    ],
)
def test_a_ratio_that_fell_by_15_percent_in_two_runs_is_named(runs, fell, bench):
    left = list(runs)
    rows, found = bench.twice(
        [("a 0", "op", {}), ("new", "op", {})],
        lambda turns, name, *case: {"ratio": left.pop(0) if name == "a 0" else 0.1},
        {"a 0": 2.0},
    )
    assert found == fell and left == [] and rows["a 0"]["ratio"] == runs[-1]


def test_a_case_below_pytorch_is_measured_in_more_turns(bench):
    seen = []
    bench.twice(
        [("a 0", "op", {}), ("b 0", "op", {})],
        lambda turns, name, *case: (
            seen.append((turns, name)) or {"ratio": 0.99 if name[0] == "a" else 1.0}
        ),
        {},
    )
    assert seen == [(1, "a 0"), (1, "b 0"), (bench.AGAIN, "a 0")]


def test_the_table_is_read_as_it_is_written(bench, monkeypatch):
    names = {
        "rms_norm float32 large": 1.25,
        "cross_entropy_loss mean 0.1 0.0 float16 large": 0.97,
        "grid_sampler_2d 0 2 True float32 medium": 12.0,
    }
    text = bench.HEAD + "".join(
        bench.shown(name, ROWS | {"ratio": ratio}, names) for name, ratio in names.items()
    )
    monkeypatch.setattr(bench, "git", lambda *words: text)
    assert bench.committed() == names


class Drawn:
    """A page whose control the kernel moves: it is drawn once for a value, and never for the one that is shown."""

    shown = None

    def evaluate(self, script, given):
        _, at, _, values = given
        assert values[at % len(values)] != self.shown, "no answer in 20 seconds"
        self.shown = values[at % len(values)]


def test_a_control_that_the_kernel_moves_has_no_moves_of_a_hand(monkeypatch):
    assert opened("explorers", monkeypatch).by_hand(
        Drawn(), 15, 200, "paddingMode", ["1", "2"]
    ) == ([], [])
