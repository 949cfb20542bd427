"""The numbers of the explorer of tile programs: `compute` runs a program on the simulated machine and returns `Data`.

A person chooses the program and one of its named faults, format and shape, the product, the number of cores, the size of
their Unified Buffer, one buffer or two for each queue, and the order in which operations take effect. `Data` holds:

- for each element of the outputs the core and the tile that wrote it, and whether it is wrong;
- for each step of a core what its pipes do, what they wait for, and which buffers are written, read and kept;
- the lines of the program that run in the chosen step, and the hazards with their lines and steps;
- the bytes that are copied, beside the fewest with which the operator could do.
"""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType, SimpleNamespace

import numpy as np

from aclnn_viz import tiles
from aclnn_viz.accuracy.envelopes import NOT_EXPLAINED, envelope, verdicts
from aclnn_viz.cases import case
from aclnn_viz.cases.default import matrix_shape, rows_of
from aclnn_viz.errors import problem
from aclnn_viz.explorers.state import StateError, check_choices, check_indices, choice, whole
from aclnn_viz.operators import operator, operators
from aclnn_viz.operators.products import PRODUCTS, SOC
from aclnn_viz.operators.registry import own
from aclnn_viz.tiles import fault as editing
from aclnn_viz.tiles.memory import MTE2, MTE3, PIPE_NAMES
from aclnn_viz.tiles.platforms import ARCHS, BLOCK
from aclnn_viz.tiles.schedules import schedule_of
from aclnn_viz.tiles.timing import Times
from aclnn_viz.words.messages import message

PROGRAMS = {program.name: program for op in operators() for program in tiles.programs(op)}
FAULTS = {
    f"{name}: {fault.name}": fault
    for name, program in PROGRAMS.items()
    for fault in tiles.faults(program.operator)
    if (fault.program or program.operator) == name
}
SOCS = [soc for product in PRODUCTS if product.npu_arch in ARCHS for soc in product.cores]
ONE_BUFFER = ("BUFFERS = 2", "BUFFERS = 1")
MOST_ELEMENTS = 1 << 15  # elements, so that an answer comes at once


@dataclass(frozen=True)
class Machine:
    """The choices that decide which program runs, and on what; explorers add those of what is drawn."""

    program: str = choice(
        next(iter(PROGRAMS)), {name: name for name in PROGRAMS}, "program", "Program"
    )
    fault: str = choice(
        "none",
        {"none": "none"} | {name: fault.name for name, fault in FAULTS.items()},
        "fault",
        "Program",
        "a named mistake in the program",
        of="program",
        owners={name: name.partition(":")[0] for name in FAULTS},
    )
    dtype: str = choice(
        "float32", {name: name for name in ("float32", "float16", "bfloat16")}, "dtype", "Program"
    )
    rows: int = whole(10, 1, 32, "rows", "Tensors")
    columns: int = whole(1901, 1, 4096, "columns", "Tensors")
    soc: str = choice(
        SOC, {soc: soc for soc in SOCS}, "soc", "Machine", "the product that is emulated"
    )
    cores: int = whole(3, 1, 48, "cores", "Machine", "vector cores offered to the tiling")
    unified_buffer: int = choice(
        98304,
        {32768: "32 KiB", 65536: "64 KiB", 98304: "96 KiB", 196608: "192 KiB, all"},
        "UB",
        "Machine",
        "less than the product has makes tiles small enough to be seen",
    )
    buffers: int = choice(2, {1: "one", 2: "two"}, "buffers", "Machine", "blocks of each queue")
    schedule: str | int = choice(
        "eager",
        {"eager": "as issued", "late": "late", 0: "drawn: 0", 1: "drawn: 1", 2: "drawn: 2"},
        "takes effect",
        "Machine",
        "when what a pipe does takes effect; late: not before something waits for it",
    )

    seed = 0  # of the numbers, which do not matter here

    def __post_init__(self):
        check_choices(self)
        check_indices(self)
        if self.rows * self.columns > MOST_ELEMENTS:
            raise StateError(
                "columns",
                message("rows x columns must be at most {most:,}", most=MOST_ELEMENTS),
                f"{self.rows * self.columns:,}",
                message("lower one of them"),
            )


