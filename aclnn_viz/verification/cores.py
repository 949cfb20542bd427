"""Run the checks of `verify` on all cores of this machine, with one process per core."""

import gc
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module

from aclnn_viz.operators import operator, registry
from aclnn_viz.pool import Processes
from aclnn_viz.verification.check import Check, Row


def checks(parts: tuple[str, ...], names: tuple[str, ...] | None = None) -> tuple[Check, ...]:
    """The checks of the parts, which are `numeric` and `symbolic`, of all operators or of those named."""
    ops = names and tuple(map(operator, names))
    return tuple(
        check for part in parts for check in import_module(f"{__package__}.{part}").checks(ops)
    )


_held = cache(checks)


def run_check(number: int, *those) -> Row:
    return _held(*those)[number]()


def begin(folders: tuple) -> None:
    """Begin a process that starts anew: the operators of folders are known."""
    # what SymPy makes lives long: with Python's 700 a quarter of the time looks for garbage
    gc.set_threshold(500_000)
    for folder in folders:
        operator(folder)


@contextmanager
def rows(parts: tuple[str, ...], names: tuple[str, ...] | None = None) -> Iterator[list]:
    """Start all checks on the cores of this machine; gives calls that wait for one row each, in order.

    Processes, because SymPy computes in Python; started anew, because this process may have threads.
    """
    # of those processes; SymPy's own 1,000 costs them a twentieth of the time
    os.environ.setdefault("SYMPY_CACHE_SIZE", "30000")
    others = multiprocessing.active_children()
    with Processes(os.cpu_count(), begin, registry.folders()) as pool:
        numbers = range(len(checks(parts, names)))
        try:
            # the slowest come last in the list, and are started first
            started = [pool.submit(run_check, number, parts, names) for number in reversed(numbers)]
            yield [future.result for future in reversed(started)]
        except BaseException:  # what runs is not waited for
            for child in set(multiprocessing.active_children()) - set(others):
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
