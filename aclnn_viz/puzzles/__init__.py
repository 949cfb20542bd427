"""Puzzles, parts of kernels to write from a loop that defines the result; and broken kernels whose mistake is to be found."""

from difflib import get_close_matches
from functools import cache, partial

import numpy as np

from aclnn_viz.errors import invalid
from aclnn_viz.operators import operators
from aclnn_viz.operators.registry import own, table
from aclnn_viz.puzzles import symptoms
from aclnn_viz.puzzles.detective import Detective
from aclnn_viz.puzzles.progress import Progress, progress_of
from aclnn_viz.puzzles.puzzle import Puzzle
from aclnn_viz.puzzles.tiles.detective import TileDetective

__all__ = [
    "Detective",
    "Puzzle",
    "detective",
    "detectives",
    "progress",
    "puzzle",
    "puzzles",
    "tile_detectives",
    "tile_puzzles",
]


def puzzles() -> tuple[Puzzle, ...]:
    """Return all puzzles on kernels, operator after operator, easy ones first.

    >>> puzzles()[0].name
    'hardswish_middle'
    """
    return tuple(one for one in _written() if not one.tiles)


def tile_puzzles() -> tuple[Puzzle, ...]:
    """Return all puzzles on tilings, operator after operator, easy ones first.

    >>> tile_puzzles()[0].check(lambda length, tileLength: -(-length // tileLength)).passed
    True
    """
    return tuple(one for one in _written() if one.tiles)


def _written() -> list[Puzzle]:
    return [one for op in operators() for one in _puzzles(op.name)]


@cache
def _puzzles(op: str) -> list[Puzzle]:
    """Return the puzzles in an operator's table, each a function of the module beside it."""
    names = [name for name, said in table("puzzles", op).items() if "hints" in said]
    return [Puzzle(own("puzzles", op, name)) for name in names]


def puzzle(name: str) -> Puzzle:
    """Return a puzzle by the name of its function; raise ValueError for an unknown name.

    >>> puzzle("rms_dx").hint(1).split(".")[0]
    'Take the two terms of the bracket apart'
    """
    return _named((*puzzles(), *tile_puzzles()), name)


def detectives() -> tuple[Detective, ...]:
    """Return all detective cases on kernels, easy ones first."""
    return _cases("detectives")


def tile_detectives() -> tuple[Detective, ...]:
    """Return all detective cases on tile programs, easy ones first."""
    return _cases("tile_detectives")


def _cases(kind: str) -> tuple[Detective, ...]:
    found = (one for op in operators() for one in _of_table(op.name, kind))
    return tuple(sorted(found, key=lambda one: one.number))


@cache
def _of_table(op: str, kind: str) -> list[Detective]:
    """Return the cases in an operator's table; a name in capitals is a value of the module beside the table."""

    def value(one):
        if isinstance(one, list) and isinstance(one[0], list):
            return np.float32(one)
        if isinstance(one, list):
            return tuple(... if item == "..." else item for item in one)
        return own("puzzles", op, one, one) if isinstance(one, str) else one

    made = Detective if kind == "detectives" else TileDetective
    found = []
    for entry in table("puzzles", op).get(kind, ()):
        shown = {"symptom": "table"} | {k: value(v) for k, v in entry.pop("show", {}).items()}
        show = partial(getattr(symptoms, shown.pop("symptom")), **shown)
        experiments = tuple(
            (label, {name: value(one) for name, one in options.items()})
            for label, options in entry.pop("experiments")
        )
        found.append(made(**entry, operator=op, experiments=experiments, show=show))
    return found


def detective(name: str) -> Detective:
    """Return a detective case by its name; raise ValueError for an unknown name.

    >>> detective("long_rows").accuse(None).text.split(",")[0]
    "the suspects: 'missing 1/n'"
    """
    return _named((*detectives(), *tile_detectives()), name)


def _named(items, name):
    for one in items:
        if isinstance(name, str) and one.name == name:
            return one
    near = get_close_matches(str(name), [one.name for one in items], 3)
    raise invalid(
        f"no such {'detective case' if isinstance(items[0], Detective) else 'puzzle'}",
        f"{name!r:.60}",
        f"name {' or '.join(near)}" if near else "name one of those that progress() lists",
    )


def progress() -> Progress:
    """Return a table of solved and tried puzzles on this machine."""
    return progress_of((*puzzles(), *detectives(), *tile_puzzles(), *tile_detectives()))
