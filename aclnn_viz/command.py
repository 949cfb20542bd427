"""Run the command line so that its exit status is 0 only after a verdict, even if a kernel or an operator's folder stops the
process.

The command runs in a child, which reports its status after all its output. The parent waits, and passes that status on; a
child that ended without a report is a failure, whatever status it ended with.
"""

import io
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import FrameType

CLI = "aclnn_viz.cli"  # loaded, like the rest of the kit, once interrupts are handled
# Seconds after the first Ctrl-C in which further ones are passed to the child as interrupts; a
# later one kills a child that ignored them.
PATIENCE = 1.0
IMPORTS = 5.0  # seconds that an interrupt waits at most for an import to end


class _Output(io.FileIO):
    """The standard output, whose reader may stop early; the command continues, and its verdict is its exit status."""

    def write(self, content):
        try:
            return super().write(content)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return len(content)


def command() -> int:
    """Run the command of this process, and return its exit status."""
    # block interrupts until their handler exists
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    # fill closed standard streams with /dev/null, so that no opened file takes the number of a
    # stream
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
        # replace characters that a terminal's encoding lacks, and bytes of logs in another
        # encoding
        stream.reconfigure(errors="replace")

    from aclnn_viz.children import MARK, end_with_parent
    from aclnn_viz.errors import problem

    if MARK in os.environ:  # the server for agents may kill this process
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
    os.set_blocking(reader, False)  # a process that the child started may keep the other end open
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
    first: list[float] = []

    def interrupt(_, frame):
        # An import may lose the exception, or raise another in its place (NumPy's does): try again
        # once it has ended.
        first.append(time.monotonic())
        if _imports(frame) and first[-1] - first[0] < IMPORTS:
            signal.signal(signal.SIGALRM, interrupt)
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        _answer(signal.SIG_IGN)  # a second interrupt must not disturb the exit
        raise KeyboardInterrupt

    try:
        _answer(interrupt)
        _unblocked()
        status = work()
    except KeyboardInterrupt:
        status = import_module(CLI).ended("interrupted", 130)
    _answer(signal.SIG_IGN)
    if os.getpid() == own:  # a process forked by a kernel reports nothing
        os.write(writer, bytes([status]))
    return status


def _imports(frame: FrameType | None) -> bool:
    """Return whether a frame belongs to an `import`."""
    while frame and frame.f_code.co_name != "_find_and_load":
        frame = frame.f_back
    return frame is not None


def _unblocked() -> None:
    """Let this process receive interrupts, also those that arrived while they were blocked."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _answer(handler) -> None:
    """Set the handler of interrupts unless the caller of the command ignores them."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, handler)
