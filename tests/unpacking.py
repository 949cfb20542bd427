"""The arrays of a picture as the browser reads them."""

import numpy as np


def unpack(index: dict, buffer: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of `pack` as the browser sees them."""
    numbers = np.frombuffer(buffer, "<f4")
    return {
        name: numbers[at : at + int(np.prod(shape))].reshape(shape)
        for name, (at, shape) in index.items()
    }
