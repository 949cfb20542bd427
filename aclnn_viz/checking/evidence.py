"""Run a kernel on test cases one after another, judge each output, and keep the findings (`Evidence`) for the verdict.

`Coverage` counts the contents of the cases, so that a report can say what was not tried. `KernelUnderTest` runs a kernel on
these cases, and on others in searches for an explanation or a smaller counterexample.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from aclnn_viz.cases import Case
from aclnn_viz.cases.atoms import GEOMETRY, LENGTHS, PAGE, PAIRS, ROWS, Atoms, atoms
from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.conditions import Traits
from aclnn_viz.checking.judge import (
    Prepared,
    bound,
    case_at,
    once_per_case,
    suite_recipes,
)
from aclnn_viz.checking.kernel_call import Outcome, remembers, repeated, repeats, run
from aclnn_viz.checking.meter import CASE, METER
from aclnn_viz.checking.scope import UNTAKEN, Ready, Scope
from aclnn_viz.dtypes import float_format
from aclnn_viz.notebook import noted
from aclnn_viz.words.messages import commas, message

DIVISORS = (2, 4, 8, 16, 32, 64)
NUMBERS = {
    "nan": lambda wide, fmt: np.isnan(wide),
    "inf": lambda wide, fmt: np.isinf(wide),
    "0": lambda wide, fmt: np.mean(wide == 0) not in (0.0, 1.0),  # some zeros, but not only zeros
    "-0.0": lambda wide, fmt: np.signbit(wide) & (wide == 0),
    message("numbers from 64 to 128"): lambda wide, fmt: (
        (np.abs(wide) >= 64) & (np.abs(wide) <= 128)
    ),
    message("the largest number of its format"): lambda wide, fmt: np.abs(wide) == fmt.largest,
    message("subnormal numbers"): lambda wide, fmt: (
        (wide != 0) & (np.abs(wide) < 2.0**fmt.min_exponent)
    ),
}
REPEATED = 3  # number of cases that run twice
LISTED = 3  # per family of conditions, the most that are listed of those that no case met
KEPT = 4096  # a deep check keeps right cases with at most so many output elements
LATE = message("stopped at the time limit: the rest of the cases was not run")
WRONG_CASES = 12  # wrong cases after which a deep check stops


@dataclass
class Coverage:
    """The contents of cases that a check has seen: options, lengths and kinds of numbers.

    `cases` holds the small ones; `calls` is how often the most repeated case ran; `shuffled` says whether cases also ran in
    another order.
    """

    cases: list[Case] = field(default_factory=list)
    elements: int = 0
    lengths: dict[str, set[int]] = field(default_factory=dict)
    # kinds of numbers seen in each floating tensor
    numbers: dict[str, set[str]] = field(default_factory=dict)
    calls: int = 1
    shuffled: bool = False

    def add(self, case: Case) -> None:
        elements, numbers, lengths = _contents(case)
        self.elements = max(self.elements, elements)
        self.cases += [case] * (elements <= KEPT)
        for name, kinds in numbers.items():
            self.numbers.setdefault(name, set()).update(kinds)
        for name, length in lengths.items():
            self.lengths.setdefault(name, set()).add(length)

    @property
    def untried(self) -> list[str]:
        """Return in words what no case contained."""
        longest = commas((f"{name} > {max(some):,}" for name, some in self.lengths.items()))
        text = [
            *self._unmet(),
            message("tensors of more than {n:,} elements", n=self.elements),
            message("lengths beyond ({longest})", longest=longest),
        ]
        missing = {
            name: first for name, some in self.lengths.items() if (first := _incomplete(some))
        }
        if missing:
            listed = [
                message(
                    message("{length} by {divisor} and more")
                    if first < DIVISORS[-1]
                    else message("{length} by {divisor}"),
                    length=name,
                    divisor=first,
                )
                for name, first in missing.items()
            ]
            text.append(message("every remainder of {divisions}", divisions=commas(listed)))
        for kind in NUMBERS:
            without = [name for name, held in self.numbers.items() if kind not in held]
            if without:
                text.append(
                    message(
                        "{numbers} in {tensors}",
                        numbers=kind,
                        tensors=commas(without),
                    )
                    if len(without) < len(self.numbers)
                    else kind
                )
        if not self.shuffled:
            text.append(message("calls in another order"))
        return text + [message("more than {n} calls with the same inputs", n=self.calls)]

    def _unmet(self) -> Iterator[str]:
        """Yield in words the conditions that the suite's cases meet and these cases do not, their number first."""
        if not self.cases:
            return
        op = self.cases[0].operator
        met = {atom for case in self.cases for atom, holds in _atoms(case).items() if holds}
        seed, count = self.cases[0].seed // 1000, len(suite_recipes(op.name))
        suite = {atom for number in range(count) for atom in _atoms_at(op, number, seed)}
        left = sorted(suite - met, key=lambda atom: (len(atom[1]), atom[1]))
        yield message("{n:,} of {all:,} conditions", n=len(left), all=len(suite | met))
        for family in (PAGE, ROWS, LENGTHS, GEOMETRY):
            texts = [*dict.fromkeys(text for kind, text in left if kind == family)]
            if texts:
                listed = commas(texts[:LISTED])
                more = len(texts) - LISTED
                yield (
                    message("{conditions} and {n} more", conditions=listed, n=more)
                    if more > 0
                    else listed
                )
        if pairs := sum(kind == PAIRS for kind, _ in left):
            yield message("{n:,} pairs of options", n=pairs)


