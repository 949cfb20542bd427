"""`check`: run a kernel on the suite, judge it, make its first failure small, and say which mistake it looks like."""

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable

from aclnn_viz.cases.vacuity import vacuity
from aclnn_viz.checking.diagnosis import Seen, diagnose
from aclnn_viz.checking.judging import Prepared, judge, prepared_suite, suite_size
from aclnn_viz.checking.regions import regions
from aclnn_viz.checking.result import CheckResult, Counterexample
from aclnn_viz.checking.running import repeats, run
from aclnn_viz.checking.shrinking import shrink
from aclnn_viz.devices import AclError, ConstraintWarning, FunctionUnavailable, RefusedError, open_device
from aclnn_viz.errors import problem
from aclnn_viz.operators import operator

REPEATED = 3  # cases that are run twice
SHRINKING = 1.5  # seconds
TELLING = 3  # right cases with other values of an attribute, before it is said that a fault depends on it
REFUSALS = (AclError, FunctionUnavailable, RefusedError)


def check(op, kernel, seed: int = 0, *, time_limit: float = 60.0, call_limit: float = 10.0,
          progress: Callable | None = None) -> CheckResult:
    """Tell whether a kernel is right, where it first goes wrong, and what the mistake looks like.

    `kernel(**inputs)` takes the vendor's parameters and returns a dict by the vendor's output names, or an array or
    tuple in the vendor's order; arrays of NumPy, torch or any library that speaks DLPack. The name of a device, such as
    "host" or "atlas:1", checks the operator of that device; what it refuses is not judged. No new case starts after
    `time_limit` seconds, and a call that takes longer than `call_limit` is given up. `progress(iterable, total)` may
    show a bar. Raises ValueError for an unknown operator or device, TypeError for a kernel that cannot be called.

    >>> import aclnn_viz as av
    >>> result = check("rms_norm", lambda **inputs: av.operator("rms_norm").backward(**inputs))
    >>> result.passed
    True
    """
    op = operator(op)
    if isinstance(kernel, str):
        with open_device(kernel) as device, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            return _check(op, lambda **inputs: device.run(op, **inputs), seed, time_limit, None, progress, REFUSALS)
    if not callable(kernel):
        raise TypeError(problem("a kernel is a function or the name of a device", type(kernel).__name__,
                                "pass such as my_kernel, which takes the vendor's parameters as keywords"))
    return _check(op, kernel, seed, time_limit, call_limit, progress)


def _check(op, kernel, seed, time_limit, call_limit, progress, refusals=()) -> CheckResult:
    start = time.monotonic()
    seen: list[Seen] = []
    misbehaviour: dict[str, str] = {}
    first_failure, refused, stopped = None, 0, False
    cases: Iterable[Prepared] = prepared_suite(op, seed)
    for number, prepared in enumerate(progress(cases, suite_size(op)) if progress else cases):
        if stopped := time.monotonic() - start > time_limit:
            break
        names = list(prepared.expected)
        outcome = run(kernel, prepared.case, names, call_limit, refusals)
        refused += outcome.refused
        fault = outcome.misbehaviour
        if outcome.outputs is not None:
            seen.append(Seen(prepared, outcome.outputs, judge(prepared, outcome.outputs)))
            if not fault and number < REPEATED:
                fault = repeats(kernel, prepared.case, names, outcome.outputs, call_limit)
        if fault:
            misbehaviour.setdefault(fault, str(prepared.recipe))
        if first_failure is None and (fault or seen and seen[-1].misses):
            first_failure = time.monotonic() - start
        if outcome.fatal:
            break
    wrong = sorted((one for one in seen if one.misses), key=lambda one: sum(v.size for v in one.outputs.values()))
    small = shrink(wrong[0], kernel, call_limit, SHRINKING) if wrong else None
    return conclude(op, seen, misbehaviour, kernel=kernel, small=small, seed=seed, refused=refused, stopped=stopped,
                    seconds=time.monotonic() - start, first_failure=first_failure)


def conclude(op, seen: list[Seen], misbehaviour: dict[str, str], *, kernel=None, small: Seen | None = None,
             **told) -> CheckResult:
    """Return the result for what was seen; `small` is the shrunken counterexample, if the kernel could be called."""
    wrong = [one for one in seen if one.misses]
    small = small or min(wrong, key=lambda one: sum(v.size for v in one.outputs.values()), default=None)
    return CheckResult(
        operator=op.name, passed=bool(seen) and not wrong and not misbehaviour, cases=len(seen), failed=len(wrong),
        misbehaviour=misbehaviour, diagnosis=diagnose(op, seen, kernel) if wrong else None,
        counterexample=Counterexample(small) if small else None, conditions=_conditions(seen), regions=_regions(op, wrong),
        undecided=sum(one.prepared.undecided for one in seen), outputs=_by_output(wrong),
        vacuity=vacuity(one.prepared.case for one in seen), **told)


def _by_output(wrong: list[Seen]) -> dict[str, int]:
    return dict(Counter(miss.output for one in wrong for miss in one.misses))


def _conditions(seen: list[Seen]) -> list[str]:
    """The values of an attribute or format under which the kernel is wrong, where there are others under which not."""
    counts: dict[str, dict] = {}
    for one in seen:
        facts = {"dtype": one.prepared.case.dtype, "strided tensors": one.prepared.recipe.strided}
        facts |= {name: value for name, value in one.prepared.case.inputs.items()
                  if isinstance(value, (bool, int, float, str, tuple))}
        facts |= {name: "given" if value is not None else "none" for name, value in one.prepared.case.inputs.items()
                  if name.endswith("Optional") and not isinstance(value, str)}
        for name, value in facts.items():
            tally = counts.setdefault(name, {}).setdefault(value, [0, 0])
            tally[0] += bool(one.misses)
            tally[1] += 1
    lines = []
    for name, values in counts.items():
        failing = {value: tally for value, tally in values.items() if tally[0]}
        right = sum(total for value, (bad, total) in values.items() if not bad)
        if failing and right >= TELLING:
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
    return {output: {name: tuple(tally) for name, tally in named.items() if tally[1]} for output, named in found.items()}
