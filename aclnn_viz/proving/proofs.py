"""`prove`: prove that backward formulas are the derivative of forward ones; report assumptions, and reasons for what is not
proved.
"""

import os
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from time import perf_counter

from sympy import Eq, Symbol

from aclnn_viz.errors import mistyped, need, shown
from aclnn_viz.operators import operator
from aclnn_viz.operators.operator import Operator
from aclnn_viz.proving import kinks, paths, theorems
from aclnn_viz.proving.counterexample import Counterexample, search, tried
from aclnn_viz.proving.steps import Refused, Step
from aclnn_viz.proving.subjects import Subject, Traced, of_functions, of_operator
from aclnn_viz.proving.symbolic import Pieces, SymbolicArrays
from aclnn_viz.words.messages import message, tr
from derivations.prover.expressions import NotUnderstood
from derivations.prover.notation import latex

PRINTED = 120  # a larger formula, counted in operations, is not shown


@dataclass(frozen=True)
class Theorem:
    """The claim that one output is the derivative of forward by one input, under one combination of options, on `cases`
    open sets that cover all but kinks.
    """

    output: str
    by: str
    options: str
    holds: bool
    reason: str = ""
    cases: int = 0
    assumptions: tuple[str, ...] = ()
    seconds: float = 0.0
    traced: Traced | None = field(default=None, repr=False, compare=False)

    @cached_property
    def kinks(self) -> tuple[tuple[str, str], ...]:
        """(number, side) for each number at whose sign the output changes: at 0 the output equals that on this side."""
        return tuple(kinks.kinks(self.traced, self.output, self.by)) if self.holds else ()

    @cached_property
    def latex(self) -> str:
        """The formula of the output, "" if it is too large to read."""
        try:
            return _formula(self.traced, self.output) if self.traced else ""
        except Refused:
            return ""

    def content(self) -> dict:
        return {
            name: value for name, value in vars(self).items() if name not in ("traced", "kinks")
        } | {"latex": self.latex}


@dataclass(frozen=True)
class Result:
    """The result of proving two passes: `holds` if every theorem was proved, otherwise `reason` says why not.

    `counterexample` has the smallest sizes and numbers found for which backward is not the derivative; None if none was found,
    as when an operation is only not understood.
    """

    name: str
    theorems: tuple[Theorem, ...]
    subjects: tuple[Subject, ...] = field(repr=False)

    @property
    def holds(self) -> bool:
        return bool(self.theorems) and all(theorem.holds for theorem in self.theorems)

    @property
    def assumptions(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(text for theorem in self.theorems for text in theorem.assumptions)
        )

    @property
    def reason(self) -> str:
        return next(
            (theorem.reason for theorem in self.theorems if not theorem.holds),
            "" if self.theorems else "nothing to prove",
        )

    @cached_property
    def counterexample(self) -> Counterexample | None:
        return None if self.holds else search(self.subjects)

    def __str__(self) -> str:
        lines = [
            tr(
                message("{name}: proved for all sizes")
                if self.holds
                else message("{name}: not proved"),
                name=self.name,
            )
        ]
        for output, by in dict.fromkeys((theorem.output, theorem.by) for theorem in self.theorems):
            own = [theorem for theorem in self.theorems if theorem.output == output]
            failed = [theorem for theorem in own if not theorem.holds]
            lines.append(
                "  "
                + tr(
                    "{output} is the derivative by {input}: proved for {held} of {n} combinations of options; branches of the formula: {cases}",
                    output=output,
                    input=by,
                    held=len(own) - len(failed),
                    n=len(own),
                    cases=sum(t.cases for t in own),
                )
            )
            lines += [
                f"    {theorem.options}: {theorem.reason}".replace("    : ", "    ")
                for theorem in failed[:3]
            ]
        if not self.holds and self.counterexample:
            lines.append(str(self.counterexample))
        return "\n".join(
            [
                *lines,
                *(
                    "  " + tr("assumed: {text}", text=text)
                    for text in self.assumptions
                    if self.holds
                ),
            ]
        )

    def _repr_markdown_(self) -> str:
        outputs = {t.output: t for t in reversed(self.theorems)} | {
            t.output: t for t in self.theorems if not t.holds
        }
        formulas = "\n\n".join(
            ("" if t.holds else tr("not the derivative, as far as is known:") + "\n\n")
            + f"$${t.latex}$$"
            for t in outputs.values()
            if t.latex
        )
        first, *rest = str(self).splitlines()
        listed = (
            [line for line in rest if line.startswith("  ") and not line.startswith("    ")]
            if self.holds
            else []
        )
        # a code block, because * is emphasis in Markdown
        text = "\n".join(f"- {line.strip()}" for line in listed) or "\n".join(
            ["```text", *rest, "```"]
        )
        return f"**{first}**\n\n{formulas}\n\n{text}"

    def content(self) -> dict:
        """Return the result as JSON data."""
        return {
            "name": self.name,
            "holds": self.holds,
            "reason": self.reason,
            "assumptions": list(self.assumptions),
            "theorems": [t.content() for t in self.theorems],
            "counterexample": None
            if self.holds or not self.counterexample
            else self.counterexample.content(),
        }


