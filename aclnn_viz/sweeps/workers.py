"""Choose the executor of a sweep's test cases: this process, new processes, or any executor, such as that of a dask cluster."""

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from multiprocessing import util

from aclnn_viz.errors import need, whole
from aclnn_viz.pool import Processes
from aclnn_viz.sweeps.place import close_opened

PROCESSES = 1024  # most processes on one machine


class Here(Executor):
    """An executor that works in this process, one unit at a time."""

    _max_workers = 1

    def submit(self, function, /, *arguments, **named):
        future = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        close_opened()


def executor_of(executor) -> tuple[Executor, Callable[[], Executor] | None]:
    """Return the executor for an option of `sweep`, and a function that makes a new one, None if the user owns it.

    None means this process, a number so many processes; otherwise it is an Executor of concurrent.futures or a Client of
    dask.distributed. Raises TypeError for anything else.
    """
    if executor is None:
        return Here(), Here
    if isinstance(executor, int) and not isinstance(executor, bool):
        count = whole("executor", executor, 1, PROCESSES)
        return Processes(count, _begin), lambda: Processes(count, _begin)
    if hasattr(executor, "get_executor"):
        return executor.get_executor(pure=False), None
    need(
        executor,
        Executor,
        "an executor is None, a number of processes, an Executor or a dask Client",
        "pass such as 4, or concurrent.futures.ProcessPoolExecutor()",
    )
    return executor, None


def count_of(executor: Executor) -> int:
    """Return the present number of workers of an executor; dask's number may change."""
    if client := getattr(executor, "_client", None):
        return max(1, sum(client.nthreads().values()))
    return getattr(executor, "_max_workers", None) or os.cpu_count() or 1


def _begin() -> None:
    """Make a worker close its device when it exits."""
    util.Finalize(None, close_opened, exitpriority=10)
