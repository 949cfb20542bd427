"""Programs and their launch: host tiling, cores, and what a run leaves behind."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.errors import need, problem, shown
from aclnn_viz.operators import operator
from aclnn_viz.tiles.buffers import Block
from aclnn_viz.tiles.core import Core, Instruction
from aclnn_viz.tiles.formats import fitting
from aclnn_viz.tiles.hazards import Hazard, Hazards, Stop
from aclnn_viz.tiles.memory import POISON, UNWRITTEN, GlobalMemory
from aclnn_viz.tiles.platforms import Platform
from aclnn_viz.tiles.schedules import schedule_of

SYNCS = ("auto", "strict")
DEFAULT_SOC = "Ascend910B2"


class Tiling:
    """What the host works out for the cores: `blockDim` cores, `workspace` bytes, and any numbers of the program.

    >>> Tiling(blockDim=2, tileLength=64).tileLength
    64
    """

    def __init__(self, blockDim: int, workspace: int = 0, **numbers):
        self.blockDim, self.workspace = blockDim, workspace
        self.numbers = numbers
        vars(self).update(numbers)

    def __repr__(self):
        return f"Tiling({', '.join(f'{name}={value}' for name, value in vars(self).items() if name != 'numbers')})"


class HazardError(RuntimeError):
    """A tile program that was run as a kernel showed hazards; `run` holds all of them."""

    def __init__(self, run):
        super().__init__("; ".join(str(hazard) for hazard in run.hazards))
        self.run = run


@dataclass(frozen=True, eq=False)
class Program:
    """A tile program of an operator: `tiling(platform, **inputs)` on the host, `kernel` on each core.

    The kernel gets, in the vendor's order, an address for each tensor parameter (None for one left out) and each
    output (None for one not asked for), then the workspace and the tiling. `plan` is the precision plan whose envelope
    holds its rounding. `deterministic`: the same bits for every schedule. A program is called as a kernel for `check`:
    it raises HazardError when a run shows a hazard, NotImplementedError for formats that the product does not take.

    >>> import aclnn_viz as av
    >>> program = av.tiles.programs("hardswish")[0]
    >>> result = av.check("hardswish", program)
    >>> result.passed
    True
    """

    operator: str
    name: str
    tiling: Callable
    kernel: Callable
    plan: Plan = Plan()
    deterministic: bool = True
    sync: str = "auto"
    text: str = ""

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, /, **inputs) -> dict[str, np.ndarray]:
        run = launch(self, traced=False, **inputs)
        if run.hazards:
            raise HazardError(run)
        return run.outputs

    def __repr__(self) -> str:
        return f"Program({self.operator!r}, {self.name!r})"


@dataclass(frozen=True, eq=False)
class Run:
    """What a launch leaves: outputs by name, hazards in the order in which they showed, and every instruction.

    `waits` are the lines of the program that make something wait, of which `without` may name some to leave out.
    `ub_bytes` is what InitBuffer took on the fullest core, `gm_bytes` what moved between global memory and the cores.
    `landed` holds the instructions in the order in which they took effect, `buffers` what InitBuffer gave each core,
    `hazardous` (core, how many it had issued before, file and line) of each call that showed a hazard.
    """

    outputs: dict[str, np.ndarray]
    hazards: tuple[Hazard, ...]
    trace: list[Instruction] | None
    ub_bytes: int
    gm_bytes: int
    tiling: Tiling
    platform: Platform
    waits: tuple[int, ...]
    landed: list[Instruction] | None
    buffers: tuple[tuple[Block, ...], ...]
    hazardous: frozenset[tuple[int, int, tuple[str, int]]]

    @property
    def cores(self) -> int:
        return self.tiling.blockDim


class Machine:
    """Cores that run one kernel. `without` holds lines of the program whose waits are taken out."""

    def __init__(self, platform: Platform, cores: int, schedule, sync: str = "auto", traced: bool = False,
                 without=frozenset()):
        self.platform, self.schedule, self.auto = platform, schedule, sync == "auto"
        self.hazards, self.trace, self.without = Hazards(), [] if traced else None, without
        self.landed: list[Instruction] | None = [] if traced else None
        self.hazardous: set[tuple[int, int, tuple[str, int]]] = set()
        self.waits: set[int] = set()  # the lines of the program that make something wait
        self.cores = [Core(self, index) for index in range(cores)]
        self._threads: dict[Core, _Thread] = {}

    def run(self, kernel: Callable, arguments):
        """Run the kernel on all cores, one at a time from SyncAll to SyncAll; raises what a program raises."""
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
        for core in self.cores:
            self._finish(core)

    def _phases(self):
        running = list(self.cores)
        while running:
            for core in self.schedule.order(running):
                self._threads[core].resume()
                if self._threads[core].error is not None:
                    raise self._threads[core].error
                if self._threads[core].stopped:
                    return
            waiting = [core for core in running if not self._threads[core].ended]
            if waiting and len(waiting) < len(self.cores):
                core = waiting[0]
                self.hazards.add("deadlock", f"SyncAll waits for {len(self.cores) - len(waiting)} of {len(self.cores)} "
                                 "cores that have ended", core.index, self._threads[core].where)
                return
            self.schedule.drain(self.cores)
            running = waiting
            for core in running:
                core.epoch += 1

    def meet(self, core: Core):
        """Let a core wait in SyncAll for all others."""
        if len(self.cores) == 1:
            self.schedule.drain(self.cores)
            core.epoch += 1
        else:
            self._threads[core].where = core.where()
            self._threads[core].pause()

    def _finish(self, core: Core):
        if core.ended_at is None:
            return
        for name in (name for pipe in core.pipes for name in pipe.held()):
            self.hazards.add("never freed", f"the kernel ends while {name} holds a tensor", core.index, core.ended_at)
        if core.atomic is not None:
            self.hazards.add("atomic mode left on", "the kernel ends while SetAtomicAdd is on", core.index,
                             core.ended_at)
        for event, number in core.flags:
            self.hazards.add("flag unpaired", f"the kernel ends while id {number} of {event.name} is set: the next "
                             "kernel on this core finds it", core.index, core.ended_at)


class _Thread:
    """A core's kernel in a thread that runs only when resumed."""

    def __init__(self, core: Core, kernel: Callable, arguments):
        self.core, self.kernel, self.arguments = core, kernel, arguments
        self.go, self.back = threading.Semaphore(0), threading.Semaphore(0)
        self.thread = None
        self.ended = self.stopped = self.abandoned = False
        self.error = self.where = None

    def work(self):
        """Run the kernel in this thread, to its end or to a hazard after which it cannot go on."""
        with self.core, np.errstate(all="ignore"):
            try:
                self.kernel(*self.arguments)
                self.core.ended_at = self.kernel.__code__.co_filename, self.kernel.__code__.co_firstlineno
            except Stop:
                self.stopped = True

    def resume(self):
        if self.thread is None:
            self.thread = threading.Thread(target=self._threaded, daemon=True)
            self.thread.start()
        else:
            self.go.release()
        self.back.acquire()

    def pause(self):
        self.back.release()
        self.go.acquire()
        if self.abandoned:
            raise Stop

    def end(self):
        """Let a thread that waits in SyncAll for ever end."""
        if self.thread is not None and not self.ended:
            self.abandoned = True
            self.resume()
        if self.thread is not None:
            self.thread.join()

    def _threaded(self):
        try:
            self.work()
        except BaseException as error:
            self.error = error
        self.ended = True
        self.back.release()


