"""Launch tile programs (Ascend C kernels with host tiling) on simulated cores, and return outputs, hazards and the trace of a
run.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from math import prod
from pathlib import Path

import numpy as np

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.errors import invalid, need, shown
from aclnn_viz.operators import operator
from aclnn_viz.operators.products import SOC
from aclnn_viz.storage.readers import machine_memory
from aclnn_viz.tiles.hazards import Hazard
from aclnn_viz.tiles.machine import Instruction, Machine
from aclnn_viz.tiles.memory import POISON, UNWRITTEN, GlobalMemory
from aclnn_viz.tiles.platforms import Platform, fitting
from aclnn_viz.tiles.precision import cause
from aclnn_viz.tiles.schedules import STEPS_AT_MOST, Orders, explored, schedule_of
from aclnn_viz.tiles.tensors import Block
from aclnn_viz.words.messages import Message, message, tr

SYNCS = ("auto", "strict")


class Tiling:
    """The host's decisions for the cores: `blockDim` cores, `workspace` bytes, and numbers of the program.

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
    """The hazards of a tile program that ran as a kernel; `run` holds all of them."""

    def __init__(self, run):
        first, more = run.hazards[0], len(run.hazards) - 1
        said = message(
            "{hazard} [{file}: {source}]",
            hazard=first.sentence,
            file=Path(first.file).name,
            source=first.source,
        )
        super().__init__(
            message(
                "{hazard}; {n:,} more: launch it on these inputs to see them", hazard=said, n=more
            )
            if more
            else said
        )
        self.run = run

    def __str__(self) -> str:
        return self.args[0][:]  # exceptions are in English


@dataclass(frozen=True, eq=False)
class Program:
    """A tile program of an operator: `tiling(platform, **inputs)` on the host, `kernel` on each core.

    The kernel gets, in the vendor's order, an address for each tensor parameter (None if omitted) and each output (None if not
    requested), then the workspace and the tiling. `plan` is the precision plan whose envelope holds its rounding. A
    `deterministic` program gives the same bits under every schedule. `check` can call a program as a kernel: it raises
    HazardError if a run shows a hazard, NotImplementedError for formats that the product does not support.

    >>> import aclnn_viz as av
    >>> program = av.tiles.programs("hardswish")[0]
    >>> result = av.check("hardswish", program, depth="quick")
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
        return self.under()(**inputs)

    def left(self, /, **inputs) -> dict[str, np.ndarray]:
        """Return the program's outputs, whatever hazards it shows."""
        return launch(self, traced=False, **inputs).outputs

    def under(self, /, **how) -> Callable:
        """Return the program as a kernel that runs with some keywords of `launch`: cores, schedule, unified_buffer."""

        def kernel(**inputs):
            run = launch(self, traced=False, **how, **inputs)
            if run.hazards:
                raise HazardError(run)
            return run.outputs

        return kernel

    def cause(self, right: Callable[[dict], bool], narrow: bool, /, **inputs) -> Message | None:
        """Return the cause of wrong numbers: see `aclnn_viz.tiles.precision`; `right` judges outputs."""

        def right_so(**how) -> bool:
            with suppress(Exception):  # a program may raise anything
                return right(self.under(**how)(**inputs))
            return False

        return cause(right_so, launch(self, traced=False, **inputs).approximate, narrow)

    def __repr__(self) -> str:
        return f"Program({self.operator!r}, {self.name!r})"


@dataclass(frozen=True, eq=False)
class Run:
    """The result of a launch: outputs by name, hazards in order of occurrence, and every instruction.

    `waits` are the lines of the program with waits; `without` may remove some. `ub_bytes` is the size of InitBuffer's buffers
    on the fullest core, `gm_bytes` the traffic between global memory and the cores. `landed` holds the instructions in the
    order of their effects, `buffers` the blocks from InitBuffer on each core, `hazardous` (core, number of earlier
    instructions, file and line) of each call with a hazard.
    """

    outputs: dict[str, np.ndarray]
    hazards: tuple[Hazard, ...]
    warnings: tuple[Hazard, ...]  # warnings, with which a device continues
    approximate: dict[str, tuple[str, int]]  # calls documented as inexact, with file and line
    trace: list[Instruction] | None
    ub_bytes: int
    gm_bytes: int
    tiling: Tiling
    platform: Platform
    waits: tuple[int, ...]
    waits_of_its_own: tuple[int, ...]  # lines whose call only waits
    landed: list[Instruction] | None
    buffers: tuple[tuple[Block, ...], ...]
    hazardous: frozenset[tuple[int, int, tuple[str, int]]]

    @property
    def cores(self) -> int:
        return self.tiling.blockDim

    def __repr__(self) -> str:
        lines = [
            tr(
                "Run on {n} cores of {soc}: {outputs}; {bytes} bytes of a core, {moved} bytes moved, {hazards} hazards",
                n=self.cores,
                soc=self.platform.soc,
                outputs=", ".join(self.outputs),
                bytes=f"{self.ub_bytes:,}",
                moved=f"{self.gm_bytes:,}",
                hazards=len(self.hazards),
            )
        ]
        return "\n  ".join([*lines, *map(str, (*self.hazards, *self.warnings))])


