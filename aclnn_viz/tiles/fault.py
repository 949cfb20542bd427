"""A known mistake of a tile program (an Ascend C kernel): the edit that makes the wrong program, the origin of the mistake, and
what reveals it.
"""

import linecache
import sys
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from zlib import crc32

from aclnn_viz.operators import operator, registry
from aclnn_viz.operators.faults.fault import page_from, rewritten
from aclnn_viz.tiles.hazards import MEANT
from aclnn_viz.tiles.program import Program
from aclnn_viz.words.messages import kept, message, named, tr

WRONG, BITS = message("wrong number"), message("other bits")


@dataclass(frozen=True, eq=False)
class TileFault:
    """One wrong tile program: `changes` are {what the program says: what the wrong one says instead}, kept as pairs.

    `shows` is the kind of a hazard, WRONG when the machine has nothing to say and the numbers are off, or BITS when
    they are right and differ from schedule to schedule. A hazard shows under any schedule; `schedule` is one under
    which the numbers are wrong as well, None when few orders or none give wrong ones. `case` holds the options of
    `av.case` that show it, on so many `cores`; `program` is the name of the program, that of its operator unless given.
    Texts are kept as messages, so that `tr` can say them.
    """

    name: str
    story: str
    shows: str
    changes: Mapping[str, str] | tuple[tuple[str, str], ...]
    case: dict = field(default_factory=dict)
    cores: int = 4
    schedule: str | int | None = None
    program: str | None = None

    def __post_init__(self):
        for name, value in {
            "name": named(self.name),
            "story": kept(self.story),
            "shows": MEANT.get(self.shows, kept(self.shows)),
            "changes": tuple(dict(self.changes).items()),
        }.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return tr(
            "{name}: {story}; it shows as {what}", name=self.name, story=self.story, what=self.shows
        )

    def broken(self, op) -> Program:
        """Return the wrong program; ValueError when the right one no longer says what is to be changed."""
        short = operator(op).name
        return edited(short, self.program or short, self.changes)


@cache
def edited(op: str, name: str, changes: tuple[tuple[str, str], ...]) -> Program:
    """Return the program of this name when the texts of its file are changed.

    The changed file can be read as any other: hazards quote its lines.
    """
    right = registry.module("tiles", op)
    source = rewritten(right, changes)
    page = page_from(source, right, f"{right.__name__}_{crc32(source.encode()):08x}")
    page.__file__ = page.PROGRAMS[0].kernel.__code__.co_filename
    sys.modules[page.__name__] = page
    linecache.cache[page.__file__] = len(source), None, source.splitlines(True), page.__file__
    return next(program for program in page.PROGRAMS if program.name == name)


def faults(op) -> tuple[TileFault, ...]:
    """Return the tile faults of an operator, none where nobody has written one.

    >>> faults("hardswish")[0].shows
    'missing barrier'
    """
    return _faults(operator(op).name)


@cache
def _faults(name: str) -> tuple[TileFault, ...]:
    return registry.own("tile_faults", name, "FAULTS", ()) or registry.table(
        "tile_faults",
        name,
        lambda table: tuple(
            TileFault(**entry | {"case": literal_eval(entry.get("case", "{}"))})
            for entry in table.get("fault", ())
        ),
    )
