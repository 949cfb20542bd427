"""Numbers of the interactive picture (explorer) of Ascend C kernels: `ran` runs one on simulated cores, and `Data` holds one
core's work.

Controls: the program and one of its named faults, format and shape, the product, the number of cores, the size of the Unified
Buffer, one or two buffers per queue, and the order of effects. A run holds:

- for each element of the outputs the core and the tile that wrote it, and whether it is wrong; - for each instruction of a
core its pipe and step, its waits, reads and writes, and whether it showed a hazard.
"""

from collections import defaultdict
from functools import lru_cache
from importlib import import_module
from types import MappingProxyType

import numpy as np

from aclnn_viz import tiles
from aclnn_viz.accuracy.envelopes import NOT_EXPLAINED, envelope, verdicts
from aclnn_viz.cases import case
from aclnn_viz.cases.default import matrix_shape, rows_of
from aclnn_viz.errors import invalid
from aclnn_viz.explorers.fields import stated
from aclnn_viz.explorers.state import StateError, check_choices, check_indices
from aclnn_viz.operators import operator, operators
from aclnn_viz.operators.products import PRODUCTS, SOC
from aclnn_viz.operators.registry import own
from aclnn_viz.pictures.marks import record
from aclnn_viz.tiles import fault as editing
from aclnn_viz.tiles.memory import MTE2, PIPE_NAMES
from aclnn_viz.tiles.platforms import ARCHS
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
MOST_ELEMENTS = 1 << 15  # most elements of a tensor: the program runs at each move


OWN = {
    "program": {"options": {name: name for name in PROGRAMS}},
    "fault": {
        "start": "none",
        "options": {"none": "none"} | {name: fault.name for name, fault in FAULTS.items()},
        "owners": {name: name.partition(":")[0] for name in FAULTS},
    },
    "soc": {"start": SOC, "options": {soc: soc for soc in SOCS}},
}


@stated("machine", **OWN)
class Machine:
    """The choices of a program and its machine; explorers add those of the drawing."""

    seed = 0  # seed of the numbers, which do not change the picture

    def __post_init__(self):
        check_choices(self)
        check_indices(self)
        if self.rows * self.columns > MOST_ELEMENTS:
            raise StateError(
                "columns",
                message("rows x columns must be at most {most:,}", most=MOST_ELEMENTS),
                f"{self.rows * self.columns:,}",
                message("lower the number of rows or of columns"),
            )


@stated("tiles", **OWN)
class State:
    """The values that a reader can move in the explorer of tile programs."""

    seed, __post_init__ = Machine.seed, Machine.__post_init__


@record
class Job:
    """An instruction at its place in the timeline: `writes` and `reads` are (memory, span).

    `hazardous`: its issue showed a hazard.
    """

    step: int
    pipe: int
    name: str
    file: str
    line: int
    writes: list
    reads: list
    hazardous: bool
    wrote: list  # the bytes written, one array per span of `writes`
    waits: tuple  # for each pipe, the number of its instructions that must finish before this one


@record
class Owned:
    """One output, per flat element: the core that writes it last (-1: none), its tile there, and errors beyond rounding.

    A clearing before sums is no write.
    """

    name: str
    core: np.ndarray
    tile: np.ndarray
    wrong: np.ndarray


@record
class Work:
    """The run of a program: the part of the data that depends on no chosen core or step."""

    program: tiles.Program | None
    run: tiles.Run
    owned: list[Owned]
    jobs: dict[int, list[Job]]  # jobs by core, in order of issue


@record
class Data:
    """The data that the explorer of tile programs draws."""

    state: State
    work: Work
    times: Times | None = None
    core: object = None
    other: object = None  # the core with single instead of double buffers, or the reverse
    xp: object = None

    @property
    def unguarded(self) -> bool:
        """Return whether the vector unit reads a copy without waiting for it."""
        return not self.state.wait and bool(self.core.readers)

    @property
    def hazards(self) -> tuple[tiles.Hazard, ...]:
        return self.work.run.hazards

    @property
    def fault(self):
        return FAULTS.get(self.state.fault)


def operator_of(state):
    return operator(PROGRAMS[state.program].operator)


def program_of(state) -> tiles.Program:
    """Return the program of a state, with its fault and number of buffers."""
    right, fault = PROGRAMS[state.program], FAULTS.get(state.fault)
    changes = fault.changes if fault else ()
    if state.buffers == 1 and hasattr(import_module(right.kernel.__module__), "BUFFERS"):
        changes += (ONE_BUFFER,)
    return editing.edited(right.operator, right.name, changes) if changes else right


