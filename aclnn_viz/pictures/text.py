"""Words for pictures: every number of a text twin is written by these."""

from aclnn_viz.words.speech import tr


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
