"""Explain wrong numbers: by a named fault, else by the smallest change of the right page that computes the same numbers.

A change explains a kernel only if it gives the kernel's numbers, up to the kernel's own rounding, on every case that was
run, and on fresh cases where the kernel can be called. Changes that no case distinguishes are all listed. A fault is
named confidently only if it agrees with the kernel on every case, and no other fault does.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import numpy as np

from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.candidates import (
    exchanges,
    fitted,
    moved,
    of_edit,
    pairs,
    read_and_written,
    scaled_output,
    slots,
    taken_for_others,
    transformed,
)
from aclnn_viz.checking.case_run import (
    SINGLE,
    Candidate,
    CaseRun,
    Variant,
    cheapest_first,
    is_single,
    leaders,
)
from aclnn_viz.checking.conditions import Condition, Traits, separating, stands
from aclnn_viz.checking.evidence import KernelUnderTest
from aclnn_viz.checking.judge import Expected, Miss, judge
from aclnn_viz.checking.mending import Mend
from aclnn_viz.checking.scope import Ready
from aclnn_viz.checking.sums import over_fewer, reduced
from aclnn_viz.checking.wrong_outputs import in_documented_form, resemblance
from aclnn_viz.checking.work import Budget
from aclnn_viz.dtypes import float_format, ulp
from aclnn_viz.operators.faults import Fault, faults
from aclnn_viz.operators.faults.edits import Edit, edits, rarer
from aclnn_viz.operators.faults.fault import faulty_kernel
from aclnn_viz.operators.faults.written_out import written_out
from aclnn_viz.words.messages import kept, linked, message, tr

SMALLEST = 12  # of the failing cases, to look for what is like them where no fault agrees with all
ODD = 0.02  # the share of 16-bit elements that float32 rounding may put on the other side of a tie
FRESH, MIXED, SMALL = (
    6,
    16,
    2000,
)  # fresh cases, and with mixed options, on which the kernel is run, and their elements at most
TRIED = 50  # mixed cases at most: an operator does not take all of them
SHOWN = 6  # equal candidates
FORGOTTEN = (
    "one",
    "zero",
    "factors",
)  # of which two are tried at once in a page that is written out
EXCEPT = message("not with {case}")
NO_FAULT = message("none of the known faults")


@dataclass(frozen=True)
class Diagnosis:
    """The likeliest mistake. `name` is that of a fault, or None; `confident` says whether no case contradicts it."""

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
            lines.append(tr("  where it comes from: {story}", story=self.story))
        lines += [f"    {line}" for line in self.diff.splitlines()]
        return "\n".join(lines)


def diagnose(
    op, seen: Sequence[CaseRun], tested: KernelUnderTest | None = None, silent: int = 0
) -> Diagnosis:
    """Compare what a wrong kernel returned with every named fault; `tested` runs it on a case where the fault would be hidden.

    `silent` is the number of cases on which the kernel returned nothing: no fault explains that, so none is certain.
    """
    known = {
        fault: faulty_kernel(op, fault) for fault in faults(op.name) if not fault.edit
    }  # the search tries edits
    failing = sorted((one for one in seen if one.misses), key=lambda one: one.size)
    passing = [one for one in seen if not one.misses]
    ordered = [*cheapest_first(failing), *passing]
    agreeing = [
        fault
        for fault, wrong in known.items()
        if failing and all(_agrees(fault, wrong, one) for one in ordered)
    ]
    if len(agreeing) == 1:
        (fault,) = agreeing
        text = message(
            "matches {fault!r} on {n} of {n} cases, {wrong} of them wrong",
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
        if tested and fault.hidden and _right_on_hidden(op, fault, tested):
            text = message(
                "{text}; equals the truth when {condition}", text=text, condition=fault.hidden[0]
            )
        return Diagnosis(fault.name, True, text, fault.origin, fault.diff, (fault.name,))
    if agreeing:
        names = tuple(fault.name for fault in agreeing)
        quoted = linked("{some}, {more}", [message("{fault!r}", fault=name) for name in names])
        text = message("one of {faults}: no case tells them apart", faults=quoted)
        return Diagnosis(None, False, text, candidates=names)
    return _unknown(failing)


def as_candidate(op, fault: Fault) -> Candidate:
    """A named fault as a candidate of an explanation: for a kernel that has it everywhere or under a condition."""
    wrong = faulty_kernel(op, fault)
    return Candidate(
        "named fault",
        lambda: fault.place(op.page),
        lambda one: _agrees(fault, wrong, one),
        message("the named fault {fault!r}: {story}", fault=fault.name, story=fault.origin),
    )


def _unknown(failing) -> Diagnosis:
    alike = resemblance(
        [
            (one.prepared, one.outputs, {miss.output for miss in one.misses})
            for one in failing[:SMALLEST]
        ]
    )
    return Diagnosis(None, False, linked("{some}; {more}", [NO_FAULT, *alike]))


def law_of(
    seen: Sequence[CaseRun],
    right: Sequence[Traits],
    fresh: Sequence[CaseRun],
    others: Sequence[CaseRun] = (),
) -> tuple[Condition | None, bool]:
    """What wrong cases have in common, unless fresh or other ones contradict it, and whether fresh ones confirm it."""
    full = [
        one.traits for one in seen if not one.misses and one.size
    ]  # where there are no elements nothing can be wrong
    law = separating([one.traits for one in seen if one.misses], [*full, *right])
    runs, more = (
        [(one.prepared.case, bool(one.misses)) for one in some if one.size]
        for some in (fresh, others)
    )
    if not law or any(wrong and law.holds(made) is False for made, wrong in [*runs, *more]):
        return None, False
    return law, stands(law, runs)


def _agrees(fault: Fault, wrong: Callable, one: CaseRun) -> bool:
    """Whether a fault explains what a kernel returned for one case.

    `wrong` is the page with the fault. It must return the same numbers, up to rounding; and where the judge found the
    kernel wrong, it must find `wrong` wrong, too.
    """
    single, inputs = is_single(one.outputs), one.prepared.case.inputs
    return (
        _gives(fault, wrong, one, inputs, single)
        or single
        and _gives(fault, _in_float32(wrong), one, inputs, single)
    )


def _in_float32(wrong: Callable) -> Callable:
    """A kernel that computes in float32 what it is given in float64: there a point may come to lie on a pixel."""

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


def _gives(fault: Fault, wrong: Callable, one: CaseRun, inputs: dict, single: bool) -> bool:
    try:
        with np.errstate(all="ignore"):
            outputs = wrong(**inputs)
    except Exception:  # whatever a broken page raises
        return False
    if outputs.keys() != one.outputs.keys() or any(
        outputs[name].shape != value.shape or outputs[name].dtype != value.dtype
        for name, value in one.outputs.items()
    ):
        return False
    if not (single or {*_wrong(one.misses)} <= {*_wrong(judge(one.prepared, outputs))}):
        return False
    return all(
        _alike(fault, expected, outputs[name], one.outputs[name], single)
        for name, expected in one.prepared.expected.items()
        if name in outputs
    )


def _wrong(misses: Iterable[Miss]) -> dict[str, None]:
    """The outputs of misses, in their order."""
    return dict.fromkeys(miss.output for miss in misses)


def _alike(
    fault: Fault, expected: Expected, guess: np.ndarray, actual: np.ndarray, single: bool
) -> bool:
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
        allowed = 16 * expected.allowed * (2.0**29 if single else 1.0) + relative * (
            128 * np.abs(b) + 16 * largest
        )
        apart &= ~(np.abs(a - b) <= allowed)
        if fmt.bits == 16 and apart.sum() <= max(1, ODD * apart.size):
            apart &= ~(np.abs(a - b) <= 1.001 * ulp(np.maximum(np.abs(a), np.abs(b)), fmt))
    return not apart.any()


def _right_on_hidden(op, fault: Fault, tested: KernelUnderTest) -> bool:
    options = {"dtype": "float32"} | fault.hidden[1]
    hidden = tested.run_on(Ready(tested.scope, Recipe(op.name, options), None, 0))
    return hidden is not None and not hidden.misses


@dataclass(frozen=True)
class Explanation:
    """A change of the right kernel that explains a wrong one: in words, and its `line` with what stands there before and
    after, if it is one of the page.

    `equal` are other changes that give the same numbers on every case; `condition` says where it applies, if not everywhere;
    `evidence` on how many cases it gives the kernel's numbers; `holds(run)` whether it does so on another. `yours` is the edit
    of the reader's own kernel that mends it, where its source can be read and there is one.
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
    parts: tuple["Explanation", ...] = field(default=(), repr=False, compare=False)

    @property
    def brief(self) -> str:
        """In one line as what the kernel behaves, and where; `parts` are those of several outputs."""
        if self.parts:
            return linked("{some}; {more}", [part.brief for part in self.parts])
        after, change = kept(self.after), self.text
        if self.line:
            words = " ".join(after.key.split())
            change = message(
                "as if {line}, read: {after}", line=self.line, after=message(words, **after.values)
            )
        if not self.condition:
            return change
        return (
            message("{change}, but {condition}", change=change, condition=self.condition)
            if _excepts(self.condition)
            else message(
                "{change}, only where {condition}", change=change, condition=self.condition
            )
        )

    @classmethod
    def of_mend(cls, found: Mend) -> "Explanation":
        return cls(
            "arrangement" if found.lost else "mended",
            str(found),
            found.line,
            found.before,
            found.after,
            message("with it your kernel is right on all of {n} cases", n=found.cases),
            equal=found.equal,
            holds=found.right,
            yours=found,
        )

    @classmethod
    def of_form(cls, text: str, seen: Sequence[CaseRun]) -> "Explanation":
        """Of runs of which nothing but the form is wrong, what `text` says."""
        return cls(
            "form",
            text,
            "",
            "",
            "",
            message("so it is on all of {n} cases", n=len(seen)),
            holds=lambda one: not in_documented_form(one).misses,
        )

    @property
    def mends(self) -> bool:
        """Whether it says how the reader's kernel becomes right, and not as what it behaves."""
        return self.kind in ("arrangement", "mended")

    def __str__(self) -> str:
        lines = [tr(str(self.yours))] * bool(self.yours) + [tr(self.text)] * (not self.mends)
        if self.condition:
            lines += [
                tr("  but {condition}: there it is right", condition=self.condition)
                if _excepts(self.condition)
                else tr("  only where {condition}; elsewhere it is right", condition=self.condition)
            ]
        lines += [f"  {tr(self.evidence)}"]
        same = (
            tr("  these edits mend it, too:")
            if self.mends
            else tr("  these edits give the same numbers on every case:")
        )
        lines += [same] * bool(self.equal)
        lines += [f"    {tr(one)}" for one in self.equal]
        return "\n".join(lines)


