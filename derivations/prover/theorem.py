"""Theorems: equations to prove, and mutants of them that must not be proved."""

from dataclasses import dataclass, field
from functools import cache
from time import perf_counter
from typing import Callable

from sympy import Expr, Symbol, sympify

from derivations.prover.equality import proves_equal
from derivations.prover.notation import latex


@dataclass(frozen=True)
class Equation:
    """The equation left = right for all free indices within `in_range`; `where` names the cell, `shown` replaces left in print."""

    left: Expr
    right: Expr
    in_range: dict = field(default_factory=dict)
    where: str = ""
    shown: Expr | None = None

    def __post_init__(self):
        object.__setattr__(self, "left", sympify(self.left))
        object.__setattr__(self, "right", sympify(self.right))

    @property
    def latex(self):
        left = self.left if self.shown is None else self.shown
        where = rf" \qquad \text{{({self.where})}}" if self.where else ""
        return f"{latex(left)} = {latex(self.right)}{where}"


@dataclass(frozen=True)
class Proof:
    """The result of an attempt to prove a claim.

    `holds` is true if every equation was proved; `assumptions` are then those of the proof. Otherwise `not_proved` lists the
    other equations, and `reason` is the obstacle to the first.
    """

    holds: bool
    assumptions: tuple[str, ...]
    seconds: float
    not_proved: tuple[Equation, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim about an operator: `equations()` builds its equations, `prove()` tries to prove them."""

    name: str
    operator: str
    text: str
    build: Callable[[], list[Equation]] = field(repr=False)

    @cache  # noqa: B019  a theorem is kept for good
    def equations(self):
        """The equations of the theorem, built at first use."""
        return tuple(self.build())

    def prove(self):
        """
        Prove every equation; returns a Proof.

        >>> from derivations import theorems
        >>> theorem = next(theorems())
        >>> theorem.prove().holds, theorem.mutants[0].prove().reason[:31]
        (True, 'no rule makes the difference 0:')
        """
        start = perf_counter()
        equations = self.equations()
        answers = [proves_equal(e.left, e.right, in_range=e.in_range) for e in equations]
        missing = tuple(e for e, answer in zip(equations, answers) if not answer)
        reasons = (
            [answer.reason for answer in answers if not answer]
            if equations
            else ["no equation to prove"]
        )
        assumptions = () if reasons else _assumptions(equations, answers)
        return Proof(not reasons, assumptions, perf_counter() - start, missing, *reasons[:1])


@dataclass(frozen=True)
class Theorem(Claim):
    """A true claim with named mutants: similar claims that are false and must not be proved."""

    mutants: tuple[Claim, ...] = ()

    @property
    def statement(self):
        """The equations in LaTeX, one per line."""
        return "\n".join(e.latex for e in self.equations())


class Book:
    """The theorems of one operator, in the order of their proofs."""

    def __init__(self, operator):
        self.operator, self.theorems = operator, []

    def theorem(self, text, mutants):
        """Return a decorator that registers a function which returns equations.

        Its keyword defaults make the claim true; each mutant gives other values for some of them.
        """

        def register(build):
            name = build.__name__
            false_claims = tuple(
                Claim(
                    mutant,
                    self.operator,
                    f"{text} [{mutant}]",
                    lambda change=change: build(**change),
                )
                for mutant, change in mutants.items()
            )
            self.theorems.append(Theorem(name, self.operator, text, build, false_claims))
            return build

        return register


def _assumptions(equations, answers):
    symbols = {
        s
        for e in equations
        for side in (e.left, e.right)
        for s in side.free_symbols
        if isinstance(s, Symbol)
    }
    found = [_of_symbol(s) for s in sorted(symbols, key=lambda s: s.name)]
    for e, answer in zip(equations, answers):
        found += [f"{first} <= {index} <= {last}" for index, (first, last) in e.in_range.items()]
        found += [rf"{latex(base)} \neq 0" for base in answer.denominators]
    found += [e.where for e in equations if e.where]
    return tuple(dict.fromkeys(text for text in found if text))


def _of_symbol(s):
    if s.is_integer and s.is_positive:
        return f"{s.name} >= 1, integer"
    if s.is_integer and s.is_nonnegative:
        return f"{s.name} >= 0, integer"
    if s.is_positive:
        return f"{s.name} > 0"
    if s.is_nonzero:
        return f"{s.name} != 0"
    return ""
