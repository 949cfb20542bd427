"""Simulate vector cores: run a kernel in one thread per core, order the instructions by their waits, and check every access to
memory.

The scalar unit runs the program and gives each instruction to its pipe. The schedule decides when an instruction lands; this
module only records which ones must land before it.
"""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aclnn_viz.errors import flag, invalid, problem
from aclnn_viz.tiles.hazards import KINDS, Hazards, Stop
from aclnn_viz.tiles.memory import (
    MTE2,
    MTE3,
    PADDING,
    PIPE_NAMES,
    PIPES,
    UNWRITTEN,
    WRITTEN,
    GlobalMemory,
    S,
    Span,
    UnifiedBuffer,
    V,
)
from aclnn_viz.tiles.platforms import Platform
from aclnn_viz.words.messages import Message, message

_MACHINE = frozenset(map(str, Path(__file__).parent.glob("*.py")))
_local = threading.local()
PRECISIONS = "documented", "exact"

DOES = message("reads"), message("writes")
ADDS, ADD = message("adds to"), message("add to")
# verb of a message about one other core; PLURALS: about several
ONE = {"reads": DOES[0], "writes": DOES[1], "adds to": ADDS}
PLURALS = {"reads": message("read"), "writes": message("write"), "adds to": ADD}
BYTES = message("{name} {does} {n} of {all} bytes that nobody wrote")
ELEMENTS = message("{name} {does} {n} of {all} elements of {tensor} that nobody wrote")
MET = {
    "dirty": message(
        "{name} {does} bytes of {tensor} that a scalar unit has written to its cache alone"
    ),
    "old": message(
        "{name} {does} bytes of {tensor} from the cache, which others have since written"
    ),
    "shared": message(
        "{name} writes to a line of 64 bytes of {tensor} beside what others write to the same line, and a scalar "
        "unit writes back whole lines"
    ),
}
STALE = message(
    "SetValue changes a line of 64 bytes of {tensor} that the cache held before others wrote to it"
)
UNSET = message("IBWait waits for a flag that no core sets")
UNORDERED = message(
    "{name} on {pipe} {does} what {earlier} in line {line} {did} on {other}, and nothing says in which order"
)
UNORDERED_OF = message(
    "{name} on {pipe} {does} what {earlier} in line {line} {did} on {other} of {tensor}, and nothing says in "
    "which order"
)


def current() -> "Core":
    """Return the core of this thread; raise RuntimeError outside a launch."""
    core = getattr(_local, "core", None)
    if core is None:
        raise RuntimeError(
            problem(
                "Ascend C calls run inside a kernel",
                "a call outside",
                "start the kernel with av.tiles.launch",
            )
        )
    return core


@dataclass(slots=True, eq=False, repr=False)
class Instruction:
    """An instruction of a pipe; `run()` executes it, and `horizon` gives the position to finish first on each pipe."""

    core: "Core"
    pipe: int
    position: int
    name: str
    where: tuple[str, int]
    horizon: list[int]
    run: Callable | None
    reads: list
    writes: list
    atomic: bool
    epoch: int = 0
    landed: bool = False
    missing: int = 0
    entry: tuple | None = None

    def land(self):
        """Execute the instruction, and record its turn."""
        self.run()
        self.run = None  # drop views of memories and objects of the program
        if self.core.machine.landed is not None:
            self.core.machine.landed.append(self)

    def __repr__(self):
        return f"{self.name} on {PIPE_NAMES[self.pipe]} of core {self.core.index}, line {self.where[1]}"