def explain(
    op,
    seen: Sequence[CaseRun],
    budget: Budget,
    fresh: Callable[[], list[CaseRun]] = list,
    right: Sequence[Traits] = (),
) -> Explanation | None:
    """Search for what explains the failing cases among those seen; None when nothing does within a budget.

    `fresh()` are runs of the kernel on cases on which nothing was found; `right` describes more cases on which it is right.
    """
    failing = sorted((one for one in seen if one.misses and one.usable), key=lambda one: one.size)
    if all(one.subtle for one in failing):
        return None
    passing = sorted(
        (one for one in seen if not one.misses and one.usable), key=lambda one: one.size
    )
    # A kernel may compute in the format that it is given, or in float32 where it is given float64.
    wide = [one for one in failing if not one.narrow]
    sharp = {one.dtype for one in wide if one.dtype != "float64"} or {"float64"}
    if not wide:
        sharp = {one.dtype for one in failing}

    def loose(some):
        return [one if one.dtype in sharp else one.loose for one in some]

    first = cheapest_first([one for one in failing if one.dtype in sharp])
    failing = [*first, *loose(one for one in failing if one.dtype not in sharp)]
    return _searched(op, failing, loose(passing), lambda: loose(fresh()), budget, right)


def _searched(op, failing, passing, fresh, budget, right) -> Explanation | None:
    """What explains all outputs, or else each of several wrong ones."""
    if found := _as_one(op, failing, passing, fresh, budget, right):
        return found
    parts = []
    outputs = dict.fromkeys(miss.output for one in failing for miss in one.misses)
    for name in outputs if len(outputs) > 1 else ():
        alone = [one.alone(name) for one in (*failing, *passing)]
        part = _as_one(
            op,
            [one for one in alone if one.misses],
            [one for one in alone if not one.misses],
            lambda name=name: [one.alone(name) for one in fresh()],
            budget,
            right,
        )
        if not part:
            return None
        parts.append((name, part))
    if not parts:
        return None
    text = linked(
        "{some}\n{more}",
        [
            message("{output}: {text}", output=name, text=part.text) if part.line else part.text
            for name, part in parts
        ],
    )
    line, before, after = (
        "; ".join(filter(None, (getattr(part, name) for _, part in parts)))
        for name in ("line", "before", "after")
    )
    return Explanation(
        "several",
        text,
        line,
        before,
        after,
        parts[0][1].evidence,
        linked("{some}; {more}", [part.condition for _, part in parts if part.condition])
        if any(part.condition for _, part in parts)
        else "",
        holds=lambda one: all(
            part.holds(one.alone(name)) for name, part in parts if name in one.outputs
        ),
        parts=tuple(part for _, part in parts),
    )


