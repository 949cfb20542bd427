"""The process of the command line: however a kernel or an operator's folder ends the command, status 0 needs its verdict.

The command runs in a child, which reports its status when it has written all it has to say. The process that was called
waits, and passes that status on; a child that ended without a report is a failure, whatever status it ended with.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from aclnn_viz.errors import problem

CLI = "aclnn_viz.cli"  # loaded when an interrupt already has its answer
PATIENCE = 1.0  # seconds; Ctrl-C reaches parent and child, a later one ends a child that did not listen to the first
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


def command() -> int:
    """Run the command that this process was called with, and return its exit status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until something answers it
    while (handle := os.open(os.devnull, os.O_RDWR)) < 3:  # a stream that was closed: no file of ours takes its number
        pass
    os.close(handle)
    closed, sys.stderr = sys.stdout is None, sys.stderr or open(2, "w", encoding="utf-8", closefd=False)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.reconfigure(errors="replace")  # what the encoding of a terminal lacks

    cli = import_module(CLI)
    if closed:
        return cli.ended(problem("a command writes its verdict", "a closed standard output", "send it to a file or /dev/null"))
    return cli.main(None, _supervised)


def unblocked() -> None:
    """Let interrupts through that waited."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _supervised(work: Callable[[], int]) -> int:
    """Run `work` in a child, and return the status that it reports there, else 2, or 130 after an interrupt."""
    ended = import_module(CLI).ended
    ear, mouth = os.pipe()
    parent, child = os.getpid(), os.fork()
    if not child:
        return _reported(work, mouth, parent)
    os.close(mouth)
    interrupts: list[float] = []

    def interrupt(*_):
        interrupts.append(time.monotonic())
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGINT if interrupts[-1] - interrupts[0] < PATIENCE else signal.SIGKILL)
    _answer(interrupt)
    unblocked()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _answer(signal.SIG_IGN)
    os.set_blocking(ear, False)  # what the child left running may hold the other end
    with suppress(BlockingIOError):
        if said := os.read(ear, 1):
            return said[0]
    if interrupts:
        return ended("interrupted", 130)
    how = f"with status {status}" if status >= 0 else f"by signal {-status} ({signal.strsignal(-status)})"
    return ended(problem("a command ends with its verdict", f"an end of its process before it, {how}",
                         "look in the kernel or the operator's files for what ends it, or for too little memory"))


def _reported(work: Callable[[], int], mouth: int, parent: int) -> int:
    own = os.getpid()
    if sys.platform == "linux":
        import ctypes
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(2)

    def interrupt(*_):
        _answer(signal.SIG_IGN)  # one is enough: no second one disturbs what the first made end
        raise KeyboardInterrupt
    try:
        _answer(interrupt)
        unblocked()
        status = work()
    except KeyboardInterrupt:
        status = import_module(CLI).ended("interrupted", 130)
    _answer(signal.SIG_IGN)
    if os.getpid() == own:  # a fork of a kernel that comes here has nothing to report
        os.write(mouth, bytes([status]))
    return status


def _answer(handler) -> None:
    """Answer interrupts so, unless whoever called the command chose that they are ignored."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
