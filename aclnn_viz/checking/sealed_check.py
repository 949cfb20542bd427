"""`check_sealed`: judge an untrusted kernel in a separate process, and report what it does besides computing.

The kernel's process knows no answer: truth and bounds stay in this one. It has limits of time and memory, and is ended when it
reads the kit's knowledge of operators, starts a process, sends a signal, opens a connection, writes files, or replaces
functions. A kernel that is right on the suite runs again on the same cases in another order and on lengths outside the suite.
The seed is drawn anew each time.

This finds mistakes and shortcuts. It does not protect from a hostile program of the same user, which may make system calls
directly.
"""

import json
import pickle
import secrets
import socket
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from numbers import Real
from pathlib import Path
from random import Random
from threading import Timer

import numpy as np

from aclnn_viz.cases.suites import deep
from aclnn_viz.checking.check import check
from aclnn_viz.checking.evidence import KernelUnderTest, examine
from aclnn_viz.checking.result import CheckResult, conclude
from aclnn_viz.checking.scope import Scope, depth_named, few, prepared_step
from aclnn_viz.checking.sealed_process import receive, send
from aclnn_viz.children import Child, environment
from aclnn_viz.errors import flag, invalid, need, place_of, printable, shown, signal_named, whole
from aclnn_viz.operators import operator
from aclnn_viz.words.messages import Message, english, message, tr

CHILD = Path(__file__).with_name("sealed_process.py")
SECONDS, MEMORY = 20.0, 2 << 30  # limits of a call, and of the kernel's process
# number of additional cases of other lengths; most elements of each
FRESH, FRESH_ELEMENTS = 16, 512
PATIENCE = 1.0  # seconds that a process gets to end after it closed its socket
PRINTED = 2000  # characters shown of a kernel's output
REORDERED_SECONDS = 8.0  # limit for cases in another order
STOPPED = {
    "answers": message("reads {what} of the kit, a file that holds the answer"),
    "process": message("starts a process ({what})"),
    "signal": message("sends a signal ({what})"),
    "network": message("opens a connection ({what})"),
    "file": message("changes the file {what}"),
    "late outputs": message("writes to its outputs after it has answered"),
    "late inputs": message("writes to its inputs after it has answered"),
    "settings": message("changes how a process runs ({what})"),
    "memory": message("opens {what}, which belongs to another process"),
    "exchanged": message("replaces {what}, which does not belong to the kernel"),
}
ALIKE = {
    "input": message("returns an input unchanged in every case"),
    "zeros": message("returns zeros in every case"),
}


class Stopped(RuntimeError):
    """The kernel's process has ended; the text says why."""

    __module__ = "builtins"  # a traceback prints no module name for "builtins"


