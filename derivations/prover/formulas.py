"""The result of a derivation: its steps, as a notebook shows them."""

from dataclasses import dataclass, replace

from sympy import Symbol

from derivations.prover.notation import NAMES
from derivations.prover.sentences import SAID, said


@dataclass(frozen=True)
class Derivation:
    """A finished derivation: `steps` in reading order, `tape` with its nodes (None where there are only cells)."""

    steps: tuple
    tape: object = None

    def _repr_markdown_(self):
        """The steps as a notebook shows them, and of which names the letters in them are."""
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
        """
        The steps of one title, or of several, for a page that shows them one by one; KeyError for a title of no step.

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
