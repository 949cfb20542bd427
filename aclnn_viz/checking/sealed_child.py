"""The process of one kernel: it gets inputs from a socket and sends back outputs, and ends when the kernel does more than compute.

Run as a file, so that it loads nothing of the kit that holds an answer. What the kernel may not do is seen by an audit hook, which
Python cannot remove: what was done is sent to the judge, and the process ends before it is done. Functions of NumPy, of the kit and of
Python that were exchanged are found after each call. Nothing that is sent back is code: names, formats, and bytes of arrays.
"""

import builtins
import ctypes
import json
import math
import os
import re
import resource
import signal
import socket
import struct
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import numpy as np

from aclnn_viz.storage.own import as_array

KIT = str(Path(__file__).resolve().parents[1])
# What of the kit may be read: its own modules and packages that hold no operator. Other copies of the kit are known by their names.
LEGAL = re.compile(re.escape(KIT) + r"/(?:(?:words|storage|arrays)/.*|[^/]*|__pycache__/[^/]*|checking/sealed_child.py)")
ANSWERS = re.compile(re.escape(os.path.dirname(KIT)) + r"/(?:derivations|tests|notebooks|docs)/|/aclnn_viz/(?:operators|tiles|lessons|verification|checking|proving)/")
KINDS = dict.fromkeys(("os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.exec", "os.system", "subprocess.Popen", "pty.spawn"), "process")
KINDS |= dict.fromkeys(("os.kill", "os.killpg", "signal.pthread_kill"), "signal")
KINDS |= dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"), "network")
CHANGES = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate", "os.utime"}
OTHERS = re.compile(r"/proc/(?!self/|%d/)\d+/|/dev/(?:mem|kmem)" % os.getpid())
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
FRAMES = 5
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def watcher(channel, file: str):
    """The audit hook, which holds all that it needs: what a kernel exchanges in modules does not reach it."""
    send, leave, frame_of, real = channel.sendall, os._exit, sys._getframe, os.path.realpath
    free, pack, dumps = (tempfile.gettempdir() + "/", "/dev/null", "/dev/tty"), struct.pack, json.dumps
    others, answers, legal, writing, changes, kinds = OTHERS, ANSWERS, LEGAL, WRITING, frozenset(CHANGES), dict(KINDS)
    folder, kit, source = os.path.dirname(file) + "/", os.path.dirname(KIT) + "/", re.compile(r"__pycache__/(\w+)\.[^/]*pyc$")

    def stop(kind: str, detail: str):
        frame = frame_of(1)
        while frame is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        text = dumps({"stopped": kind, "detail": detail, "line": frame.f_lineno if frame else 0}).encode()
        send(pack("<qq", len(text), 0) + text)
        leave(3)

    def watch(event: str, arguments: tuple):
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int):
                return
            place = real(path if isinstance(path, str) else bytes(path).decode("utf-8", "surrogateescape"))
            written = isinstance(mode, str) and set(mode) & set("wxa+") or isinstance(flags, int) and flags & writing
            if others.match(place):
                stop("memory", place)
            if written and not f"{place}/".startswith(free):
                stop("file", place)
            if answers.search(place) and not legal.fullmatch(place) and (place.startswith(kit) or not place.startswith(folder)):
                stop("answers", source.sub(r"\1.py", place.removeprefix(kit)))
        elif event in changes and not all(real(each).startswith(free) for each in arguments[:2] if isinstance(each, str)):
            stop("file", str(arguments[0]))
        elif kind := kinds.get(event):
            stop(kind, event)
    return watch, stop


def functions() -> list[tuple[ModuleType, dict]]:
    """What modules hold that a kernel has no business to exchange."""
    return [(module, dict(vars(module))) for name, module in list(sys.modules.items()) if isinstance(module, ModuleType) and (
        re.match(r"(numpy|aclnn_viz)(\.|$)", name) or module in (builtins, math, os, json, time, sys.modules[__name__]))]


def exchanged(before) -> str:
    return next((f"{module.__name__}.{name}" for module, held in before for name, value in held.items()
                 if vars(module).get(name) is not value and not name.startswith("__")), "")


class Stream:
    """Messages of a socket: a head in JSON, and arrays as bytes."""

    def __init__(self, channel: socket.socket):
        self.channel = channel

    def exactly(self, count: int) -> bytearray:
        found, at = bytearray(count), 0
        while at < count:
            got = self.channel.recv_into(memoryview(found)[at:], count - at)
            if not got:
                raise EOFError
            at += got
        return found

    def receive(self, most: int = 1 << 62) -> tuple[dict, bytearray]:
        head, body = struct.unpack("<qq", self.exactly(16))
        if not 0 <= head <= 1 << 20 or not 0 <= body <= most:
            raise ValueError("a message is too long")
        return json.loads(self.exactly(head)), self.exactly(body)

    def send(self, head: dict, *parts) -> None:
        text = json.dumps(head).encode()
        self.channel.sendall(struct.pack("<qq", len(text), sum(len(part) for part in parts)) + text)
        for part in parts:
            self.channel.sendall(part)