def prove(what, *, shapes=None, labels=None, page=None) -> Result:
    """Prove a backward pass; `prove` of the package describes arguments and result."""
    if isinstance(what, tuple) and len(what) == 2 and all(map(callable, what)):
        need(shapes, dict, "two functions need shapes=", 'pass such as {"x": ("r", "n")}')
        name, found = (
            " and ".join(f.__name__ for f in what),
            of_functions(*what, shapes, labels or {}),
        )
    elif isinstance(what, (str, os.PathLike, Operator)):
        op = what if isinstance(what, Operator) else operator(what)
        name, found = op.name, of_operator(op, page)
    else:
        raise mistyped(
            "prove takes an operator, a name, a folder or two functions",
            shown(what),
            "pass one of these",
        )
    return proved(name, found)


def proved(name, subjects) -> Result:
    """Prove the subjects, and check the proofs with numbers."""
    found = [theorem for subject in subjects for theorem in _theorems(subject)]
    if all(theorem.holds for theorem in found) and (wrong := tried(subjects)):
        by = subjects[0].gradient_of.get(wrong.output, "forward")
        found.append(
            Theorem(
                wrong.output, by, wrong.options, False, "numbers show that it is not the derivative"
            )
        )
    return Result(name, tuple(found), tuple(subjects))


def _theorems(subject):
    """Prove with maxima held constant if no output depends on them; if that fails, with each maximum as an entry."""
    found = _attempted(subject, True)
    if found and all(one.holds for one in found):
        return found
    entries = _attempted(subject, False)
    return entries if found is None or all(one.holds for one in entries) else found


def _attempted(subject, held):
    """Return the theorems, or None if an output of forward may depend on a held maximum."""
    start, found = perf_counter(), []
    try:
        for traced in subject.traced(held):
            if traced.xp.held and not theorems.independent(traced):
                return None
            options = ", ".join(
                [str(subject), *(f"{s} = {value}" for s, value in traced.equal.items())]
            ).strip(", ")
            problems = theorems.unsound(traced)
            # A pair of functions names its outputs d<input>; each must be the gradient of an input.
            if all(out == f"d{of}" for out, of in subject.gradient_of.items()):
                problems += [
                    f"backward gives {out}, the gradient of no input"
                    for out in traced.backward
                    if out not in subject.gradient_of
                ]
            missing = [out for out in subject.gradient_of if out not in traced.backward]
            for output, of in subject.gradient_of.items():
                if problems or missing:
                    found.append(
                        Theorem(
                            output,
                            of,
                            options,
                            False,
                            (problems or [f"backward gives no output {missing[0]}"])[0],
                        )
                    )
                else:
                    found.append(_theorem(traced, output, of, options))
    except Exception as error:
        # the page runs on arrays without numbers and may raise anything
        found.append(
            Theorem(
                "backward",
                "forward",
                str(subject),
                False,
                refusal(error),
                seconds=perf_counter() - start,
            )
        )
    return found


