"""Explain a kernel's wrong numbers: by a known mistake, else by the smallest change of the right formulas that gives the same
numbers.

A change explains a kernel only if it gives the kernel's numbers, up to the kernel's own rounding, on every case that ran, and
on fresh cases if the kernel can be called. Changes that no case distinguishes are all listed. A fault is named confidently only
if it alone agrees with the kernel on every case.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import numpy as np

from aclnn_viz.cases import default
from aclnn_viz.checking.budgets import DRAWN, ELEMENTS, FRESH, MIXED, SEVERAL, SHOWN
from aclnn_viz.checking.candidates import (
    exchanges,
    fit,
    fitted,
    moved,
    of_edit,
    read_and_written,
    slots,
    taken_for_others,
)
from aclnn_viz.checking.case_run import (
    SINGLE,
    Candidate,
    CaseRun,
    cheapest_first,
    is_single,
    leaders,
)
from aclnn_viz.checking.conditions import Condition, Traits, separating, stands
from aclnn_viz.checking.evidence import KernelUnderTest
from aclnn_viz.checking.judge import Expected
from aclnn_viz.checking.kernel_call import bits_alike
from aclnn_viz.checking.mends import Mend
from aclnn_viz.checking.meter import Budget
from aclnn_viz.checking.scope import Ready, Scope
from aclnn_viz.checking.sums import over_fewer, reduced
from aclnn_viz.checking.wrong_outputs import in_documented_form, resemblance
from aclnn_viz.dtypes import float_format, ulp
from aclnn_viz.operators.faults import Fault, faults
from aclnn_viz.operators.faults.edits import Edit, anywhere, edits
from aclnn_viz.operators.faults.fault import faulty_kernel
from aclnn_viz.words.messages import commas, kept, linked, message, tr

# largest share of 16-bit elements that rounding in float32 moves to the other side of a tie
ODD = 0.02
NO_FAULT = message("none of the known faults")


@dataclass(frozen=True)
class Diagnosis:
    """The likeliest mistake: `name` of a fault or None; `confident` if no case contradicts it."""

    name: str | None
    confident: bool
    text: str
    story: str = ""
    diff: str = ""
    candidates: tuple[str, ...] = ()
    law: Condition | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        lines = [tr(self.text)]
        if self.story:
            lines.append(tr("  origin of this mistake: {story}", story=self.story))
        lines += [f"    {line}" for line in self.diff.splitlines()]
        return "\n".join(lines)


def diagnose(
    op, seen: Sequence[CaseRun], tested: KernelUnderTest | None = None, silent: int = 0
) -> Diagnosis:
    """Compare a wrong kernel's outputs with every named fault; `tested` also runs the kernel on fresh cases.

    `silent` is the number of cases on which the kernel returned nothing: no fault explains these, so none is certain.
    """
    known = {
        fault: faulty_kernel(op, fault) for fault in faults(op.name) if not fault.edit
    }  # leave out edits, which the search tries
    failing = sorted((run for run in seen if run.misses), key=lambda run: run.size)
    passing = [run for run in seen if not run.misses]
    ordered = [*cheapest_first(failing), *passing]
    agreeing = [
        fault
        for fault, wrong in known.items()
        if failing and all(_agrees(fault, wrong, run) for run in ordered)
    ]
    if len(agreeing) == 1:
        (fault,) = agreeing
        text = message(
            "matches {fault!r} on all of {n} cases, {wrong} of them wrong",
            fault=fault.name,
            n=len(seen),
            wrong=len(failing),
        )
        if silent:
            text = message(
                "{text}, but does not explain why the kernel returned nothing on {n} others",
                text=text,
                n=silent,
            )
            return Diagnosis(None, False, text, candidates=(fault.name,))
        if tested and fault.hidden and _right_on_hidden(fault, tested):
            text = message(
                "{text}; equals the truth when {condition}", text=text, condition=fault.hidden[0]
            )
        return Diagnosis(fault.name, True, text, fault.origin, fault.diff, (fault.name,))
    if agreeing:
        names = tuple(fault.name for fault in agreeing)
        quoted = commas([message("{fault!r}", fault=name) for name in names])
        text = message("one of {faults}: no case tells them apart", faults=quoted)
        return Diagnosis(None, False, text, candidates=names)
    return _unknown(failing)


def as_candidate(op, fault: Fault) -> Candidate:
    """Return a named fault as a candidate, for kernels that have it everywhere or under a condition."""
    wrong = faulty_kernel(op, fault)
    return Candidate(
        "named fault",
        lambda: fault.place(op.page),
        lambda run: _agrees(fault, wrong, run),
        message("the named fault {fault!r}: {story}", fault=fault.name, story=fault.origin),
    )


def _unknown(failing) -> Diagnosis:
    text = linked("{some}; {more}", [NO_FAULT, *resemblance(failing[:SEVERAL])])
    return Diagnosis(None, False, text)


def law_of(
    seen: Sequence[CaseRun],
    right: Sequence[Traits],
    fresh: Sequence[CaseRun],
    others: Sequence[CaseRun] = (),
) -> tuple[Condition | None, bool]:
    """Return (condition that separates wrong from right cases, or None; whether fresh cases confirm it)."""
    full = [
        run.traits for run in seen if not run.misses and run.size
    ]  # a case without elements cannot be wrong and shows nothing
    law = separating([run.traits for run in seen if run.misses], [*full, *right])
    runs, more = (
        [(run.case, bool(run.misses)) for run in some if run.size] for some in (fresh, others)
    )
    if not law or any(wrong and law.holds(drawn) is False for drawn, wrong in [*runs, *more]):
        return None, False
    return law, stands(law, runs)


def _agrees(fault: Fault, wrong: Callable, run: CaseRun) -> bool:
    """Return whether a fault explains a kernel's outputs for one case.

    `wrong` is the page with the fault. It must return the same numbers, up to rounding, and where the judge found the kernel
    wrong, it must find `wrong` wrong, too.
    """
    single = is_single(run.outputs)
    return (
        _gives(fault, wrong, run, single)
        or single
        and _gives(fault, _in_float32(wrong), run, single)
    )


def _in_float32(wrong: Callable) -> Callable:
    """Return the kernel `wrong` with float64 inputs cast to float32, and its outputs cast back."""

    def kernel(**inputs):
        outputs = wrong(
            **{
                name: value.astype(np.float32)
                if getattr(value, "dtype", None) == np.float64
                else value
                for name, value in inputs.items()
            }
        )
        return {name: value.astype(np.float64) for name, value in outputs.items()}

    return kernel


def _gives(fault: Fault, wrong: Callable, run: CaseRun, single: bool) -> bool:
    try:
        with np.errstate(all="ignore"):
            outputs = wrong(**run.case.inputs)
    except Exception:  # a broken page may raise anything
        return False
    if outputs.keys() != run.outputs.keys() or any(
        outputs[name].shape != value.shape or outputs[name].dtype != value.dtype
        for name, value in run.outputs.items()
    ):
        return False
    if all(bits_alike(outputs[name], value) for name, value in run.outputs.items()):
        return True
    if not (single or run.wrong <= CaseRun.of(run.prepared, outputs).wrong):
        return False
    return all(
        _alike(fault, expected, outputs[name], run.outputs[name], single)
        for name, expected in run.expected.items()
        if name in outputs
    )


def _alike(
    fault: Fault, expected: Expected, guess: np.ndarray, actual: np.ndarray, single: bool
) -> bool:
    """Return whether a fault's output `guess` is the kernel's `actual` up to rounding of sums in another order.

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
        allowed = 16 * expected.allowed * (2.0**29 if single else 1.0) + relative * (
            128 * np.abs(b) + 16 * largest
        )
        apart &= ~(np.abs(a - b) <= allowed)
        if fmt.bits == 16 and apart.sum() <= max(1, ODD * apart.size):
            apart &= ~(np.abs(a - b) <= 1.001 * ulp(np.maximum(np.abs(a), np.abs(b)), fmt))
    return not apart.any()


