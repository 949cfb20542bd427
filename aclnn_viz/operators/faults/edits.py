"""Every mechanical edit of a page: one operator, factor, constant, comparison, axis, name or statement changed.

Source: the operators of mutation testing, https://en.wikipedia.org/wiki/Mutation_testing, and the slips of hand-written
kernels: a forgotten factor, a wrong axis, a swapped pair.
"""

import ast
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType, ModuleType

from aclnn_viz.operators.faults import rewriting
from aclnn_viz.words.speech import message

FAMILIES = "aclnn_viz.operators.families."  # what pages of several operators share
FORWARD = "forward"  # a wrong backward kernel is looked for


def file_of(page: ModuleType) -> str:
    """What the file of a page is called: its folder and name."""
    return "/".join(page.__name__.split(".")[-2:]) + ".py"


@dataclass(frozen=True, eq=False)
class Unit:
    """One top-level statement of a page, a function or a constant, that edits change in place and change back."""

    module: ModuleType
    tree: ast.stmt
    whole: tuple[CodeType, ...]  # of the page and of what it takes from other pages

    @property
    def file(self) -> str:
        return file_of(self.module)

    @property
    def name(self) -> str:
        return self.tree.name if isinstance(self.tree, ast.FunctionDef) else ""

    def page(self) -> ModuleType:
        """The page with this unit as it now is."""
        page = ModuleType(self.module.__name__)
        page.__package__ = self.module.__package__
        for code in self.whole:
            exec(code, page.__dict__)
        before = page.__dict__.get(self.name)
        exec(compile(ast.Module([self.tree], []), f"<an edit of {self.module.__name__}>", "exec"), page.__dict__)
        for name, value in page.__dict__.items():
            if before is not None and value is before:  # another name of the function
                page.__dict__[name] = page.__dict__[self.name]
        return page


@dataclass(frozen=True, eq=False)
class Edit:
    """One change of one place of a page: its kind, the line it is in, and what stands there before and after."""

    kind: str
    unit: Unit
    statement: ast.stmt
    change: rewriting.Change

    @property
    def line(self) -> int:
        """The number of the line in the page's file."""
        return self.change.line or self.statement.lineno

    @property
    def lines(self) -> range:
        """The lines of the statement, of a compound one those of its head."""
        body = getattr(self.statement, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) else self.statement.end_lineno
        return range(self.statement.lineno, max(last, self.statement.lineno) + 1)

    @cached_property
    def page(self) -> ModuleType:
        """The edited page; SyntaxError where the edit is no Python."""
        with self.change.made():
            return self.unit.page()

    @cached_property
    def before(self) -> str:
        return rewriting.head(self.statement)

    @cached_property
    def after(self) -> str:
        with self.change.made():
            return rewriting.head(self.statement) if not self.change.drops else message("(left out)")

    @property
    def file(self) -> str:
        return self.unit.file

    @property
    def size(self) -> int:
        """How much of the text changes, to prefer the smaller of two that do the same."""
        return rewriting.distance(self.before, self.after)

    def __str__(self) -> str:
        place = message("{file}, line {line}", file=self.file, line=self.line)
        if self.unit.name:
            place = message("{place} ({function})", place=place, function=self.unit.name)
        return message("{place}: {before}  ->  {after}", place=place, before=self.before, after=self.after)


@cache
def units(page: ModuleType) -> tuple[Unit, ...]:
    """The functions and constants of a page that backward may use, those that it takes from other pages included."""
    texts = sources(page)
    whole = tuple(compile(source, f"<{module.__name__}>", "exec") for module, source in texts)
    found = []
    for module, source in texts:
        for node in ast.parse(source).body:
            constant = isinstance(node, ast.Assign) and not any(isinstance(target, ast.Name) and target.id in (
                "AXES", "REDUCED_AXES") for target in node.targets)
            if isinstance(node, ast.FunctionDef) and node.name != FORWARD or constant:
                found.append(Unit(module, node, whole))
    return tuple(found)


def sources(page: ModuleType) -> list[tuple[ModuleType, str]]:
    """The modules that make up a page, itself last, with their texts: what it takes from a family is defined before it.

    In the place of an import from a family stand blank lines, so that each line keeps its number.
    """
    lines = inspect.getsource(page).splitlines(keepends=True)
    taken = []
    for node in ast.parse("".join(lines)).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(FAMILIES):
            taken += sources(sys.modules[node.module])
            lines[node.lineno - 1:node.end_lineno] = ["\n"] * (node.end_lineno - node.lineno + 1)
    return [*dict.fromkeys(taken), (page, "".join(lines))]


@cache
def edits(page: ModuleType) -> tuple[Edit, ...]:
    """Return every single edit of a page, in the order of its source.

    >>> from aclnn_viz.operators.hardswish import page as hardswish
    >>> [edit.after for edit in edits(hardswish) if "/ 3.0" in edit.before and edit.kind == "operator"][:2]
    ['inside = -(x / 3.0 + 0.5)', 'inside = x / 3.0 - 0.5']
    """
    return tuple(_edits(page))


def _edits(page: ModuleType) -> Iterator[Edit]:
    for unit in units(page):
        known = rewriting.names_of(unit.tree, page)
        for statement, change in rewriting.changes(unit.tree, known):
            yield Edit(change.kind, unit, statement, change)


@cache
def slips(page: ModuleType) -> tuple[Edit, ...]:
    """The edits that a page without named faults is tested with: no exchange of names, no constant but a sign."""
    return tuple(edit for edit in edits(page) if edit.kind in ("operator", "factor", "comparison", "axis", "function"))