def _as_one(op, failing, passing, fresh, budget, right) -> Explanation | None:
    rounded = None
    for stage in (_named, _plain, _edited, _transformed, _written_out, _sums, _constants, _pairs):
        found = sorted(stage(op, failing, passing, budget), key=lambda one: one.size)
        whole = [
            one
            for at, one in enumerate(found)
            if (at < SHOWN or not budget.over) and all(one.same(other) for other in passing)
        ]
        if whole:
            every = (*failing, *passing, *fresh())
            whole = [one for one in whole if all(one.same(other) for other in fresh())]
            sharp = [
                one
                for one in whole
                if all(one.same(replace(other, slack=0.0)) for other in every if other.narrow)
            ]
            if sharp:
                return _in_words(sharp, len(every))
            rounded = rounded or whole and _in_words(whole, len(every), rounded=True)
        for one in budget.within(found[:SHOWN]):
            if (
                (text := _conditional(one, failing, passing, right))
                and _holds_on(text, fresh())
                and all(_borne_out(one, text, other) for other in fresh())
            ):
                return _in_words([one], len(failing) + len(passing), text)
    return rounded or None


def of_fault(op, fault: Fault, cases: int) -> Explanation:
    """The explanation that a named fault is."""
    return _in_words([as_candidate(op, fault)], cases)


