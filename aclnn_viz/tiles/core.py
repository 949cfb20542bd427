"""A vector core: the order that its waits make, the checks of every access, and the record of what it issued.

The scalar unit runs the program and gives each instruction to its pipe. What a pipe starts, and in which order it
lands, is the schedule's affair; here it is only said what must have landed before.
"""

import sys
import threading
from math import prod
from pathlib import Path

from aclnn_viz.errors import problem
from aclnn_viz.tiles.hazards import Stop
from aclnn_viz.tiles.memory import MTE2, MTE3, PADDING, PIPE_NAMES, PIPES, UNWRITTEN, WRITTEN, S, Span, UnifiedBuffer, V
from aclnn_viz.words.speech import Message, message

_MACHINE = frozenset(map(str, Path(__file__).parent.glob("*.py")))
_local = threading.local()

DOES = message("reads"), message("writes")
ADDS, ADDS_ONTO = message("adds to"), message("adds onto")
ONE = {"reads": DOES[0], "writes": DOES[1], "adds to": ADDS}  # what one other core does, and what several do
MANY = {"reads": message("read"), "writes": message("write"), "adds to": ADDS}
BYTES = message("{name} {does} {n} of {all} bytes that nobody wrote")
ELEMENTS = message("{name} {does} {n} of {all} elements of {tensor} that nobody wrote")
UNORDERED = message("{name} on {pipe} {does} what {earlier} in line {line} {did} on {other}, and nothing says in which order")
UNORDERED_OF = message("{name} on {pipe} {does} what {earlier} in line {line} {did} on {other} of {tensor}, and nothing says in "
                       "which order")


def current() -> "Core":
    """The core that runs in this thread; RuntimeError outside of a launch."""
    core = getattr(_local, "core", None)
    if core is None:
        raise RuntimeError(problem("Ascend C calls run inside a kernel", "a call outside",
                                   "start the kernel with av.tiles.launch"))
    return core


class Instruction:
    """What a pipe has to do: `run()` does it at once; `horizon` says, for each pipe, what must be finished before."""

    __slots__ = ("atomic", "core", "entry", "epoch", "horizon", "landed", "missing", "name", "pipe", "position",
                 "reads", "run", "where", "writes")

    def __init__(self, core, pipe, position, name, where, horizon, run, reads, writes, atomic):
        self.core, self.pipe, self.position, self.name, self.where = core, pipe, position, name, where
        self.horizon, self.run, self.reads, self.writes, self.atomic = horizon, run, reads, writes, atomic
        self.epoch, self.landed, self.missing, self.entry = core.epoch, False, 0, None

    def land(self):
        """Do it, and remember when."""
        self.run()
        self.run = None  # it holds views of memories and whatever the program gave
        if self.core.machine.landed is not None:
            self.core.machine.landed.append(self)

    def __repr__(self):
        return f"{self.name} on {PIPE_NAMES[self.pipe]} of core {self.core.index}, line {self.where[1]}"


