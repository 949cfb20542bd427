"""Run one untrusted kernel as a process: it gets inputs from a socket, returns outputs, and stops when the kernel does more
than compute.

It runs as a file, so that it loads no part of the kit with an answer. An audit hook, which Python cannot remove, sees forbidden
actions: it reports them to the judge and ends the process before they happen. Replaced functions of NumPy, of the kit and of
Python are found after each call. No code is sent back: only names, formats, and bytes of arrays.
"""

import builtins
import io
import json
import math
import os
import pickle
import re
import resource
import socket
import struct
import sys
import tempfile
import time
import traceback
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np

from aclnn_viz.children import end_with_parent
from aclnn_viz.storage.foreign_arrays import as_array

KIT = str(Path(__file__).resolve().parents[1])
# LEGAL: files of this kit that a kernel may read, because they tell nothing of the operators.
# ANSWERS: folders that tell the answer, in this kit and by name in any other copy of it.
LEGAL = re.compile(
    re.escape(KIT)
    + r"/(?:(?:words|storage|arrays)/.*|[^/]*|__pycache__/[^/]*|checking/sealed_process.py)"
)
ANSWERS = re.compile(
    re.escape(os.path.dirname(KIT))
    + r"/(?:derivations|tests|notebooks|docs)/|/aclnn_viz/(?:operators|tiles|lessons|verification|checking|proving)/"
)
KINDS = {
    event: kind
    for kind, events in {
        "process": "os.fork os.forkpty os.posix_spawn os.spawn os.exec os.system subprocess.Popen pty.spawn cpython.PyInterpreterState_New".split(),
        "signal": "os.kill os.killpg signal.pthread_kill".split(),
        "settings": "resource.prlimit".split(),
        "network": "socket.connect socket.bind socket.sendto socket.sendmsg".split(),
    }.items()
    for event in events
}
# calls that start or reach another process without an audit event
UNSEEN = {
    "_posixsubprocess.fork_exec": "process",
    "signal.pidfd_send_signal": "signal",
    "posix.mkfifo": "file",
    "posix.mknod": "file",
    "posix.sched_setaffinity": "settings",
    "posix.setpriority": "settings",
}
# calls that change the meaning of paths, in Python and in the C library
VIEWS = {"chroot", "mount", "pivot_root", "setns", "unshare"}
UNSEEN |= {f"posix.{name}": "settings" for name in VIEWS}
CHANGES = {
    f"os.{name}"
    for name in "remove rename rmdir mkdir chmod chown link symlink truncate utime".split()
}
OTHERS = re.compile(r"/proc/(?!self/|%d/)\d+/|/dev/(?:mem|kmem)" % os.getpid())
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FRAMES = 5


