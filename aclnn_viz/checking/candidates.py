"""What a wrong kernel may be: a change of the right one, in words, and whether it gives what the kernel gave on a case.

Here: the page with one or two edits.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from aclnn_viz.checking.observing import Seen, Way
from aclnn_viz.operators.faults.edits import Edit
from aclnn_viz.operators.faults.rewriting import distance, head
from aclnn_viz.words.speech import linked, message

LETTERS = 10  # of a description count as one of a formula
FORGOTTEN = 3


@dataclass(frozen=True, eq=False)
class Candidate:
    """A change of the right kernel: its kind, and whether it gives what the kernel gave on a case.

    `told()` returns the line of the page and what stands there before and after, or empty texts and words. `name` is
    that of a fault with its story, if it has one.
    """

    kind: str
    told: Callable[[], tuple[str, str, str]] = field(repr=False)
    same: Callable[[Seen], bool] = field(repr=False)
    name: str = ""

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
        """How much changes, to prefer the smaller of two that do the same: words and text by their length.

        What is forgotten is likelier than a name that stands for another.
        """
        if not self.before:
            return len(self.after) // LETTERS
        return min(distance(self.before, self.after), FORGOTTEN) if self.kind in ("factor", "statement") else distance(
            self.before, self.after) + (self.kind == "name")

    @property
    def brief(self) -> str:
        return self.name or (message("{place} {after}", place=self.where, after=self.after) if self.where else self.after)

    def __str__(self) -> str:
        if self.name:
            return message("your kernel behaves as {fault}", fault=self.name)
        if not self.before:
            return self.after
        return message("your kernel behaves as if {place} read\n    {after}\n  instead of\n    {before}",
                       place=self.where, after=self.after, before=self.before)


def of_edit(edit: Edit, only: frozenset[str] | None = None) -> Candidate:
    """The page with an edit; with `only` a kernel that computes these outputs so, and the others rightly."""
    way = Way(lambda: edit.page, only=only)

    def told():
        place = message("{file}, line {line},", file=edit.file, line=edit.line)
        if only:
            place = message("{place} for {outputs} alone", place=place, outputs=linked("{some} and {more}", sorted(only)))
        return place, edit.before, edit.after
    return Candidate(edit.kind, told, lambda one: one.shares(way))


def pairs(some: Iterable[Edit], harmless: Callable[[Edit], bool]) -> Iterator[Candidate]:
    """Every two edits of one statement that each leave right what the kernel computes rightly; and the same exchange
    of names in two places of a function. Statements with few edits come first: a long one has thousands of pairs."""
    by_statement: dict[int, list[Edit]] = {}
    by_exchange: dict[tuple, list[Edit]] = {}
    for edit in some:
        if edit.kind == "name" and isinstance(edit.change.node, ast.Name):
            exchanged = edit.unit.name, edit.change.node.id, edit.change.values["id"]
            by_exchange.setdefault(exchanged, []).append(edit)
        elif edit.kind != "name" and not edit.change.drops:
            by_statement.setdefault(id(edit.statement), []).append(edit)
    for alike in sorted((*by_exchange.values(), *by_statement.values()), key=len):
        kept = [edit for edit in alike if harmless(edit)] if len(alike) > 1 else ()
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
            after = [head(edit.statement) for edit in (first, second)]
        lines, before = (first.line, second.line), (first.before, second.before)
        if first.statement is second.statement:
            return message("{file}, line {line},", file=first.file, line=first.line), first.before, after[0]
        place = message("{file}, lines {first} and {second},", file=first.file, first=lines[0], second=lines[1])
        return place, "; ".join(before), "; ".join(after)
    way = Way(page)
    return Candidate("two edits", told, lambda one: one.shares(way))
