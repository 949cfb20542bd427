"""What a derivation hands over for evaluation: one closed formula for each output."""

from dataclasses import dataclass
from typing import Callable

from sympy import Expr


@dataclass(frozen=True)
class Formula:
    """
    `expression` is the value of `output` at the entry `indices`, {index: length}, one axis each.

    Arrays in it carry the vendor's parameter names; `leaves` gives for each the lengths of its axes, in order. Lengths
    are symbols whose names are keys of the values that `derivations.evaluate` takes.
    """

    output: str
    expression: Expr
    indices: dict
    leaves: dict


@dataclass(frozen=True)
class Derivation:
    """A finished derivation: `steps` in reading order, `tape` with its nodes (None where there are only cells)."""

    steps: tuple
    tape: object
    build: Callable[[], list[Formula]]

    def _repr_markdown_(self):
        """The steps as a notebook shows them."""
        return "\n\n".join(f"**{step.title}.** {step.why}\n\n$${step.latex}$$" for step in self.steps)

    def formulas(self):
        """
        The documented and proved formula of every output, {output name: Formula}.

        >>> import derivations
        >>> list(derivations.hardswish.derive().formulas())
        ['out']
        """
        return {formula.output: formula for formula in self.build()}
