"""The smallest change of the right page that computes what a wrong kernel computes, found by trying them all.

A change is told only if it gives the kernel's numbers, up to the kernel's own rounding, on every case that was run, and
on fresh ones where the kernel can be called; those that no case tells apart are all told.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice

from aclnn_viz.checking.altered import moved, read_and_written, taken_for_others
from aclnn_viz.checking.asking import Asking, Budget
from aclnn_viz.checking.candidates import Candidate, of_edit, pairs
from aclnn_viz.checking.diagnosis import as_candidate
from aclnn_viz.checking.facts import Condition, Facts, separating
from aclnn_viz.checking.fitting import fitted as fitted_at, scaled_output, slots
from aclnn_viz.checking.misfits import fitted
from aclnn_viz.checking.observing import Seen, Way
from aclnn_viz.checking.reductions import reduced
from aclnn_viz.checking.sieving import leaders, sieves_first
from aclnn_viz.operators.faults import Fault, faults
from aclnn_viz.operators.faults.edits import Edit, edits
from aclnn_viz.operators.faults.rarer import rarer
from aclnn_viz.words.speech import linked, message, tr

FRESH, SMALL = 6, 2000  # cases on which the kernel is asked again, and their elements at most
TOLD = 6  # equal candidates
EXCEPT = message("not with {case}")


@dataclass(frozen=True)
class Explanation:
    """A change of the right kernel that explains a wrong one: in words, and its `line` with what stands there before and
    after, if it is one of the page.

    `equal` are other changes that no case told apart from it; `condition` says where it applies, if not everywhere;
    `evidence` on how many cases it gives the kernel's numbers; `holds` tells whether it does so on another.
    """

    kind: str
    text: str
    line: str
    before: str
    after: str
    evidence: str
    condition: str = ""
    equal: tuple[str, ...] = ()
    holds: Callable[[Seen], bool] | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        lines = [tr(self.text)]
        if self.condition:
            lines += [tr("  but {condition}: there it is right", condition=self.condition) if _excepts(self.condition) else
                      tr("  only where {condition}; elsewhere it is right", condition=self.condition)]
        lines += [f"  {tr(self.evidence)}"]
        lines += [tr("  these edits give the same numbers on every case:")] * bool(self.equal)
        lines += [f"    {tr(one)}" for one in self.equal]
        return "\n".join(lines)


def explain(op, seen: Sequence[Seen], asking: Asking | None, seed: int, seconds: float,
            right: Sequence[Facts] = ()) -> Explanation | None:
    """Search for what explains the failing cases among those seen; None when nothing does, or time is up.

    A kernel that can be called is asked again on fresh cases, for at most the same time. `right` is what is known of more
    cases on which it is right.
    """
    failing = sorted((one for one in seen if one.misses), key=lambda one: one.size)
    if not failing or not all(one.usable for one in failing) or all(one.subtle for one in failing):
        return None  # an output of another shape, or wrong by roundings alone
    failing = sieves_first(failing)
    passing = sorted((one for one in seen if not one.misses and one.usable), key=lambda one: one.size)
    budget = Budget(seconds)

    @cache
    def fresh() -> list[Seen]:
        return list(_fresh(asking, seed, Budget(seconds))) if asking else []
    for stage in (_named, _plain, _edited, _sums, _constants, _pairs):
        found = sorted(stage(op, failing, passing, budget), key=lambda one: one.size)
        whole = [one for at, one in enumerate(found) if (at < TOLD or not budget.over)
                 and all(one.same(other) for other in passing)]
        if whole:
            whole = [one for one in whole if all(one.same(other) for other in fresh())]
            if whole:
                return _told(whole, len(failing) + len(passing) + len(fresh()))
        for one in budget.within(found[:TOLD]):
            if (told := _conditional(one, failing, passing, right)) and all(
                    _borne_out(one, told, other) for other in fresh()):
                return _told([one], len(failing) + len(passing), told)
    return None


def of_fault(op, fault: Fault, cases: int) -> Explanation:
    """The explanation that a named fault is, or the edit that stands in the place of one."""
    return _told([as_candidate(op, fault)], cases)


def _agree(candidates: Iterable[Candidate], failing: list[Seen]) -> Iterator[Candidate]:
    return (one for one in candidates if all(one.same(other) for other in failing))


def _named(op, failing, passing, budget) -> Iterator[Candidate]:
    """Named faults; those that are edits are looked through with all others."""
    known = (as_candidate(op, fault) for fault in faults(op.name) if not fault.edit)
    yield from _agree(budget.within(known), failing)


def _plain(op, failing, passing, budget) -> Iterator[Candidate]:
    scaled = scaled_output(failing)
    yield from _agree(budget.within(chain([scaled] if scaled else [], moved(op, failing), taken_for_others(
        op, [*failing, *passing]), read_and_written(op, failing))), failing)


def _edited(op, failing, passing, budget) -> Iterator[Candidate]:
    """Single edits; if none of them fits, those of which only the outputs that are wrong feel something: a kernel may
    compute each output by itself."""
    wrong = frozenset(miss.output for one in failing for miss in one.misses)
    alone = wrong if wrong < {name for one in failing for name in one.outputs} else None
    some = budget.within(_reached((*edits(op.page), *rarer(op.page)), failing))
    partly = {one: edit for edit in some for one in _agree([of_edit(edit, alone)], failing)}
    whole = [one for edit in partly.values() for one in _agree([of_edit(edit)], failing)] if alone else []
    yield from whole or partly


def _reached(some: Iterable[Edit], failing) -> Iterator[Edit]:
    """The edits of lines that all failing cases execute: in one that does not, the page would be right."""
    lines = frozenset.intersection(*(frozenset(one.executed) for one in leaders(failing)))
    return (edit for edit in some if not edit.unit.name or any(
        (edit.unit.module.__file__, line) in lines for line in edit.lines))


def _sums(op, failing, passing, budget) -> Iterator[Candidate]:
    yield from _agree(budget.within(reduced(op, failing[0])), failing)


def _constants(op, failing, passing, budget) -> Iterator[Candidate]:
    for slot in budget.within(slots(op.page)):
        if slot.fit(failing[0]) is not None and (found := fitted_at(slot, failing)):
            yield from _agree([found], failing)


def _pairs(op, failing, passing, budget) -> Iterator[Candidate]:
    probe, wrong = failing[0], {miss.output for one in failing for miss in one.misses}
    right = {name for name in probe.outputs if name not in wrong}
    known: dict[int, bool] = {}

    def harmless(edit: Edit) -> bool:
        if id(edit) not in known:
            try:
                values = probe.computed(Way(lambda: edit.page))
                known[id(edit)] = all(_near(probe, name, values[name]) for name in right)
            except Exception:  # whatever a broken page raises
                known[id(edit)] = False
        return known[id(edit)]
    yield from _agree(budget.within(pairs(_reached(edits(op.page), failing), harmless)), failing)


def _near(one: Seen, name: str, value) -> bool:
    wide, near = one.wanted[name]
    return value.size == wide.size and bool((abs(value.reshape(wide.shape) - wide) <= near).all())


def _conditional(one: Candidate, failing, passing, right) -> Condition | None:
    """Where a candidate applies that agrees with all failing cases, and not with some on which the kernel is right."""
    outside = [other for other in passing if not one.same(other)]
    if not outside or len(failing) < 2:
        return None
    found = separating([other.facts for other in failing], [*(other.facts for other in outside), *right])
    if found or 4 * len(outside) > len(failing):
        return found
    apart = {id(other.prepared.case) for other in outside}  # a few, of which nothing simple tells the others
    told = linked("{some} and {more}", [message(EXCEPT.key, case=str(other.prepared.recipe)) for other in outside])
    return Condition(told, lambda made: id(made) not in apart)


def _excepts(condition: str) -> bool:
    """Whether a condition names the cases to which it does not apply."""
    return condition.startswith(EXCEPT.partition("{")[0])


def _borne_out(one: Candidate, told: Condition | None, other: Seen) -> bool:
    """Whether a fresh case bears a condition out: where it holds the kernel is the candidate, elsewhere right."""
    if told and (not told.holds(other.prepared.case) or _excepts(told.text)) and not other.misses:
        return True
    return one.same(other)


def _fresh(asking: Asking, seed: int, budget: Budget) -> Iterator[Seen]:
    """Small cases of the scope with other numbers."""
    asked = (asking.on(ready, SMALL) for ready in budget.within(asking.scope.others(seed + 1)))
    return islice((fit for one in asked if one and (fit := fitted(one)).usable), FRESH)


def _told(candidates: list[Candidate], cases: int, condition: Condition | None = None) -> Explanation:
    first, *others = sorted({str(one): one for one in candidates}.values(), key=lambda one: (one.size, str(one)))
    equal = [one.brief for one in others if (one.name or one.after) != (first.name or first.after)]
    told = tuple(dict.fromkeys(equal))
    more = (message("and {n} others", n=len(told) - TOLD),) if len(told) > TOLD else ()
    return Explanation(first.kind, str(first), first.where.strip(","), first.before, first.after,
                       message("it gives your numbers on all of {n} cases", n=cases), condition.text if condition else "",
                       told[:TOLD] + more, lambda one: _borne_out(first, condition, one))
