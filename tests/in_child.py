"""Work in a forked child: a crash, a library that stays loaded or a changed environment never reach the tests."""

import os
import pickle
import signal
import sys
import tempfile
import traceback
import warnings
from functools import cache
from pathlib import Path

from standin.build import build


class Crashed(AssertionError):
    """The child died of a signal, or gave no answer."""


def in_child(work, environment=None):
    """Return what `work()` returns in a forked child; Crashed when it dies, AssertionError when it raises."""
    receive, send = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():  # Python 3.12 warns of threads; those of a test worker wait for messages
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _answer(work, environment or {}, send)
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
    for name, value in environment.items():
        os.environ[name] = str(value)
    try:
        text = pickle.dumps((True, work()))
    except BaseException:
        text = pickle.dumps((False, traceback.format_exc()))
    with os.fdopen(send, "wb") as pipe:
        pipe.write(text)
    sys.stdout.flush()
    os._exit(0)


_FOLDER = []


@cache
def stand_in(layout="9.x", **variant):
    """The root of a stand-in, built once for this process of the tests."""
    if not _FOLDER:
        _FOLDER.append(tempfile.TemporaryDirectory(prefix="stand-in-"))
    root = Path(_FOLDER[0].name) / f"{stand_in.cache_info().misses}"
    root.mkdir()
    return build(root, layout, **variant)