_atoms = once_per_case(atoms)


def _atoms_at(op, number: int, seed: int) -> Atoms:
    """Return the facts (atoms) about case `number` of the suite; none if the operator refuses the case."""
    try:
        return _atoms(case_at(op.name, number, seed))
    except UNTAKEN:
        return {}


@once_per_case
def _contents(case: Case) -> tuple[int, dict[str, list[str]], dict[str, int]]:
    """Return the size of a case's largest tensor, the kinds of numbers in each floating one, and lengths by letter (a starred
    letter as one product).
    """
    tensors, numbers = case.arrays, {}
    for name in case.floats():
        wide, fmt = tensors[name].astype(np.float64), float_format(tensors[name])
        numbers[name] = [kind for kind, holds in NUMBERS.items() if np.any(holds(wide, fmt))]
    lengths = {
        name: int(np.prod(value, dtype=np.int64))
        for name, value in case.operator.fitting(bound(case))[1].items()
    }
    return max((value.size for value in tensors.values()), default=0), numbers, lengths


def _incomplete(lengths: set[int]) -> int | None:
    """Return the smallest divisor for which the lengths above it do not leave every remainder, or None."""
    return next((d for d in DIVISORS if {n % d for n in lengths if n > d} != set(range(d))), None)


@dataclass(eq=False)
class Evidence:
    """The results of a kernel on its cases: judged runs, and the first case for each other fault."""

    seen: list[CaseRun] = field(default_factory=list)
    misbehaviour: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)  # traceback of each fault that is an error
    blamed: list[Ready | Prepared] = field(default_factory=list)  # cases with a fault of any kind
    # cases that the kernel or device does not support
    refused: list[Ready | Prepared] = field(default_factory=list)
    reasons: Counter = field(default_factory=Counter)  # number of refusals by reason
    tried: Coverage = field(default_factory=Coverage)
    right: list[Traits] = field(default_factory=list)  # traits of right cases that were not kept
    undecided: int = 0  # number of undecided elements in the judged cases
    silent: int = 0  # number of cases on which the kernel returned nothing
    unrun: str = ""  # why some cases did not run
    # seconds from the start of the check, including the preparation of cases
    first_failure: float | None = None
    start: float = field(default_factory=time.monotonic)
    earlier: float = 0.0  # seconds of earlier preparations of cases

    @property
    def failed(self) -> bool:
        return bool(self.misbehaviour) or any(run.misses for run in self.seen)

    def failing(self) -> None:
        if self.first_failure is None:
            self.first_failure = time.monotonic() - self.start + self.earlier

    def blame(self, fault: str, case: Ready | Prepared, trace: str = "") -> None:
        again = trace and any(
            place == trace and known.partition(":")[0] == fault.partition(":")[0]
            for known, place in self.traces.items()
        )
        # an error of one line of code counts once, because its text differs by shape
        if fault and not again:
            self.misbehaviour.setdefault(fault, str(case.recipe))
            self.traces.setdefault(fault, trace)
            self.blamed.append(case)


def examine(
    tested: "KernelUnderTest",
    cases: Sequence[Ready | Prepared],
    time_limit: float = 600.0,
    progress: Callable = noted,
    enough: float = float("inf"),
) -> Evidence:
    """Run a kernel on cases, one after another, and judge its outputs.

    Once the kernel is wrong and has used `enough` seconds, it is not run further, but explained.
    """
    METER.slow, evidence, slow = False, Evidence(), METER.seconds + enough
    unlike = ""
    for number, ready in enumerate(progress(cases, len(cases))):
        if METER.seconds > slow and any(seen.misses for seen in evidence.seen):
            evidence.unrun = message(
                "stopped, because the kernel is wrong and slow: {n} of {all} cases were not run",
                n=len(cases) - number,
                all=len(cases),
            )
            break
        if time.monotonic() - evidence.start > time_limit:
            evidence.unrun = LATE
            break
        outcome, seen, fault = _examined(evidence, tested, ready)
        misses = seen.misses if seen else []
        if seen:
            evidence.seen.append(seen)
            evidence.earlier += (
                seen.prepared.seconds if seen.prepared.made_at < evidence.start else 0.0
            )
            if not fault and not unlike and number < REPEATED:
                first, evidence.tried.calls = evidence.tried.calls == 1, 2
                fault = unlike = repeats(
                    tested.kernel,
                    ready.case,
                    outcome.outputs,
                    tested.limit,
                ) or (
                    first
                    and not misses
                    and remembers(tested.kernel, seen.prepared, outcome.outputs, tested.limit)
                    or ""
                )
                evidence.blame(fault, ready)
        if fault or misses:
            evidence.failing()
        if outcome.fatal:
            break
    return evidence


