"""Run a kernel on cases, judge each, and put what was seen together into a result."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import comb

from aclnn_viz.cases import Case
from aclnn_viz.cases.vacuity import vacuity
from aclnn_viz.checking.dependence import depends
from aclnn_viz.checking.diagnosis import diagnose
from aclnn_viz.checking.explaining import Explanation, explain, of_fault
from aclnn_viz.checking.facts import choices
from aclnn_viz.checking.judging import Prepared, judge, prepared_suite, suite_size
from aclnn_viz.checking.observing import Seen
from aclnn_viz.checking.regions import regions
from aclnn_viz.checking.result import CheckResult, Counterexample, Unsupported
from aclnn_viz.checking.running import repeats, run
from aclnn_viz.checking.scope import Scope
from aclnn_viz.faults import faults

SEARCHING = 6.0  # seconds, for what explains a wrong kernel
ASKING = 1.5  # seconds, for what its errors depend on where nothing explains them
REPEATED = 3  # cases that are run twice
CHANCE = 0.05  # a fault is said to depend on an attribute if chance alone would seldom show it so


@dataclass(eq=False)
class Evidence:
    """What a kernel did on the suite: the cases that were judged, and what else it did wrong, with the case where."""

    seen: list[Seen] = field(default_factory=list)
    misbehaviour: dict[str, str] = field(default_factory=dict)
    traces: dict[str, str] = field(default_factory=dict)  # of the errors among them
    refused: list[Prepared] = field(default_factory=list)  # cases that the kernel, or the device, does not compute
    silent: int = 0  # cases on which the kernel returned nothing
    unrun: str = ""  # why some cases were not run
    first_failure: float | None = None  # seconds, with the preparation of the cases


def examine(op, kernel: Callable, seed: int, time_limit: float, call_limit: float | None = None,
            progress: Callable | None = None, chosen: Sequence[Callable[[], Prepared]] | None = None,
            takes: Callable[[Case], bool] = lambda made: False) -> Evidence:
    """Run a kernel on the whole suite, or on the cases chosen, one after another, and judge what it returns.

    `takes` says whether the product computes a case: then the error code of a device is no excuse.
    """
    evidence, start, prepared_earlier = Evidence(), time.monotonic(), 0.0
    cases: Iterable[Prepared] = prepared_suite(op, seed) if chosen is None else (make() for make in chosen)
    total = suite_size(op) if chosen is None else len(chosen)
    for number, prepared in enumerate(progress(cases, total) if progress else cases):
        if time.monotonic() - start > time_limit:
            evidence.unrun = "stopped at the time limit: the rest of the cases was not run"
            break
        prepared_earlier += prepared.seconds if prepared.made_at < start else 0.0
        names = list(prepared.expected)
        outcome = run(kernel, prepared.case, names, call_limit)
        refused = outcome.refused or outcome.by_code and not takes(prepared.case)
        evidence.refused += [prepared] * refused
        evidence.silent += outcome.outputs is None and not refused
        fault, misses = outcome.misbehaviour * (not refused), []
        if outcome.outputs is not None:
            misses = judge(prepared, outcome.outputs)
            evidence.seen.append(Seen(prepared, outcome.outputs, misses))
            if not fault and number < REPEATED:
                fault = repeats(kernel, prepared.case, names, outcome.outputs, call_limit)
        if fault:
            evidence.misbehaviour.setdefault(fault, str(prepared.recipe))
            evidence.traces.setdefault(fault, outcome.trace)
        if evidence.first_failure is None and (fault or misses):
            evidence.first_failure = time.monotonic() - start + prepared_earlier
        if outcome.fatal:
            break
    return evidence


def conclude(op, evidence: Evidence, seed: int, *, kernel: Callable | None = None, small: Seen | None = None,
             seconds: float = 0.0, scope: Scope | None = None, allowed: bool = False,
             device: bool = False) -> CheckResult:
    """Return the result for what was seen; `small` is the shrunken counterexample, if the kernel could be called.

    With `allowed` cases that the kernel does not support may be among them; those of a `device` are told as such.
    """
    seen = evidence.seen
    wrong = [one for one in seen if one.misses]
    small = small or min(wrong, key=lambda one: one.elements, default=None)
    diagnosis = diagnose(op, seen, kernel, evidence.silent) if wrong else None
    counts = (lambda made: not scope.reason(made)) if scope else (lambda made: True)
    explanation = _explanation(op, seen, diagnosis, kernel, seed, counts) if wrong else None
    if wrong and not explanation:
        failing = sorted(wrong, key=lambda one: one.size)
        told = depends(op, failing, kernel, int(seed), ASKING, counts)
        diagnosis = replace(diagnosis, text="; ".join([diagnosis.text, *told]))
    return CheckResult(
        operator=op.name, seed=int(seed),
        passed=bool(seen) and not wrong and not evidence.misbehaviour and (allowed or not evidence.refused),
        cases=len(seen), failed=len(wrong), refused=len(evidence.refused) * device,
        unsupported=Unsupported.of([] if device else evidence.refused, [one.prepared for one in seen]),
        scope=scope.text if scope else "", left_out=dict(scope.left_out) if scope else {}, traces=evidence.traces,
        undecided=sum(one.prepared.undecided for one in seen),
        unrun=evidence.unrun, seconds=seconds, first_failure=evidence.first_failure,
        outputs=dict(Counter(miss.output for one in wrong for miss in one.misses)),
        misbehaviour=evidence.misbehaviour, conditions=_conditions(seen), regions=_regions(op, wrong),
        diagnosis=diagnosis, explanation=explanation,
        counterexample=Counterexample(small) if small else None,
        vacuity=vacuity(one.prepared.case for one in seen))


def _explanation(op, seen, diagnosis, kernel, seed, counts) -> Explanation | None:
    if diagnosis.name:
        return of_fault(op, next(one for one in faults(op.name) if one.name == diagnosis.name), len(seen))
    return explain(op, seen, kernel, int(seed), SEARCHING, counts)


def _conditions(seen: list[Seen]) -> list[str]:
    """The values of an attribute or format under which the kernel is wrong, where there are others under which not."""
    counts: dict[str, dict] = {}
    for one in seen:
        for name, value in choices(one.prepared.case).items():
            tally = counts.setdefault(name, {}).setdefault(value, [0, 0])
            tally[0] += bool(one.misses)
            tally[1] += 1
    lines = []
    for name, values in counts.items():
        failing = {value: tally for value, tally in values.items() if tally[0]}
        right = sum(total for value, (bad, total) in values.items() if not bad)
        wrong, every = (sum(numbers) for numbers in zip(*values.values()))
        if failing and comb(every - wrong, right) < CHANCE * comb(every, right):
            lines += [f"{name}={value!r}: wrong in {bad} of {all_} cases, never otherwise" if len(failing) == 1 else
                      f"{name}={value!r}: wrong in {bad} of {all_} cases" for value, (bad, all_) in failing.items()]
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