class Sealed:
    """A kernel FILE.py:FUNCTION in a separate process, called like any kernel; `happened` lists its other actions.

    `counts` says in how many calls it returned an input, or zeros.
    """

    def __init__(self, name: str, seconds: float = SECONDS, memory: int = MEMORY):
        self.name, self.seconds, self.memory = name, seconds, memory
        self.happened: dict[Message, None] = {}
        self.notes: dict[Message, None] = {}
        self.counts: Counter = Counter()
        self.answers: dict[int, int] = {}
        self.varies = False
        self.ended = ""

    def __enter__(self) -> "Sealed":
        self.folder = tempfile.TemporaryDirectory()
        self.output = tempfile.TemporaryFile("w+b")
        self.channel, theirs = socket.socketpair()
        self.stream = self.channel.makefile("rwb")
        own = environment() | {
            "TMPDIR": self.folder.name,
            "XDG_CACHE_HOME": self.folder.name,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        with theirs:
            self.process = Child(
                [sys.executable, "-P", CHILD, str(theirs.fileno()), str(self.memory), self.name],
                own,
                stdin=subprocess.DEVNULL,
                stdout=self.output,
                stderr=self.output,
                pass_fds=[theirs.fileno()],
            )
        # a process that sends single bytes never exceeds the limit of one read; this timer ends it
        late = Timer(self.seconds + PATIENCE, self.process.kill)
        late.start()
        try:
            self._receive()
        except Stopped:  # do not raise here: each call reports the stopped process
            pass
        except BaseException:
            self.__exit__()
            raise
        finally:
            late.cancel()
        return self

    def __exit__(self, *_) -> None:
        self.process.end()
        with suppress(OSError):  # closing with unsent data may raise
            self.stream.close()
        self.channel.close()
        self.output.seek(0)
        self.printed = self.output.read(PRINTED).decode("utf-8", "replace")
        self.output.close()
        with suppress(OSError):
            self.folder.cleanup()

    def __call__(self, /, **inputs):  # an input may have the name "self"
        if self.ended:
            raise Stopped(self.ended)
        sent = {
            name: (True, _placed(value)) if isinstance(value, np.ndarray) else (False, value)
            for name, value in inputs.items()
        }
        with suppress(OSError):  # the process has ended; its last message says why
            send(self.stream, pickle.dumps(sent))
        reply, body = self._receive()
        try:
            with np.load(BytesIO(body), allow_pickle=False) as held:
                if sum(each.file_size for each in held.zip.infolist()) > len(body):
                    raise ValueError("a file that grows when it is read")
                arrays = {name: held[name] for name in held}
            outputs = {
                str(name): arrays.get(str(k)) for k, name in enumerate(reply.get("names", ()))
            }
            for name, (is_array, value) in sent.items():
                if is_array and (changed := arrays.get(f"memory {name}")) is not None:
                    value[2].view(np.uint8)[...] = changed.view(np.uint8)
            if kinds := reply.get("kinds"):
                self.notes[
                    message(
                        "returns {kinds}, subclasses of an array: the numbers in their memory are judged",
                        kinds=printable(", ".join(kinds))[:200],
                    )
                ] = None
        except Exception:  # a malformed file may raise anything
            self._stop(message("sends something that is no answer"))
        if "raised" in reply:
            self._raise(reply)
        if reply.get("shared"):
            self.happened[message("returns one array for two outputs")] = None
        self._compare(inputs, [output for output in outputs.values() if output is not None])
        return (
            outputs
            if reply.get("dict")
            else next(iter(outputs.values()), None)
            if reply.get("one")
            else tuple(outputs.values())
        )

    def _receive(self) -> tuple[dict, bytes]:
        """Return the next message of the process; raise Stopped if there is none."""
        self.channel.settimeout(self.seconds)
        try:
            head, body = receive(self.stream, self.memory)
            reply = need(json.loads(head), dict, "an answer has names", "send one")
        except TimeoutError:
            self._stop(message("does not answer within {seconds} s", seconds=f"{self.seconds:g}"))
        except (struct.error, OSError):
            try:
                status = self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:  # the process closed its socket but still runs
                self._stop(message("sends something that is no answer"))
            self._stop(
                message("ends its process with status {status} before it answers", status=status)
                if status >= 0
                else message("is ended by {signal}", signal=signal_named(-status))
            )
        except (ValueError, TypeError, RecursionError):
            self._stop(message("sends something that is no answer"))
        if kind := STOPPED.get(str(reply.get("stopped"))):
            what = message(kind, what=printable(str(reply.get("detail"))[:300]))
            line = reply.get("line")
            self._stop(
                message("{what}, in line {line}", what=what, line=line)
                if line and isinstance(line, int)
                else what
            )
        # the kernel's file raised an error while it was loaded
        if "raised" in reply and "answer" not in reply:
            self._stop(
                message(
                    "cannot be loaded: {error}",
                    error=printable(f"{reply['raised']}: {reply.get('text')}"[:500]),
                )
            )
        return reply, body

    def _stop(self, why: Message):
        self.happened[why], self.ended = None, str(why)
        raise Stopped(self.ended)

    def _raise(self, reply: dict):
        name = str(reply["raised"])
        if name in ("NotImplementedError", "NotSupported"):
            raise NotImplementedError(reply["text"])
        if name == "MemoryError":
            self.happened[message("takes more memory than {n} MiB", n=self.memory >> 20)] = None
        # the call failed before a line of the kernel ran
        uncalled = name == "TypeError" and not reply["trace"] and "returned" not in reply
        kind = (
            TypeError
            if uncalled
            else type(
                name if name.isidentifier() else "Error",
                (RuntimeError,),
                {"__module__": "builtins"},
            )
        )
        raise kind(
            "; ".join(
                [
                    str(reply.get("text")),
                    *(f"{place[0]}:{place[1]}" for place in reply["trace"][-1:]),
                ]
            )
        )

    def _compare(self, inputs: dict, outputs: list[np.ndarray]) -> None:
        """Count calls that return inputs or zeros, and record whether equal inputs get equal answers."""
        taken = [
            array.tobytes() if isinstance(array, np.ndarray) else repr(array)
            for array in inputs.values()
        ]
        left = hash(tuple(array.tobytes() for array in outputs))
        self.varies |= self.answers.setdefault(hash(tuple(taken)), left) != left
        outputs = [array for array in outputs if array.size > 1]
        self.counts["calls"] += bool(outputs)
        self.counts["input"] += any(array.tobytes() in taken for array in outputs)
        self.counts["zeros"] += bool(outputs) and not any(array.any() for array in outputs)

    @property
    def alike(self) -> list[Message]:
        """Return the oddities that all answers share, as messages."""
        return [
            text
            for name, text in ALIKE.items()
            if self.counts[name] and self.counts[name] == self.counts["calls"]
        ]


def _placed(value: np.ndarray) -> tuple:
    """Return np.ndarray's arguments to rebuild an array with the memory around it."""
    memory = value
    while isinstance(memory.base, np.ndarray):
        memory = memory.base
    if not memory.flags.c_contiguous or min(value.strides, default=0) < 0:
        memory = value = np.ascontiguousarray(value)
    return (
        value.shape,
        value.dtype,
        memory.reshape(-1).view(np.uint8),
        value.ctypes.data - memory.ctypes.data,
        value.strides,
    )


@dataclass(frozen=True, eq=False, repr=False)
class SealedResult:
    """Whether a kernel is right, and what it did besides computing.

    `happened` are sentences that keep the kernel from passing, `notes` are others; `printed` is its output; `result` is the
    deciding run of `check`.
    """

    passed: bool
    happened: tuple[str, ...]
    notes: tuple[str, ...]
    printed: str
    result: CheckResult

    @property
    def verdict(self) -> str:
        """The verdict in one line: right, or why not."""
        text = {"operator": self.result.operator, "seed": self.result.seed}
        if self.passed:
            return tr("{operator}: right, in a process of its own (seed {seed})", **text)
        return tr(
            "{operator}: NOT ACCEPTED: the kernel {what} (seed {seed})",
            what=tr(self.happened[0]),
            **text,
        )

    def __str__(self) -> str:
        lines = [
            self.verdict,
            *(tr("the kernel {what}", what=tr(sentence)) for sentence in self.happened[1:]),
            *(tr("note: the kernel {what}", what=tr(sentence)) for sentence in self.notes),
        ]
        lines += [tr("the kernel printed: {text}", text=printable(self.printed))] * bool(
            self.printed
        )
        return "\n".join([*lines, "", str(self.result)])

    __repr__ = __str__

    def to_json(self) -> str:
        """Return everything as JSON text in English; the result of `check` is under `check`."""
        with english():
            verdict = self.verdict
        return json.dumps(
            {
                "passed": self.passed,
                "verdict": verdict,
                "happened": self.happened,
                "notes": self.notes,
                "printed": self.printed,
                "seed": self.result.seed,
                "cause": self.result.cause,
                "check": json.loads(self.result.to_json()),
            },
            indent=1,
        )


def _need_above(name: str, value, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not least < float(value) < 2**48:
        raise invalid(f"{name} is a number above {least}", shown(value), "leave it out")


def check_sealed(
    op,
    kernel: str,
    seed: int | None = None,
    *,
    seconds: float = SECONDS,
    memory: int = MEMORY,
    depth: str = "normal",
    allow_unsupported: bool = False,
    progress=None,
    **asked,
) -> SealedResult:
    """Judge a kernel FILE.py:FUNCTION in a separate process, which may use `seconds` per call and `memory` bytes.

    `asked` are the options of `check` that select cases. Without a `seed` one is drawn, so that no kernel knows the cases. The
    kernel may import NumPy, PyTorch, other installed packages and aclnn_viz, except modules with the kit's answers. Results
    that vary from call to call pass, with a note, if each is right. Raises FileNotFoundError for a missing file, ValueError and
    TypeError as `check` does.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "mine.py"
    >>> _ = file.write_text("def tanh(gradOutput, output): return gradOutput * (1 - output * output)")
    >>> check_sealed("tanh", f"{file}:tanh", dtypes=["float32"], depth="quick").passed
    True
    """
    op = operator(op)
    place, _, function = need(
        kernel, str, "a kernel is named as FILE.py:FUNCTION", "pass such as 'kernel.py:norm'"
    ).rpartition(":")
    if not place.endswith(".py") or not function.isidentifier():
        raise invalid(
            "a kernel in a process of its own is FILE.py:FUNCTION",
            shown(kernel),
            "name a function of a file in Python",
        )
    place_of(place).open("rb").close()
    flag("allow_unsupported", allow_unsupported)
    _need_above("seconds", seconds, 0)
    _need_above("memory", memory, 1 << 28)
    depth_named(depth)
    scope = Scope.of(op, **asked)
    drawn = secrets.randbelow(1 << 20) + 1 if seed is None else whole("seed", seed)
    asked |= {"depth": depth, "call_limit": float(seconds) + 1.0}

    with Sealed(kernel, float(seconds), int(memory)) as sealed:
        result = check(
            op, sealed, drawn, progress=progress, allow_unsupported=allow_unsupported, **asked
        )
        happened = []
        if _right(result) and not sealed.ended:
            result, happened = _again(op, sealed, scope, result, depth)
    notes, happened = [*sealed.notes], [*sealed.happened, *happened]
    happened += [result.unrun] * result.stopped
    passed = _right(result) and not happened
    if passed:
        notes += [
            message("varies from call to call, each time within the bound of right kernels")
        ] * sealed.varies
    else:
        if not sealed.ended:
            happened += sealed.alike
        happened += [fault for fault in result.misbehaviour if not sealed.ended]
        refused = len(result.unsupported)
        happened += [
            message("does not support {n} cases", n=refused)
            if result.cases
            else message("supports no case")
        ] * bool(refused and not (allow_unsupported and result.cases))
        happened += [
            message("is wrong in {n} of {all} cases", n=result.failed, all=result.cases)
        ] * bool(result.failed)
    return SealedResult(passed, tuple(happened), tuple(notes), sealed.printed, result)


def _right(result: CheckResult) -> bool:
    """Return whether nothing is wrong except that results vary."""
    only_varies = bool(result.misbehaviour) and all(map(_varies, result.misbehaviour))
    return (
        result.passed
        or bool(result.cases)
        and not result.failed
        and not result.unsupported.cases
        and only_varies
    )


def _varies(fault: Message) -> bool:
    """Return whether a fault is only that outputs differ from call to call."""
    return set(getattr(fault, "values", ())) == {"outputs"}


def _again(
    op, sealed: Sealed, scope: Scope, result: CheckResult, depth: str
) -> tuple[CheckResult, list[Message]]:
    """Run the same cases in another order, and cases of other lengths; return the first result unless one of these is wrong."""
    rng = Random(result.seed)
    same = list(scope.others(result.seed))
    same = few(same) if depth == "quick" else same
    rng.shuffle(same)
    steps = [
        step
        for step in deep(
            op,
            scope.modes,
            scope.formats,
            sizes=not scope.shapes,
        )
        if step.elements <= FRESH_ELEMENTS
    ]
    fresh = filter(
        None,
        (
            prepared_step(scope, step, rng.randrange(2**31))
            for step in rng.sample(steps, min(FRESH, len(steps)))
        ),
    )
    for cases, text in (
        (same, message("is right at first, and wrong when the same cases run in another order")),
        (
            list(fresh),
            message(
                "is right on the cases of the suite, but wrong on lengths and numbers outside the suite"
            ),
        ),
    ):
        evidence = examine(
            KernelUnderTest(sealed, scope, sealed.seconds + 1.0), cases, REORDERED_SECONDS
        )
        wrong = any(run.misses for run in evidence.seen) or not all(
            map(_varies, evidence.misbehaviour)
        )
        if wrong:
            return conclude(evidence, result.seed, scope), [text] * (not sealed.ended)
    return result, []