def _agree(candidates: Iterable[Candidate], failing: list[CaseRun]) -> Iterator[Candidate]:
    return (one for one in candidates if all(one.same(other) for other in failing))


def _named(op, failing, passing, budget) -> Iterator[Candidate]:
    """Named faults; those that are edits are looked through with all others."""
    known = (as_candidate(op, fault) for fault in faults(op.name) if not fault.edit)
    yield from _agree(budget.within(known), failing)


def _plain(op, failing, passing, budget) -> Iterator[Candidate]:
    some = chain(
        over_fewer(op, failing[0]),
        moved(op, failing),
        taken_for_others(op, [*failing, *passing]),
        read_and_written(op, failing),
    )
    yield from _agree(budget.within(some), failing)


def _edited(op, failing, passing, budget) -> Iterator[Candidate]:
    """Single edits; if none of them fits, those of which only the outputs that are wrong feel something: a kernel may
    compute each output by itself."""
    wrong = frozenset(miss.output for one in failing for miss in one.misses)
    alone = wrong if wrong < {name for one in failing for name in one.outputs} else None
    some = budget.within(_reached((*edits(op.page), *rarer(op.page)), failing))
    partly = {one: edit for edit in some for one in _agree([of_edit(edit, alone)], failing)}
    whole = (
        [one for edit in partly.values() for one in _agree([of_edit(edit)], failing)]
        if alone
        else []
    )
    yield from whole or partly


def _transformed(op, failing, passing, budget) -> Iterator[Candidate]:
    yield from _agree(budget.within(transformed(op, failing)), failing)


def _reached(some: Iterable[Edit], failing) -> Iterator[Edit]:
    """The edits of lines that all failing cases execute: in one that does not, the page would be right."""
    lines = frozenset.intersection(*(frozenset(one.executed) for one in leaders(failing)))
    return (
        edit
        for edit in some
        if not edit.unit.name
        or any((edit.unit.module.__file__, line) in lines for line in edit.lines)
    )


def _sums(op, failing, passing, budget) -> Iterator[Candidate]:
    yield from _agree(budget.within(reduced(op, failing[0])), failing)


def _constants(op, failing, passing, budget) -> Iterator[Candidate]:
    if scaled := [*_agree(filter(None, [scaled_output(failing)]), failing)]:
        yield from scaled
        return
    for slot in budget.within(slots(op.page)):
        if slot.fit(failing[0]) is not None and (found := fitted(slot, failing)):
            yield from _agree([found], failing)


