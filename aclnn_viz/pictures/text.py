"""Write numbers in the text of pictures: digits, infinities, nans and powers of ten.

A number of Python or NumPy gives a finished text. In a traced picture a number is an array without axes whose value is
unknown (it *moves*): its text keeps the array, and is filled in when the picture is shown.
"""

import re

import numpy as np

from aclnn_viz.words.messages import Choice, Number, tr

STILL = (bool, int, float, np.generic, np.ndarray)


def written(value, form: str):
    """Return a number in a Python format: a text, or a `Number` if its value is known only later; zero has no sign.

    >>> written(-0.0, ".2f"), written(1234.0, ",.0f")
    ('0.00', '1,234')
    """
    return format(value + 0, form) if isinstance(value, STILL) else Number(value, form)


def choose(which, *options):
    """Return the option at a number, or for a condition (False first); a `Choice` if that is known only later.

    >>> choose(2 > 1, "below", "above")
    'above'
    """
    return options[int(which)] if isinstance(which, STILL) else Choice(which, options)


def told(which, *texts, **values):
    """Return the message at a number, or for a condition (False first), with values at its named places.

    >>> told(1, "{n} is even", "{n} is odd", n=3)
    '3 is odd'
    """
    return choose(which, *(tr(text, **values) for text in texts))


def number(value: float) -> str:
    """Return four significant digits; zero has no sign.

    >>> number(-0.0), number(0.123456), number(1234567.0)
    ('0', '0.1235', '1.235e+06')
    """
    return written(value, ".4g")


def signed(value: float) -> str:
    """Return a number with a true minus."""
    return choose(value < 0, number(value), "−" + number(-value))


def extent(values, xp=np) -> str:
    """Return least, greatest and mean of an array of `xp` in words.

    >>> extent(np.array([1.0, 3.0]))
    'from 1 to 3, mean 2'
    """
    return tr(
        "from {low} to {high}, mean {mean}",
        low=number(xp.min(values)),
        high=number(xp.max(values)),
        mean=number(xp.mean(values)),
    )


def unmarked(text: str) -> str:
    """Return a caption without its marks of style.

    >>> unmarked("The [7:point] lies [b:on] the image.")
    'The point lies on the image.'
    """
    return re.sub(r"\[(?:\d+|b):([^\]]*)\]", r"\1", text)
