"""A puzzle, a function to write: a loop that defines the result, the number of lines of a solution, hints, a picture, and a
check.
"""

import ast
import html
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from inspect import signature
from typing import NamedTuple

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.errors import function
from aclnn_viz.operators.registry import OUTSIDE, table
from aclnn_viz.pictures.marks import record
from aclnn_viz.puzzles.progress import keep
from aclnn_viz.puzzles.solutions import solution_of
from aclnn_viz.puzzles.verdict import PuzzleResult, body_lines, judged, nth_hint
from aclnn_viz.words.messages import kept, ntr, tr


class Curve(NamedTuple):
    """A picture of the result as a curve over one input, for each set of the other inputs.

    `marks` are places of frequent mistakes: kinks, ties, borders.
    """

    over: str
    low: float
    high: float
    series: tuple[dict, ...] = ({},)
    marks: tuple[float, ...] = ()


class Reads(NamedTuple):
    """A picture of the input elements on which one output element depends, on small inputs."""

    inputs: dict
    output: str
    index: tuple[int, ...]


# keeps long lines of code unbroken
CODE = '<pre style="white-space: pre; overflow-x: auto">{}</pre>'


class Source(str):
    """Python text that shows as code."""

    def _repr_html_(self) -> str:
        return CODE.format(html.escape(self))

    __repr__ = str.__str__


@record
class Puzzle:
    """A function to write, named as its executable specification; it displays as its text.

    The answer is compared with the specification on the `cases`; a puzzle without cases is a whole kernel, which `av.check`
    judges. The operator's table holds everything else: title, hints and outputs; `cases`, inputs by name, and `draws`,
    keywords of `av.case`, whose inputs have the same name or the name under [names]; a `curve` to draw, or the elements that
    one output `reads` from inputs under [small].
    """

    spec: Callable

    @cached_property
    def _said(self) -> dict:
        return table("puzzles", self.operator)[self.name]

    @cached_property
    def title(self) -> str:
        return kept(self._said["title"])

    @cached_property
    def hints(self) -> tuple[str, ...]:
        return tuple(map(kept, self._said["hints"]))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        return tuple(self._said.get("outputs", ()))

    @property
    def tiles(self) -> bool:
        """Return whether the puzzle is about a tile program."""
        return "tiles" in self._said

    @cached_property
    def cases(self) -> tuple[dict, ...]:
        """Return inputs by name, in float64."""
        return (
            *map(_arrays, self._said.get("cases", ())),
            *map(
                self._own,
                (
                    case(self.operator, "float64", seed, **_arrays(options)).inputs
                    for seed, options in enumerate(self._said.get("draws", ()))
                ),
            ),
        )

    def _own(self, inputs: dict) -> dict:
        """Return the named inputs that the function takes."""
        names = table("puzzles", self.operator).get("names", {})
        return {name: inputs[names.get(name, name)] for name in signature(self.spec).parameters}

    @cached_property
    def picture(self) -> Curve | Reads:
        """Return the picture to draw."""
        if "curve" in self._said:
            return Curve(**self._said["curve"])
        inputs = _arrays(table("puzzles", self.operator)["small"] | self._said.get("small", {}))
        return Reads(
            {name: inputs[name] for name in signature(self.spec).parameters},
            self._said["reads"]["output"],
            tuple(self._said["reads"]["index"]),
        )

    @property
    def name(self) -> str:
        return self.spec.__name__

    @property
    def operator(self) -> str:
        """Return the operator whose folder holds the puzzle."""
        *_, folder, file = self.spec.__module__.split(".")
        return file if folder == "by_operator" else folder.removeprefix(OUTSIDE)

    @property
    def lines(self) -> int:
        """Return the number of lines in the body of the kit's solution: so many are enough."""
        return body_lines(solution_of(self).function)

    @property
    def task(self) -> str:
        return kept(" ".join(self.spec.__doc__.split()))

    @property
    def specification(self) -> Source:
        """Return the source of the specification, a loop, without the docstring that states the task."""
        return Source(_without_docstring(self.spec))

    def check(self, answer: Callable) -> PuzzleResult:
        """Judge a function, name its usual mistake, and record the progress; a wrong function raises nothing.

        An empty function counts as not begun.

        >>> puzzle = __import__("aclnn_viz.puzzles", fromlist=["puzzle"]).puzzle("hardswish_middle")
        >>> print(puzzle.check(lambda x: None))
        hardswish_middle: nothing is returned yet
          write the body: 1 line is enough. hint(1) gives a nudge
        """
        result = judged(self, function("an answer", answer))
        return replace(result, note=keep(self.name, result.passed)) if result.begun else result

    def hint(self, number: int = 1) -> str:
        """Return one of the hints, from 1, a nudge, to the last, nearly the answer; raise ValueError for another number."""
        return nth_hint(self, number)

    def solution(self) -> Source:
        """Return the source of a solution."""
        return Source(solution_of(self).source)

    def __str__(self) -> str:
        lines = ntr("{n} line", "{n} lines", self.lines)
        head = tr(
            "{title} ({operator}, {lines})", title=self.title, operator=self.operator, lines=lines
        )
        return f"{head}\n{tr(self.task)}\n\n{self.specification}"

    def _repr_html_(self) -> str:
        head, _, code = str(self).partition("\n\n")
        title, _, task = head.partition("\n")
        task = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(task))
        return f"<strong>{html.escape(title)}</strong><p>{task}</p>{CODE.format(html.escape(code))}"


def _without_docstring(function: Callable) -> str:
    source = textwrap.dedent(inspect.getsource(function))
    first, second = ast.parse(source).body[0].body[:2]
    lines = source.splitlines()
    return (
        "\n".join(lines[: first.lineno - 1] + lines[first.end_lineno :]).rstrip()
        if second
        else source
    )


def _arrays(values: dict) -> dict:
    """Return values of a table, with lists as arrays, and {low, high, count} as equally spaced numbers."""
    return {name: _array(value) for name, value in values.items()}


def _array(value):
    if isinstance(value, dict):
        return np.linspace(value["low"], value["high"], value["count"])
    return np.array(value) if isinstance(value, list) else value
