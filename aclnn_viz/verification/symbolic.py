"""The symbolic verification: every theorem is proved, every mutant is not, every kernel agrees with its formula."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache

from aclnn_viz import rooms
from aclnn_viz.command import uninterrupted
from aclnn_viz.operators import operator, operators
from aclnn_viz.verification import formulas
from aclnn_viz.verification.check import Check, Row
from aclnn_viz.words.speech import kept, message


def theorem_check(theorem) -> Check:
    """One row a theorem: its value is what the proof assumed, its cases the theorem and its mutants."""
    def run():
        proof = theorem.prove()
        missing = "; ".join(equation.latex for equation in proof.not_proved)
        yield "; ".join(proof.assumptions), None if proof.holds else message("not proved: {claim}", claim=missing or kept(theorem.text))
        for mutant in theorem.mutants:
            yield "", message("a false claim was proved: {claim}", claim=kept(mutant.text)) if mutant.prove().holds else None
    return Check(theorem.operator, theorem.name, message("{n} mutants", n=len(theorem.mutants)), "", run)


def claims() -> list:
    """All theorems, those of operators from elsewhere included, in the order in which they are told."""
    from derivations import chapters, theorems

    here = chapters()
    found = (rooms.module("derivation", op.name) for op in operators())
    return list(theorems(*(module for module in found if module not in here)))


@cache
def checks(names: tuple[str, ...] | None = None) -> tuple[Check, ...]:
    """The theorems, and the kernels against the proved formulas, of all operators or of those named."""
    ops = operators() if names is None else tuple(map(operator, names))
    wanted = {op.name for op in ops}
    return (*(theorem_check(claim) for claim in claims() if claim.operator in wanted), *formulas.checks(ops))


def run_check(number: int, names: tuple[str, ...] | None = None) -> Row:
    return checks(names)[number]()


def begin(folders: tuple) -> None:
    """Begin a process that starts anew: the operators of folders are known, and it ends when its parent has ended."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for folder in folders:
        operator(folder)


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)


@contextmanager
def rows(names: tuple[str, ...] | None = None) -> Iterator[list]:
    """Start all checks on the cores of this machine; gives calls that wait for one row each, in order.

    Processes, because SymPy computes in Python; started anew, because this process may have threads.
    """
    anew, others = multiprocessing.get_context("spawn"), multiprocessing.active_children()
    with ProcessPoolExecutor(os.cpu_count(), anew, begin, (rooms.folders(),)) as pool:
        numbers = range(len(checks(names)))
        try:
            with uninterrupted():  # the slowest come last in the list, and are started first
                started = [pool.submit(run_check, number, names) for number in reversed(numbers)]
            yield [future.result for future in reversed(started)]
        except BaseException:  # what runs is not waited for
            for child in set(multiprocessing.active_children()) - set(others):
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
