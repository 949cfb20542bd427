"""A known mistake of a tile program (an Ascend C kernel): the edit that makes the wrong program, the origin of the mistake, and
conditions that reveal it.
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
    """One wrong tile program; `changes` are pairs of texts, {right: wrong}.

    `shows` is the kind of a hazard, WRONG for wrong numbers without a hazard, or BITS for right numbers that differ between
    schedules. A hazard shows under any schedule; `schedule` also gives wrong numbers, None if few orders or none do. `case`
    holds options of `av.case` that show the fault on `cores` cores; `program` is the name of the program, by default its
    operator's. Texts are messages, for `tr`.
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
            "{name}: {story}; symptom: {what}", name=self.name, story=self.story, what=self.shows
        )

    def broken(self, op) -> Program:
        """Return the wrong program; raise ValueError if the right program lacks the text to change."""
        short = operator(op).name
        return edited(short, self.program or short, self.changes)


@cache
def edited(op: str, name: str, changes: tuple[tuple[str, str], ...]) -> Program:
    """Return the program of this name after changes of its file's text.

    The changed file can be read, and hazards quote its lines.
    """
    right = registry.module("tiles", op)
    source = rewritten(right, changes)
    page = page_from(source, right, f"{right.__name__}_{crc32(source.encode()):08x}")
    page.__file__ = page.PROGRAMS[0].kernel.__code__.co_filename
    sys.modules[page.__name__] = page
    linecache.cache[page.__file__] = len(source), None, source.splitlines(True), page.__file__
    return next(program for program in page.PROGRAMS if program.name == name)


def faults(op) -> tuple[TileFault, ...]:
    """Return the tile faults of an operator, an empty tuple if there are none.

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