def watcher(channel, file: str):
    """Return the audit hook, a closure over all that it needs, out of reach of replaced module attributes."""
    send, leave, frame_of = channel.sendall, os._exit, sys._getframe
    real, join, listed, isdir = os.path.realpath, os.path.join, os.listdir, os.path.isdir
    free = tempfile.gettempdir() + "/", "/dev/null", "/dev/tty"
    pack, dumps, others, answers, legal = struct.pack, json.dumps, OTHERS, ANSWERS, LEGAL
    writing, changes, kinds = WRITING, frozenset(CHANGES), KINDS | dict.fromkeys(VIEWS, "settings")
    opened, source = f"/proc/{os.getpid()}/fd/", re.compile(r"__pycache__/(\w+)\.[^/]*pyc$")
    folder, kit = os.path.dirname(file) + "/", os.path.dirname(KIT) + "/"

    def stop(kind: str, detail: str, *_, **__):
        frame = frame_of(1)
        while frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        line = frame.f_lineno if frame else 0
        text = dumps({"stopped": kind, "detail": detail, "line": line}).encode()
        send(pack("<qq", len(text), 0) + text)
        leave(3)

    def named(path, below: str = "") -> str:
        if isinstance(path, int):
            return real(f"{opened}{path}")
        text = path if isinstance(path, str) else bytes(path).decode("utf-8", "surrogateescape")
        return real(join(below, text))

    def watch(event: str, arguments: tuple):
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int):
                return
            # os.open may take a path relative to an open folder
            begun = listed(opened) if mode is None else ()
            folders = [real(opened + each) for each in begun if isdir(opened + each)]
            places = {named(path), *(named(path, place) for place in folders)}
            how, bits = (
                mode if isinstance(mode, str) else "",
                flags if isinstance(flags, int) else 0,
            )
            written = set(how) & set("wxa+") or bits & writing
            for place in places:
                if others.match(place):
                    stop("memory", place)
                if written and not f"{place}/".startswith(free):
                    stop("file", place)
                if (
                    answers.search(place)
                    and not legal.fullmatch(place)
                    and (place.startswith(kit) or not place.startswith(folder))
                ):
                    stop("answers", source.sub(r"\1.py", place.removeprefix(kit)))
        elif event in changes:
            inside = event in ("os.remove", "os.rmdir") and arguments[1] >= 0
            below = f"{opened}{arguments[1]}" if inside else ""
            second = [each for each in arguments[1:2] if isinstance(each, (str, bytes))]
            if not all(named(each, below).startswith(free) for each in (arguments[0], *second)):
                stop("file", named(arguments[0], below))
        elif kind := kinds.get(arguments[1] if event == "ctypes.dlsym" else event):
            stop(kind, arguments[1] if event == "ctypes.dlsym" else event)

    return watch, stop


def functions() -> list[tuple[ModuleType, dict]]:
    """Return (module, {name: value}) of each module whose names a kernel must not replace."""
    return [
        (module, dict(vars(module)))
        for name, module in list(sys.modules.items())
        if isinstance(module, ModuleType)
        and (
            re.match(r"(numpy|aclnn_viz)(\.|$)", name)
            or module in (builtins, math, os, json, time, sys.modules[__name__])
        )
    ]


def exchanged(before) -> str:
    return next(
        (
            f"{module.__name__}.{name}"
            for module, held in before
            for name, value in held.items()
            if vars(module).get(name) is not value and not name.startswith("__")
        ),
        "",
    )


def send(file, head: bytes, body: bytes = b"") -> None:
    file.write(struct.pack("<qq", len(head), len(body)) + head + body)
    file.flush()


def receive(file, most: int = 1 << 62) -> tuple[bytes, bytes]:
    """Return head and body of the next message; raise struct.error at the end."""
    head, body = struct.unpack("<qq", file.read(16))
    if not 0 <= head <= most or not 0 <= body <= most:
        raise ValueError("a message is too long")
    return file.read(head), file.read(body)


def answered(returned) -> tuple[dict, dict[str, np.ndarray], list[np.ndarray]]:
    """Return three parts of a kernel's result: its form and names, {position: copy of an array}, and its own arrays."""
    keys = list(returned.keys()) if hasattr(returned, "keys") else None
    numbers = isinstance(returned, list) and all(
        isinstance(each, (int, float, list)) for each in returned
    )
    one = keys is None and (numbers or not isinstance(returned, (tuple, list)))
    values = (
        [returned[key] for key in keys]
        if keys is not None
        else [np.asarray(returned) if numbers else returned]
        if one
        else list(returned)
    )
    places = {str(k): as_array(value) for k, value in enumerate(values) if value is not None}
    arrays = {name: np.array(place, subok=False) for name, place in places.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "biufV" or array.dtype.hasobject:
            raise TypeError(
                f"returns {type(values[int(name)]).__name__} where an array of numbers is expected"
            )
    return (
        {
            "one": one,
            "names": [str(key)[:200] for key in (range(len(values)) if keys is None else keys)],
            "dict": keys is not None,
            "kinds": sorted(
                {
                    type(value).__name__
                    for value in values
                    if isinstance(value, np.ndarray) and type(value) is not np.ndarray
                }
            ),
            "shared": any(
                a is b for k, a in enumerate(values) for b in values[:k] if a is not None
            ),
        },
        arrays,
        [*places.values()],
    )


def raised(error: BaseException, file: str) -> dict:
    # the extraction must not look up lines, which would read the kernel's file
    found = traceback.StackSummary.extract(
        traceback.walk_tb(error.__traceback__), lookup_lines=False
    )
    frames = [frame for frame in found if frame.filename != __file__][-FRAMES:]
    lines = [(Path(frame.filename).name, frame.lineno, frame.name, frame.line) for frame in frames]
    return {"raised": type(error).__name__, "text": str(error)[:500], "trace": lines}


def bound(memory: int) -> None:
    """Limit the memory and the files of this process, and let it end when the judge's process ends."""
    end_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))