def _right_on_hidden(fault: Fault, tested: KernelUnderTest) -> bool:
    options = {"dtype": "float32"} | fault.hidden[1]
    hidden = tested.run_on(tested.scope.ready(options, 0))
    return hidden is not None and not hidden.misses


@dataclass(frozen=True)
class Explanation:
    """A change of the right kernel that explains a wrong one: its words, and for an edit the `line` with its old and new text.

    `equal` lists other changes with the same numbers on every case; `condition` says where it applies, if not everywhere;
    `evidence` counts the cases that agree; `holds(run)` tests another. `yours` is an edit of the reader's own kernel that mends
    it, if its source can be read and one is found.
    """

    kind: str
    text: str
    line: str
    before: str
    after: str
    evidence: str
    condition: str = ""
    equal: tuple[str, ...] = ()
    holds: Callable[[CaseRun], bool] | None = field(default=None, repr=False, compare=False)
    yours: Mend | None = None
    law: Condition | None = field(default=None, repr=False, compare=False)

    @property
    def brief(self) -> str:
        """The behaviour of the kernel and its condition in one line."""
        after, change = kept(self.after), self.text
        if self.line:
            words = " ".join(after.key.split())
            change = message(
                "as if {line}, read: {after}", line=self.line, after=message(words, **after.values)
            )
        if not self.condition:
            return change
        return message("{change}, only where {condition}", change=change, condition=self.condition)

    @classmethod
    def of_mend(cls, mend: Mend) -> "Explanation":
        return cls(
            "mended",
            str(mend),
            mend.line,
            mend.before,
            mend.after,
            message("with this edit your kernel is right in all {n} cases", n=mend.cases),
            equal=mend.equal,
            holds=mend.right,
            yours=mend,
        )

    @classmethod
    def of_form(cls, text: str, seen: Sequence[CaseRun]) -> "Explanation":
        """Return the explanation `text` for runs in which only the form is wrong."""
        return cls(
            "form",
            text,
            "",
            "",
            "",
            message("this explanation holds on all of {n} cases", n=len(seen)),
            holds=lambda run: not in_documented_form(run).misses,
        )

    @property
    def mends(self) -> bool:
        """Whether the explanation tells how to mend the reader's kernel, not only how the kernel behaves."""
        return self.kind == "mended"

    def __str__(self) -> str:
        lines = [tr(str(self.yours))] * bool(self.yours) + [tr(self.text)] * (not self.mends)
        if self.condition:
            lines.append(
                tr(
                    "  only where {condition}; elsewhere the kernel is right",
                    condition=self.condition,
                )
            )
        lines += [f"  {tr(self.evidence)}"]
        same = (
            tr("  each of these edits mends the kernel, too:")
            if self.mends
            else tr("  these edits give the same numbers on every case:")
        )
        lines += [same] * bool(self.equal)
        lines += [f"    {tr(text)}" for text in self.equal]
        return "\n".join(lines)


