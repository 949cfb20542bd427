"""What faults and puzzles tell: the messages that are kept in what an operator declares of them, for the catalogues."""

import ast
import dataclasses
from collections.abc import Iterator
from functools import cache

from aclnn_viz.checking.puzzles.puzzle import Puzzle
from aclnn_viz.checking.puzzles.solutions import solution_of
from aclnn_viz.operators import operators, registry
from aclnn_viz.words.speech import Message

ROOT = registry.ROOT
KINDS = {"faults": ("FAULTS",), "tile_faults": ("FAULTS",),
         "puzzles": ("PUZZLES", "DETECTIVES", "TILE_PUZZLES", "TILE_DETECTIVES")}


@cache
def told() -> dict[str, str]:
    """Return {text: file} of all that the faults and the puzzles of the house say."""
    found = {}
    for op in operators():
        for kind, attributes in KINDS.items():
            for one in (one for attribute in attributes for one in registry.own(kind, op.name, attribute, ())):
                for text in _kept([one, one.task, solution_of(one).mistakes] if isinstance(one, Puzzle) else one):
                    found.setdefault(text, str(registry.file(kind, op.name).relative_to(ROOT)))
    return {text: file for text, file in found.items() if not is_code(text)}


def _kept(value) -> Iterator[str]:
    """The messages without values in a value, its items and its fields; those with values are found where they are made."""
    if isinstance(value, Message):
        yield from [] if value.values else [value.key]
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _kept(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _kept(getattr(value, field.name))


def is_code(text: str) -> bool:
    """Whether a text is Python that assigns, calls or returns something.

    >>> is_code("return np.sum(dy, axis=...)"), is_code("gamma is 1"), is_code("rows and columns")
    (True, False, False)
    """
    try:
        return any(isinstance(node, (ast.Assign, ast.Call, ast.Return)) for node in ast.walk(ast.parse(text)))
    except SyntaxError:
        return False
