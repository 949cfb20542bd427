"""Which known mistake makes the same wrong numbers: every named fault is run on the cases that the kernel was run on.

A fault is named confidently only if it agrees with the kernel on every case, and no other fault does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.asking import Asking
from aclnn_viz.checking.candidates import Candidate, of_edit
from aclnn_viz.checking.facts import Facts, separating
from aclnn_viz.checking.faulty import faulty_kernel
from aclnn_viz.checking.intermediates import resemblance
from aclnn_viz.checking.judging import Expected, judge
from aclnn_viz.checking.observing import SINGLE, Seen, is_single
from aclnn_viz.checking.scope import Ready
from aclnn_viz.checking.sieving import sieves_first
from aclnn_viz.dtypes import float_format, ulp
from aclnn_viz.operators.faults import Fault, faults
from aclnn_viz.words.speech import linked, message, tr

CLOSEST = message("{told}; closest is {fault!r}, on {n} of {all} wrong cases, but not with {case}")
CLOSEST_AMONG = message("{told}; closest is {fault!r}, on {n} of the {all} smallest wrong cases, but not with {case}")
SMALLEST = 12  # of the failing cases, to look for what is like them where no fault agrees with all
ODD = 0.02  # the share of 16-bit elements that float32 rounding may put on the other side of a tie


@dataclass(frozen=True)
class Diagnosis:
    """The likeliest mistake. `name` is that of a fault, or None; `confident` says whether nothing speaks against it."""

    name: str | None
    confident: bool
    text: str
    story: str = ""
    diff: str = ""
    candidates: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [tr(self.text)]
        if self.story:
            lines.append(tr("  where it comes from: {story}", story=self.story))
        lines += [f"    {line}" for line in self.diff.splitlines()]
        return "\n".join(lines)


def diagnose(op, seen: Sequence[Seen], asking: Asking | None = None, silent: int = 0,
             right: Sequence[Facts] = ()) -> Diagnosis:
    """Compare what a wrong kernel returned with every named fault; a kernel that can be called is asked more.

    `silent` is the number of cases on which the kernel returned nothing: no fault explains that, so none is certain.
    `right` is what is known of more cases on which it is right.
    """
    known = {fault: faulty_kernel(op, fault) for fault in faults(op.name)}
    failing = sorted((one for one in seen if one.misses), key=lambda one: one.size)
    passing = [one for one in seen if not one.misses]
    ordered = [*sieves_first(failing), *passing]
    agreeing = [fault for fault, wrong in known.items() if failing and all(_agrees(fault, wrong, one) for one in ordered)]
    if len(agreeing) == 1:
        fault, = agreeing
        text = message("matches {fault!r} on {n} of {n} cases, {wrong} of them wrong", fault=fault.name, n=len(seen), wrong=len(failing))
        if silent:
            text = message("{told}, but does not explain why the kernel returned nothing on {n} others", told=text, n=silent)
            return Diagnosis(None, False, text, candidates=(fault.name,))
        if asking and fault.hidden and _right_on_hidden(op, fault, asking):
            text = message("{told}; equals the truth when {condition}", told=text, condition=fault.hidden[0])
        return Diagnosis(fault.name, True, text, fault.story, fault.diff, (fault.name,))
    if agreeing:
        names = tuple(fault.name for fault in agreeing)
        quoted = linked("{some}, {more}", [message("{fault!r}", fault=name) for name in names])
        text = message("one of {faults}: no case tells them apart", faults=quoted)
        return Diagnosis(None, False, text, candidates=names)
    return _unknown(failing, passing, right)


def as_candidate(op, fault: Fault) -> Candidate:
    """A named fault, or the edit in the place of one, as a candidate of an explanation: for a kernel that has it everywhere
    or under a condition."""
    if fault.edit:
        return of_edit(fault.edit)
    wrong = faulty_kernel(op, fault)
    return Candidate("named fault", lambda: fault.place(op.page), lambda one: _agrees(fault, wrong, one),
                     message("the named fault {fault!r}: {story}", fault=fault.name, story=fault.story))


def _unknown(failing, passing, right) -> Diagnosis:
    text = message("none of the known faults")
    full = [one.facts for one in passing if one.size]  # where there are no elements nothing can be wrong
    if apart := separating([one.facts for one in failing], [*full, *right]):
        text = message("{told}; wrong exactly where {condition}", told=text, condition=apart.text)
    alike = resemblance([(one.prepared, one.outputs, {miss.output for miss in one.misses}) for one in failing[:SMALLEST]])
    return Diagnosis(None, False, linked("{some}; {more}", [text, *alike]))


def with_closest(op, diagnosis: Diagnosis, seen: Sequence[Seen]) -> Diagnosis:
    """The same with the fault that agrees with most of the small wrong cases: for numbers that nothing explains, as each
    fault is run on each of these cases."""
    failing = sorted((one for one in seen if one.misses), key=lambda one: one.size)
    some = failing[:SMALLEST]
    if diagnosis.name or diagnosis.candidates or not some:
        return diagnosis
    known = {fault: faulty_kernel(op, fault) for fault in faults(op.name) if not fault.edit}  # the search tries edits
    counts = {fault: sum(_agrees(fault, wrong, one) for one in some) for fault, wrong in known.items()}
    fault = max(counts, key=counts.get, default=None)
    if not fault or not counts[fault]:
        return diagnosis
    other = next(one for one in [*failing, *(one for one in seen if not one.misses)] if not _agrees(fault, known[fault], one))
    told = CLOSEST_AMONG if len(some) < len(failing) else CLOSEST
    return replace(diagnosis, candidates=(fault.name,), text=message(
        told.key, told=diagnosis.text, fault=fault.name, n=counts[fault], all=len(some), case=str(other.prepared.recipe)))


def _agrees(fault: Fault, wrong: Callable, one: Seen) -> bool:
    """Whether a fault explains what a kernel returned for one case.

    `wrong` is the page with the fault. It must return the same numbers, up to rounding; and where the judge found the
    kernel wrong, it must find `wrong` wrong, too.
    """
    if fault.edit and one.usable and not of_edit(fault.edit).same(one):  # there may be hundreds, and this is quick
        return False
    single, inputs = is_single(one.outputs), one.prepared.case.inputs
    return _gives(fault, wrong, one, inputs, single) or single and _gives(fault, _in_float32(wrong), one, inputs, single)


def _in_float32(wrong: Callable) -> Callable:
    """A kernel that computes in float32 what it is given in float64: there a point may come to lie on a pixel."""
    def kernel(**inputs):
        outputs = wrong(**{name: value.astype(np.float32) if getattr(value, "dtype", None) == np.float64 else value
                           for name, value in inputs.items()})
        return {name: value.astype(np.float64) for name, value in outputs.items()}
    return kernel


def _gives(fault: Fault, wrong: Callable, one: Seen, inputs: dict, single: bool) -> bool:
    try:
        with np.errstate(all="ignore"):
            outputs = wrong(**inputs)
    except Exception:  # whatever a broken page raises
        return False
    if outputs.keys() != one.outputs.keys() or any(
            outputs[name].shape != value.shape or outputs[name].dtype != value.dtype
            for name, value in one.outputs.items()):
        return False
    if one.misses and not single and not judge(one.prepared, outputs):
        return False
    return all(_alike(fault, expected, outputs[name], one.outputs[name], single)
               for name, expected in one.prepared.expected.items() if name in outputs)


def _alike(fault: Fault, expected: Expected, guess: np.ndarray, actual: np.ndarray, single: bool) -> bool:
    """Whether two outputs are the same number up to the rounding of float32 in another order.

    `single` says that float64 outputs were computed in float32.
    """
    fmt = float_format(guess)
    a, b = actual.astype(np.float64), guess.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = ~((a == b) | np.isnan(a) & np.isnan(b) | expected.undecided)
        if fault.garbage:
            apart &= ~(np.isnan(b) & ~np.isnan(expected.truth.astype(np.float64)))
        if not apart.any():
            return True
        largest = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
        relative = fmt.unit_roundoff if fmt.bits > 16 and not single else SINGLE
        allowed = 16 * expected.allowed * (2.0**29 if single else 1.0) + relative * (128 * np.abs(b) + 16 * largest)
        apart &= ~(np.abs(a - b) <= allowed)
        if fmt.bits == 16 and apart.sum() <= max(1, ODD * apart.size):
            apart &= ~(np.abs(a - b) <= 1.001 * ulp(np.maximum(np.abs(a), np.abs(b)), fmt))
    return not apart.any()


def _right_on_hidden(op, fault: Fault, asking: Asking) -> bool:
    options = {"dtype": "float32"} | fault.hidden[1]
    hidden = asking.on(Ready(asking.scope, Recipe(op.name, options), None, 0))
    return hidden is not None and not hidden.misses
