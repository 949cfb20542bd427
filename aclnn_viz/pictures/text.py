"""Words for pictures: every number of a text twin is written by these, and lines are broken."""

import re
import textwrap

from aclnn_viz.words.speech import tr

WIDE = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]")  # Chinese letters and their punctuation: two columns each
_BREAKABLE = re.compile(rf" ?(?:{WIDE.pattern}|(?:(?!{WIDE.pattern})[^ ])+)[，。；：、）]?")


def number(value: float) -> str:
    """Four significant digits; zero has no sign.

    >>> number(-0.0), number(0.123456), number(1234567.0)
    ('0', '0.1235', '1.235e+06')
    """
    return f"{value + 0.0:.4g}"


def signed(value: float) -> str:
    return f"{value + 0.0:+.4g}" if value else "0"


def extent(values) -> str:
    """Least, greatest and mean of an array.

    >>> import numpy as np
    >>> extent(np.array([1.0, 3.0]))
    'from 1 to 3, mean 2'
    """
    return tr("from {low} to {high}, mean {mean}", low=number(values.min()), high=number(values.max()),
              mean=number(values.mean()))


def columns(text: str) -> int:
    """How many columns a text takes: two for a Chinese letter.

    >>> columns("abc"), columns("梯度 x")
    (3, 6)
    """
    return len(text) + len(WIDE.findall(text))


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, each of at most so many columns; a line may end at every Chinese letter.

    >>> wrapped("one two three", 8), wrapped("梯度的 slope，等于", 8)
    (['one two', 'three'], ['梯度的', 'slope，', '等于'])
    """
    if not WIDE.search(text):
        return textwrap.wrap(text, width)
    lines = [""]
    for part in _BREAKABLE.findall(text):
        if lines[-1] and columns(lines[-1] + part) > width:
            lines.append(part.lstrip())
        else:
            lines[-1] += part
    return lines
