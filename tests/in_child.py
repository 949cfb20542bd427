"""Work in a forked child: a crash, a library that stays loaded or a changed environment never reach the tests."""

import atexit
import ctypes
import faulthandler
import os
import pickle
import shutil
import signal
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path

from children import forked
from standin.build import build


class Crashed(AssertionError):
    """The child died of a signal, or gave no answer."""


def in_child(work, environment=None):
    """Return what `work()` returns in a forked child; Crashed when it dies, AssertionError when it raises."""
    receive, send = os.pipe()
    child = forked(_answer, work, environment or {}, send)
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise Crashed(f"died of {signal.Signals(os.WTERMSIG(status)).name}")
    if not text:
        raise Crashed(f"gave no answer and ended with {os.waitstatus_to_exitcode(status)}")
    held, answer = pickle.loads(text)
    if not held:
        raise AssertionError(answer)
    return answer


def _answer(work, environment, send):
    faulthandler.disable()  # the parent reports a crash
    for name, value in environment.items():
        os.environ[name] = str(value)
    try:
        text = pickle.dumps((True, work()))
    except BaseException:
        text = pickle.dumps((False, traceback.format_exc()))
    with os.fdopen(send, "wb") as pipe:
        pipe.write(text)
    sys.stdout.flush()


def stand_in(layout="9.x", **variant):
    """Return the root of a stand-in, built once for this process of the tests and its children."""
    return _built(layout, tuple(variant.items()))


@cache
def _built(layout, variant):
    return build(Path(tempfile.mkdtemp(dir=_folder())), layout, **dict(variant))


@cache
def _folder():
    folder = tempfile.mkdtemp(prefix="stand-in-")
    atexit.register(shutil.rmtree, folder)
    return folder


class StandIn:
    """The runtime of a stand-in without the adapter: its notes, and bare C calls like another library's.

    Create it in a child.
    """

    def __init__(self, root):
        self._library = next(
            ctypes.CDLL(str(path))
            for name in ("libacl_rt.so", "libascendcl.so")
            if (path := Path(root) / "lib64" / name).exists()
        )

    def __getattr__(self, name):
        """A C function; results are int unless the name tells of a text."""
        function = self._library[name]
        if name.endswith("_text") or name in ("standin_call", "standin_version"):
            function.restype = ctypes.c_char_p
        return function

    @property
    def misuse(self):
        return [
            self.standin_misuse_text(ctypes.c_size_t(k)).decode()
            for k in range(self.standin_misuse_count())
        ]

    @property
    def live(self):
        return self.standin_live_text().decode()

    @property
    def calls(self):
        return [self.standin_call(ctypes.c_size_t(k)).decode() for k in range(self.standin_calls())]
