"""The symbolic verification: every theorem is proved, every mutant is not, every kernel agrees with its formula."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache

from aclnn_viz.verification import formulas
from aclnn_viz.verification.check import Check, Row


def theorem_check(theorem) -> Check:
    """One row a theorem: its value is what the proof assumed, its cases the theorem and its mutants."""
    def run():
        proof = theorem.prove()
        missing = "; ".join(equation.latex for equation in proof.not_proved)
        yield "; ".join(proof.assumptions), None if proof.holds else f"not proved: {missing or theorem.text}"
        for mutant in theorem.mutants:
            yield "", f"a false claim was proved: {mutant.text}" if mutant.prove().holds else None
    return Check(theorem.operator, theorem.name, f"{len(theorem.mutants)} mutants", "", run)


@cache
def checks() -> tuple[Check, ...]:
    """All theorems, in the order in which they are told, and the kernels against the proved formulas."""
    from derivations import theorems

    return (*map(theorem_check, theorems()), *formulas.checks())


def run_check(number: int) -> Row:
    return checks()[number]()


@contextmanager
def rows() -> Iterator[list]:
    """Start all checks on the cores of this machine; gives calls that wait for one row each, in order.

    Processes, because SymPy computes in Python; started anew, because this process may have threads.
    """
    with ProcessPoolExecutor(os.cpu_count(), mp_context=multiprocessing.get_context("spawn")) as pool:
        # The slowest come last in the list, and are started first.
        started = [pool.submit(run_check, number) for number in reversed(range(len(checks())))]
        try:
            yield [future.result for future in reversed(started)]
        finally:
            pool.shutdown(cancel_futures=True)
