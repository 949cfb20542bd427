"""A detective case: find the mistake of a broken kernel among suspects. The kernel can be run; its source cannot be read."""

import html
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from aclnn_viz.accuracy.measures import distance, farthest
from aclnn_viz.cases import case
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import Prepared, prepared, prepared_suite
from aclnn_viz.errors import invalid
from aclnn_viz.operators import operator
from aclnn_viz.operators.faults import Fault, faults
from aclnn_viz.operators.faults.fault import faulty_kernel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.puzzles.progress import keep
from aclnn_viz.puzzles.symptoms import outputs_of
from aclnn_viz.puzzles.verdict import Reply, nth_hint, quoted
from aclnn_viz.tables import GREEN, GREY
from aclnn_viz.words.messages import kept, message, named, tr


@dataclass(frozen=True)
class Answer(Reply):
    """The result of an accusation: whether it is right, and why."""

    right: bool
    lines: tuple[str, ...]
    note: str = ""

    @property
    def _sign(self) -> tuple[str, str]:
        return (GREEN, "✔") if self.right else (GREY, "…")


@dataclass(frozen=True, eq=False)
class Detective:
    """A broken kernel whose mistake is to be found; it displays as its story and symptom.

    `number` is its place among all cases, easy cases first. `experiments` are (label, keywords of `av.case`);
    `show(experiments, kernel)` draws them. `kernel` takes the operator's parameters, for further experiments.
    """

    number: int
    name: str
    operator: str
    title: str
    story: str
    experiments: tuple[tuple[str, dict], ...]
    show: Callable = field(repr=False)
    suspects: tuple[str, ...]
    hints: tuple[str, ...] = field(repr=False)
    culprit: str = field(repr=False)

    def __post_init__(self):
        text = {
            "title": kept(self.title),
            "story": kept(self.story),
            "hints": tuple(map(kept, self.hints)),
            "experiments": tuple((kept(label), options) for label, options in self.experiments),
            "suspects": tuple(map(named, self.suspects)),
            "culprit": named(self.culprit),
        }
        for name, value in text.items():
            object.__setattr__(self, name, value)

    @cached_property
    def kernel(self) -> Callable:
        return self.with_fault(self.culprit)

    def with_fault(self, name: str) -> Callable:
        """Return this operator's kernel with a named fault."""
        return faulty_kernel(self.operator, self._fault(name))

    def _fault(self, name: str) -> Fault:
        return next(one for one in faults(self.operator) if one.name == name)

    @cached_property
    def prepared(self) -> list[tuple[str, Prepared]]:
        """Return the experiments, each with the data to judge a kernel on it."""
        op = operator(self.operator)
        return [
            (label, prepared(Recipe(op.name, options), case(op, **options)))
            for label, options in self.experiments
        ]

    @property
    def symptom(self) -> Picture:
        """Return the picture of the broken kernel's symptom."""
        return replace(self.show(self.prepared, self.kernel), headline=(tr(self.title),))

    def hint(self, number: int = 1) -> str:
        """Return one of the hints, from 1 on; raise ValueError for another number."""
        return nth_hint(self, number)

    def accuse(self, suspect: str | None = None) -> Answer:
        """Return whether a suspect is the fault, and if not, a result that contradicts it; None lists all suspects.

        Raise ValueError for a name that is no suspect.
        """
        names = quoted(self.suspects)
        if suspect is None:
            return Answer(False, (message("the suspects: {names}", names=names),))
        if not isinstance(suspect, str) or suspect not in self.suspects:
            raise invalid(f"a suspect is one of {names}", f"{suspect!r:.60}", "accuse one of them")
        note = keep(self.name, suspect == self.culprit)
        if suspect != self.culprit:
            return Answer(
                False,
                (
                    message(
                        "not {name!r}: {reason}", name=named(suspect), reason=self._alibi(suspect)
                    ),
                ),
                note,
            )
        return Answer(True, tuple(self._evidence(suspect)), note)

    def _evidence(self, name: str) -> list[str]:
        """Return the evidence against the fault `name`, shown when the user has found this fault."""
        found = self._fault(name)
        lines = [
            message("the mistake is {name!r}: {story}", name=named(name), story=found.story),
            message("seen with: {inputs}", inputs=found.exposed_by),
        ]
        lines += (
            [message("not seen when {condition}", condition=found.hidden[0])]
            if found.hidden
            else []
        )
        return [*lines, *found.diff.splitlines()]

    def _alibi(self, suspect: str) -> str:
        """Return an experiment, shown or from the suite, in which the suspect would have another result.

        An experiment that only one of the two kernels fails is preferred to one with different wrong numbers.
        """
        other, numbers = self.with_fault(suspect), []
        suite = ((str(one.recipe), one) for one in prepared_suite(self.operator, 0))
        for label, one in [*self.prepared, *suite]:
            (mine, wrong), (its, accused) = outputs_of(self.kernel, one), outputs_of(other, one)
            for output in one.expected:
                if output in wrong and output not in accused:
                    return message(
                        "{output} would be right with {case}, where this kernel is wrong",
                        output=output,
                        case=label,
                    )
                if output in accused and output not in wrong:
                    return message(
                        "{output} would be wrong with {case}, where this kernel is right",
                        output=output,
                        case=label,
                    )
                if output in wrong and (
                    difference := _difference(output, mine[output], its[output])
                ):
                    numbers.append(
                        message("with {case}, {difference}", case=label, difference=difference)
                    )
        return numbers[0]

    @property
    def _head(self) -> str:
        return tr("{title} ({operator})", title=self.title, operator=self.operator)

    @property
    def _listed(self) -> str:
        return "\n".join([tr("suspects:"), *(f"  {tr(name)}" for name in self.suspects)])

    def __str__(self) -> str:
        return f"{self._head}\n{tr(self.story)}\n\n{self.symptom}\n\n{self._listed}"

    def _repr_html_(self) -> str:
        head, story, seen = map(
            html.escape, (self._head, tr(self.story), f"{self.symptom}\n\n{self._listed}")
        )
        return f"<strong>{head}</strong><p>{story}</p><pre>{seen}</pre>"


def _difference(output: str, mine: np.ndarray, its: np.ndarray) -> str:
    """Return in words where two wrong kernels differ most in an output; an empty text if they do not differ."""
    if mine.shape != its.shape:
        return message(
            "{output} would have shape {other}, not {shape}",
            output=output,
            other=its.shape,
            shape=mine.shape,
        )
    if not (apart := distance(mine, its)).any():
        return ""
    at = farthest(apart)
    return message(
        "{place} would be {other}; this kernel gives {value}",
        place=f"{output}{list(at)}",
        other=f"{float(its[at]):.6g}",
        value=f"{float(mine[at]):.6g}",
    )
