"""A pool of processes for `verify` and sweeps: they start afresh, leave Ctrl-C to their parent, and end with it."""

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection, get_context, parent_process, resource_tracker

from aclnn_viz.interrupts import Uninterrupted


class Processes(ProcessPoolExecutor):
    """A pool of spawned processes, because ACL and threads do not survive a fork. Only the parent receives interrupts;
    the processes end when the parent ends.

    Each process first calls `begin(*arguments)`.
    """

    def __init__(self, count: int, begin: Callable, *arguments):
        # Start the resource tracker now: otherwise the first process would start it, and its
        # start unblocks interrupts.
        resource_tracker.ensure_running()
        super().__init__(
            count, get_context("spawn"), initializer=_begun, initargs=(begin, *arguments)
        )

    def submit(self, function, /, *arguments, **named):
        with uninterrupted():
            return super().submit(function, *arguments, **named)


def _begun(begin: Callable, *arguments) -> None:
    parent = parent_process()
    threading.Thread(
        target=lambda: connection.wait([parent.sentinel]) and os._exit(1), daemon=True
    ).start()
    begin(*arguments)


@contextmanager
def uninterrupted():
    """Delay interrupts in this process; processes that start in the block never receive any, only the parent does."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        # libraries have threads that do not block interrupts: an interrupt that they get is kept here
        with Uninterrupted():
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
