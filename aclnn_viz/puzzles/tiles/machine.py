"""Puzzles that ask for one part of an Ascend C kernel; the whole kernel then runs on simulated cores, in several orders."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType
from typing import NamedTuple

from aclnn_viz.cases import Case, case
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import Prepared, judge, prepared
from aclnn_viz.checking.kernel_call import run
from aclnn_viz.operators import operator
from aclnn_viz.puzzles.solutions import solution_of
from aclnn_viz.puzzles.verdict import SECONDS, PuzzleResult, solved, unsolved, untouched
from aclnn_viz.tiles import Program, launch, programs
from aclnn_viz.words.messages import message

SCHEDULES = ("eager", "late", 0)


@dataclass(frozen=True, eq=False)
class Part:
    """The method of a program that is to be written, and the runs that judge it: keywords of `av.case`, and cores."""

    method: str
    runs: tuple[tuple[dict, int], ...]

    def __call__(self, puzzle, answer: Callable) -> PuzzleResult:
        """Judge an answer; nothing that it does raises here."""
        if empty(answer):
            return untouched(puzzle, message("nothing is done yet"))
        seen = self.seen(puzzle, answer)
        wrong = [one.problem for one in seen if one.problem]
        if not wrong:
            return solved(puzzle, answer, message("right on {n} runs", n=len(seen)))
        solution, signs = solution_of(puzzle), [one.signs for one in seen]
        same = [
            mistake
            for mistake in solution.mistakes
            if not seen[-1].fatal and _of_mistake(self, puzzle, mistake) == signs
        ]
        lines = [message("wrong in {n} of {all} runs", n=len(wrong), all=len(seen)), *wrong[0]]
        if len(same) == 1:
            lines.append(
                message(
                    "the mistake is {name!r}, with the same hazards and numbers: {why}",
                    name=same[0].name,
                    why=same[0].why,
                )
            )
        return unsolved(puzzle, lines, same[0].name if len(same) == 1 else None)

    def seen(self, puzzle, answer: Callable) -> list["ProgramRun"]:
        """Every run, until one does not end."""
        program, found = self.program(puzzle.operator, answer), []
        for options, cores in self.runs:
            one = _prepared(puzzle.operator, tuple(options.items()))
            for schedule in SCHEDULES:
                found.append(_seen(program, one, cores, schedule))
                if found[-1].fatal:  # it goes on in the background
                    return found
        return found

    def program(self, op: str, answer: Callable) -> Program:
        """The operator's program with an answer in place of its own method."""
        right = programs(op)[0]
        names = right.kernel.__globals__
        cls = next(
            names[name]
            for name in right.kernel.__code__.co_names
            if isinstance(names.get(name), type)
        )
        made = type(cls.__name__, (cls,), {self.method: answer})
        kernel = FunctionType(right.kernel.__code__, {**names, cls.__name__: made})
        return Program(
            op, right.name, right.tiling, kernel, right.plan, right.deterministic, right.sync
        )


class ProgramRun(NamedTuple):
    """What is wrong with a run, line by line; its signs, hazards and numbers; and whether it does not end."""

    problem: tuple
    signs: tuple
    fatal: bool = False


@lru_cache(maxsize=64)
def _prepared(op: str, options: tuple) -> Prepared:
    return prepared(Recipe(op, dict(options)), case(op, **dict(options)))


@lru_cache(maxsize=64)
def _of_mistake(part: Part, puzzle, mistake) -> list[tuple]:
    """The signs of a usual mistake in all runs."""
    return [one.signs for one in part.seen(puzzle, solution_of(puzzle).wrong(mistake))]


def empty(answer: Callable) -> bool:
    """Whether a function does nothing with anything: `...` is its body."""
    code = getattr(answer, "__code__", None)
    return code is not None and not code.co_names and not code.co_freevars


def _seen(program: Program, one: Prepared, cores: int, schedule) -> ProgramRun:
    launches = []

    def kernel(**inputs):
        launches.append(launch(program, cores=cores, schedule=schedule, traced=False, **inputs))
        return launches[-1].outputs

    outcome = run(
        kernel,
        Case(one.case.operator, one.case.inputs, one.case.dtype, one.case.seed),
        operator(program.operator).outputs,
        SECONDS,
    )
    where = message(
        "{case}, {n} cores, schedule {schedule!r}", case=str(one.recipe), n=cores, schedule=schedule
    )
    if not launches:
        return ProgramRun(
            (
                message(
                    "{misbehaviour}, with {where}", misbehaviour=outcome.misbehaviour, where=where
                ),
            ),
            (outcome.misbehaviour,),
            outcome.fatal,
        )
    hazards, outputs = launches[0].hazards, launches[0].outputs
    signs = (
        tuple(sorted({hazard.kind for hazard in hazards})),
        tuple((name, value.tobytes()) for name, value in outputs.items()),
    )
    if hazards:
        return ProgramRun(
            (hazards[0], hazards[0].source, message("with {where}", where=where)), signs
        )
    misses = judge(one, outputs)
    return ProgramRun(
        tuple(
            message("{problem}, with {where}", problem=miss.problem, where=where)
            for miss in misses[:1]
        ),
        signs,
    )