def explain(
    op,
    seen: Sequence[CaseRun],
    budget: Budget,
    fresh: Callable[[], list[CaseRun]] = list,
    right: Sequence[Traits] = (),
) -> Explanation | None:
    """Search for an explanation of the failing cases; None if nothing explains them within the budget.

    `fresh()` returns runs of the kernel on cases outside the search; `right` describes further cases on which it is right.
    """
    failing = sorted((run for run in seen if run.misses and run.usable), key=lambda run: run.size)
    if all(run.subtle for run in failing):
        return None
    passing = sorted(
        (run for run in seen if not run.misses and run.usable), key=lambda run: run.size
    )
    # Only the formats of `sharp` are compared without slack: a kernel may compute 16-bit inputs in
    # 16 bits, and float64 inputs in float32.
    wide = [run for run in failing if not run.narrow]
    sharp = {run.dtype for run in wide if run.dtype != "float64"} or {"float64"}
    if not wide:
        sharp = {run.dtype for run in failing}

    def loose(some):
        return [run if run.dtype in sharp else run.loose for run in some]

    first = cheapest_first([run for run in failing if run.dtype in sharp])
    failing = [*first, *loose(run for run in failing if run.dtype not in sharp)]
    return _searched(op, failing, loose(passing), lambda: loose(fresh()), budget, right)