def launch(
    program: Program,
    /,
    soc: str = SOC,
    cores: int | None = None,
    schedule="eager",
    sync: str | None = None,
    *,
    traced: bool = True,
    without=frozenset(),
    unified_buffer: int | None = None,
    precision: str = "documented",
    precise: bool = False,
    **inputs,
) -> Run:
    """Run a tile program on the emulated vector cores of a SoC.

    Parameters
    ----------
    program : Program
        One of `av.tiles.programs(op)`, or your own.
    soc : str
        A SoC, such as "Ascend910B2", or a product, such as "A2".
    cores : int, optional
        The cores available to the tiling, by default all of the SoC.
    schedule : {"eager", "late"} or int
        "eager": instructions land as issued. "late": nothing lands before something waits for it. A seed: any legal order.
    sync : {"auto", "strict"}, optional
        "auto": the vendor's compiler inserts waits (between vector instructions, and around GetValue and SetValue). "strict":
        each wait must be in the program. By default the program's own setting.
    traced : bool
        Record the instructions, for `run.trace`.
    without : set of int
        The lines of waits to remove, from `run.waits`.
    unified_buffer : int, optional
        The bytes of the Unified Buffer, if fewer than the SoC's.
    precision : {"documented", "exact"}
        "documented": Rsqrt and Reciprocal have the errors that their pages state. "exact": rounded once.
    precise : bool
        Keep every 16-bit format in float32, which tells a wrong formula from lost precision.
    **inputs : array or value
        The parameters of `op.backward`.

    Returns
    -------
    Run
        With `outputs`, `hazards`, `trace`, and the most bytes used, `ub_bytes` and `gm_bytes`.

    Raises
    ------
    ValueError
        For a SoC, schedule or inputs that do not fit.
    NotImplementedError
        For float64, which vector cores do not support.

    Notes
    -----
    Hazards are found under any schedule. The order is modelled, the cycles are not.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> case = av.case("hardswish", shape=(100,))
    >>> run = launch(av.tiles.programs("hardswish")[0], schedule="late", **case.inputs)
    >>> len(run.hazards), run.outputs["out"].shape
    (0, (100,))
    """
    op = operator(
        need(
            program, Program, "a tile program is a Program", "pass av.tiles.programs(op)[0]"
        ).operator
    )
    platform = Platform.of(soc, cores, unified_buffer)
    sync = program.sync if sync is None else sync
    if not isinstance(sync, str) or sync not in SYNCS:
        raise invalid("sync must be 'auto' or 'strict'", shown(sync), "choose one")
    timing = schedule_of(schedule)
    bound, results = fitting(op, inputs)
    tiling = program.tiling(platform, **bound)
    if not 0 <= tiling.blockDim <= platform.cores:
        raise invalid(
            f"blockDim must lie in 0 to the {platform.cores} cores offered",
            f"{tiling.blockDim}",
            "let the tiling take at most GetCoreNumAiv()",
        )
    tensors = [
        None
        if (value := bound[parameter.name]) is None
        else GlobalMemory(parameter.name, np.ascontiguousarray(value), True)
        for parameter in op.parameters
        if parameter.kind == "tensor"
    ]
    outputs = {
        name: GlobalMemory(name, poisoned(result.documented_shape, result.format.numpy), False)
        for name, result in results.items()
    }
    pointers = (outputs.get(name) for name in op.outputs)
    arguments = *tensors, *pointers, workspace_of(tiling), tiling
    machine = Machine(platform, tiling.blockDim, timing, sync, traced, without, precision, precise)
    return left_by(machine, program.kernel, arguments, outputs, tiling)


