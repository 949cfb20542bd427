"""Texts about numbers that move: each keeps its places, and whoever traces a picture fills them where it is shown.

NumPy's numbers stand still: `number` and `choose` return finished texts of them. Every other array moves, and the same
functions return a text, a number or a choice that remembers it.
"""

from dataclasses import dataclass

import numpy as np

STILL = (bool, int, float, np.generic, np.ndarray)


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


def written(value, form: str):
    """Return a number in a format of Python's, as a text or, of one that moves, as a `Number`; zero has no sign.

    >>> written(-0.0, ".2f"), written(1234.0, ",.0f")
    ('0.00', '1,234')
    """
    return format(value + 0, form) if isinstance(value, STILL) else Number(value, form)


def choose(which, *options):
    """Return the option of a number or of a condition, False first; of one that moves, a `Choice`.

    >>> choose(2 > 1, "below", "above")
    'above'
    """
    return options[int(which)] if isinstance(which, STILL) else Choice(which, options)