def options(state) -> dict:
    """Return the options of the case: rows to deal to cores, and attributes that the fault needs."""
    op = operator_of(state)
    # some programs divide whole images, not their rows
    if few := own("cases", op.name, "FEW_POINTS"):
        depth = (1,) * (len(matrix_shape(op, 1, 1)) - 4)
        given = {"shape": (max(state.rows // 2, 1), 2, *depth, 2, state.columns)} | few
    else:
        given = rows_of(op, state.rows, state.columns, state.seed, state.dtype)
    fault = FAULTS.get(state.fault)
    case = fault.case.items() if fault else ()
    return {name: value for name, value in case if name != "dtype" and not _sizes(value)} | given


def _sizes(value) -> bool:
    """Return whether an attribute holds whole numbers, such as axes, which fit one shape only."""
    return any(type(each) is int for each in (value if isinstance(value, tuple) else (value,)))


def inputs(state) -> dict:
    """Return the inputs of op.backward for a state."""
    given = _given(operator_of(state).name, state.dtype, state.seed, tuple(options(state).items()))
    # Copies, because a wrong program may write to its inputs.
    return {
        name: np.array(value) if isinstance(value, np.ndarray) else value
        for name, value in given.items()
    }


@lru_cache(8)  # the inputs do not depend on the machine
def _given(op: str, dtype: str, seed: int, given: tuple):
    return case(op, dtype, seed, **dict(given)).inputs


MACHINE = [*Machine.__dataclass_fields__]


def machine_of(state) -> Machine:
    """Return the program and machine of an explorer's state."""
    return Machine(**{name: getattr(state, name) for name in MACHINE})


def ran(state) -> Work:
    """Return the run of a state's program."""
    return _work(machine_of(state))


def how(state) -> dict:
    """Return the machine of a state, as options of `launch`."""
    return {"soc": state.soc, "cores": state.cores, "unified_buffer": state.unified_buffer}


@lru_cache(16)  # keeps programs and their faults while a reader switches between them
def _work(state: Machine) -> Work:
    given, program = inputs(state), program_of(state)
    try:
        schedule, wrote = watched(state.schedule)
        run = tiles.launch(program, **how(state), schedule=schedule, **given)
    except (ValueError, NotImplementedError) as error:
        field = "program" if state.fault == "none" else "fault"
        field = "cores" if str(error).startswith("cores") else field
        raise StateError.of(field, error) from error
    ordered, jobs = jobs_of(run, wrote)
    for core in {one.core for one in ordered}:
        core.ub.give_back()  # only the order of instructions is stored, so the memory can go
    stores = [
        (one.core.index, memory, span, one.atomic)
        for one in ordered
        if one.pipe != MTE2
        for memory, span in one.writes
        if memory is not one.core.ub
    ]
    return Work(program, run, owned(program, state, run, stores), jobs)


@lru_cache(4)
def times_of(work, product: str) -> Times | None:
    """Return the stated times of a product; None if steps are counted."""
    if product == "steps":
        return None
    return tiles.timeline(work.run, costs=tiles.Costs.published(product))


def work_of(run: tiles.Run) -> Work:
    """Return the work of a traced run, without a comparison of outputs."""
    if not run.trace:
        raise invalid(
            "a picture of a run needs its trace", "a run without one", "launch with traced=True"
        )
    return Work(None, run, [], jobs_of(run)[1])


def watched(name) -> tuple:
    """Return a schedule, and a dict that it fills with the bytes that each instruction writes."""
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
    """Return the instructions of a run in the order of their epochs, and for
    each core its jobs, which know their steps.
    """
    ordered, jobs = sorted(run.trace, key=lambda one: one.epoch), defaultdict(list)
    for one, slot in zip(ordered, tiles.timeline(run)):
        mine = jobs[slot.core]
        mine.append(
            Job(
                slot.step,
                one.pipe,
                one.name,
                *one.where,
                one.writes,
                one.reads,
                (slot.core, len(mine), one.where) in run.hazardous,
                wrote.get(one, ()),
                tuple(one.horizon),
            )
        )
    return ordered, dict(jobs)


@lru_cache(8)  # the right results do not depend on the machine
def _right(op: str, plan, dtype: str, seed: int, given: tuple):
    values = _given(op, dtype, seed, given)
    return operator(op).truth(**values), envelope(operator(op), plan, **values)


def owned(program, state, run, stores) -> list[Owned]:
    """Return the writer of each output element, from the stores (core, memory, span, atomic) in order."""
    found = []
    truth, bounds = _right(
        program.operator, program.plan, state.dtype, state.seed, tuple(options(state).items())
    )
    for name, actual in run.outputs.items():
        core, tile = np.full((2, 2, actual.size), -1)
        counts: dict = defaultdict(int)
        for index, memory, span, atomic in (store for store in stores if store[1].name == name):
            for kind, value in ((core, index), (tile, counts[index])):
                span.view(kind[int(atomic)], memory.unit)[...] = value
            counts[index] += 1
        core, tile = (np.where(core[1] < 0, *part) for part in (core, tile))
        wrong = np.asarray(verdicts(actual, truth[name], bounds[name]) == NOT_EXPLAINED)
        found.append(Owned(name, core, tile, wrong.reshape(-1)))
    return found


def pipe_name(pipe: int) -> str:
    return PIPE_NAMES[pipe].removeprefix("PIPE_")
