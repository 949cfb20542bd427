"""A tile fault: an edit of a program, where it comes from, and what shows it."""

from dataclasses import dataclass, field

from aclnn_viz import rooms
from aclnn_viz.faults.fault import changed
from aclnn_viz.operators import operator
from aclnn_viz.tiles.launching import Program

WRONG, BITS = "wrong number", "other bits"


@dataclass(frozen=True, eq=False)
class TileFault:
    """One wrong tile program: `changes` are pairs of text, what the program says and what the wrong one says instead.

    `shows` is the kind of a hazard, WRONG when the machine has nothing to say and the numbers are off, or BITS when
    they are right and differ from schedule to schedule. A hazard shows under any schedule; `schedule` is one under
    which the numbers are wrong as well, None when few orders or none give wrong ones. `case` holds the options of
    `av.case` that show it, on so many `cores`; `program` is the name of the program, that of its operator unless given.
    """

    name: str
    story: str
    shows: str
    changes: tuple[tuple[str, str], ...]
    case: dict = field(default_factory=dict)
    cores: int = 4
    schedule: str | int | None = None
    program: str | None = None

    def broken(self, op) -> Program:
        """Return the wrong program; ValueError when the right one no longer says what is to be changed."""
        short = operator(op).name
        name, module = self.program or short, changed(rooms.module("tiles", short), self.changes)
        return next(program for program in module.PROGRAMS if program.name == name)


def faults(op) -> tuple[TileFault, ...]:
    """Return the tile faults of an operator, none where nobody has written one.

    >>> faults("hardswish")[0].shows
    'missing barrier'
    """
    return rooms.own("tile_faults", operator(op).name, "FAULTS", ())