def run(
    kernel: Callable,
    /,
    *arguments,
    soc: str = SOC,
    cores: int = 1,
    schedule="eager",
    sync: str = "auto",
    without=frozenset(),
    precision: str = "documented",
    precise: bool = False,
) -> Run:
    """Run a kernel that belongs to no operator, with arrays for pointers to global memory.

    Parameters
    ----------
    kernel : callable
        An entry of `av.tiles.cpp(file)`, or a function written with the names of Ascend C.
    *arguments : array or value
        Arrays are written in place; other arguments (numbers, a Tiling) are passed as they are.
    soc : str
        A SoC, such as "Ascend910B2", or a product, such as "A2".
    cores : int
        The number of cores that run the kernel.
    schedule : {"eager", "late"} or int
        That of `launch`.
    sync : {"auto", "strict"}
        That of `launch`.
    without : set of int
        That of `launch`.
    precision : {"documented", "exact"}
        That of `launch`.
    precise : bool
        That of `launch`.

    Returns
    -------
    Run
        Its outputs are all arrays, by the kernel's names; unwritten elements are therefore no hazard.

    Raises
    ------
    ValueError
        For an array that is not contiguous, and for a SoC or schedule that is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from aclnn_viz.tiles.ascendc import *
    >>> def twice(x, y, n):
    ...     ub, given, made = LocalMemAllocator(), GlobalTensor(float32), GlobalTensor(float32)
    ...     given.SetGlobalBuffer(x), made.SetGlobalBuffer(y)
    ...     tile = ub.Alloc(float32, n)
    ...     DataCopy(tile, given, n)
    ...     SetFlag(HardEvent.MTE2_V, 0), WaitFlag(HardEvent.MTE2_V, 0)
    ...     Muls(tile, tile, 2.0, n)
    ...     SetFlag(HardEvent.V_MTE3, 0), WaitFlag(HardEvent.V_MTE3, 0)
    ...     DataCopy(made, tile, n)
    >>> y = np.zeros(8, np.float32)
    >>> run(twice, np.ones(8, np.float32), y, 8).hazards, y[0].item()
    ((), 2.0)
    """
    platform, names = Platform.of(soc, cores), list(signature(kernel).parameters)
    values, outputs = [], {}
    for place, value in enumerate(arguments):
        if isinstance(value, np.ndarray):
            name = names[place] if place < len(names) else f"argument {place}"
            if not value.flags.c_contiguous:
                raise invalid(
                    f"{name} must be contiguous, as memory behind a pointer is",
                    "strides",
                    "pass a copy",
                )
            outputs[name] = value = GlobalMemory(name, value, True)
            value.read_only = False
        elif isinstance(value, GlobalMemory) and not value.read_only and value.name != "workspace":
            outputs[value.name] = value
        values.append(value)
    machine = Machine(
        platform, cores, schedule_of(schedule), sync, True, without, precision, precise
    )
    return left_by(machine, kernel, values, outputs, Tiling(cores))


def left_by(
    machine: Machine, kernel, arguments, outputs: dict[str, GlobalMemory], tiling: Tiling
) -> Run:
    """Run a kernel on the cores of a machine, and return the Run: outputs, hazards, instructions."""
    if machine.cores:
        machine.run(kernel, arguments)
    _look_back(machine, kernel, outputs)
    run = Run(
        {name: memory.array for name, memory in outputs.items()},
        tuple(machine.hazards),
        machine.hazards.warnings,
        machine.approximate,
        machine.trace,
        max((pipe.top for core in machine.cores for pipe in core.pipes), default=0),
        sum(core.moved for core in machine.cores),
        tiling,
        machine.platform,
        tuple(sorted(machine.waits)),
        tuple(sorted(machine.own_waits)),
        machine.landed,
        tuple(
            tuple(block for pipe in core.pipes for block in pipe.buffers) for core in machine.cores
        ),
        frozenset(machine.hazardous),
    )
    machine.part()
    return run


def explore(program, /, limit: int = STEPS_AT_MOST, **how) -> Orders:
    """Run a tile program in every order that matters.

    Parameters
    ----------
    program : Program
        One of `av.tiles.programs(op)`, or your own.
    limit : int
        The number of orders after which the search stops; `complete` is then false.
    **how : value
        The keywords of `launch`, and the inputs.

    Returns
    -------
    Orders
        With `proved`, and the hazards and outputs of the orders.

    Raises
    ------
    ValueError, NotImplementedError
        As `launch` does.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> case = av.case("hardswish", shape=(24,))
    >>> explore(av.tiles.programs("hardswish")[0], cores=2, **case.inputs).proved
    True
    """
    return explored(lambda schedule: launch(program, schedule=schedule, traced=False, **how), limit)


def poisoned(shape, dtype) -> np.ndarray:
    wanted, most = prod(shape) * dtype.itemsize, machine_memory()
    if wanted > most:
        raise invalid(
            f"outputs and workspace fit the {most / 1e9:.0f} GB of this machine",
            f"{wanted / 1e9:.0f} GB",
            "mend what the tiling asks for",
        )
    array = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8)[...] = POISON
    return array


def workspace_of(tiling: Tiling) -> GlobalMemory:
    """Return the workspace that a tiling requests."""
    shape = (-(-tiling.workspace // 2),)
    return GlobalMemory("workspace", poisoned(shape, np.dtype(np.uint16)), False)


def _look_back(machine: Machine, kernel, outputs):
    code = kernel.__code__
    if any(core.ended_at is None for core in machine.cores):
        return  # the hazard of a stopped core says more than missing outputs
    for name, memory in outputs.items():
        missing = np.flatnonzero(memory.state == UNWRITTEN)
        if missing.size:
            machine.hazards.add(
                "output not written",
                message(
                    "{n} of {all} elements of {tensor} are never written, the first at {first}",
                    n=missing.size,
                    all=memory.state.size,
                    tensor=name,
                    first=missing[0],
                ),
                0,
                (code.co_filename, code.co_firstlineno),
            )