class Core:
    """One core. `seen[p]` is the horizon of the next instruction on pipe p, `count[p]` the position of the last."""

    def __init__(self, machine, index: int):
        self.machine, self.index, self.epoch = machine, index, 0
        self.platform, self.auto = machine.platform, machine.auto
        self.ub = UnifiedBuffer(machine.platform.GetCoreMemSize())
        self.count = [0] * 4
        self.seen = [[0] * 4 for _ in PIPES]
        self.issued: list[list[Instruction]] = [[] for _ in PIPES]
        self.flags: dict[tuple, list[int]] = {}
        self.atomic = self.ended_at = None
        self.pipes: list = []  # the TPipes, for the look back at the end
        self.moved = 0  # bytes between global memory and the Unified Buffer

    def __enter__(self):
        _local.core = self
        return self

    def __exit__(self, *exception):
        _local.core = None

    # ---- hazards -------------------------------------------------------------------------------------------------

    def frame(self):
        """The innermost frame of the program, none of the machine's."""
        frame = sys._getframe(2)
        while frame.f_code.co_filename in _MACHINE:
            frame = frame.f_back
        return frame

    def where(self) -> tuple[str, int]:
        """File and line of the program."""
        frame = self.frame()
        return frame.f_code.co_filename, frame.f_lineno

    def hazard(self, kind: str, what: Message, writing: bool = False):
        where = self.where()
        self.machine.hazards.add(kind, what, self.index, where, writing)
        self.machine.hazardous.add((self.index, sum(self.count), where))

    def stop(self, kind: str, what: Message, writing: bool = False):
        """Note a hazard after which the core cannot go on."""
        self.hazard(kind, what, writing)
        raise Stop

    # ---- order ---------------------------------------------------------------------------------------------------

    def skipped(self) -> bool:
        """Whether the wait in this line of the program is taken out, to see what it is good for."""
        line = self.where()[1]
        self.machine.waits.add(line)
        return line in self.machine.without

    def snapshot(self, pipe: int) -> list[int]:
        """What is finished when everything issued so far on a pipe is: the clock that a flag carries."""
        clock = self.horizon(pipe)
        clock[pipe] = self.count[pipe]
        return clock

    def horizon(self, pipe: int) -> list[int]:
        """A pipe gets its next instruction after the scalar unit's own waits; but not after its stores."""
        (s, v, into, out), (_, v_seen, into_seen, out_seen) = self.seen[pipe], self.seen[S]
        return [s, v if v > v_seen else v_seen, into if into > into_seen else into_seen,
                out if out > out_seen else out_seen]

    def wait(self, pipe: int, clock: list[int]):
        self.seen[pipe] = list(map(max, self.seen[pipe], clock))

    def barrier(self, pipe: int | None = None):
        """Everything so far on a pipe, or on all, is finished before what follows on it."""
        if pipe is None:
            self.seen = [list(self.count) for _ in PIPES]
        else:
            self.seen[pipe][pipe] = self.count[pipe]

    # ---- instructions --------------------------------------------------------------------------------------------

    def issue(self, pipe: int, name: str, run, reads, writes, padding=(), atomic: bool = False):
        """Check an instruction's (memory, span) accesses, and give it to its pipe; `padding` spans hold no data."""
        where, horizon, position = self.where(), self.horizon(pipe), self.count[pipe] + 1
        one = Instruction(self, pipe, position, name, where, horizon, run, reads, writes, atomic)
        for memory, span in reads:
            self._check(one, memory, span, False)
        for memory, span in writes:
            self._check(one, memory, span, True)
        for memory, span in reads:
            memory.note(span, pipe, position, False, self, atomic)
        for memory, span in writes:
            memory.note(span, pipe, position, True, self, atomic)
        if pipe == MTE2 or pipe == MTE3:
            self.moved += sum(span.length * prod(span.shape) for memory, span in (*reads, *writes) if memory is not self.ub)
        for memory, span in padding:
            span.view(memory.state)[...] = PADDING
        self.issued[pipe].append(one)
        self.count[pipe] = position
        if self.auto and pipe == V:
            self.seen[V][V] = position
        if self.machine.trace is not None:
            self.machine.trace.append(one)
        self.machine.schedule.issue(one)

    def scalar_read(self, name: str, memory, span: Span):
        """Read by the scalar unit, at once; the schedule lets land first what is ordered before."""
        if self.auto:
            self._wait_for_users(memory, span, False)
        one = Instruction(self, S, self.count[S], name, self.where(), self.seen[S], None, [(memory, span)], [], False)
        one.horizon = [self.count[S], *self.seen[S][1:]]  # its own stores are in order
        self._check(one, memory, span, False)
        if memory is not self.ub:  # for other cores; on its own, what is read at once has been read
            memory.note(span, S, 0, False, self, False)
        self.machine.schedule.reach(self, one)

    def scalar_write(self, name: str, memory, span: Span, run):
        if self.auto:
            self._wait_for_users(memory, span, True)
        self.seen[S][S] = self.count[S]
        self.issue(S, name, run, [], [(memory, span)])
        if self.auto:
            for pipe in PIPES:
                self.seen[pipe][S] = self.count[S]

    def _wait_for_users(self, memory, span: Span, writing: bool):
        """What the compiler inserts before the scalar unit's access: a flag from each pipe that used the bytes."""
        for pipe, position in memory.unordered(span, self.seen[S], writing, self):
            clock = list(self.issued[pipe][position - 1].horizon)
            clock[pipe] = position
            self.wait(S, clock)

    def _check(self, one: Instruction, memory, span: Span, writing: bool):
        found = memory.unordered(span, one.horizon, writing, self, one.atomic)
        if memory is not self.ub:
            if writing and memory.read_only:
                self.hazard("input overwritten", message("{name} writes to {tensor}", name=one.name, tensor=memory.name), True)
            if clash := memory.clash(span, self, writing, one.atomic):
                core, verb, count = clash
                self.hazard("race between cores", message(
                    "{name} {does} {n} elements of {tensor} that {who} {verb} in the same phase", name=one.name,
                    does=ADDS if one.atomic else DOES[writing], n=count, tensor=memory.name,
                    who=message("other cores") if core is None else message("core {core}", core=core),
                    verb=(MANY if core is None else ONE)[verb]), writing)
        if found:
            self._unordered(one, found[0], writing, memory)
        elif not writing or one.atomic:
            least = memory.least(span)
            if least == WRITTEN:
                return
            state = span.view(memory.state, memory.unit)
            if least == UNWRITTEN:
                missing, whose = int((state == UNWRITTEN).sum()), getattr(memory, "name", None)  # a Unified Buffer has none
                self.hazard("dirty atomics" if writing else "unwritten", message(
                    BYTES if memory is self.ub else ELEMENTS, name=one.name, does=ADDS_ONTO if writing else DOES[0], n=missing,
                    all=state.size, tensor=whose))
            else:
                self.hazard("padding", message("{name} reads {n} bytes that only pad a copy", name=one.name,
                                               n=int((state == PADDING).sum())))

    def _unordered(self, one, other, writing, memory):
        pipe, position = other
        kind = "missing barrier" if pipe == one.pipe else "missing scalar wait" if S in (pipe, one.pipe) else \
            "missing wait"
        earlier = self.issued[pipe][position - 1]
        wrote = any(memory is held for held, _ in earlier.writes)
        told = message(UNORDERED if memory is self.ub else UNORDERED_OF, name=one.name, pipe=PIPE_NAMES[one.pipe],
                       does=DOES[writing], earlier=earlier.name, line=earlier.where[1], did=DOES[wrote], other=PIPE_NAMES[pipe],
                       tensor=getattr(memory, "name", None))
        if pipe != one.pipe:
            event = "_".join(PIPE_NAMES[each].removeprefix("PIPE_") for each in (pipe, one.pipe))
            told = message("{what} (that flag is HardEvent {event})", what=told, event=event)
        self.hazard(kind, told, writing)