class Core:
    """One core. `seen[p]` holds per pipe the position that pipe p waited for; `count[p]` counts p's instructions."""

    def __init__(self, machine, index: int):
        self.machine, self.index, self.epoch = machine, index, 0
        self.platform, self.auto = machine.platform, machine.auto
        # the whole buffer: TPipe may use bytes that GetCoreMemSize leaves out
        self.ub = UnifiedBuffer(machine.platform.unified_buffer, machine.precise)
        self.count = [0] * 4
        self.seen = [[0] * 4 for _ in PIPES]
        self.issued: list[list[Instruction]] = [[] for _ in PIPES]
        # each (event, id) -> the clock, and the line that set the flag
        self.flags: dict[tuple, tuple[list[int], int]] = {}
        self.ids: dict[tuple, tuple] = {}  # holder of each (event, id)
        self.fetched: set[tuple] = set()  # each (event, id) that FetchEventID returned
        self.atomic = self.ended_at = self.reduced = self.extreme = None
        self.pipes: list = []  # the TPipes, for checks at the end
        self.cached: set = set()  # memories of which the scalar unit's cache holds lines
        self.formats: dict[
            tuple, np.dtype
        ] = {}  # format of the latest tensor at each (memory, span)
        self.moved = 0  # bytes copied between global memory and the Unified Buffer
        self.at: tuple[str, int] | None = None  # file and line, for a program outside Python

    def __enter__(self):
        _local.core = self
        return self

    def __exit__(self, *exception):
        _local.core = None

    # ---- hazards -------------------------------------------------------------------------------------------------

    def frame(self):
        """Return the innermost frame of the program, without the machine's."""
        frame = sys._getframe(2)
        while frame.f_code.co_filename in _MACHINE:
            frame = frame.f_back
        return frame

    def where(self) -> tuple[str, int]:
        """Return the file and the line that the program is executing."""
        if self.at is not None:
            return self.at
        frame = self.frame()
        return frame.f_code.co_filename, frame.f_lineno

    def hazard(
        self, kind: str, what: Message, writing: bool = False, where: tuple[str, int] | None = None
    ):
        """Record a hazard at the current line, or at `where` a delayed instruction was issued."""
        where = where or self.where()
        self.machine.hazards.add(kind, what, self.index, where, writing)
        if not KINDS[kind].warns:
            self.machine.hazardous.add((self.index, sum(self.count), where))

    def stop(self, kind: str, what: Message, writing: bool = False):
        """Record a hazard after which the core cannot continue."""
        self.hazard(kind, what, writing)
        raise Stop

    # ---- order ---------------------------------------------------------------------------------------------------

    def skipped(self, own: bool = False) -> bool:
        """Return whether a test leaves out the wait in this line; `own` marks a wait that the program itself calls."""
        line = self.where()[1]
        self.machine.waits.add(line)
        if own:
            self.machine.own_waits.add(line)
        return line in self.machine.without

    def snapshot(self, pipe: int) -> list[int]:
        """Return a flag's clock: per pipe the position finished once `pipe` has finished its earlier instructions."""
        clock = self.horizon(pipe)
        clock[pipe] = self.count[pipe]
        return clock

    def horizon(self, pipe: int) -> list[int]:
        """Return per pipe the position that `pipe` or the scalar unit waited for: the next instruction comes later."""
        return [self.seen[pipe][S], *map(max, self.seen[pipe][1:], self.seen[S][1:])]

    def wait(self, pipe: int, clock: list[int]):
        self.seen[pipe] = list(map(max, self.seen[pipe], clock))

    def barrier(self, pipe: int | None = None):
        """Finish all earlier instructions on a pipe, or on all, before later ones on it."""
        if pipe is None:
            self.seen = [list(self.count) for _ in PIPES]
        else:
            self.seen[pipe][pipe] = self.count[pipe]

    # ---- instructions --------------------------------------------------------------------------------------------

    def issue(self, pipe: int, name: str, run, reads, writes, padding=(), atomic: bool = False):
        """Check an instruction's (memory, span) accesses, and give it to its pipe; `padding` spans hold no data."""
        where, horizon, position = self.where(), self.horizon(pipe), self.count[pipe] + 1
        instruction = Instruction(
            self, pipe, position, name, where, horizon, run, reads, writes, atomic, self.epoch
        )
        for memory, span in reads:
            self._check(instruction, memory, span, False)
        for memory, span in writes:
            self._check(instruction, memory, span, True)
        for memory, span in reads:
            memory.note(span, pipe, position, False, self, atomic)
        for memory, span in writes:
            memory.note(span, pipe, position, True, self, atomic)
        if pipe in (MTE2, MTE3):
            self.moved += sum(
                span.size for memory, span in (*reads, *writes) if memory is not self.ub
            )
        for memory, span in padding:
            span.view(memory.state)[...] = PADDING
        self.issued[pipe].append(instruction)
        self.count[pipe] = position
        if self.auto and pipe == V:
            self.seen[V][V] = position
        if self.machine.trace is not None:
            self.machine.trace.append(instruction)
        self.machine.schedule.issue(instruction)

    def vector(self, name: str, run, reads, writes):
        """Issue an instruction of the vector unit, which reads and writes spans of the Unified Buffer."""
        self.issue(
            V, name, run, [(self.ub, span) for span in reads], [(self.ub, span) for span in writes]
        )

    def scalar_read(self, name: str, memory, span: Span):
        """Read by the scalar unit at once; the schedule first lands everything ordered before."""
        if self.auto:
            self._wait_for_users(memory, span, False)
        self.wait_for(name, [(memory, span)])

    def wait_for(self, name: str, reads=()):
        """Let the scalar unit wait until everything ordered before has landed."""
        horizon = [self.count[S], *self.seen[S][1:]]  # the scalar unit's own stores are in order
        instruction = Instruction(
            self, S, self.count[S], name, self.where(), horizon, None, reads, [], False, self.epoch
        )
        for memory, span in reads:
            self._check(instruction, memory, span, False)
            # record the read, so that conflicting writes of other cores are found
            if memory is not self.ub:
                memory.note(span, S, 0, False, self, False)
        self.machine.schedule.reach(self, instruction)

    def scalar_write(self, name: str, memory, span: Span, run):
        if self.auto:
            self._wait_for_users(memory, span, True)
        self.seen[S][S] = self.count[S]
        self.issue(S, name, run, [], [(memory, span)])
        if self.auto:
            for pipe in PIPES:
                self.seen[pipe][S] = self.count[S]

    def _wait_for_users(self, memory, span: Span, writing: bool):
        """Insert the compiler's flags before the scalar unit's access: one from each pipe that used the bytes."""
        for pipe, position in memory.unordered(span, self.seen[S], writing, self):
            clock = list(self.issued[pipe][position - 1].horizon)
            clock[pipe] = position
            self.wait(S, clock)

    def clean(self, memories, line: int | None = None):
        """Write back a line of 64 bytes of the scalar unit's cache, or all its lines, and drop them."""
        for memory in memories:
            for where in memory.drop(self, line):
                what = message(STALE, tensor=memory.name)
                self.hazard("shared cache line", what, True, where)

    def _check(self, instruction: Instruction, memory, span: Span, writing: bool):
        unordered = memory.unordered(span, instruction.horizon, writing, self, instruction.atomic)
        if memory is not self.ub:
            self._check_global(instruction, memory, span, writing, not unordered)
        if unordered:
            self._unordered(instruction, unordered[0], writing, memory)
        elif not writing or instruction.atomic:
            least = memory.least(span)
            if least == WRITTEN:
                return
            state = span.view(memory.state, memory.unit)
            if least == UNWRITTEN:
                # global memory has a name, a Unified Buffer has none
                missing, whose = int((state == UNWRITTEN).sum()), getattr(memory, "name", None)
                self.hazard(
                    "dirty atomics" if writing else "unwritten",
                    message(
                        BYTES if memory is self.ub else ELEMENTS,
                        name=instruction.name,
                        does=ADDS if writing else DOES[0],
                        n=missing,
                        all=state.size,
                        tensor=whose,
                    ),
                )
            else:
                self.hazard(
                    "padding",
                    message(
                        "{name} reads {n} bytes that only pad a copy",
                        name=instruction.name,
                        n=int((state == PADDING).sum()),
                    ),
                )

    def _check_global(self, instruction: Instruction, memory, span: Span, writing: bool, ordered):
        """Check an access against the scalar unit's caches, the inputs and other cores."""
        clash = memory.clash(span, self, writing, instruction.atomic)
        met = memory.cache(span, instruction, writing)
        if met and (met != "shared" or ordered and not clash):
            self.hazard(
                "shared cache line" if met == "shared" else "data cache",
                message(MET[met], name=instruction.name, does=DOES[writing], tensor=memory.name),
                writing,
            )
        if writing and memory.read_only:
            self.hazard(
                "input overwritten",
                message("{name} writes to {tensor}", name=instruction.name, tensor=memory.name),
                True,
            )
        if clash:
            core, verb, count = clash
            self.hazard(
                "race between cores",
                message(
                    "{name} {does} {n} elements of {tensor} that {who} {verb} in the same phase",
                    name=instruction.name,
                    does=ADDS if instruction.atomic else DOES[writing],
                    n=count,
                    tensor=memory.name,
                    who=message("other cores")
                    if core is None
                    else message("core {core}", core=core),
                    verb=(PLURALS if core is None else ONE)[verb],
                ),
                writing,
            )

    def _unordered(self, instruction, other, writing, memory):
        pipe, position = other
        kind = (
            "missing barrier"
            if pipe == instruction.pipe
            else "missing scalar wait"
            if S in (pipe, instruction.pipe)
            else "missing wait"
        )
        earlier = self.issued[pipe][position - 1]
        wrote = any(memory is held for held, _ in earlier.writes)
        what = message(
            UNORDERED if memory is self.ub else UNORDERED_OF,
            name=instruction.name,
            pipe=PIPE_NAMES[instruction.pipe],
            does=DOES[writing],
            earlier=earlier.name,
            line=earlier.where[1],
            did=DOES[wrote],
            other=PIPE_NAMES[pipe],
            tensor=getattr(memory, "name", None),
        )
        if pipe != instruction.pipe:
            event = "_".join(
                PIPE_NAMES[each].removeprefix("PIPE_") for each in (pipe, instruction.pipe)
            )
            what = message("{what} (that flag is HardEvent {event})", what=what, event=event)
        self.hazard(kind, what, writing)