def _searched(op, failing, passing, fresh, budget, right) -> Explanation | None:
    rounded = None
    for stage in STAGES:
        candidates = sorted(
            stage(op, failing, passing, budget), key=lambda candidate: candidate.size
        )
        whole = [
            candidate
            for at, candidate in enumerate(candidates)
            if (at < SHOWN or not budget.over) and all(candidate.same(other) for other in passing)
        ]
        if whole:
            every = (*failing, *passing, *fresh())
            whole = [*_agree(whole, fresh())]
            exact = [replace(other, slack=0.0) for other in every if other.narrow]
            sharp = [*_agree(whole, exact)]
            if sharp:
                return _in_words(sharp, len(every))
            rounded = rounded or whole and _in_words(whole, len(every), rounded=True)
        for candidate in budget.within(candidates[:SHOWN]):
            law = _conditional(candidate, failing, passing, right)
            if (
                law
                and _holds_on(law, fresh())
                and all(_within(candidate, law, run) for run in fresh())
            ):
                return _in_words([candidate], len(failing) + len(passing), law)
    return rounded or None


def of_fault(op, fault: Fault, cases: int) -> Explanation:
    """Return a named fault as an explanation."""
    return _in_words([as_candidate(op, fault)], cases)


def _agree(candidates: Iterable[Candidate], failing: list[CaseRun]) -> Iterator[Candidate]:
    return (
        candidate for candidate in candidates if all(candidate.same(other) for other in failing)
    )


def _stage(candidates: Callable) -> Callable:
    """Return a stage of the search, which yields those candidates that agree with all failing cases."""
    return lambda op, failing, passing, budget: _agree(
        budget.within(candidates(op, failing, passing)), failing
    )


@_stage
def _named(op, failing, passing):
    """Return named faults; those that are edits are searched with all others."""
    return (as_candidate(op, fault) for fault in faults(op.name) if not fault.edit)


@_stage
def _plain(op, failing, passing):
    return chain(
        over_fewer(op, failing[0]),
        moved(op, failing),
        taken_for_others(op, [*failing, *passing]),
        read_and_written(op, failing),
    )


def _edited(op, failing, passing, budget) -> Iterator[Candidate]:
    """Yield single edits; if none fits, edits applied only to the wrong outputs, because a kernel may compute each output
    separately.
    """
    wrong = frozenset().union(*(run.wrong for run in failing))
    alone = wrong if wrong < {name for run in failing for name in run.outputs} else None
    some = budget.within(_reached(edits(op.page), failing))
    partly = {
        candidate: edit for edit in some for candidate in _agree([of_edit(edit, alone)], failing)
    }
    whole = (
        [candidate for edit in partly.values() for candidate in _agree([of_edit(edit)], failing)]
        if alone
        else []
    )
    yield from whole or partly


def _reached(some: Iterable[Edit], failing) -> Iterator[Edit]:
    """Return the edits of lines that all failing cases execute: a case that skips an edited line would be right."""
    lines = frozenset.intersection(*(frozenset(run.executed) for run in leaders(failing)))
    return (
        edit
        for edit in some
        if not edit.unit.name
        or any((edit.unit.module.__file__, line) in lines for line in edit.lines)
    )


@_stage
def _sums(op, failing, passing):
    return reduced(op, failing[0])


def _constants(op, failing, passing, budget) -> Iterator[Candidate]:
    for slot in budget.within(slots(op.page)):
        if fit(slot, failing[0]) is not None and (candidate := fitted(slot, failing)):
            yield from _agree([candidate], failing)


