"""Count what a check does in runs, not in seconds, so that the answers are the same on every machine and under every load.

A run of a page counts PAGE, one of a kernel KERNEL, one of its statements GLANCE, and a case whose truth is not known yet
CASE, each as many times more as the case has elements above PORTION. Only a kernel that is itself very slow is left before: `METER.slow` then says so.
"""

import ctypes
import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from aclnn_viz.cases import Case

GLANCE, PAGE, KERNEL, CASE, PORTION = 0.3, 1, 2, 20, 32768
# of so many runs the kernel's own calls may take a second, of fewer no less: one that takes longer is slow
SLOWEST, FEW_RUNS = 750, 750
SHARED = 5  # of elapsed time that part counts: a kernel may wait, or others use the processor


class Meter(threading.local):
    """What was done in this thread: `runs`, the `seconds` of kernels, and whether one of them was too `slow` for a search."""

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
    """Behind a block with large arrays, give those that are gone back to the system: the allocator of Linux keeps them."""
    try:
        yield
    finally:
        if large:
            gc.collect()
            with suppress(AttributeError, OSError):  # another system's
                ctypes.CDLL(None).malloc_trim(0)


class Budget:
    """How many runs a search may take."""

    def __init__(self, runs: float):
        self.end, self.latest = METER.runs + runs, METER.seconds + max(runs, FEW_RUNS) / SLOWEST

    @property
    def over(self) -> bool:
        late = METER.seconds > self.latest
        METER.slow |= late
        return late or METER.runs >= self.end

    @property
    def left(self) -> float:
        """The runs that are left of it."""
        return max(0.0, self.end - METER.runs)

    def within(self, items: Iterable) -> Iterator:
        for item in items:
            if self.over:
                return
            yield item
