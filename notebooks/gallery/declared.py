"""What theorems, conventions, errata, contracts and peers declare, for the catalogues: their fields are texts, said where they are shown."""

import dataclasses
from functools import cache

from aclnn_viz.operators import operators, registry
from aclnn_viz.operators.contract import contract
from aclnn_viz.verification.conventions import TOPICS, conventions
from aclnn_viz.verification.errata import Lemma, errata
from aclnn_viz.verification.errata.model import KINDS
from aclnn_viz.words.speech import Message
from derivations import chapters, theorems
from derivations.prover.wording import SAID


@cache
def declared() -> dict[str, str]:
    """Return {text: file}: what is claimed, all that conventions and errata say, the rules that no status guards, how peers differ."""
    found = {}

    def told(kind: str, name: str, texts: set[str]) -> None:
        found.update(dict.fromkeys(sorted(texts - {*found}), f"{kind}/{name}.py"))

    told("derivations", "wording", {*SAID.values()})
    for theorem in theorems():
        told("derivations", theorem.operator, {theorem.text, *(mutant.name for mutant in theorem.mutants)})
    told("aclnn_viz/verification/conventions", "model", {*TOPICS})
    told("aclnn_viz/verification/errata", "model", {*KINDS})
    for op in operators():
        folder = f"aclnn_viz/operators/{op.name}"
        told(folder, "conventions", words((*conventions(op), *registry.own("conventions", op.name, "sources", tuple)())))
        told(folder, "contract", {rule.text for rule in contract(op.name).constraints})
        differing = registry.own("peer", op.name, "DIFFERENCES", {}).values()
        told(folder, "peer",
             {one.text for some in differing for one in some} | {*registry.own("peer", op.name, "REFUSED", ())})
    for one in errata():
        told(f"aclnn_viz/operators/{one.operator}" if one.operator != "all" else "aclnn_viz/verification", "errata", words(one))
    return found


@cache
def steps() -> dict[str, str]:
    """Return {text: file} of what the steps of all derivations say; a chapter lists modes in TOLD if its own say less."""
    found = {}
    for chapter in chapters():
        for mode in getattr(chapter, "TOLD", ((),)):
            for step in chapter.derive(*mode).steps:
                for text in step.texts:
                    found.setdefault(text, f"{chapter.__name__.replace('.', '/')}.py")
    return found


def words(entry) -> set[str]:
    """Return the texts in the fields of an entry of a table, but for its identifier, and in its evidence.

    >>> words((1, ("a row", Message("of zeros"))))  # a message is found where it is made
    {'a row'}
    """
    if isinstance(entry, str):
        return set() if isinstance(entry, Message) else {entry}
    if isinstance(entry, tuple):
        return set().union(*map(words, entry))
    if not dataclasses.is_dataclass(entry) or isinstance(entry, Lemma):  # what a lemma claims is a theorem's
        return set()
    return set().union(*(words(getattr(entry, field.name)) for field in dataclasses.fields(entry) if field.name != "id"))