@_stage
def _anywhere(op, failing, passing):
    """Return edits with other expressions in any place, or with one more factor that is a floating tensor when the page runs."""
    floats = failing[0].floats
    some = [
        edit
        for edit in anywhere(op.page)
        if edit.kind != "one more" or edit.change.exchange[-1] in floats.get(edit.unit.name, ())
    ]
    return map(of_edit, _reached(some, failing))


@_stage
def _exchanged(op, failing, passing):
    return exchanges(_reached((*edits(op.page), *anywhere(op.page)), failing))


# the shortest searches come first
STAGES = (_named, _plain, _edited, _sums, _constants, _anywhere, _exchanged)


def _conditional(candidate: Candidate, failing, passing, right) -> Condition | None:
    """Return a condition that holds of all failing cases, but of no right case on which the candidate is wrong."""
    outside = [other for other in passing if not candidate.same(other)]
    if not outside or len(failing) < 2:
        return None
    return separating(
        [other.traits for other in failing], [*(other.traits for other in outside), *right]
    )


def _within(candidate: Candidate, condition: Condition | None, run: CaseRun) -> bool:
    """Return whether a run fits a condition: where it holds, the kernel behaves like the candidate; elsewhere it is right."""
    outside = condition and not condition.holds(run.case)
    return outside and not run.misses or candidate.same(run)


def _holds_on(condition: Condition, fresh: Sequence[CaseRun]) -> bool:
    """Return whether no fresh case is wrong outside the condition."""
    return not any(run.misses and condition.holds(run.case) is False for run in fresh)


def fresh_runs(tested: KernelUnderTest, seed: int, budget: Budget) -> Iterator[CaseRun]:
    """Yield small cases of the scope with other numbers, with mixed options, and with other lengths."""
    others, mixed = tested.scope.unseen(seed, DRAWN)
    lengths = _of_other_lengths(tested.scope, seed)
    for cases, count in ((others, FRESH), (mixed, MIXED), (lengths, FRESH)):
        asked = (tested.run_on(ready, ELEMENTS) for ready in budget.within(cases))
        yield from islice(
            (fit for run in asked if run and (fit := in_documented_form(run)).usable), count
        )


def _of_other_lengths(scope: Scope, seed: int) -> Iterator[Ready]:
    """Yield cases whose last axis has a length outside the suite, because a law of lengths may fit the suite by chance."""
    rng = random.Random(seed)
    for ready in () if scope.shapes else scope.unseen(seed, 0)[0]:
        if shape := ready.recipe.options.get("shape"):
            options = ready.recipe.options | {"shape": (*shape[:-1], rng.randrange(2, 80))}
            if default.fitted(scope.op, options)["shape"] == options["shape"]:
                yield scope.ready(options, rng.randrange(2**31))


def _in_words(
    candidates: list[Candidate],
    cases: int,
    condition: Condition | None = None,
    rounded: bool = False,
) -> Explanation:
    first, *others = sorted(
        {str(candidate): candidate for candidate in candidates}.values(),
        key=lambda candidate: (candidate.size, str(candidate)),
    )
    equal = [
        candidate.brief
        for candidate in others
        if (candidate.name or candidate.after) != (first.name or first.after)
    ]
    text = tuple(dict.fromkeys(equal))
    more = (message("and {n} other names", n=len(text) - SHOWN),) if len(text) > SHOWN else ()
    evidence = (
        message("this change gives your kernel's numbers on the only case")
        if cases == 1
        else message(
            "this change gives your kernel's numbers on all of {n} cases, in 16 bits up to intermediate roundings",
            n=cases,
        )
        if rounded
        else message("this change gives your numbers on all of {n} cases", n=cases)
    )
    return Explanation(
        first.kind,
        str(first),
        first.where,
        first.before,
        first.after,
        evidence,
        condition.text if condition else "",
        text[:SHOWN] + more,
        lambda run: _within(first, condition, run.loose if rounded else run),
        law=condition,
    )