@dataclass(frozen=True)
class State(Machine):
    """What can be moved."""

    core: int = whole(
        0, 0, 47, "core", "Look at", "the core whose pipes and buffers are drawn", below="cores"
    )
    step: int = whole(
        12, 0, 9999, "step", "Look at", "or drag over the timeline; beyond the last it is the last"
    )
    time: str = choice(
        "steps",
        {"steps": "steps", "A2": "us, stated (A2)"},
        "time",
        "Look at",
        "steps are an order; us are stated from published numbers of Atlas A2, not measured",
    )


@dataclass(frozen=True, eq=False)
class Job:
    """An instruction at its place in the timeline: `writes` and `reads` are (memory, span); `after` is what it awaited.

    `hazardous`: a hazard showed when it was issued.
    """

    step: int
    pipe: int
    name: str
    file: str
    line: int
    epoch: int
    writes: list
    reads: list
    after: "Job | None"
    hazardous: bool
    wrote: list  # bytes, one array for each of `writes`


@dataclass(frozen=True, eq=False)
class Owned:
    """One output, (rows, columns) each: the core that writes an element last (-1: none), how many do, its tile there.
    Of sums, what cleared them before is no writer.

    `tail` marks elements of a copy behind its last whole 32 bytes, `wrong` numbers that rounding does not explain.
    """

    name: str
    shape: tuple
    core: np.ndarray
    cores: np.ndarray
    tile: np.ndarray
    tail: np.ndarray
    wrong: np.ndarray


@dataclass(frozen=True, eq=False)
class Work:
    """The run of a state, the same for every core and step that is looked at."""

    program: tiles.Program
    run: tiles.Run
    owned: list[Owned]
    jobs: dict[int, list[Job]]  # by core, in their order of issue
    steps: int
    least: int  # bytes: each element that is copied, once
    overtaken: int  # instructions that landed after one that was issued later


@dataclass(frozen=True, eq=False)
class Data:
    """What is drawn."""

    state: State
    work: Work
    times: Times | None = None

    @property
    def step(self) -> int:
        return min(self.state.step, self.work.steps - 1)

    @property
    def jobs(self) -> list[Job]:
        """The instructions of the chosen core."""
        return self.work.jobs.get(self.state.core, [])

    @property
    def hazards(self) -> tuple[tiles.Hazard, ...]:
        return self.work.run.hazards

    @property
    def fault(self):
        return FAULTS.get(self.state.fault)


def operator_of(state: State):
    return operator(PROGRAMS[state.program].operator)


def program_of(state: State) -> tiles.Program:
    """Return the program of a state, with its fault and number of buffers."""
    right, fault = PROGRAMS[state.program], FAULTS.get(state.fault)
    changes = fault.changes if fault else ()
    if state.buffers == 1:
        if not hasattr(import_module(right.kernel.__module__), "BUFFERS"):
            raise StateError(
                "buffers",
                message("one buffer needs a program that says how many there are"),
                message("{program}, whose queues are those of another", program=state.program),
                message("choose two"),
            )
        changes += (ONE_BUFFER,)
    return editing.edited(right.operator, right.name, changes) if changes else right


