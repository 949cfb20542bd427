"""Load the solution of a puzzle on demand, and the usual mistakes as small changes to it, which identify a mistake."""

import inspect
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from aclnn_viz.errors import invalid
from aclnn_viz.operators import registry
from aclnn_viz.words.messages import kept, named


@dataclass(frozen=True)
class Mistake:
    """A usual mistake: its name, its origin, and changes as pairs (text of the solution, wrong text)."""

    name: str
    why: str = ""
    changes: Iterable[tuple[str, str]] = ()

    def __post_init__(self):
        object.__setattr__(self, "name", named(self.name))
        object.__setattr__(self, "why", kept(self.why))
        object.__setattr__(self, "changes", tuple(map(tuple, self.changes)))


@dataclass(frozen=True, eq=False)
class Solution:
    """A right function, its source, and its usual mistakes."""

    function: Callable
    mistakes: tuple[Mistake, ...]

    @property
    def source(self) -> str:
        return textwrap.dedent(inspect.getsource(self.function)).rstrip()

    def wrong(self, mistake: Mistake) -> Callable:
        """Return the function with one mistake; raise ValueError if the solution lacks the text to change."""
        return _changed(self, mistake)


@cache
def _changed(solution: Solution, mistake: Mistake) -> Callable:
    source = solution.source
    for old, new in mistake.changes:
        if source.count(old) != 1:
            raise invalid(
                f"a change names text that stands once in {solution.function.__name__}",
                f"{old!r}, {source.count(old)} times",
                "quote more or less of it",
            )
        source = source.replace(old, new)
    names = dict(vars(inspect.getmodule(solution.function)))
    exec(compile(source, f"<{mistake.name}>", "exec"), names)
    return names[solution.function.__name__]


@cache
def solution_of(puzzle) -> Solution:
    """Return the solution of a puzzle, from the solutions and the table of mistakes in its operator's folder."""
    where = "puzzle_solutions", puzzle.operator
    mistakes = registry.table(*where)[puzzle.name]
    return Solution(registry.own(*where, puzzle.name), tuple(Mistake(**one) for one in mistakes))
