"""The texts that operators declare, for the catalogues: theorems, conventions, errata, contracts, peers, faults and puzzles;
and those of commands.
"""

import ast
import dataclasses
from collections.abc import Iterator
from functools import cache

from aclnn_viz import tiles
from aclnn_viz.checking.museum import museum
from aclnn_viz.cli import COMMANDS, summary
from aclnn_viz.operators import operators, registry
from aclnn_viz.operators.contract import contract
from aclnn_viz.operators.faults import faults
from aclnn_viz.puzzles import (
    Puzzle,
    detectives,
    puzzles,
    tile_detectives,
    tile_puzzles,
)
from aclnn_viz.puzzles.solutions import solution_of
from aclnn_viz.verification.conventions import TOPICS, conventions
from aclnn_viz.verification.errata import Lemma, errata
from aclnn_viz.verification.errata.model import KINDS
from aclnn_viz.words.messages import Message
from derivations import chapters, theorems
from derivations.prover.sentences import REASONS, SAID


@cache
def declared() -> dict[str, str]:
    """Return {text: file} of claims, conventions, errata, rules without a status, differences of peers, and commands."""
    found = {}

    def add(kind: str, name: str, texts: set[str]) -> None:
        found.update(dict.fromkeys(sorted(texts - {*found}), f"{kind}/{name}.py"))

    add("derivations/prover", "sentences", {*SAID.values(), *REASONS})
    for theorem in theorems():
        add(
            "derivations",
            theorem.operator,
            {theorem.text, *(mutant.name for mutant in theorem.mutants)},
        )
    add("aclnn_viz/verification/conventions", "model", {*TOPICS})
    add("aclnn_viz/verification/errata", "model", {*KINDS})
    for op in operators():
        folder = f"aclnn_viz/operators/{op.name}"
        add(
            folder,
            "conventions",
            words(conventions(op)),
        )
        add(folder, "contract", {rule.text for rule in contract(op.name).constraints})
        differing = registry.own("peer", op.name, "DIFFERENCES", {}).values()
        add(
            folder,
            "peer",
            {one.text for some in differing for one in some}
            | {*registry.own("peer", op.name, "REFUSED", ())},
        )
    add("aclnn_viz", "cli", helps(COMMANDS))
    for one in errata():
        add(
            f"aclnn_viz/operators/{one.operator}"
            if one.operator != "all"
            else "aclnn_viz/verification",
            "errata",
            words(one),
        )
    return found


def helps(table) -> set[str]:
    """Return the texts of a table on commands and their options, at any level of groups."""
    if isinstance(table, tuple):
        return {summary(table[0])} | helps(table[1])
    return {table["help"]} if "help" in table else set().union(*map(helps, table.values()))


@cache
def steps() -> dict[str, str]:
    """Return {text: file} of the steps of all derivations; a chapter whose default mode lacks some lists modes in TEXT_MODES."""
    found = {}
    for chapter in chapters():
        for mode in getattr(chapter, "TEXT_MODES", ((),)) if hasattr(chapter, "derive") else ():
            for step in chapter.derive(*mode).steps:
                for text in step.texts:
                    found.setdefault(text, f"{chapter.__name__.replace('.', '/')}.py")
    return found


def words(entry) -> set[str]:
    """Return the texts in an entry's fields, except its identifier, and in its evidence.

    >>> words((1, ("a row", Message("of zeros"))))  # a message is found where it is made
    {'a row'}
    """
    if isinstance(entry, str):
        return set() if isinstance(entry, Message) else {entry}
    if isinstance(entry, tuple):
        return set().union(*map(words, entry))
    # a lemma's claims are texts of its theorem
    if not dataclasses.is_dataclass(entry) or isinstance(entry, Lemma):
        return set()
    return set().union(
        *(
            words(getattr(entry, field.name))
            for field in dataclasses.fields(entry)
            if field.name != "id"
        )
    )


@cache
def of_faults() -> dict[str, str]:
    """Return {text: file} of all texts of faults and puzzles."""
    found = {}
    for op in operators():
        # leave out mechanical edits, whose texts describe code
        named = faults(op) if registry.file("faults", op.name) else ()
        every = (*puzzles(), *detectives(), *tile_puzzles(), *tile_detectives())
        for kind, declared in {
            "faults": named,
            "tile_faults": tiles.faults(op),
            "puzzles": [one for one in every if one.operator == op.name],
        }.items():
            for one in declared:
                for text in _kept(
                    [one.title, one.hints, one.task, solution_of(one).mistakes]
                    if isinstance(one, Puzzle)
                    else one
                ):
                    found.setdefault(text, f"aclnn_viz/operators/{op.name}/{kind}")
    for text in _kept(museum()):
        found.setdefault(text, "aclnn_viz/operators/faults/museum.toml")
    return {text: file for text, file in found.items() if not is_code(text)}


def _kept(value) -> Iterator[str]:
    """Yield the messages without values in a value, its items and its fields; those with values are found in the source."""
    if isinstance(value, Message):
        yield from [] if value.values else [value.key]
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _kept(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _kept(getattr(value, field.name))


def is_code(text: str) -> bool:
    """Return whether a text is Python code that assigns, calls or returns something.

    >>> is_code("return np.sum(dy, axis=...)"), is_code("gamma is 1"), is_code("rows and columns")
    (True, False, False)
    """
    try:
        return any(
            isinstance(node, (ast.Assign, ast.Call, ast.Return))
            for node in ast.walk(ast.parse(text))
        )
    except SyntaxError:
        return False
