"""Judge an answer to a puzzle: find where it is wrong, and which usual mistake gives the same numbers.

A part of a kernel is compared with the specification's loop, in float64, on inputs with kinks, ties and borders. `check`
judges a whole kernel.
"""

import ast
import html
import inspect
import textwrap
from collections.abc import Callable

import numpy as np

from aclnn_viz.accuracy.measures import distance, farthest
from aclnn_viz.cases import Case
from aclnn_viz.checking.check import check
from aclnn_viz.checking.judge import prepared_suite
from aclnn_viz.checking.kernel_call import NOTHING, run
from aclnn_viz.checking.wrong_outputs import likeness
from aclnn_viz.errors import invalid
from aclnn_viz.operators import operator
from aclnn_viz.pictures.marks import record
from aclnn_viz.puzzles.solutions import solution_of
from aclnn_viz.tables import GREEN, GREY, RED
from aclnn_viz.words.messages import english, linked, message, tr

# tolerance relative to the largest element: far above float64 rounding, far below any mistake
CLOSE = 1e-9
SECONDS = 5.0  # time limit of one call of the reader's function, in seconds
SECONDS_OF_KERNEL = 20.0  # time limit of a whole kernel, in seconds
NUDGE = message("hint(1) gives a nudge")
PRINTED = 6  # most elements of an input that a message prints


class Reply:
    """The reply to an attempt: `lines` are messages, or objects that print themselves; `note` tells why it was not recorded."""

    @property
    def text(self) -> str:
        """Return the lines in English."""
        with english():
            return self._text()

    def _text(self) -> str:
        return "\n  ".join(
            line
            for one in self.lines
            for line in ([tr(one)] if isinstance(one, str) else str(one).splitlines())
        )

    def __str__(self) -> str:
        return "\n".join([self._text(), *filter(None, [self.note])])

    def _repr_html_(self) -> str:
        head, _, rest = str(self).partition("\n")
        colour, sign = self._sign
        return (
            f'<div style="border-left: 4px solid {colour}; padding-left: 0.8em"><strong>{sign} {html.escape(head)}'
            f"</strong><pre>{html.escape(rest)}</pre></div>"
        )


def nth_hint(one, number: int) -> str:
    """Return a hint of a puzzle or a detective case, from 1 on; raise ValueError for another number."""
    if type(number) is not int or not 1 <= number <= len(one.hints):
        raise invalid(
            f"{one.name} has {len(one.hints)} hints",
            f"{number!r:.60}",
            f"ask for 1 to {len(one.hints)}" + ", or for solution()" * hasattr(one, "solution"),
        )
    return tr(one.hints[number - 1])


@record
class PuzzleResult(Reply):
    """The result of a puzzle; if it is unsolved, `text` tells where it is wrong and `mistake` names a usual mistake.

    `begun` is False while the function returns nothing.
    """

    name: str
    passed: bool
    lines: tuple
    mistake: str | None = None
    begun: bool = True
    note: str = ""

    def __str__(self) -> str:
        return tr("{name}: {what}", name=self.name, what=super().__str__())

    @property
    def _sign(self) -> tuple[str, str]:
        return (GREEN, "✔") if self.passed else (RED, "✘") if self.begun else (GREY, "…")


def judged(puzzle, answer) -> PuzzleResult:
    """Judge an answer without raising its errors."""
    whole = not puzzle.cases
    case = (
        next(prepared_suite(puzzle.operator, 0)).case if whole else _case(puzzle, puzzle.cases[0])
    )
    first = run(answer, case, SECONDS, puzzle.outputs)
    if first.misbehaviour == NOTHING:
        enough = (
            message("write the body: 1 line is enough. {nudge}", nudge=NUDGE)
            if puzzle.lines == 1
            else message(
                "write the body: {n} lines are enough. {nudge}", n=puzzle.lines, nudge=NUDGE
            )
        )
        text = message("nothing is returned yet")
        return PuzzleResult(puzzle.name, False, (text, enough), begun=False)
    if first.fatal:
        return unsolved(
            puzzle,
            [
                message(
                    "{misbehaviour} ({inputs})",
                    misbehaviour=first.misbehaviour,
                    inputs=_given(case.inputs),
                ),
                message("the code goes on in the background until Python is started again"),
            ],
        )
    return (_whole if whole else _part)(puzzle, answer)


