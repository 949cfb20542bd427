"""Count the work of a check in runs, not in seconds, so that the answers are the same on every machine and under every load.

A run of a page counts PAGE, one of a kernel KERNEL, one of its statements GLANCE, and a case whose truth is unknown CASE; each
grows by the case's elements / PORTION. A search ends early only for a kernel that is very slow itself, which `METER.slow`
records.
"""

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from aclnn_viz.cases import Case

GLANCE, PAGE, KERNEL, CASE, PORTION = 0.3, 1, 2, 20, 32768
# a kernel is slow if its calls take more than a second per SLOWEST runs of a budget; small budgets count as FEW_RUNS
SLOWEST, FEW_RUNS = 750, 750
SHARED = 5  # divisor of elapsed time: a kernel may wait, or others use the processor


class Meter(threading.local):
    """The work of this thread: `runs`, the `seconds` of kernels, and whether one was too `slow` for a search."""

    runs = seconds = 0.0
    slow = False

    def add(self, runs: float, case: Case) -> None:
        elements = sum(value.size for value in case.arrays.values())
        self.runs += runs * (1 + elements / PORTION)

    def timed(self, call: Callable):
        """Call a kernel and count its seconds."""
        busy, start = time.process_time(), time.monotonic()
        try:
            return call()
        finally:
            self.seconds += max(time.process_time() - busy, (time.monotonic() - start) / SHARED)


METER = Meter()


@contextmanager
def memory_given_back(large: bool) -> Iterator[None]:
    """Return freed memory to the system after a block with large arrays, because Linux's allocator keeps it."""
    try:
        yield
    finally:
        if large:
            gc.collect()
            # the C library of another system lacks malloc_trim
            with suppress(AttributeError, OSError):
                ctypes.CDLL(None).malloc_trim(0)


class Budget:
    """The runs that a search may use."""

    def __init__(self, runs: float):
        self.end, self.latest = METER.runs + runs, METER.seconds + max(runs, FEW_RUNS) / SLOWEST

    @property
    def over(self) -> bool:
        late = METER.seconds > self.latest
        METER.slow |= late
        return late or METER.runs >= self.end

    @property
    def left(self) -> float:
        """The number of runs that remain in the budget."""
        return max(0.0, self.end - METER.runs)

    def within(self, items: Iterable) -> Iterator:
        for item in items:
            if self.over:
                return
            yield item
