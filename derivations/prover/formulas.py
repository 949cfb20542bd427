"""The result of a derivation: its steps in a notebook's form."""

from dataclasses import dataclass, replace

from sympy import Symbol

from derivations.prover.notation import NAMES
from derivations.prover.sentences import SAID, said


@dataclass(frozen=True)
class Derivation:
    """A finished derivation: `steps` in reading order, `tape` with its nodes (None for a derivation by cells)."""

    steps: tuple
    tape: object = None

    def _repr_markdown_(self):
        """Return the steps as Markdown, followed by the names of the parameters that letters abbreviate."""
        names = {symbol.name for step in self.steps for symbol in step.equation.atoms(Symbol)}
        letters = said(", ").join(
            f"${letter}$ = `{name}`" for name, letter in NAMES.items() if name in names
        )
        return "\n\n".join(
            [
                *(step.shown for step in self.steps),
                *[said(SAID["letters"], letters=letters)] * bool(letters),
            ]
        )

    def __getitem__(self, titles):
        """Return the steps with one title or several; raise KeyError for an unknown title.

        >>> import derivations
        >>> derivations.hardswish.derive()["Definition", "Right cell, x > 3"].steps[1].latex
        'd = 1'
        """
        titles = [titles] if isinstance(titles, str) else titles
        known = dict.fromkeys(step.title for step in self.steps)
        for title in titles:
            if title not in known:
                raise KeyError(
                    f"a step of this derivation: got {title!r}; choose among {', '.join(known)}"
                )
        return replace(self, steps=tuple(step for step in self.steps if step.title in titles))