def launch(program: Program, /, soc: str = DEFAULT_SOC, cores: int | None = None, schedule="eager",
           sync: str | None = None, *, traced: bool = True, without=frozenset(), unified_buffer: int | None = None,
           **inputs) -> Run:
    """Run a tile program on the emulated vector cores of a SoC.

    `cores` are those offered to the tiling (None: all of the SoC). `schedule` is "eager" (everything lands as issued),
    "late" (nothing lands before something waits for it) or a seed (any legal order). With `sync` "auto" the waits that
    the vendor's compiler inserts are there (between vector instructions, and around GetValue and SetValue); with
    "strict" each must be in the program; None takes the program's own. Hazards are found under any schedule. No time is
    modelled: the order is, the cycles are not. `unified_buffer` bytes may be fewer than the SoC has. Raises ValueError for a SoC, schedule or inputs that do not fit, and
    NotImplementedError for float64, which no vector core takes.

    >>> import aclnn_viz as av
    >>> case = av.case("hardswish", shape=(100,))
    >>> run = launch(av.tiles.programs("hardswish")[0], schedule="late", **case.inputs)
    >>> len(run.hazards), run.outputs["out"].shape
    (0, (100,))
    """
    op = operator(need(program, Program, "a tile program is a Program", "pass av.tiles.programs(op)[0]").operator)
    platform = Platform.of(soc, cores, unified_buffer)
    sync = program.sync if sync is None else sync
    if not isinstance(sync, str) or sync not in SYNCS:
        raise ValueError(problem("sync must be 'auto' or 'strict'", shown(sync), "choose one"))
    timing = schedule_of(schedule)
    bound, results = fitting(op, inputs)
    tiling = program.tiling(platform, **bound)
    if not 0 <= tiling.blockDim <= platform.cores:
        raise ValueError(problem(f"blockDim must lie in 0 to the {platform.cores} cores offered", f"{tiling.blockDim}",
                                 "let the tiling take at most GetCoreNumAiv()"))
    tensors = [parameter.name for parameter in op.parameters if parameter.kind == "tensor"]
    given = {name: None if bound[name] is None else GlobalMemory(name, np.ascontiguousarray(bound[name]), True)
             for name in tensors}
    outputs = {name: GlobalMemory(name, _poisoned(result.documented_shape, result.format.numpy), False)
               for name, result in results.items()}
    workspace = GlobalMemory("workspace", _poisoned((-(-tiling.workspace // 2),), np.dtype(np.uint16)), False)
    machine = Machine(platform, tiling.blockDim, timing, sync, traced, without)
    if tiling.blockDim:
        machine.run(program.kernel, (*given.values(), *(outputs.get(name) for name in op.outputs), workspace, tiling))
    _look_back(machine, program, outputs)
    return Run({name: memory.array for name, memory in outputs.items()}, tuple(machine.hazards), machine.trace,
               max((pipe.top for core in machine.cores for pipe in core.pipes), default=0),
               sum(core.moved for core in machine.cores), tiling, platform, tuple(sorted(machine.waits)), machine.landed,
               tuple(tuple(block for pipe in core.pipes for block in pipe.buffers) for core in machine.cores),
               frozenset(machine.hazardous))


def _poisoned(shape, dtype) -> np.ndarray:
    array = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8)[...] = POISON
    return array


def _look_back(machine: Machine, program: Program, outputs):
    code = program.kernel.__code__
    if any(core.ended_at is None for core in machine.cores):
        return  # a core that stopped says more than what it left out
    for name, memory in outputs.items():
        missing = np.flatnonzero(memory.state == UNWRITTEN)
        if missing.size:
            machine.hazards.add("output not written", f"{missing.size} of {memory.state.size} elements of {name} are "
                                f"never written, the first at {missing[0]}", 0, (code.co_filename, code.co_firstlineno))