def _written_out(op, failing, passing, budget) -> Iterator[Candidate]:
    some = written_out(op.page)
    yield from [*_agree(map(of_edit, budget.within(some)), failing)] or _agree(
        budget.within(exchanges(some)), failing
    )


def _pairs(op, failing, passing, budget) -> Iterator[Candidate]:
    probe, wrong = failing[0], {miss.output for one in failing for miss in one.misses}
    right = {name for name in probe.outputs if name not in wrong}
    known: dict[int, bool] = {}

    def harmless(edit: Edit) -> bool:
        if id(edit) not in known:
            try:
                values = probe.computed(Variant(lambda: edit.page))
                known[id(edit)] = all(_near(probe, name, values[name]) for name in right)
            except Exception:  # whatever a broken page raises
                known[id(edit)] = False
        return known[id(edit)]

    forgotten = [edit for edit in written_out(op.page) if edit.unit.out and edit.kind in FORGOTTEN]
    yield from _agree(
        budget.within(
            chain(pairs(forgotten, harmless), pairs(_reached(edits(op.page), failing), harmless))
        ),
        failing,
    )


def _near(one: CaseRun, name: str, value) -> bool:
    wide, near = one.wanted[name]
    return value.size == wide.size and bool((abs(value.reshape(wide.shape) - wide) <= near).all())


def _conditional(one: Candidate, failing, passing, right) -> Condition | None:
    """Where a candidate applies that agrees with all failing cases, and not with some on which the kernel is right."""
    outside = [other for other in passing if not one.same(other)]
    if not outside or len(failing) < 2:
        return None
    found = separating(
        [other.traits for other in failing], [*(other.traits for other in outside), *right]
    )
    if found or 4 * len(outside) > len(failing):
        return found
    apart = {
        id(other.prepared.case) for other in outside
    }  # a few, of which nothing simple tells the others
    text = linked(
        "{some} and {more}",
        [message(EXCEPT.key, case=str(other.prepared.recipe)) for other in outside],
    )
    return Condition(text, lambda made: id(made) not in apart)


def _excepts(condition: str) -> bool:
    """Whether a condition names the cases to which it does not apply."""
    return condition.startswith(EXCEPT.partition("{")[0])


def _borne_out(one: Candidate, condition: Condition | None, other: CaseRun) -> bool:
    """Whether a fresh run agrees with a condition: where it holds the kernel computes what the candidate does, elsewhere it is right."""
    if (
        condition
        and (not condition.holds(other.prepared.case) or _excepts(condition.text))
        and not other.misses
    ):
        return True
    return one.same(other)


def _holds_on(condition: Condition, fresh: Sequence[CaseRun]) -> bool:
    """Whether no fresh case is wrong outside of a condition; one that names single cases is no law."""
    return _excepts(condition.text) or not any(
        one.misses and condition.holds(one.prepared.case) is False for one in fresh
    )


def fresh_runs(tested: KernelUnderTest, seed: int, budget: Budget) -> Iterator[CaseRun]:
    """Small cases of the scope with other numbers, and with their options mixed."""
    for cases, count in zip(tested.scope.unseen(seed, TRIED), (FRESH, MIXED)):
        asked = (tested.run_on(ready, SMALL) for ready in budget.within(cases))
        yield from islice(
            (fit for one in asked if one and (fit := in_documented_form(one)).usable), count
        )


def _in_words(
    candidates: list[Candidate],
    cases: int,
    condition: Condition | None = None,
    rounded: bool = False,
) -> Explanation:
    first, *others = sorted(
        {str(one): one for one in candidates}.values(), key=lambda one: (one.size, str(one))
    )
    equal = [one.brief for one in others if (one.name or one.after) != (first.name or first.after)]
    text = tuple(dict.fromkeys(equal))
    more = (message("and {n} others", n=len(text) - SHOWN),) if len(text) > SHOWN else ()
    evidence = (
        message("it gives your numbers on the one case that there is")
        if cases == 1
        else message(
            "it gives your numbers on all of {n} cases, in 16 bits up to roundings on the way",
            n=cases,
        )
        if rounded
        else message("it gives your numbers on all of {n} cases", n=cases)
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
        lambda one: _borne_out(first, condition, one.loose if rounded else one),
        law=condition if condition and not _excepts(condition.text) else None,
    )
