"""Texts about numbers that move: each keeps its places, and whoever traces a picture fills them where it is shown.

`tr` returns a `Text` instead of a finished one where a value of it moves.
"""

from dataclasses import dataclass


class Moving:
    """Something that is known only where it is shown; it can be put before or behind a text."""

    def __add__(self, other):
        return Text("{first}{then}", {"first": self, "then": other})

    def __radd__(self, other):
        return Text("{first}{then}", {"first": other, "then": self})


@dataclass(frozen=True, eq=False)
class Text(Moving):
    """A text with named places and what stands there."""

    text: str
    values: dict


@dataclass(frozen=True, eq=False)
class Number(Moving):
    """An array without axes, written in a format of Python's; zero has no sign."""

    value: object
    form: str


@dataclass(frozen=True, eq=False)
class Choice(Moving):
    """That of several options whose number an array without axes is."""

    which: object
    options: tuple
