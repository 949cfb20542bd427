"""The workers of a sweep: this process, processes that it starts, or any executor, such as that of a dask cluster."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process, resource_tracker, util

from aclnn_viz.command import uninterrupted
from aclnn_viz.errors import need, problem, whole
from aclnn_viz.sweeps.place import close_all

MOST = 1024  # processes of one machine
AHEAD = 4  # units of work that wait for each worker: none is idle, and no more lie in memory


class Here(Executor):
    """An executor that works in this process, one unit at a time."""

    def submit(self, function, /, *arguments, **named):
        future = Future()
        try:
            future.set_result(function(*arguments, **named))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        close_all()


@dataclass
class Crew:
    """An executor, how many units of work may wait in it, and, where that is known, how to make another one when its workers died."""

    executor: Executor
    window: Callable[[], int]
    renew: Callable[[], Executor] | None = None
    owned: bool = False

    def renewed(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self.renew()

    def close(self) -> None:
        if self.owned:
            self.executor.shutdown(cancel_futures=True)


def crew(executor=None) -> Crew:
    """The crew that an option of `sweep` names: None is this process, a number so many processes of its own.

    Else any Executor of concurrent.futures, or a Client of dask.distributed. TypeError for anything else.
    """
    if executor is None:
        return Crew(Here(), lambda: 1, owned=True)
    if isinstance(executor, int) and not isinstance(executor, bool):
        count = whole("executor", executor, 1, MOST)
        return Crew(processes(count), lambda: AHEAD * count, lambda: processes(count), owned=True)
    if hasattr(executor, "get_executor") and hasattr(executor, "nthreads"):
        return Crew(
            executor.get_executor(pure=False),
            lambda: AHEAD * max(1, sum(executor.nthreads().values())),
        )
    need(
        executor,
        Executor,
        "an executor is None, a number of processes, an Executor or a dask Client",
        "pass such as 4, or concurrent.futures.ProcessPoolExecutor()",
    )
    # dask's executor does not say how many workers it has
    if client := getattr(executor, "_client", None):
        return Crew(executor, lambda: AHEAD * max(1, sum(client.nthreads().values())))
    workers = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    return Crew(executor, lambda: AHEAD * workers)


def processes(count: int) -> Executor:
    """Processes that are started anew: ACL does not survive a fork. They leave interrupts to the process that sweeps."""
    from concurrent.futures import ProcessPoolExecutor

    class Started(ProcessPoolExecutor):
        def submit(self, function, /, *arguments, **named):
            with uninterrupted():
                return super().submit(function, *arguments, **named)

    # else it starts with the first process, and lets interrupts through
    resource_tracker.ensure_running()
    return Started(count, get_context("spawn"), initializer=_begin)


def cluster(address: str, resources: dict | None = None) -> tuple[Executor, Callable[[], None]]:
    """The executor of a dask scheduler, and what ends the connection; RuntimeError where dask or the scheduler is not there.

    Each unit of work takes `resources` of its worker, such as {"atlas": 1}.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise RuntimeError(
            problem(
                "a sweep on many machines needs dask.distributed",
                str(error),
                "pip install 'aclnn-viz[sweep]'",
            )
        ) from error
    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise RuntimeError(
            problem(
                "a dask scheduler must answer",
                f"{address}: {error}",
                "start `dask scheduler`, and name the address that it prints",
            )
        ) from error
    return client.get_executor(
        pure=False, **({"resources": resources} if resources else {})
    ), client.close


def _begin() -> None:
    """A worker ends with the process that sweeps, and closes its device before."""
    util.Finalize(None, close_all, exitpriority=10)
    parent = parent_process()
    threading.Thread(
        target=lambda: connection.wait([parent.sentinel]) and os._exit(1), daemon=True
    ).start()
