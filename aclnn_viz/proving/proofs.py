"""Theorems, what they assume, and how they are shown."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter

from sympy import Eq, Symbol

from aclnn_viz.arrays.steps import Refused, Step
from aclnn_viz.arrays.symbolic import SymbolicArrays
from aclnn_viz.errors import problem, shown
from aclnn_viz.operators import operator
from aclnn_viz.operators.operator import Operator
from aclnn_viz.proving import theorems
from aclnn_viz.proving.counterexample import Counterexample, search
from aclnn_viz.proving.subjects import Subject, of_functions, of_operator
from aclnn_viz.words.speech import message, tr
from derivations.prover.expressions import NotUnderstood
from derivations.prover.notation import latex

PRINTED = 120  # operations of a formula that is shown


@dataclass(frozen=True)
class Theorem:
    """One output is the derivative of forward by one input, under one combination of options, on `cases` open sets that leave nothing out.

    `kinks` says of each number at whose sign the output turns whether its value at 0 is that of above or of below.
    """

    output: str
    by: str
    options: str
    holds: bool
    reason: str = ""
    cases: int = 0
    assumptions: tuple[str, ...] = ()
    kinks: tuple[tuple[str, str], ...] = ()
    latex: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Result:
    """What was proved of two passes: `holds` when every theorem was; otherwise `reason` says why not.

    `counterexample` has the smallest sizes found, and numbers, for which backward is not the derivative; None where
    none was found, as where something is only not understood.
    """

    name: str
    theorems: tuple[Theorem, ...]
    subjects: tuple[Subject, ...] = field(repr=False)

    @property
    def holds(self) -> bool:
        return bool(self.theorems) and all(theorem.holds for theorem in self.theorems)

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(text for theorem in self.theorems for text in theorem.assumptions))

    @property
    def reason(self) -> str:
        return next((theorem.reason for theorem in self.theorems if not theorem.holds), "" if self.theorems else "nothing to prove")

    @cached_property
    def counterexample(self) -> Counterexample | None:
        return None if self.holds else search(self.subjects)

    def __str__(self) -> str:
        lines = [tr(message("{name}: proved for all sizes") if self.holds else message("{name}: not proved"), name=self.name)]
        for output, by in dict.fromkeys((theorem.output, theorem.by) for theorem in self.theorems):
            own = [theorem for theorem in self.theorems if theorem.output == output]
            failed = [theorem for theorem in own if not theorem.holds]
            lines.append("  " + tr("{output} is the derivative by {input}: {held} of {n} combinations of options, {cases} cases", output=output,
                                   input=by, held=len(own) - len(failed), n=len(own), cases=sum(t.cases for t in own)))
            lines += [f"    {theorem.options}: {theorem.reason}" for theorem in failed[:3]]
        if not self.holds and self.counterexample:
            lines.append(str(self.counterexample))
        return "\n".join([*lines, *("  " + tr("assumed: {text}", text=text) for text in self.assumptions if self.holds)])

    def _repr_markdown_(self) -> str:
        shown_formulas = {t.output: t.latex for t in reversed(self.theorems) if t.latex}
        formulas = "\n\n".join(f"$${text}$$" for text in shown_formulas.values())
        first, *rest = str(self).splitlines()
        return f"**{first}**\n\n{formulas}\n\n" + "\n".join(f"- {line.strip()}" for line in rest)

    def content(self) -> dict:
        """The result for JSON."""
        return {"name": self.name, "holds": self.holds, "reason": self.reason, "assumptions": list(self.assumptions),
                "theorems": [{name: value for name, value in vars(t).items()} for t in self.theorems],
                "counterexample": None if self.holds or not self.counterexample else self.counterexample.content()}


def prove(what, *, shapes=None, page=None) -> Result:
    """As the `prove` of the package."""
    if isinstance(what, tuple) and len(what) == 2 and all(map(callable, what)):
        if not isinstance(shapes, dict):
            raise TypeError(problem("two functions need shapes=", shown(shapes), 'pass such as {"x": ("r", "n")}'))
        name, found = " and ".join(f.__name__ for f in what), of_functions(*what, shapes)
    elif isinstance(what, (str, os.PathLike, Operator)):
        op = what if isinstance(what, Operator) else operator(what)
        name, found = op.name, of_operator(op, page)
    else:
        raise TypeError(problem("prove takes an operator, a name, a folder or two functions", shown(what), "pass one of these"))
    return Result(name, tuple(theorem for subject in found for theorem in _theorems(subject)), tuple(found))


def _theorems(subject):
    start = perf_counter()
    try:
        for traced in subject.traced():
            options = ", ".join([str(subject), *(f"{s} = {value}" for s, value in traced.equal.items())]).strip(", ")
            problems = theorems.unsound(traced)
            missing = [out for out in subject.gradient_of if out not in traced.backward]
            for output, of in subject.gradient_of.items():
                if problems or missing:
                    yield Theorem(output, of, options, False, (problems or [f"backward gives no {missing[0]}"])[0])
                else:
                    yield _theorem(traced, output, of, options)
    except Exception as error:  # the page's own Python may fail in any way over arrays that are no numbers
        yield Theorem("backward", "forward", str(subject), False, _refusal(error), seconds=perf_counter() - start)


def _theorem(traced, output, of, options):
    """With names for what does not depend on the input; where that does not do, once more without."""
    start, count, assumptions, reason = perf_counter(), 0, {}, "nothing to prove"
    try:
        for bare in (False, True):
            count, reason, assumptions = 0, "nothing to prove", {}
            for claim in theorems.claims(traced, output, of, bare):
                answer, count = theorems.proved(claim, traced.subject.labels), count + 1
                reason = "" if answer else answer.reason + (f" where {', '.join(claim.words)}" if claim.words else "")
                if reason:
                    break
                assumptions |= dict.fromkeys(theorems.assumptions(claim, answer))
            if not reason or claim.right.has(Step):
                break
        kinks, formula = () if reason else tuple(theorems.kinks(traced, output, of)), _formula(traced, output)
    except (Refused, NotUnderstood) as error:
        return Theorem(output, of, options, False, _refusal(error), count, seconds=perf_counter() - start)
    assumed = () if reason else (*assumptions, *traced.xp.assumed, *theorems.granted(traced))
    return Theorem(output, of, options, not reason, reason, count, assumed, kinks, formula, perf_counter() - start)


def _formula(traced, output):
    made = traced.backward[output]
    if not hasattr(made, "axes"):
        return ""
    index = tuple(tuple(Symbol(f"i{k}", integer=True) for _ in axis) for k, axis in enumerate(made.axes))
    with traced.xp.seen_by(theorems.large_named):
        right = made.at(made.axes, index)
    if right.count_ops() > PRINTED:
        return ""
    left = traced.xp.named(output, [i for axis in index for i in axis], "real")
    return latex(Eq(left, right, evaluate=False))


def _refusal(error):
    """Why something is not understood, and the line of the page where it stands."""
    lines = [frame.tb_lineno for frame in _frames(error.__traceback__)
             if getattr(frame.tb_frame.f_globals.get("float"), "__func__", None) is SymbolicArrays.float]
    kind = "" if isinstance(error, (Refused, NotUnderstood)) else f"{type(error).__name__}: "
    return f"{kind}{error}" + (f" (line {lines[-1]} of the page)" if lines else "")


def _frames(at):
    while at:
        yield at
        at = at.tb_next
