"""Programs and their launch: host tiling, cores, what a run leaves behind, and its pipes in steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.errors import need, problem, shown
from aclnn_viz.operators import operator
from aclnn_viz.tiles.hazards import Hazard
from aclnn_viz.tiles.machine import Instruction, Machine
from aclnn_viz.tiles.memory import PIPES, PIPE_NAMES, POISON, UNWRITTEN, GlobalMemory
from aclnn_viz.tiles.platforms import Platform, fitting
from aclnn_viz.tiles.schedules import LIMIT, Orders, explored, schedule_of
from aclnn_viz.tiles.tensors import Block
from aclnn_viz.words.speech import message, tr

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
        first, more = run.hazards[0], len(run.hazards) - 1
        rest = f"; {more:,} more: launch it on these inputs to see them" * bool(more)
        super().__init__(f"{first.sentence} [{Path(first.file).name}: {first.source}]{rest}")
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

    def __repr__(self) -> str:
        lines = [tr("Run on {n} cores of {soc}: {outputs}; {bytes} bytes of a core, {moved} bytes moved, {hazards} hazards",
                    n=self.cores, soc=self.platform.soc, outputs=", ".join(self.outputs), bytes=f"{self.ub_bytes:,}",
                    moved=f"{self.gm_bytes:,}", hazards=len(self.hazards))]
        return "\n  ".join([*lines, *map(str, self.hazards)])


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
    made = Run({name: memory.array for name, memory in outputs.items()}, tuple(machine.hazards), machine.trace,
               max((pipe.top for core in machine.cores for pipe in core.pipes), default=0),
               sum(core.moved for core in machine.cores), tiling, platform, tuple(sorted(machine.waits)), machine.landed,
               tuple(tuple(block for pipe in core.pipes for block in pipe.buffers) for core in machine.cores),
               frozenset(machine.hazardous))
    machine.part()
    return made


def explore(program, /, limit: int = LIMIT, **how) -> Orders:
    """Run a program in every order that matters; `how` are the keywords of `launch` and the inputs.

    After `limit` orders the search stops, and `complete` says so.

    >>> import aclnn_viz as av
    >>> case = av.case("hardswish", shape=(24,))
    >>> explore(av.tiles.programs("hardswish")[0], cores=2, **case.inputs).proved
    True
    """
    need(program, Program, "a tile program is a Program", "pass av.tiles.programs(op)[0]")
    return explored(lambda schedule: launch(program, schedule=schedule, traced=False, **how), limit)


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
            machine.hazards.add("output not written", message(
                "{n} of {all} elements of {tensor} are never written, the first at {first}", n=missing.size, all=memory.state.size,
                tensor=name, first=missing[0]), 0, (code.co_filename, code.co_firstlineno))


class Slot(NamedTuple):
    """One instruction in the timeline of its core: pipe, step, name and program line, and what it waited for last."""

    core: int
    pipe: str
    step: int
    name: str
    line: int
    after: Instruction | None


def timeline(run: Run) -> list[Slot]:
    """Return a slot for every instruction of a run, in the order in which they were issued.

    An instruction starts when its pipe is free and all that its horizon names is finished. Cores meet at SyncAll: the
    next phase starts, on all of them, after the last step of this one. Raises ValueError for a run without a trace.

    >>> import aclnn_viz as av
    >>> run = av.tiles.launch(av.tiles.programs("hardswish")[0], **av.case("hardswish", shape=(64,)).inputs)
    >>> [(slot.pipe, slot.step) for slot in timeline(run)][-1]
    ('PIPE_MTE3', 10)
    """
    need(run, Run, "a timeline is that of a Run", "pass what launch returns")
    if run.trace is None:
        raise ValueError(problem("a timeline needs the trace of a run", "a run without one", "launch with traced=True"))
    slots: list[Slot] = []
    floor = ended = epoch = 0
    free: dict[tuple, int] = {}  # (core, pipe) -> the first step not taken
    at: dict[tuple, tuple[int, Instruction]] = {}  # (core, pipe, position) -> step, the last of its pipe so far
    for one in sorted(run.trace, key=lambda one: one.epoch):
        if one.epoch != epoch:
            epoch, floor = one.epoch, ended
        core, step, after = one.core.index, max(free.get((one.core.index, one.pipe), 0), floor), None
        for pipe in PIPES:
            if one.horizon[pipe]:
                done, other = at[core, pipe, one.horizon[pipe]]
                if done + 1 >= step and pipe != one.pipe:
                    after = other
                step = max(step, done + 1)
        free[core, one.pipe] = step + 1
        before = at.get((core, one.pipe, one.position - 1), (-1, one))
        at[core, one.pipe, one.position] = max((step, one), before, key=lambda entry: entry[0])
        ended = max(ended, step + 1)
        slots.append(Slot(core, PIPE_NAMES[one.pipe], step, one.name, one.where[1], after))
    return slots