def hooked(channel, file: str):
    """Install the audit hook, and replace functions that raise no audit event by functions that end the process."""
    # names that a kernel sets in this module or in `builtins` do not reach the hook
    watch, stop = FunctionType(
        watcher.__code__, globals() | {"__builtins__": dict(vars(builtins))}
    )(channel, file)
    for whole, kind in UNSEEN.items():
        place, each = whole.split(".")
        instead = partial(stop, kind, whole)
        for holder in (__import__(place), os if place == "posix" else None):
            if hasattr(holder, each):
                setattr(holder, each, instead)
    return watch, stop


def main(number: str, memory: str, name: str) -> None:
    channel, ask = socket.socket(fileno=int(number)), exchanged
    stream = channel.makefile("rwb")
    bound(int(memory))
    path, _, function = name.rpartition(":")
    file = os.path.realpath(path)
    try:
        watch, stop = hooked(channel, file)
        text, held = Path(file).read_text("utf-8"), functions()
        module = ModuleType("kernel")
        module.__file__, sys.modules["kernel"] = file, module
        sys.path.insert(0, os.path.dirname(file))
        code = compile(text, file, "exec")
        sys.addaudithook(watch)
        exec(code, module.__dict__)
        kernel = getattr(module, function)
        if not callable(kernel):
            raise TypeError(f"{function} is a {type(kernel).__name__}, no function")
        send(stream, b"{}")
    except BaseException as error:
        send(stream, json.dumps(raised(error, file)).encode())
        return
    left: list[tuple[str, np.ndarray, bytes]] = []  # inputs and outputs of the previous call
    while True:
        if found := ask(held):
            stop("exchanged", found)
        try:
            # pickled by the judge; answers are not pickled
            given = pickle.loads(receive(stream)[0])
        except struct.error:
            return
        for what, array, bits in left:
            if np.asarray(array).tobytes() != bits:
                stop(f"late {what}", "")
        inputs = {
            name: np.ndarray(*value) if is_array else value
            for name, (is_array, value) in given.items()
        }
        memories = {name: value[2] for name, (is_array, value) in given.items() if is_array}
        before = {name: one.tobytes() for name, one in memories.items()}
        returned, places = answered, []  # `answered` marks a missing answer
        try:
            with np.errstate(all="ignore"):
                returned = kernel(**inputs)
                head, arrays, places = answered(returned)
        except BaseException as error:
            # a kernel, and its result, may raise anything, SystemExit included
            head = raised(error, file) | ({} if returned is answered else {"returned": True})
            arrays = {}
        if found := ask(held):
            stop("exchanged", found)
        changed = {
            f"memory {name}": one for name, one in memories.items() if one.tobytes() != before[name]
        }
        np.savez(body := io.BytesIO(), **arrays, **changed)
        left = [
            *(("outputs", place, array.tobytes()) for place, array in zip(places, arrays.values())),
            *(("inputs", one, one.tobytes()) for one in memories.values()),
        ]
        send(stream, json.dumps(head | {"answer": True}).encode(), body.getvalue())


if __name__ == "__main__":
    main(*sys.argv[1:])