class Machine:
    """Cores that run one kernel. `without` holds lines of the program whose waits are removed.

    `precision` "documented" gives approximate instructions their documented errors, `precise` keeps 16-bit formats in float32.
    """

    def __init__(
        self,
        platform: Platform,
        cores: int,
        schedule,
        sync: str = "auto",
        traced: bool = False,
        without=frozenset(),
        precision: str = "documented",
        precise: bool = False,
    ):
        if not isinstance(precision, str) or precision not in PRECISIONS:
            raise invalid(
                "precision is one of " + ", ".join(PRECISIONS),
                f"{precision!r}",
                "choose one",
            )
        self.exact, self.precise = precision == "exact", flag("precise", precise)
        self.approximate: dict[str, tuple[str, int]] = {}  # approximate calls, with file and line
        self.platform, self.schedule, self.auto = platform, schedule, sync == "auto"
        self.hazards, self.trace, self.without = Hazards(), [] if traced else None, without
        self.landed: list[Instruction] | None = [] if traced else None
        self.hazardous: set[tuple[int, int, tuple[str, int]]] = set()
        # lines of the program that wait, and lines that do nothing else
        self.waits: set[int] = set()
        self.own_waits: set[int] = set()
        self.cores = [Core(self, index) for index in range(cores)]
        self._threads: dict[Core, _Thread] = {}
        # each flag that one core sets for another -> the setter's epoch
        self.flags: dict[tuple, int] = {}
        self.launched = None  # processes of a kernel outside Python
        self.unchecked = False  # whether InitBuffer goes on without memory

    def run(self, kernel: Callable, arguments):
        """Run the kernel on all cores, one at a time from SyncAll to SyncAll; raise what a program raises."""
        memories = [one for one in arguments if self.precise and isinstance(one, GlobalMemory)]
        opened = kernel.opened(self, arguments) if hasattr(kernel, "opened") else nullcontext()
        with opened, np.errstate(all="ignore"):
            for memory in memories:
                memory.widen()
            if len(self.cores) == 1:
                _Thread(self.cores[0], kernel, arguments).work()
            else:
                self._threads = {core: _Thread(core, kernel, arguments) for core in self.cores}
                try:
                    self._phases()
                finally:
                    for thread in self._threads.values():
                        thread.end()
            self.schedule.drain(self.cores)
            for memory in memories:
                memory.narrow()
        for core in self.cores:
            self._finish(core)

    def _phases(self):
        running, threads = list(self.cores), self._threads
        while running:
            for core in self.schedule.order(running):
                threads[core].resume()
                if threads[core].error is not None:
                    raise threads[core].error
                if threads[core].stopped:
                    return
            waiting = [core for core in self.cores if not threads[core].ended]
            if flagged := [core for core in waiting if threads[core].flag]:
                running = [core for core in flagged if threads[core].flag in self.flags]
                if not running:
                    core = flagged[0]
                    self.hazards.add("deadlock", UNSET, core.index, threads[core].where)
                    return
                continue
            if waiting and len(waiting) < len(self.cores):
                core = waiting[0]
                what = message(
                    "SyncAll waits for {n} of {all} cores that have ended",
                    n=len(self.cores) - len(waiting),
                    all=len(self.cores),
                )
                self.hazards.add("deadlock", what, core.index, threads[core].where)
                return
            self.schedule.drain(self.cores)
            running, epoch = waiting, max((core.epoch for core in waiting), default=0)
            for core in running:
                core.epoch = epoch + 1

    def meet(self, core: Core, flag=None):
        """Let a core wait in SyncAll for all others, or for a flag of one."""
        thread = self._threads.get(core)
        if flag:
            while flag not in self.flags:
                if thread is None:
                    core.stop("deadlock", UNSET)
                thread.where, thread.flag = core.where(), flag
                thread.pause()
                thread.flag = None
            core.epoch = max(core.epoch, self.flags.pop(flag)) + 1
        elif thread is None:
            self.schedule.drain(self.cores)
            core.epoch += 1
        else:
            thread.where = core.where()
            thread.pause()

    def part(self):
        """Break reference cycles, so that memories are free at once."""
        for core in self.cores:
            for pipe in core.pipes:
                pipe.queues.clear()
            core.pipes.clear()
            core.issued.clear()
            if self.trace is None:
                core.ub.give_back()
        self.cores.clear()
        self._threads.clear()
        self.schedule = self.trace = self.landed = None

    def _finish(self, core: Core):
        if core.ended_at is None:
            return

        core.clean(core.cached)

        def hazard(kind, what):
            self.hazards.add(kind, what, core.index, core.ended_at)

        for name in (name for pipe in core.pipes for name in pipe.held()):
            hazard(
                "never freed", message("the kernel ends while {queue} holds a tensor", queue=name)
            )
        if core.atomic is not None:
            hazard("atomic mode left on", message("the kernel ends while SetAtomicAdd is on"))
        for (event, number), holder in core.ids.items():
            if holder.call == "AllocEventID":
                hazard(
                    "event id not released",
                    message(
                        "the kernel ends while id {id} of {event}, allocated in line {line}, is held",
                        id=number,
                        event=event.name,
                        line=holder.line,
                    ),
                )
        for event, number in core.flags:
            hazard(
                "flag unpaired",
                message(
                    "the kernel ends while id {id} of {event} is set: the next kernel on this core finds it",
                    id=number,
                    event=event.name,
                ),
            )


