"""Puzzles: parts of kernels to write, from a loop that says what is wanted; and broken kernels to find the fault of."""

from aclnn_viz.checking.puzzles import cross_entropy_loss, grid_sampler_2d, group_norm_swish, hardswish, rms_norm
from aclnn_viz.checking.puzzles.detective import Detective
from aclnn_viz.checking.puzzles.detectives import DETECTIVES
from aclnn_viz.checking.puzzles.progress import Progress, progress_of
from aclnn_viz.checking.puzzles.puzzle import Puzzle
from aclnn_viz.errors import problem

__all__ = ["Detective", "Puzzle", "detective", "detectives", "progress", "puzzle", "puzzles"]

_ROOMS = (hardswish, rms_norm, grid_sampler_2d, cross_entropy_loss, group_norm_swish)


def puzzles() -> tuple[Puzzle, ...]:
    """Return all puzzles, operator after operator, easy ones first.

    >>> puzzles()[0].name
    'hardswish_middle'
    """
    return tuple(one for room in _ROOMS for one in room.PUZZLES)


def puzzle(name: str) -> Puzzle:
    """Return a puzzle by the name of its function; ValueError for an unknown one.

    >>> puzzle("rms_dx").hint(1).split(".")[0]
    'Take the two terms of the bracket apart'
    """
    return _named(puzzles(), name, "a puzzle")


def detectives() -> tuple[Detective, ...]:
    """Return all detective cases."""
    return DETECTIVES


def detective(name: str) -> Detective:
    """Return a detective case by its name; ValueError for an unknown one.

    >>> detective("long_rows").accuse(None).text.split(",")[0]
    "the suspects: 'missing 1/n'"
    """
    return _named(DETECTIVES, name, "a detective case")


def _named(items, name, kind):
    for one in items:
        if one.name == name:
            return one
    names = ", ".join(one.name for one in items)
    raise ValueError(problem(f"{kind} is one of {names}", repr(name), "name one of them"))


def progress() -> Progress:
    """Return a table of what is solved on this machine, and of what was tried."""
    return progress_of((*puzzles(), *DETECTIVES))