def _case(puzzle, inputs: dict) -> Case:
    return Case(operator(puzzle.operator), inputs, "float64", 0)


def unsolved(puzzle, lines: list, mistake: str | None = None) -> PuzzleResult:
    """Return the result of a wrong answer; `lines` say what is wrong."""
    return PuzzleResult(puzzle.name, False, (*lines, NUDGE), mistake)


def solved(puzzle, text: str) -> PuzzleResult:
    return PuzzleResult(puzzle.name, True, (text,))


def quoted(names) -> str:
    """Return names in a row, in quotation marks, as a message."""
    return linked("{some}, {more}", [message("{name!r}", name=name) for name in names])


def body_lines(function) -> int | None:
    """Return a function's body lines without empty lines, comments and docstring; None without its source.

    >>> body_lines(len) is None
    True
    """
    try:
        source = textwrap.dedent(inspect.getsource(function))
        definition = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    if not isinstance(definition, ast.FunctionDef):
        return None
    body = definition.body[ast.get_docstring(definition) is not None :]
    lines = source.splitlines()[body[0].lineno - 1 : body[-1].end_lineno] if body else []
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines)


def _whole(puzzle, answer) -> PuzzleResult:
    result = check(
        puzzle.operator, answer, beyond=True, time_limit=SECONDS_OF_KERNEL, call_limit=SECONDS
    )
    if result.passed and result.stopped:
        return PuzzleResult(
            puzzle.name,
            False,
            (
                message(
                    "right on {n} cases, but too slow: the rest of the suite was not run within {limit} s",
                    n=result.cases,
                    limit=f"{SECONDS_OF_KERNEL:g}",
                ),
            ),
        )
    if result.passed:
        return solved(puzzle, message("right on {n} cases of the suite", n=result.cases))
    mistake = result.diagnosis.name if result.diagnosis and result.diagnosis.confident else None
    return unsolved(puzzle, [message("not right yet"), result], mistake)


@record
class _Seen:
    """One case: returned and right outputs, and their differences, by output."""

    inputs: dict
    outputs: dict[str, np.ndarray]
    truth: dict[str, np.ndarray]
    complaint: str = ""
    fatal: bool = False

    @property
    def wrong(self) -> dict[str, np.ndarray]:
        return {
            name: apart(self.outputs[name], right)
            for name, right in self.truth.items()
            if name in self.outputs and self.outputs[name].shape == right.shape
        }

    @property
    def right(self) -> bool:
        return not self.complaint and not any(mask.any() for mask in self.wrong.values())


