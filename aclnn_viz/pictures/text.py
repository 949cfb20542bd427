"""Words for pictures: every number of a text twin is written by these."""

import numpy as np

from aclnn_viz.words.moving import choose, written
from aclnn_viz.words.speech import tr


def number(value: float) -> str:
    """Four significant digits; zero has no sign.

    >>> number(-0.0), number(0.123456), number(1234567.0)
    ('0', '0.1235', '1.235e+06')
    """
    return written(value, ".4g")


def signed(value: float) -> str:
    return choose(value == 0, written(value, "+.4g"), "0")


def count(value: int) -> str:
    """A whole number, its thousands apart.

    >>> count(65536)
    '65,536'
    """
    return written(value, ",.0f")


def extent(values, xp=np) -> str:
    """Least, greatest and mean of an array of the namespace `xp`.

    >>> extent(np.array([1.0, 3.0]))
    'from 1 to 3, mean 2'
    """
    return tr("from {low} to {high}, mean {mean}", low=number(xp.min(values)), high=number(xp.max(values)),
              mean=number(xp.mean(values)))
