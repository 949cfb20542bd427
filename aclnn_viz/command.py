"""Run the command line so that its exit status is 0 only after a verdict, even where a kernel, or an operator's folder, stops
the process.

The command runs in a child, which reports its status when it has written all it has to say. The process that was called
waits, and passes that status on; a child that ended without a report is a failure, whatever status it ended with.
"""

import io
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

CLI = "aclnn_viz.cli"  # loaded, as all else of the kit, when interrupts have an answer
# seconds; Ctrl-C reaches parent and child, a later one ends a child that did not answer the first
PATIENCE = 1.0


class _Output(io.FileIO):
    """The standard output, whose reader may stop early: the command goes on, and its verdict is its exit status."""

    def write(self, content):
        try:
            return super().write(content)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return len(content)


def command() -> int:
    """Run the command that this process was called with, and return its exit status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until something answers it
    # a stream that was closed: no file of ours takes its number
    while (handle := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(handle)
    closed, sys.stderr = (
        sys.stdout is None,
        sys.stderr or open(2, "w", encoding="utf-8", closefd=False),  # noqa: SIM115  closed with its owner
    )
    if not closed:
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Output(1, "wb", closefd=False)),
            sys.stdout.encoding,
            line_buffering=sys.stdout.line_buffering,
        )
    for stream in filter(None, (sys.stdin, sys.stdout, sys.stderr)):
        # what the encoding of a terminal lacks, and what a log in another one holds
        stream.reconfigure(errors="replace")

    from aclnn_viz.children import MARK, end_with_parent
    from aclnn_viz.errors import problem

    if MARK in os.environ:  # of the server for agents, which may be killed
        end_with_parent()
    cli = import_module(CLI)
    if closed:
        return cli.ended(
            problem(
                "a command writes its verdict",
                "a closed standard output",
                "send it to a file or /dev/null",
            )
        )
    return cli.main(None, _supervised)


def _supervised(work: Callable[[], int], alone: bool) -> int:
    """Run `work` in a child unless it runs `alone`; return the status that it reports, else 2, or 130 after an interrupt."""
    from aclnn_viz.errors import problem

    ended = import_module(CLI).ended
    if alone:
        _unblocked()
        return work()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        return _reported(work, writer)
    os.close(writer)
    interrupts: list[float] = []

    def interrupt(*_):
        interrupts.append(time.monotonic())
        with suppress(ProcessLookupError):
            os.kill(
                child,
                signal.SIGINT if interrupts[-1] - interrupts[0] < PATIENCE else signal.SIGKILL,
            )

    _answer(interrupt)
    _unblocked()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _answer(signal.SIG_IGN)
    os.set_blocking(reader, False)  # what the child left running may hold the other end
    with suppress(BlockingIOError):
        if said := os.read(reader, 1):
            return said[0]
    if interrupts:
        return ended("interrupted", 130)
    return ended(
        problem(
            "a command ends with its verdict",
            f"an end of its process before it, with status {status}",
            "look in the kernel or the operator's files for what ends it, or for too little memory",
        )
    )


def _reported(work: Callable[[], int], writer: int) -> int:
    from aclnn_viz.children import end_with_parent

    own = os.getpid()
    end_with_parent()

    def interrupt(*_):
        _answer(signal.SIG_IGN)  # one is enough: no second one disturbs what the first made end
        raise KeyboardInterrupt

    try:
        _answer(interrupt)
        _unblocked()
        status = work()
    except KeyboardInterrupt:
        status = import_module(CLI).ended("interrupted", 130)
    _answer(signal.SIG_IGN)
    if os.getpid() == own:  # a fork of a kernel that comes here has nothing to report
        os.write(writer, bytes([status]))
    return status


def _unblocked() -> None:
    """Let interrupts through that waited."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _answer(handler) -> None:
    """Answer interrupts so, unless whoever called the command chose that they are ignored."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