def answered(returned) -> tuple[dict, list[bytes]]:
    """What a kernel returned, as names, formats and bytes; what lies is asked for its memory."""
    if returned is None:
        return {"form": "none"}, []
    several = isinstance(returned, (dict, tuple, list)) or hasattr(returned, "keys") and hasattr(returned, "__getitem__")
    if isinstance(returned, list) and all(isinstance(each, (int, float, list)) for each in returned):
        several, returned = False, np.asarray(returned)
    keys = list(returned.keys()) if hasattr(returned, "keys") else None
    values = [returned[key] for key in keys] if keys is not None else list(returned) if several else [returned]
    head, parts, arrays = {"form": "dict" if keys is not None else "tuple" if several else "one", "names": [str(key)[:200] for key in keys or []]}, [], []
    kinds = {type(value).__name__ for value in values if isinstance(value, np.ndarray) and type(value) is not np.ndarray}
    for value in values:
        array = None if value is None else np.array(as_array(value), order="C", subok=False)
        if array is not None and (array.dtype.kind not in "biufV" or array.dtype.hasobject):
            raise TypeError(f"returns {type(value).__name__} where an array of numbers is expected")
        arrays.append(array if array is None else {"dtype": array.dtype.newbyteorder("=").name, "shape": array.shape})
        parts.append(b"" if array is None else array.astype(array.dtype.newbyteorder("=")).tobytes())
    shared = any(a is b for k, a in enumerate(values) for b in values[:k] if a is not None)
    return head | {"arrays": arrays, "kinds": sorted(kinds), "shared": shared}, parts


def given(head: dict, body: bytearray) -> tuple[dict, list[np.ndarray], list[bytes]]:
    """The inputs of a call, each array in its memory as it lies there, and this memory."""
    inputs, blocks, at = {}, [], 0
    for name, one in head["inputs"].items():
        if not isinstance(one, dict):
            inputs[name] = tuple(one) if isinstance(one, list) else one
            continue
        memory = np.frombuffer(body[at:at + one["bytes"]], np.uint8).copy()
        at += one["bytes"]
        inputs[name] = np.ndarray(tuple(one["shape"]), np.dtype(one["dtype"]), memory, one["offset"], tuple(one["strides"]))
        blocks.append(memory)
    return inputs, blocks, [memory.tobytes() for memory in blocks]


def raised(error: BaseException, file: str) -> dict:
    found = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)  # which would read this file
    frames = [frame for frame in found if frame.filename != __file__][-FRAMES:]
    lines = [(Path(frame.filename).name, frame.lineno, frame.name, frame.line) for frame in frames]
    return {"raised": type(error).__name__, "text": str(error)[:500], "trace": lines}


def main(number: str, memory: str, name: str) -> None:
    channel = socket.socket(fileno=int(number))
    stream, ask = Stream(channel), exchanged
    with suppress(AttributeError):  # Linux: an end of the judge is an end of this
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
    place, _, function = name.rpartition(":")
    file = os.path.realpath(place)
    try:
        text, held = Path(file).read_text("utf-8"), functions()
        watch, stop = watcher(channel, file)
        module = ModuleType("kernel")
        module.__file__, sys.modules["kernel"] = file, module
        sys.path.insert(0, os.path.dirname(file))
        code = compile(text, file, "exec")
        sys.addaudithook(watch)
        exec(code, module.__dict__)
        kernel = getattr(module, function)
        if not callable(kernel):
            raise TypeError(f"{function} is a {type(kernel).__name__}, no function")
        stream.send({"ready": True})
    except BaseException as error:
        stream.send(raised(error, file))
        return
    while True:
        if found := ask(held):
            stop("exchanged", found)
        try:
            inputs, blocks, before = given(*stream.receive())
        except EOFError:
            return
        returned = answered  # until there is an answer
        try:
            with np.errstate(all="ignore"):
                returned = kernel(**inputs)
                head, parts = answered(returned)
        except BaseException as error:  # a kernel, and what it returns, may raise anything, SystemExit included
            head, parts = raised(error, file) | ({} if returned is answered else {"returned": True}), []
        if found := ask(held):
            stop("exchanged", found)
        changed = [k for k, memory in enumerate(blocks) if memory.tobytes() != before[k]]
        stream.send(head | {"changed": changed}, *parts, *(blocks[k].tobytes() for k in changed))


if __name__ == "__main__":
    main(*sys.argv[1:])