class _Worker:
    """A thread that runs kernels one after another whenever it is resumed; `back` signals a pause."""

    def __init__(self):
        self.go, self.back, self.run = threading.Lock(), threading.Lock(), None
        self.process = os.getpid()
        self.go.acquire()
        self.back.acquire()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def step(self):
        self.go.release()
        self.back.acquire()

    def pause(self):
        self.back.release()
        self.go.acquire()

    def _work(self):
        going = True
        while going:
            self.go.acquire()
            going = self.run()
            self.back.release()


_idle: list[_Worker] = []  # threads kept for reuse: starting one takes longer than many kernels


class _Thread:
    """A core's kernel in a thread that runs only when resumed."""

    def __init__(self, core: Core, kernel: Callable, arguments):
        self.core, self.kernel, self.arguments = core, kernel, arguments
        self.ended = self.stopped = self.abandoned = False
        self.worker = self.error = self.where = self.flag = None

    def work(self):
        """Run the kernel in this thread, to its end or to a hazard after which it cannot go on."""
        with self.core, np.errstate(all="ignore"):
            try:
                self.kernel(*self.arguments)
                self.core.ended_at = (
                    self.kernel.__code__.co_filename,
                    self.kernel.__code__.co_firstlineno,
                )
            except Stop:
                self.stopped = True

    def resume(self):
        if self.worker is None:
            try:
                self.worker = _idle.pop()
            except IndexError:  # a test before pop could be outdated: other threads also launch
                self.worker = _Worker()
            if self.worker.process != os.getpid():  # threads do not survive a fork
                self.worker = _Worker()
            self.worker.run = self._threaded
        self.worker.step()
        if self.ended and not self.abandoned:
            self.worker.run = None
            _idle.append(self.worker)

    def pause(self):
        self.worker.pause()
        if self.abandoned:
            raise Stop

    def end(self):
        """End a thread that would wait in SyncAll for ever."""
        if self.worker is not None and not self.ended:
            self.abandoned = True
            self.resume()
            self.worker.thread.join()

    def _threaded(self) -> bool:
        """Run the kernel; return whether the thread is free for another one."""
        try:
            self.work()
        except BaseException as error:
            self.error = error
        self.ended = True
        return not self.abandoned
