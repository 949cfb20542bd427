"""Make memory for a kernel's outputs with one byte all over, so that a read of it, or an element never written, shows."""

from contextvars import ContextVar
from math import prod

import numpy as np

FILL = ContextVar("FILL", default=0xFF)  # a nan in every format


def fresh(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array that holds the byte of FILL.

    >>> fresh((2,), np.dtype("float32"))
    array([nan, nan], dtype=float32)
    """
    return np.full(prod(shape) * dtype.itemsize, FILL.get(), np.uint8).view(dtype).reshape(shape)