def apart(actual: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return where two arrays of a shape differ by more than rounding; a nan equals only a nan."""
    return ~(
        distance(actual, truth)
        <= CLOSE * np.max(np.abs(truth), initial=0.0, where=np.isfinite(truth))
    )


def _part(puzzle, answer) -> PuzzleResult:
    seen = []
    for inputs in puzzle.cases:
        seen.append(_look(puzzle, answer, inputs))
        if seen[-1].fatal:
            break
    failing = [one for one in seen if not one.right]
    if not failing:
        return solved(puzzle, message("right on {n} cases", n=len(seen)))
    first = failing[0]
    lines = [
        message("wrong in {n} of {all} cases", n=len(failing), all=len(seen)),
        first.complaint or _worst(first),
    ]
    names = _same_mistakes(puzzle, seen)
    mistake = names[0] if len(names) == 1 else None
    if mistake:
        lines.append(
            message(
                "the mistake is {name!r}, with the same numbers on all cases: {why}",
                name=mistake.name,
                why=mistake.why,
            )
        )
    elif not first.complaint:
        lines.append(
            message("one of {names}", names=quoted(one.name for one in names))
            if names
            else message("none of the usual mistakes")
        )
        lines += [
            message("{output} {remark}", output=name, remark=remark)
            for name, mask in first.wrong.items()
            if mask.any() and mask.size > 2
            for remark in likeness(
                name, first.outputs[name].astype(np.float64), first.truth, first.inputs
            )[:1]
        ]
    return unsolved(puzzle, lines, mistake.name if mistake else None)


def _run(puzzle, answer: Callable, inputs: dict):
    return run(answer, _case(puzzle, inputs), SECONDS, puzzle.outputs)


def _look(puzzle, answer: Callable, inputs: dict) -> _Seen:
    truth = right_answer(puzzle, inputs)
    outcome = _run(puzzle, answer, inputs)
    outputs = outcome.outputs or {}
    complaint = (
        message(
            "{function} {misbehaviour} ({inputs})",
            function=puzzle.name,
            misbehaviour=outcome.misbehaviour,
            inputs=_given(inputs),
        )
        if outcome.misbehaviour
        else ""
    )
    for name, right in truth.items():
        if complaint:
            break
        if name not in outputs:
            complaint = message(
                "{output} is missing: return {outputs}, in this order or in a dict",
                output=name,
                outputs=linked("{some} and {more}", puzzle.outputs),
            )
        elif outputs[name].shape != right.shape:
            complaint = message(
                "{output} has shape {shape} instead of {right} ({inputs})",
                output=name,
                shape=outputs[name].shape,
                right=right.shape,
                inputs=_given(inputs),
            )
        elif outputs[name].dtype.kind in "fV" and outputs[name].dtype.itemsize < 8:
            complaint = message(
                "{output} is {format}: digits are lost, for the inputs are float64",
                output=name,
                format=outputs[name].dtype,
            )
    return _Seen(inputs, outputs, truth, complaint, outcome.fatal)


def right_answer(puzzle, inputs: dict) -> dict[str, np.ndarray]:
    """Return the outputs of a puzzle by name, from its specification."""
    found = puzzle.spec(**inputs)
    found = found if isinstance(found, tuple) else (found,)
    return {
        name: np.asarray(part, np.float64) for name, part in zip(puzzle.outputs, found, strict=True)
    }


def _worst(one: _Seen) -> str:
    """Return the first wrong output, its worst element, and the inputs of that element."""
    name, mask = next((name, mask) for name, mask in one.wrong.items() if mask.any())
    actual, truth = one.outputs[name], one.truth[name]
    at = farthest(np.where(mask, distance(actual, truth), -1.0))
    place = f"{name}{list(at)}" if at else name
    return message(
        "{place} is {actual}, right is {right}, at {inputs}",
        place=place,
        actual=f"{float(actual[at]):.6g}",
        right=f"{truth[at]:.6g}",
        inputs=_given(one.inputs, truth.shape, at),
    )


def _given(inputs: dict, shape=None, at=()) -> str:
    """Return the inputs in words: of an array with the output's shape the element `at`, of a long array its shape."""

    def shown(value):
        if not isinstance(value, np.ndarray):
            return repr(value)
        if shape is not None and value.shape == shape and shape:
            return f"{value[at]:.6g}"
        if value.size > PRINTED:
            return f"array{list(value.shape)}"
        return np.array2string(value, separator=", ", precision=6, max_line_width=10**6).replace(
            "\n", ""
        )

    return linked("{some}, {more}", (f"{name} = {shown(value)}" for name, value in inputs.items()))


def _same_mistakes(puzzle, seen: list[_Seen]) -> list:
    """Return the usual mistakes that give the returned shapes and numbers on every case."""
    if any(set(one.outputs) != set(puzzle.outputs) for one in seen):
        return []
    solution = solution_of(puzzle)
    return [
        mistake
        for mistake in solution.mistakes
        if all(
            _same(_run(puzzle, solution.wrong(mistake), one.inputs).outputs or {}, one.outputs)
            for one in seen
        )
    ]


def _same(guess: dict, actual: dict) -> bool:
    return guess.keys() == actual.keys() and all(
        guess[name].shape == value.shape and not apart(value, guess[name]).any()
        for name, value in actual.items()
    )
