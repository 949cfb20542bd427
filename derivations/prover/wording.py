"""Sentences of derivations: in the language of aclnn_viz where that is loaded, else in English; nothing here imports it."""

import sys

#: What is said of a step, of titles made of a name, and of theorems and their mutants.
SAID = {"step": "**{title}.** {why}", "define": "Define {name}", "adjoint": "Adjoint of {name}",
        "documented": "{name} as documented", "letters": "Letters for names: {letters}",
        "proved": "proved: {claim}", "not proved": "NOT PROVED: {claim}",
        "no rule": "no rule makes the difference 0: {difference}", "not understood": "not understood: {why}",
        "no integer": "a limit that is not known to be an integer: {end} of {variable}", "no limits": "a sum without lower and upper limit: {e}",
        "declared": "more is declared of {index} than that it is an integer from {first} to {last}",
        "pole": "a possible pole: {e} for {bounds}", "derivative": "no rule for the derivative of {kind}",
        "refused": "    not proved, as it should be: {claims}", "through": "    PROVED, THOUGH FALSE: {claims}"}


class Sentence(str):
    """An English text with its values; printed, it is in the language of aclnn_viz where that is loaded."""

    def __new__(cls, text, **values):
        self = super().__new__(cls, text.format_map(values) if values else text)
        self.text, self.values = text, values
        return self

    def __str__(self):
        return said(self.text, **self.values)


def said(text, **values):
    """
    A text with its values, in the language of aclnn_viz where that is loaded, else in English.

    >>> said(SAID["adjoint"], name="rho").isidentifier()
    False
    """
    kit = sys.modules.get("aclnn_viz")
    if kit is not None:
        return sys.modules[kit.language.__module__].tr(text, **values)
    return text.format_map(values) if values else text
