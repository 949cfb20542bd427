"""Child processes that run a person's C++. When one is ended, so is every process that it started, even in another session."""

import os
import resource
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress

MARK = "ACLNN_VIZ_CHILD"  # an environment variable, which what a process starts inherits
PATIENCE = 10.0  # seconds against processes that start others while they are ended


class Child(subprocess.Popen):
    """A process in a session of its own, with `limits` of resources; `end` kills it and all that it has started.

    Only what leaves the session and replaces its environment as well escapes.
    """

    def __init__(self, command, env: Mapping[str, str] | None = None, limits: Mapping[int, int] | None = None, **how):
        value = uuid.uuid4().hex
        self.mark = f"{MARK}={value}\0".encode()
        super().__init__(command, env={MARK: value, **(os.environ if env is None else env), MARK: value}, start_new_session=True, **how)
        with suppress(ProcessLookupError):  # it may have ended
            for kind, most in (limits or {}).items():
                resource.prlimit(self.pid, kind, (most, most))

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()
        until = time.monotonic() + PATIENCE
        while (found := self._marked()) and time.monotonic() < until:
            for one in found:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)

    def _marked(self) -> list[int]:
        found = []
        for one in filter(str.isdigit, os.listdir("/proc")):
            with suppress(OSError), open(f"/proc/{one}/environ", "rb", 0) as file:  # it has ended, or is somebody else's
                if file.read(len(self.mark)) == self.mark:
                    found.append(int(one))
        return found
