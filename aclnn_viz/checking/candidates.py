"""What a wrong kernel may be: the right page with one or two edits, other inputs in the place of its own, or outputs moved.

A candidate tells its words and whether it gives what the kernel gave on a case.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from aclnn_viz.checking.facts import choices
from aclnn_viz.checking.observing import Seen
from aclnn_viz.faults.edits import Edit, edits
from aclnn_viz.faults.rewriting import distance, head
from aclnn_viz.operators import Operator

WORDS = 4


@dataclass(frozen=True, eq=False)
class Candidate:
    """A change of the right kernel: its kind, and whether it gives what the kernel gave on a case.

    `told()` returns the line of the page and what stands there before and after, or empty texts and words.
    """

    kind: str
    told: Callable[[], tuple[str, str, str]] = field(repr=False)
    same: Callable[[Seen], bool] = field(repr=False)

    @cached_property
    def texts(self) -> tuple[str, str, str]:
        return self.told()

    @property
    def where(self) -> str:
        return self.texts[0]

    @property
    def before(self) -> str:
        return self.texts[1]

    @property
    def after(self) -> str:
        return self.texts[2]

    @property
    def size(self) -> int:
        """How much text changes, to prefer the smaller of two that do the same; words count as a few letters."""
        return distance(self.before, self.after) if self.before else WORDS

    def __str__(self) -> str:
        if not self.before:
            return self.after
        return f"as if {self.where} read\n    {self.after}\n  instead of\n    {self.before}"


def of_edit(edit: Edit) -> Candidate:
    return Candidate(edit.kind, lambda: (f"{edit.file}, line {edit.line},", edit.before, edit.after),
                     lambda one: one.shares(lambda: edit.page))


def pairs(op: Operator, harmless: Callable[[Edit], bool]) -> Iterator[Candidate]:
    """Every two edits of one statement that each leave right what the kernel computes rightly."""
    by_statement: dict[int, list[Edit]] = {}
    for edit in edits(op.page):
        if edit.kind != "name" and not edit.change.drops:
            by_statement.setdefault(id(edit.statement), []).append(edit)
    for some in by_statement.values():
        kept = [edit for edit in some if harmless(edit)]
        for first, second in combinations(kept, 2):
            if first.change.node is not second.change.node:
                yield _pair(first, second)


def _pair(first: Edit, second: Edit) -> Candidate:
    made = {}

    def page():
        if "page" not in made:
            with first.change.made(), second.change.made():
                made["page"] = first.unit.page()
        return made["page"]

    def told():
        with first.change.made(), second.change.made():
            return f"{first.file}, line {first.line},", first.before, head(first.statement)
    return Candidate("two edits", told, lambda one: one.shares(page))


def taken_for_others(op: Operator, seen: list[Seen]) -> Iterator[Candidate]:
    """Attributes that are read as another value, tensors that are not read, or exchanged."""
    values: dict[str, dict] = {}
    for one in seen:
        for name, value in choices(one.prepared.case).items():
            values.setdefault(name, {})[repr(value)] = value
    for p in op.parameters:
        if p.kind != "tensor":
            tried = values.get(p.name, {}) | ({repr(p.default): p.default} if p.optional else {})
            for value in tried.values():
                yield _altered(f"{p.name} is taken for {value!r}", lambda inputs, n=p.name, v=value: inputs | {n: v})
        else:
            if p.optional:
                yield _altered(f"{p.name} is not read", lambda inputs, n=p.name: inputs | {n: None})
            for number in (1.0, 0.0):
                yield _altered(f"{p.name} is taken for {number:g} everywhere",
                               lambda inputs, n=p.name, v=number: inputs | {n: np.full_like(inputs[n], v)})
    tensors = [p.name for p in op.parameters if p.kind == "tensor"]
    for a, b in combinations(tensors, 2):
        yield _altered(f"{a} and {b} are exchanged", lambda inputs, a=a, b=b: inputs | {a: inputs[b], b: inputs[a]})
    for name in tensors:
        yield _altered(f"only the first place of {name} is read",
                       lambda inputs, n=name: inputs | {n: np.broadcast_to(inputs[n][:1], inputs[n].shape)})


def _altered(words: str, alter: Callable) -> Candidate:
    def same(one: Seen) -> bool:
        made = one.prepared.case
        try:
            with np.errstate(all="ignore"):
                return one.agrees(made.operator.truth(**alter(made.operator.bind(made.inputs))))
        except Exception:  # inputs that do not fit each other
            return False
    return Candidate("inputs", lambda: ("", "", words), same)


def moved(op: Operator, wrong: list[Seen]) -> Iterator[Candidate]:
    """Outputs that are the right ones elsewhere: in another's place, reversed, transposed, shifted, or another input."""
    names = sorted({miss.output for one in wrong for miss in one.misses if miss.output in one.outputs})
    for name in names:
        for other in op.outputs:
            if other != name:
                yield _with(name, f"{name} holds {other}", lambda truth, _, o=other: truth[o])
        for p in op.parameters:
            if p.kind == "tensor":
                yield _with(name, f"{name} holds {p.name}",
                            lambda _, inputs, n=p.name: np.asarray(inputs[n]).astype(np.float64))
        for axis in (-1, -2, 0):
            yield _with(name, f"{name} is reversed along axis {axis}",
                        lambda truth, _, n=name, a=axis: np.flip(truth[n], a))
            for step in (1, -1):
                yield _with(name, f"{name} is shifted by {step:+d} along axis {axis}",
                            lambda truth, _, n=name, a=axis, s=step: np.roll(truth[n], s, a))
        yield _with(name, f"{name} is laid out transposed",
                    lambda truth, _, n=name: np.swapaxes(truth[n], -1, -2))
        yield _with(name, f"{name} is 0 everywhere", lambda truth, _, n=name: np.zeros_like(truth[n]))
        yield _with(name, f"{name} is its absolute value", lambda truth, _, n=name: np.abs(truth[n]))
    if len(names) == 2:
        a, b = names

        def exchanged(one: Seen) -> bool:
            truth = _truth(one)
            return a in truth and b in truth and one.agrees(truth | {a: truth[b], b: truth[a]})
        yield Candidate("outputs", lambda: ("", "", f"{a} and {b} are exchanged"), exchanged)


def _truth(one: Seen) -> dict:
    return {name: part.truth.astype(np.float64) for name, part in one.prepared.expected.items()}


def _with(name: str, words: str, change: Callable) -> Candidate:
    def same(one: Seen) -> bool:
        try:
            truth = _truth(one)
            return name not in truth or one.agrees(truth | {name: change(truth, one.prepared.case.inputs)})
        except Exception:  # an axis that is not there, an input that is not given
            return False
    return Candidate("outputs", lambda: ("", "", words), same)
