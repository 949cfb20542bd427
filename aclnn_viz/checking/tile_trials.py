"""Try a tile program (an Ascend C kernel) where such programs usually break: tails, long rows, few and many cores, small
buffers, every order of a short run.

The device chooses the order of independent parts, and the cores and bytes of a launch: a right program must not depend on them.
"""

from dataclasses import dataclass, field

from aclnn_viz.cases.suites import Step, rows
from aclnn_viz.checking.evidence import Evidence, KernelUnderTest
from aclnn_viz.checking.judge import Prepared, judge
from aclnn_viz.checking.meter import METER
from aclnn_viz.checking.scope import Scope, prepared_step
from aclnn_viz.operators.products import SOC
from aclnn_viz.tiles.platforms import BLOCK, Platform
from aclnn_viz.tiles.program import HazardError, Program, explore
from aclnn_viz.words.messages import Message, commas, linked, message

TAILS = (1, 15, 31)  # bytes behind the last whole block; rounded to whole elements, at least one
# smaller Unified Buffers, in bytes; the first in which the tiling fits is used
SMALL_BUFFERS = (16384, 32768, 65536)
SEEDS = FEW_CORES = 3
SLOW = 30.0  # if the program itself runs longer, in seconds, no other case starts
ORDERS = 100  # most orders of a short run that are counted; the report says "more"
# a tiling may raise these for fewer cores or bytes than any device has
UNFIT = ValueError, ZeroDivisionError


@dataclass
class Trials:
    """The trials of a tile program: lengths of rows by format, cores, bytes of the buffer, orders; `runs` counts them.

    `orders` are the schedules, where a number is a seed; `explored` lists short runs in every order (case, cores, number of
    orders, whether these are all); `late` says that the program is slow and did not run on all.
    """

    runs: int = 0
    lengths: dict[str, list[int]] = field(default_factory=dict)
    cores: list[int] = field(default_factory=list)
    buffers: list[int] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    explored: list[tuple[str, int, int, bool]] = field(default_factory=list)
    late: bool = False

    @property
    def text(self) -> Message:
        """The lengths, cores, buffers and orders for which the program is right, in words."""
        some = [
            message(
                "{lengths} ({dtype})",
                lengths=commas(map(str, lengths)),
                dtype=dtype,
            )
            for dtype, lengths in self.lengths.items()
        ]
        parts = [
            message(
                "run as a tile program: {n} runs; rows of {lengths} elements, {cores} cores, {buffers} bytes of Unified Buffer, orders {orders}",
                lengths=commas(some),
                cores=commas(map(str, self.cores)),
                orders=commas(self.orders),
                buffers=commas((f"{size:,}" for size in self.buffers)),
                n=self.runs,
            )
        ] * bool(self.runs)
        parts += [
            message(
                message("{case} on {cores} cores: all orders agree ({n} that may differ)")
                if whole
                else message("{case} on {cores} cores: {n} orders agree, there are more"),
                case=case,
                cores=cores,
                n=n,
            )
            for case, cores, n, whole in self.explored
        ]
        parts += [
            message("run as a tile program: stopped, because the program is slow")
        ] * self.late
        return linked(
            "{some}\n  {more}",
            parts or [message("run as a tile program: on the cases above alone")],
        )


def try_tiles(tested: KernelUnderTest, seed: int, most: int, evidence: Evidence) -> Trials:
    """Try a tile program on difficult cases of at most `most` elements until one is wrong, and record that in the evidence."""
    program, scope = tested.kernel, tested.scope
    full, trials, small, late = Platform.of(SOC), Trials(), None, METER.seconds + SLOW
    kinds = scope.formats
    for step in sorted(
        rows(scope.op, scope.modes, kinds, lambda size: [BLOCK // size + 1]),
        key=lambda step: step.elements,
    )[: len(kinds)]:
        _explore(program, scope, step, seed, trials, evidence)
    steps = rows(
        scope.op,
        scope.modes,
        kinds,
        lambda size: [
            most // BLOCK * BLOCK // size + max(tail // size, 1)
            for most, tails in (
                (4 * BLOCK, TAILS),
                (2048, TAILS[:1]),
                (SMALL_BUFFERS[0], TAILS),
                (full.GetCoreMemSize(), TAILS[2:]),
            )
            for tail in tails
        ],
    )
    for number, step in enumerate(sorted(steps, key=lambda step: step.elements)):
        if step.elements > most or evidence.failed:
            break
        ready = prepared_step(scope, step, 1000 * seed + number)
        if ready is None:
            continue
        small = small or _smallest(program, ready, full)
        lines = step.elements // step.options["shape"][-1]
        for turn, cores in enumerate(
            sorted({1, max(lines - 1, 1), min(lines + 4, full.cores), full.cores})
        ):
            how = {
                "cores": cores,
                "schedule": ("late", number % SEEDS)[turn % 2],
                "unified_buffer": (small, full.unified_buffer)[(turn + number) // 2 % 2],
            }
            trials.late |= METER.seconds > late
            if not trials.late and not evidence.failed:
                _try(program, ready, how, trials, evidence, step.options["shape"][-1])
    return trials


def _smallest(program: Program, ready: Prepared, full: Platform) -> int:
    """Return a small buffer size in which the tiling fits."""
    for size in SMALL_BUFFERS:
        try:
            program.under(unified_buffer=size)(**ready.case.inputs)
        except (HazardError, *UNFIT):
            continue
        return size
    return full.unified_buffer


def _try(
    program: Program, ready: Prepared, how: dict, trials: Trials, evidence: Evidence, length: int
):
    """Run and judge a program once; record the trial and any fault."""
    wrong = ""
    try:
        outputs = METER.timed(lambda: program.under(**how)(**ready.case.inputs))
    except (NotImplementedError, *UNFIT):
        return
    except HazardError as error:
        wrong = error.args[0]
    else:
        for miss in judge(ready, outputs)[:1]:
            wrong = message("{output} is wrong: {text}", output=miss.output, text=miss.problem)
    trials.runs += 1
    for there, new in (
        (trials.lengths.setdefault(ready.case.dtype, []), length),
        (trials.cores, how["cores"]),
        (trials.buffers, how["unified_buffer"]),
        (trials.orders, str(how["schedule"])),
    ):
        if new not in there:
            there.append(new)
    evidence.blame(
        wrong
        and message(
            "run as a tile program on {cores} cores, in order {order}, with {size} bytes of Unified Buffer: {did}",
            did=wrong,
            cores=how["cores"],
            order=how["schedule"],
            size=how["unified_buffer"],
        ),
        ready,
    )


def _explore(
    program: Program, scope: Scope, step: Step, seed: int, trials: Trials, evidence: Evidence
):
    """Run a small case on three cores in every order, because sums of three terms depend on the order."""
    ready = prepared_step(scope, step, seed)
    if ready is None or evidence.failed:
        return
    try:
        program.under(cores=FEW_CORES)(**ready.case.inputs)
    except (HazardError, NotImplementedError, *UNFIT):
        return
    orders = explore(program, ORDERS, cores=FEW_CORES, **ready.case.inputs)
    trials.explored.append((str(ready.recipe), FEW_CORES, orders.count, orders.complete))
    if orders.hazards:
        evidence.blame(
            message("run as a tile program, in some order: {did}", did=orders.hazards[0].sentence),
            ready,
        )
    elif program.deterministic and len(orders.outcomes) > 1:
        evidence.blame(
            message(
                "run as a tile program: {n} different results in {orders} orders",
                n=len(orders.outcomes),
                orders=orders.count,
            ),
            ready,
        )
