"""Run a kernel on cases, judge each, and put what was seen together into a result."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import comb

from aclnn_viz.cases import Case
from aclnn_viz.cases.vacuity import vacuity
from aclnn_viz.checking.asking import Asking
from aclnn_viz.checking.dependence import depends
from aclnn_viz.checking.depth import DEPTHS, Depth, repeated
from aclnn_viz.checking.diagnosis import Diagnosis, diagnose, with_closest
from aclnn_viz.checking.explaining import Explanation, explain, of_fault
from aclnn_viz.checking.facts import Facts
from aclnn_viz.checking.judging import Prepared, judge, prepared_suite, suite_size
from aclnn_viz.checking.misfits import fitted, misfits
from aclnn_viz.checking.observing import Seen
from aclnn_viz.checking.regions import regions
from aclnn_viz.checking.result import CheckResult, Counterexample, Unsupported
from aclnn_viz.checking.running import Outcome, repeats, run
from aclnn_viz.checking.scope import Ready, Scope
from aclnn_viz.checking.tried import Tried
from aclnn_viz.operators.faults import faults
from aclnn_viz.words.speech import linked, message

ASKING = 1.5  # seconds, for what its errors depend on where nothing explains them
REPEATED = 3  # cases that are run twice
KEPT = 4096  # elements of the outputs of a right case of a deep check that is remembered
ENOUGH = 12  # wrong cases of a deep check
NEVER_ELSE = message("{choice}: wrong in {bad} of {all} cases, never otherwise")
OFTEN = message("{choice}: wrong in {bad} of {all} cases")
CHANCE = 0.05  # a fault is said to depend on an attribute if chance alone would seldom show it so


@dataclass(eq=False)
class Evidence:
    """What a kernel did on the suite: the cases that were judged, and what else it did wrong, with the case where."""

    seen: list[Seen] = field(default_factory=list)
    misbehaviour: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)  # of the errors among them
    refused: list[Ready | Prepared] = field(default_factory=list)  # cases that the kernel, or the device, does not compute
    tried: Tried = field(default_factory=Tried)
    right: list[Facts] = field(default_factory=list)  # of cases that are right and were not kept
    undecided: int = 0  # elements of these
    silent: int = 0  # cases on which the kernel returned nothing
    unrun: str = ""  # why some cases were not run
    lost: bool = False  # a call did not return
    first_failure: float | None = None  # seconds of the whole check, with the preparation of the cases
    start: float = field(default_factory=time.monotonic)
    earlier: float = 0.0  # seconds that went into the preparation of cases before

    @property
    def failed(self) -> bool:
        return bool(self.misbehaviour) or any(one.misses for one in self.seen)

    def failing(self) -> None:
        if self.first_failure is None:
            self.first_failure = time.monotonic() - self.start + self.earlier

    def blame(self, fault: str, one: Ready | Prepared, trace: str = "") -> None:
        if fault:
            self.misbehaviour.setdefault(fault, str(one.recipe))
            self.traces.setdefault(fault, trace)


def examine(op, kernel: Callable, seed: int, time_limit: float, call_limit: float | None = None,
            progress: Callable | None = None, chosen: Sequence[Ready | Prepared] | None = None,
            takes: Callable[[Case], bool] = lambda made: False) -> Evidence:
    """Run a kernel on the whole suite, or on the cases chosen, one after another, and judge what it returns.

    `takes` says whether the product computes a case: then the error code of a device is no excuse.
    """
    evidence = Evidence()
    cases: Iterable[Ready | Prepared] = prepared_suite(op, seed) if chosen is None else chosen
    total = suite_size(op) if chosen is None else len(chosen)
    for number, one in enumerate(progress(cases, total) if progress else cases):
        if time.monotonic() - evidence.start > time_limit:
            evidence.unrun = message("stopped at the time limit: the rest of the cases was not run")
            break
        outcome, seen, fault = _examined(evidence, kernel, one, call_limit, takes)
        misses = seen.misses if seen else []
        if seen:
            evidence.seen.append(seen)
            evidence.earlier += seen.prepared.seconds if seen.prepared.made_at < evidence.start else 0.0
            if not fault and number < REPEATED:
                evidence.tried.calls = 2
                fault = repeats(kernel, one.case, list(seen.prepared.expected), outcome.outputs, call_limit)
                evidence.blame(fault, one)
        if fault or misses:
            evidence.failing()
        if outcome.fatal:
            break
    return evidence


def _examined(evidence: Evidence, kernel: Callable, one: Ready | Prepared, call_limit, takes) -> tuple[Outcome, Seen | None, str]:
    """Run a kernel on one case; return the outcome, the outputs with what is wrong with them, and what else the kernel did.

    The kernel comes first: what is right on a case that it does not support nobody asks for, and to find out takes longer.
    """
    results = one.case.operator.arrange_backward(**one.case.operator.bind(one.case.inputs)).results
    outcome = run(kernel, one.case, list(results), call_limit)
    refused = outcome.refused or outcome.by_code and not takes(one.case)
    evidence.refused += [one] * refused
    evidence.silent += outcome.outputs is None and not refused
    evidence.lost |= outcome.fatal
    fault = "" if refused else outcome.misbehaviour
    evidence.blame(fault, one, outcome.trace)
    if not refused:
        evidence.tried.add(one.case)
    if outcome.outputs is None:
        return outcome, None, fault
    prepared = one if isinstance(one, Prepared) else one.prepare()
    return outcome, Seen(prepared, outcome.outputs, judge(prepared, outcome.outputs)), fault


def examine_deeper(evidence: Evidence, kernel: Callable, cases: Iterable[Prepared], end: float,
                   call_limit: float | None = None, progress: Callable | None = None,
                   takes: Callable[[Case], bool] = lambda made: False) -> None:
    """Go on with the cases of a deep check, until some are wrong, and then run small ones again in another order, as far
    as a time on the clock allows.

    Of large cases only the wrong ones are kept: all of them together would fill the memory.
    """
    wrong = 0
    for prepared in progress(cases, None) if progress else cases:
        outcome, one, fault = _examined(evidence, kernel, prepared, call_limit, takes)
        misses = one.misses if one else []
        if one:
            if misses or one.size <= KEPT:
                evidence.seen.append(one)
            else:
                evidence.right.append(one.facts)
                evidence.undecided += prepared.undecided
        if misses or fault:
            wrong += 1
            evidence.failing()
        if outcome.fatal or wrong == ENOUGH:
            evidence.unrun = message("stopped after {n} wrong cases: the rest of the deep cases was not run", n=wrong)
            return
    small = [one for one in evidence.seen if 0 < one.size <= KEPT]  # the first ones among them, run when all was new
    again = repeated(kernel, [(one.prepared, one.outputs) for one in small], call_limit, end)
    evidence.tried.calls, evidence.tried.shuffled = evidence.tried.calls + again.calls, again.shuffled
    if again.fault:
        evidence.misbehaviour.setdefault(again.fault, again.where)
        evidence.failing()


def conclude(op, evidence: Evidence, seed: int, scope: Scope, asking: Asking | None = None, *, small: Seen | None = None,
             seconds: float = 0.0, allowed: bool = False, device: bool = False,
             depth: Depth = DEPTHS["normal"]) -> CheckResult:
    """Return the result for what was seen; `small` is the shrunken counterexample, if the kernel could be called.

    With `allowed` cases that the kernel does not support may be among them; those of a `device` are told as such.
    """
    seen = evidence.seen
    wrong = [one for one in seen if one.misses]
    small = small or min(wrong, key=lambda one: one.elements, default=None)
    diagnosis, explanation = _explained(op, evidence, asking, int(seed), depth.searching) if wrong else (None, None)
    facts = [*(one.facts for one in seen), *evidence.right]
    return CheckResult(
        operator=op.name, seed=int(seed),
        passed=bool(seen) and not wrong and not evidence.misbehaviour and (allowed or not evidence.refused),
        cases=len(facts), failed=len(wrong), refused=len(evidence.refused) * device,
        unsupported=Unsupported.of([] if device else evidence.refused, facts),
        scope=scope.text, left_out=dict(scope.left_out), traces=evidence.traces,
        undecided=sum(one.prepared.undecided for one in seen) + evidence.undecided,
        unrun=evidence.unrun, seconds=seconds, first_failure=evidence.first_failure,
        outputs=dict(Counter(miss.output for one in wrong for miss in one.misses)),
        misbehaviour=evidence.misbehaviour, regions=_regions(op, wrong),
        conditions=_conditions([(one.facts, bool(one.misses)) for one in seen] + [(one, False) for one in evidence.right]),
        diagnosis=diagnosis, explanation=explanation,
        counterexample=Counterexample(small) if small else None,
        vacuity=vacuity(one.prepared.case for one in seen), depth=depth.name, untried=evidence.tried.untried)


def _explained(op, evidence: Evidence, asking: Asking | None, seed: int,
               seconds: float) -> tuple[Diagnosis, Explanation | None]:
    """The likeliest mistake, and the change that explains it; of numbers that do not fit, once they do."""
    seen, unfit = evidence.seen, misfits(evidence.seen)
    diagnosis = diagnose(op, seen, asking, evidence.silent, evidence.right)
    if unfit and not diagnosis.name:
        seen = [fitted(one) for one in seen]
        if not any(one.misses for one in seen):
            return Diagnosis(None, False, message("{misfits}: all numbers are right", misfits=linked("{some}; {more}", unfit))), None
        diagnosis = diagnose(op, seen, asking, evidence.silent, evidence.right)
        diagnosis = replace(diagnosis, text=linked("{some}; {more}", [*unfit, message("of the numbers: {told}", told=diagnosis.text)]))
    if diagnosis.name:
        return diagnosis, of_fault(op, next(one for one in faults(op.name) if one.name == diagnosis.name), len(seen))
    explanation = explain(op, seen, asking, seed, seconds, evidence.right)
    if not explanation:
        failing = sorted((one for one in seen if one.misses), key=lambda one: one.size)
        told = depends(op, failing, asking, seed, min(ASKING, seconds))
        diagnosis = with_closest(op, diagnosis, seen)
        diagnosis = replace(diagnosis, text=linked("{some}; {more}", [diagnosis.text, *told]))
    return diagnosis, explanation


def _conditions(cases: list[tuple[Facts, bool]]) -> list[str]:
    """The values of an attribute or format under which the kernel is wrong, where there are others under which not."""
    counts: dict[str, dict] = {}
    for one, bad in cases:
        for name, value in one.choices.items():
            tally = counts.setdefault(name, {}).setdefault(value, [0, 0])
            tally[0] += bad
            tally[1] += 1
    lines = []
    for name, values in counts.items():
        failing = {value: tally for value, tally in values.items() if tally[0]}
        right = sum(total for value, (bad, total) in values.items() if not bad)
        wrong, every = (sum(numbers) for numbers in zip(*values.values()))
        if failing and comb(every - wrong, right) < CHANCE * comb(every, right):
            told = NEVER_ELSE if len(failing) == 1 else OFTEN
            lines += [message(told.key, choice=message("{name}={value}", name=name, value=repr(value)), bad=bad, all=all_)
                      for value, (bad, all_) in failing.items()]
    return lines


def _regions(op, wrong: list[Seen]) -> dict[str, dict[str, tuple[int, int]]]:
    """Per output and region: how many elements of the failing cases are wrong, and how many there are."""
    found: dict[str, dict[str, list[int]]] = {}
    for one in wrong:
        for miss in one.misses:
            if miss.wrong is None:
                continue
            for name, mask in regions(op, one.prepared.case.inputs, miss.output, miss.wrong.shape).items():
                tally = found.setdefault(miss.output, {}).setdefault(name, [0, 0])
                tally[0] += int((mask & miss.wrong).sum())
                tally[1] += int(mask.sum())
    return {output: {name: tuple(tally) for name, tally in named.items() if tally[1]}
            for output, named in found.items()}
