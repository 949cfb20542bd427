"""The sentences of derivations, in the language of aclnn_viz where that is loaded; nothing here imports it."""

import sys

#: What is said of a step, of titles made of a name, and of theorems and their mutants.
SAID = {"step": "**{title}.** {why}", "define": "Define {name}", "adjoint": "Adjoint of {name}",
        "documented": "{name} as documented",
        "proved": "proved: {claim}", "not proved": "NOT PROVED: {claim}",
        "refused": "    not proved, as it should be: {claims}", "through": "    PROVED, THOUGH FALSE: {claims}"}


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