def _examined(
    evidence: Evidence, tested: "KernelUnderTest", ready: Ready | Prepared
) -> tuple[Outcome, CaseRun | None, str]:
    """Run a kernel on one case; return the outcome of the call, the judged outputs, and other faults.

    The kernel runs first: an unsupported case needs no truth, which takes longer to compute. If the product computes a case, an
    error code of a device counts as a fault.
    """
    outcome = tested.call(ready.case)
    refused = outcome.refused or outcome.by_code and not tested.scope.takes(ready.case)
    if refused:
        evidence.refused.append(ready)
        asked = outcome.misbehaviour.partition(": got ")[0]
        same = (why for why in evidence.reasons if why.partition(": got ")[0] == asked)
        # count refusals as equal if only their text after "got" differs
        evidence.reasons[next(same, outcome.misbehaviour)] += 1
    evidence.silent += outcome.outputs is None and not refused
    fault = "" if refused else outcome.misbehaviour
    evidence.blame(fault, ready, outcome.trace)
    if not refused:
        evidence.tried.add(ready.case)
    if outcome.outputs is None:
        return outcome, None, fault
    return outcome, CaseRun.of(ready.prepare(), outcome.outputs), fault


def examine_deeper(
    evidence: Evidence,
    tested: "KernelUnderTest",
    cases: Iterable[Prepared],
    end: float,
    progress: Callable = noted,
) -> None:
    """Run the cases of a deep check until several are wrong or the time `end` is reached, then repeat small ones in another
    order.

    Large right cases are not kept, because together they would fill the memory.
    """
    wrong = 0
    for prepared in progress(cases, None):
        if time.monotonic() > end:
            evidence.unrun = LATE
            return
        outcome, run, fault = _examined(evidence, tested, prepared)
        misses = run.misses if run else []
        if run:
            if misses or run.size <= KEPT:
                evidence.seen.append(run)
            else:
                evidence.right.append(run.traits)
                evidence.undecided += prepared.undecided
        if misses or fault:
            wrong += 1
            evidence.failing()
        if outcome.fatal or wrong == WRONG_CASES:
            evidence.unrun = message(
                "stopped after {n} wrong cases: the rest of the deep cases was not run", n=wrong
            )
            return
    # repeat small cases that ran early
    small = [run for run in evidence.seen if 0 < run.size <= KEPT]
    fault, where, calls, evidence.tried.shuffled = repeated(
        tested.kernel, [(run.prepared, run.outputs) for run in small], tested.limit, end
    )
    evidence.tried.calls += calls
    if fault:
        evidence.misbehaviour.setdefault(fault, where)
        evidence.failing()


@dataclass(eq=False)
class KernelUnderTest:
    """A kernel that runs on cases of a scope; a call is abandoned after `limit` seconds (None: never).

    `lost`: a call did not return and still runs in the background, so the kernel is not called again. `wrong` holds the wrong
    runs on further cases.
    """

    kernel: Callable
    scope: Scope
    limit: float | None = None
    lost: bool = False
    wrong: list[CaseRun] = field(default_factory=list)

    @property
    def tiles(self) -> bool:
        """Whether the kernel is a tile program, which can run on other cores, buffers and orders."""
        return hasattr(self.kernel, "under")

    def call(self, case: Case) -> Outcome:
        outcome = run(self.kernel, case, self.limit)
        self.lost |= outcome.fatal
        return outcome

    def run_on(
        self, ready: Ready, most: float = float("inf"), wrong: bool = False
    ) -> CaseRun | None:
        """Run the kernel on a case and judge its outputs.

        Return None if the operator or the scope refuses the case, if its outputs have more than `most` elements, if the
        kernel returns nothing, or, with `wrong`, if its outputs are right. The kernel runs first, because computing the truth takes longer.
        """
        if self.lost or not ready.counts(most):
            return None
        outputs = self.call(ready.case).outputs
        if outputs is None:
            return None
        METER.add(CASE, ready.case)
        try:
            prepared = ready.prepare(outputs if wrong else None)
        except UNTAKEN:
            return None
        seen = prepared and CaseRun.of(prepared, outputs)
        self.wrong += [seen] * bool(seen and seen.misses)
        return seen
