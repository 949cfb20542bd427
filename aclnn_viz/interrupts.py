"""Let an interrupt (Ctrl-C) wait until a block of code ends."""

import signal
import threading
from contextlib import contextmanager


class Uninterrupted:
    """A block that delays Ctrl-C until `interruptible`, or until its end.

    Only the main thread is ever interrupted; in other threads this does nothing.

    >>> with Uninterrupted() as block:
    ...     with block.interruptible():
    ...         pass
    """

    def __init__(self):
        self._before = None
        self._waiting = False

    def __enter__(self):
        if (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is not None
        ):
            self._hold()
        return self

    def __exit__(self, *_):
        if self._before is not None:
            self._let()

    @contextmanager
    def interruptible(self):
        """Deliver an interrupt that was delayed, or that comes during this block."""
        if self._before is None:
            yield
            return
        try:
            self._let()
            yield
        finally:
            self._hold()

    def _hold(self) -> None:
        self._before = signal.signal(signal.SIGINT, self._note)

    def _note(self, *_) -> None:
        self._waiting = True

    def _let(self) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self._waiting:
            self._waiting = False
            signal.raise_signal(signal.SIGINT)
