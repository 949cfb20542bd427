"""The symbolic verification: every theorem is proved, every mutant is not, every kernel agrees with its formula."""

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache

from aclnn_viz import rooms
from aclnn_viz.operators import operators
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


def claims() -> list:
    """All theorems, those of operators from elsewhere included, in the order in which they are told."""
    from derivations import chapters, theorems

    here = chapters()
    found = (rooms.module("derivation", op.name) for op in operators())
    return list(theorems(*(module for module in found if module not in here)))


@cache
def checks() -> tuple[Check, ...]:
    """All theorems, and the kernels against the proved formulas."""
    return (*map(theorem_check, claims()), *formulas.checks())


def open_folders(folders: tuple) -> None:
    """Make the operators of folders known, in a process that starts anew."""
    for folder in folders:
        rooms.open_folder(folder)


def run_check(number: int) -> Row:
    return checks()[number]()


@contextmanager
def rows() -> Iterator[list]:
    """Start all checks on the cores of this machine; gives calls that wait for one row each, in order.

    Processes, because SymPy computes in Python; started anew, because this process may have threads.
    """
    anew = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), anew, open_folders, (rooms.folders(),)) as pool:
        # The slowest come last in the list, and are started first.
        started = [pool.submit(run_check, number) for number in reversed(range(len(checks())))]
        try:
            yield [future.result for future in reversed(started)]
        finally:
            pool.shutdown(cancel_futures=True)
