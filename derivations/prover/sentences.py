"""Sentences of derivations, in the language of aclnn_viz if that is loaded, else in English; nothing here imports it."""

import sys

#: English texts for steps, titles with a name, theorems and their mutants.
SAID = {
    "step": "**{title}.** {why}",
    "define": "Define {name}",
    "adjoint": "Adjoint of {name}",
    "documented": "{name} as documented",
    "letters": "Letters for names: {letters}",
    "proved": "proved: {claim}",
    "not proved": "NOT PROVED: {claim}",
    "no rule": "no rule makes the difference 0: {difference}",
    "no identity": "no rule makes the difference 0: {difference}; no identities of {names} are known",
    "not understood": "not understood: {why}",
    "refused": "    rejected, as it must be: {claims}",
    "through": "    PROVED, THOUGH FALSE: {claims}",
}
#: Beginnings of refusals; each continues with a colon and the expression.
REASONS = (
    "a limit that is not known to be an integer",
    "a sum without lower and upper limit",
    "a sum stands inside a formula that distinguishes cases",
    "a possible pole",
    "a lower limit that depends on another index",
    "a sum that runs downwards or to a fraction",
    "not a finite number",
    "an array that is not an IndexedBase, or is named as an index",
    "a free symbol named as a bound index",
    "not an expression",
)


class Sentence(str):
    """An English text with its values; it prints in the language of aclnn_viz if that is loaded."""

    def __new__(cls, text, **values):
        self = super().__new__(cls, text.format_map(values) if values else text)
        self.text, self.values = text, values
        return self

    def __format__(self, spec):
        return self[:]

    def __str__(self):
        return said(self.text, **{name: str(value) for name, value in self.values.items()})


def said(text, **values):
    """Return a text with its values, in the language of aclnn_viz if that is loaded, else in English.

    >>> said(SAID["adjoint"], name="rho").isidentifier()
    False
    """
    kit = sys.modules.get("aclnn_viz")
    if kit is not None:
        return sys.modules[kit.language.__module__].tr(text, **values)
    return text.format_map(values) if values else text