def _theorem(traced, output, of, options):
    """Prove with names for parts that do not depend on the input; if that fails, again with fewer names."""
    start, count, assumptions, reason, steps, compared = (
        perf_counter(),
        0,
        {},
        "nothing to prove",
        False,
        False,
    )
    try:
        for naming in paths.NAMINGS:
            if naming == paths.NONE and steps:
                break
            count, reason, assumptions = 0, "nothing to prove", {}
            for claim in theorems.claims(traced, output, of, naming):
                answer, count = theorems.proved(claim, traced.subject.labels), count + 1
                compared = compared or claim.compares
                reason, steps = (
                    "" if answer else _unproved(traced, output, answer, claim),
                    claim.right.has(Step),
                )
                if reason:
                    break
                assumptions |= dict.fromkeys(theorems.assumptions(claim, answer))
            if not reason:
                break
        if many := not reason and count > kinks.REGIONS:
            assumptions["no number that is compared is 0"] = None
        for found, *elsewhere in (
            () if reason or many or not compared else kinks.turns(traced, output, of)
        ):
            for d, zero, *sides in found:
                right = kinks.beside(traced, of, d, zero, *sides, *elsewhere)
                if right is None:
                    assumptions[f"{d} is not 0"] = None
                elif not right:
                    reason = (
                        reason
                        or f"{output} is {str(zero)[:80]} where {d} = 0, which is neither of its values beside nor between them"
                    )
    except (Refused, NotUnderstood) as error:
        return Theorem(
            output,
            of,
            options,
            False,
            refusal(error, _place(traced, output)),
            count,
            seconds=perf_counter() - start,
        )
    assumed = () if reason else (*assumptions, *traced.xp.assumed, *theorems.granted(traced))
    return Theorem(
        output, of, options, not reason, reason, count, assumed, perf_counter() - start, traced
    )


def _unproved(traced, output, answer, claim):
    """Return a text with the line of the unproved output, and the remaining difference."""
    place = _place(traced, output)
    why = answer.reason.replace(
        "no rule makes the difference 0:", "no rule makes the derivative less this output 0:"
    )
    return (
        output
        + (f" ({place})" if place else "")
        + f": {why}"
        + (f" where {', '.join(claim.words)}" if claim.words else "")
    )


def _place(traced, output):
    made = traced.backward[output]
    return (made.arrays[0] if isinstance(made, Pieces) else made).place


def _formula(traced, output):
    made = traced.backward[output]
    if isinstance(made, Pieces):
        return ""
    letters = (Symbol(name, integer=True) for name in "ijklmpqrs")
    index = tuple(tuple(islice(letters, len(axis))) for axis in made.axes)
    with traced.xp.seen_by(_readable):
        right = made.at(made.axes, index)
    left = traced.xp.named(output, [i for axis in index for i in axis], "real")
    return latex(Eq(left, right, evaluate=False))


def _readable(array, e, index):
    """A view without names that refuses large expressions."""
    if e.count_ops() > PRINTED:
        raise Refused("too large to be read")
    return e


def refusal(error, otherwise=""):
    """Return why the prover does not understand a page, from the error, and the line of the page."""
    frames = [
        (frame, SymbolicArrays.of_page(frame.tb_frame)) for frame in _frames(error.__traceback__)
    ]
    places = [place.format(frame.tb_lineno) for frame, place in frames if place] or [
        getattr(error, "place", "") or otherwise
    ]
    kind = "" if isinstance(error, (Refused, NotUnderstood)) else f"{type(error).__name__}: "
    return f"{kind}{error}" + (f" ({places[-1]})" if places[-1] else "")


def _frames(at):
    while at:
        yield at
        at = at.tb_next
