"""Mechanical mutants of the puzzles' solutions: a puzzle's check refuses each, or the mutant is right."""

from functools import cache

import pytest
from checking.mutation import mutants
from checking.test_mutants import killed, reason
from machine import SOAK
from tables import table

from aclnn_viz import operator
from aclnn_viz.checking.judge import prepared_suite
from aclnn_viz.checking.kernel_call import named
from aclnn_viz.operators import registry
from aclnn_viz.puzzles import puzzle, puzzles, verdict
from aclnn_viz.puzzles.verdict import judged

# Function, change without its place, text of the line: why the mutant computes the same.
EQUIVALENT = table("""
grid_reflect     | abs  | np.remainder(np.abs(u - low)  | the wave is the same on both sides of a mirror
grid_scatter     | 1    | pixels + 1                    | one more column that is cut off
ce_target_weight | 0 at | np.where(counted, target, 0)  | stands where the result is masked out
ce_mean_gradient | 0 at | np.where(counted, target, 0)  | stands where the result is masked out
""")
WITH_PUZZLES = [operator(name) for name in dict.fromkeys(one.operator for one in puzzles())]


@cache
def of(op):
    """Return the mutants of an operator's solutions of its puzzles on kernels."""
    names = {one.name for one in puzzles() if one.operator == op.name}
    return [
        mutant
        for mutant in mutants(registry.module("puzzle_solutions", op.name))
        if mutant.function in names
    ]


def refused(mutant):
    one, answer = puzzle(mutant.function), getattr(mutant.page, mutant.function)
    if one.cases:
        return not judged(one, answer).passed
    return any(
        killed(prepared, lambda **inputs: named(answer(**inputs), list(prepared.expected)))
        for prepared in prepared_suite(one.operator, 0)
    )


@pytest.fixture(autouse=True)
def unnamed(monkeypatch):
    """Skip the search for the usual mistake, which costs more than a refusal and is tested elsewhere."""
    monkeypatch.setattr(verdict, "_same_mistakes", lambda one, seen: [])


# these have slow cases
@pytest.mark.parametrize(
    "op",
    [op for op in WITH_PUZZLES if SOAK or op.name != "grid_sampler_2d"],
    ids=lambda op: op.name,
)
@pytest.mark.sampled(1)
def test_every_mutant_of_a_solution_is_refused_or_equivalent(op):
    assert [
        str(mutant) for mutant in of(op) if not reason(mutant, EQUIVALENT) and not refused(mutant)
    ] == []


def test_what_is_called_equivalent_passes():
    listed = [mutant for op in WITH_PUZZLES for mutant in of(op) if reason(mutant, EQUIVALENT)]
    assert (
        len(listed) >= len(EQUIVALENT)
        and [str(mutant) for mutant in listed[:: 1 if SOAK else 4] if refused(mutant)] == []
    )


def test_there_are_enough_mutants():
    assert len({str(mutant) for op in WITH_PUZZLES for mutant in of(op)}) >= 300