def options(state: State) -> dict:
    """Return the options of the case: rows that can be dealt to cores, and attributes that the fault needs."""
    op = operator_of(state)
    if few := own("cases", op.name, "FEW_POINTS"):  # whole images are dealt, not their rows
        channels, depth = 2, (1,) * (len(matrix_shape(op, 1, 1)) - 4)
        given = {"shape": (max(state.rows // 2, 1), channels, *depth, 2, state.columns)} | few
    else:
        given = rows_of(op, state.rows, state.columns, state.seed, state.dtype)
    fault = FAULTS.get(state.fault)
    needed = (
        {name: value for name, value in fault.case.items() if not _sizes(value)} if fault else {}
    )
    return {name: value for name, value in needed.items() if name != "dtype"} | given


def _sizes(value) -> bool:
    """Whether a value counts something, such as the axes of a shape, and so belongs to the shape that it comes with."""
    return any(type(each) is int for each in (value if isinstance(value, tuple) else (value,)))


def inputs(state: State) -> dict:
    """Return the inputs of op.backward that a state stands for."""
    given = _given(operator_of(state).name, state.dtype, state.seed, tuple(options(state).items()))
    # Copies, for a wrong program may write to its inputs.
    return {
        name: np.array(value) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }


@lru_cache(8)  # whatever of the machine is changed, the inputs stay
def _given(op: str, dtype: str, seed: int, given: tuple):
    return case(op, dtype, seed, **dict(given)).inputs


def compute(state: State, backward=None) -> Data:
    """Run the program of a state; `backward` is that of every explorer, and not needed."""
    work = ran(state)
    return Data(state, work, None if state.time == "steps" else _times(work, state.time))


def ran(state: Machine) -> Work:
    """What the program of a state did."""
    return _work(*(getattr(state, name) for name in MACHINE))


MACHINE = [*Machine.__dataclass_fields__]


def how(state: State) -> dict:
    """Return the machine of a state, as `launch` takes it."""
    return {"soc": state.soc, "cores": state.cores, "unified_buffer": state.unified_buffer}


@lru_cache(16)  # to go back and forth between programs and their faults tells them apart
def _work(*values) -> Work:
    state = State(**dict(zip(MACHINE, values)))
    given, program = inputs(state), program_of(state)
    try:
        schedule, wrote = _watched(state.schedule)
        run = tiles.launch(program, **how(state), schedule=schedule, **given)
    except (ValueError, NotImplementedError) as error:
        field = (
            "cores"
            if str(error).startswith("cores")
            else "fault"
            if state.fault != "none"
            else "program"
        )
        raise StateError.of(field, error) from error
    ordered, jobs = jobs_of(run, wrote)
    for core in {one.core for one in ordered}:
        core.ub.give_back()  # what is kept of a run is its order
    stores = [
        (one.core.index, memory, span, one.atomic)
        for one in ordered
        if one.pipe != MTE2
        for memory, span in one.writes
        if memory is not one.core.ub
    ]
    return Work(
        program,
        run,
        owned(program, state, run, stores),
        jobs,
        _steps(jobs),
        _least(run),
        _overtaken(run),
    )


@lru_cache(4)
def _times(work: Work, product: str) -> Times:
    return tiles.timeline(work.run, costs=tiles.Costs.published(product))


def work_of(run: tiles.Run) -> Work:
    """What a run that has its trace did, where nobody says which outputs are right."""
    if not run.trace:
        raise ValueError(
            problem(
                "a picture of a run needs its trace", "a run without one", "launch with traced=True"
            )
        )
    jobs = jobs_of(run)[1]
    file = next((one.file for one in run.hazards if one.file), run.trace[0].where[0])
    kernel = SimpleNamespace(__code__=SimpleNamespace(co_filename=file))
    return Work(
        SimpleNamespace(kernel=kernel), run, [], jobs, _steps(jobs), _least(run), _overtaken(run)
    )


def _steps(jobs: dict[int, list[Job]]) -> int:
    return max((job.step for every in jobs.values() for job in every), default=0) + 1


def _watched(name) -> tuple:
    """A schedule, and where it notes the bytes that each instruction leaves where it writes."""
    schedule, wrote = schedule_of(name), {}
    issue = schedule.issue

    def noted(one):
        run = one.run

        def land():
            run()
            wrote[one] = [
                np.array(span.view(memory.bytes)).reshape(-1) for memory, span in one.writes
            ]

        one.run = land
        issue(one)

    schedule.issue = noted
    return schedule, wrote


def jobs_of(run: tiles.Run, wrote=MappingProxyType({})) -> tuple[list, dict[int, list[Job]]]:
    """The instructions of a run by their phase, and by core with their steps."""
    ordered = sorted(run.trace, key=lambda one: one.epoch)
    made, jobs = {}, defaultdict(list)
    for one, slot in zip(ordered, tiles.timeline(run)):
        place = slot.core, len(jobs[slot.core]), one.where
        made[one] = Job(
            slot.step,
            one.pipe,
            one.name,
            *one.where,
            one.epoch,
            one.writes,
            one.reads,
            made.get(slot.after),
            place in run.hazardous,
            wrote.get(one, ()),
        )
        jobs[slot.core].append(made[one])
    return ordered, dict(jobs)


def _least(run) -> int:
    """The bytes of all elements that copies read or write, each of them once; a workspace could be done without."""
    reached = {}
    for one in run.trace:
        for memory, span in (*one.reads, *one.writes) if one.pipe in (MTE2, MTE3) else ():
            if memory is not one.core.ub and memory.name != "workspace":
                span.view(
                    reached.setdefault(memory, np.zeros(memory.size // memory.unit, bool)),
                    memory.unit,
                )[...] = True
    return sum(int(elements.sum()) * memory.unit for memory, elements in reached.items())


@lru_cache(8)  # whatever of the machine is changed, the numbers that are right stay
def _right(op: str, plan, dtype: str, seed: int, given: tuple):
    values = _given(op, dtype, seed, given)
    return operator(op).truth(**values), envelope(operator(op), plan, **values)


def owned(program, state: State, run, stores) -> list[Owned]:
    """Return who writes each element of the outputs, by the stores (core, memory, span, atomic) in their order."""
    found = []
    truth, bounds = _right(
        program.operator, program.plan, state.dtype, state.seed, tuple(options(state).items())
    )
    for name, actual in run.outputs.items():
        n = actual.size
        core, tile, tail, counts = (
            np.full((2, n), -1),
            np.full((2, n), -1),
            np.zeros(n, bool),
            defaultdict(int),
        )
        writers = np.zeros((2, run.cores, n), bool)
        for index, memory, span, atomic in (store for store in stores if store[1].name == name):
            kind = int(atomic)
            for part, value in (
                (core[kind], index),
                (tile[kind], counts[index]),
                (writers[kind, index], True),
            ):
                span.view(part, memory.unit)[...] = value
            if rest := span.length % BLOCK:
                span.view(tail, memory.unit)[..., -(rest // memory.unit) :] = True
            counts[index] += 1
        core, tile, many = (
            np.where(core[1] < 0, *part) for part in (core, tile, writers.sum(axis=1))
        )
        wrong = verdicts(actual, truth[name], bounds[name]) == NOT_EXPLAINED
        shape = _matrix(actual.shape)
        found.append(
            Owned(
                name,
                actual.shape,
                *(part.reshape(shape) for part in (core, many, tile, tail, np.asarray(wrong))),
            )
        )
    return found


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """A shape in two axes; the last ones are taken together where they are short."""
    wide, rows = 1, list(shape)
    while rows and wide < 16:
        wide *= rows.pop()
    return int(np.prod(rows)), wide


def _overtaken(run) -> int:
    """How many instructions landed after one that was issued later on their core."""
    count, last = 0, {}
    number = {one: k for k, one in enumerate(run.trace)}
    for one in run.landed:
        count += number[one] < last.get(one.core, -1)
        last[one.core] = max(number[one], last.get(one.core, -1))
    return count


def pipe_name(pipe: int) -> str:
    return PIPE_NAMES[pipe].removeprefix("PIPE_")
