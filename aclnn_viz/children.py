"""Run a user's code in a child process, and stop every process that it has started, even in another session."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

MARK = "ACLNN_VIZ_CHILD"  # an environment variable that child processes inherit
DIE_WITH_PARENT = 1  # number of prctl's PR_SET_PDEATHSIG on Linux
PATIENCE = 10.0  # seconds in which processes may start others while they are being ended


def environment() -> dict[str, str]:
    """Return the environment of a process that can import this kit from any folder."""
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")))
        )
    }


def end_with_parent() -> None:
    """Let the system end this process when its parent ends; only Linux can."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)


class Child(subprocess.Popen):
    """A process in a new session, with `limits` of resources; `end` kills it and its descendants, and waits for them.

    As a context, it ends with the block. Only a process that leaves the session and also replaces its environment escapes.
    """

    def __init__(
        self,
        command,
        env: Mapping[str, str] | None = None,
        limits: Mapping[int, int] | None = None,
        **how,
    ):
        value = uuid.uuid4().hex
        self.mark = f"{MARK}={value}\0".encode()
        super().__init__(
            command,
            env={**(os.environ if env is None else env), MARK: value},
            start_new_session=True,
            **how,
        )
        with suppress(OSError):  # the start time is in /proc, a folder that macOS lacks
            *_, self.started = _stat(self.pid)
        if limits:
            import resource  # only Unix has this module

            with suppress(ProcessLookupError):  # the process may have ended already
                for kind, most in limits.items():
                    resource.prlimit(self.pid, kind, (most, most))

    def __exit__(self, *error):
        self.end()
        super().__exit__(*error)

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()
        until, empty = time.monotonic() + PATIENCE, 0
        # a process that ended during the listing may have started another
        while empty < 2 and time.monotonic() < until:
            found = self._left()
            empty = 0 if found else empty + 1
            for one in found:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)

    def _left(self) -> list[int]:
        found = []
        # without /proc, only the processes of the session are ended
        for one in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
            with suppress(OSError):  # the process has ended, or belongs to another user
                state, session, started = _stat(one)
                # Skip processes older than the child, which are none of its own. An exiting process
                # has no environment any more: its session tells whose it is.
                if (
                    state != b"Z"
                    and started >= self.started
                    and (
                        session == self.pid
                        or self.mark in Path(f"/proc/{one}/environ").read_bytes()
                    )
                ):
                    found.append(int(one))
        return found


def _stat(process: int | str) -> tuple[bytes, int, int]:
    """Return the state of a process, its session, and its start time."""
    with open(f"/proc/{process}/stat", "rb", 0) as file:
        state, _, _, session, *rest = file.read().rpartition(b")")[2].split()
    return state, int(session), int(rest[15])
