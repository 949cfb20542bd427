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
    """Return the checks of the parts `numeric` and `symbolic`, for all operators or for some."""
    ops = names and tuple(map(operator, names))
    return tuple(
        check for part in parts for check in import_module(f"{__package__}.{part}").checks(ops)
    )


_held = cache(checks)


def run_check(number: int, *those) -> Row:
    return _held(*those)[number]()


def begin(folders: tuple) -> None:
    """Initialize a worker process: load the operators from folders."""
    # SymPy's objects live long: at Python's default of 700, garbage collection takes a quarter of
    # the time
    gc.set_threshold(500_000)
    for folder in folders:
        operator(folder)


@contextmanager
def rows(parts: tuple[str, ...], names: tuple[str, ...] | None = None) -> Iterator[list]:
    """Start all checks on the cores of this machine; yield for each, in order, a call that waits for its row.

    Processes, because SymPy is pure Python; spawned, because this process may have threads.
    """
    # The workers inherit this size of SymPy's cache: with the default of 1,000, they take a
    # twentieth more time.
    os.environ.setdefault("SYMPY_CACHE_SIZE", "30000")
    others = multiprocessing.active_children()
    with Processes(os.cpu_count(), begin, registry.folders()) as pool:
        numbers = range(len(checks(parts, names)))
        try:
            # the slowest checks end the list and start first
            started = [pool.submit(run_check, number, parts, names) for number in reversed(numbers)]
            yield [future.result for future in reversed(started)]
        except BaseException:  # do not wait for running checks
            for child in set(multiprocessing.active_children()) - set(others):
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
