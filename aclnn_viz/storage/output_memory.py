"""Allocate output memory filled with one byte, so that reads of it and unwritten elements show."""

from contextvars import ContextVar
from math import prod

import numpy as np

FILL = ContextVar("FILL", default=0xFF)  # fill byte that makes a nan in every format


def fresh(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array filled with the byte FILL.

    >>> fresh((2,), np.dtype("float32"))
    array([nan, nan], dtype=float32)
    """
    return np.full(prod(shape) * dtype.itemsize, FILL.get(), np.uint8).view(dtype).reshape(shape)
