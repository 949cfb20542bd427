"""Random tensors of a format, and what the caller gives in their place."""

from collections.abc import Callable, Iterator
from math import prod
from numbers import Real

import numpy as np

from aclnn_viz.dtypes import FLOAT32, FLOAT64, STRETCH, FloatFormat, round_to
from aclnn_viz.errors import problem, shown


class Draw:
    """A seeded source of tensors: each is drawn unless the caller gave it, as an array or as one value for all."""

    def __init__(self, fmt: FloatFormat, seed: int, given: dict):
        self.format = fmt
        self.wide = FLOAT64 if fmt is FLOAT64 else FLOAT32  # of the tensors that stay wide for 16-bit operators
        self.rng = np.random.default_rng(seed)
        self.given = given

    def tensor(self, name: str, shape, values, fmt: FloatFormat | None = None) -> np.ndarray:
        """Return the tensor `name`: what was given, else `values(rng)` rounded once.

        `values` makes a float64 array of `shape`, or yields its elements in order in arrays that the cache holds.
        """
        drawn = values(self.rng)  # drawn even when given, so that the other tensors do not change
        into = None if name in self.given else np.empty(shape, (fmt or self.format).numpy)
        flat, at = None if into is None else into.reshape(-1), 0
        for part in drawn if isinstance(drawn, Iterator) else [np.asarray(drawn, np.float64)]:
            if flat is not None:
                flat[at:at + part.size] = round_to(part, into.dtype).reshape(-1)
            at += part.size
        if into is not None:
            return into
        value = self.given[name]
        if value is None or isinstance(value, np.ndarray) and value.shape == tuple(shape):
            return value
        if isinstance(value, Real | np.generic) and not isinstance(value, np.complexfloating | np.flexible):
            return np.full(shape, round_to(np.float64(value), fmt or self.format))
        got = f"shape {value.shape}" if isinstance(value, np.ndarray) else shown(value)
        raise ValueError(problem(f"{name} must have shape {tuple(shape)}", got,
                                 "give an array of that shape, or one value for all elements"))

    def saved(self, name: str, tensor):
        """Return a tensor that the forward pass saved, or what was given in its place: an array, or one value."""
        value = self.given.get(name, tensor)
        if value is None or isinstance(value, np.ndarray):
            return value
        if not isinstance(value, Real | np.generic) or isinstance(value, np.complexfloating | np.flexible):
            raise ValueError(problem(f"{name} must be an array, or one value", shown(value), "pass a NumPy array"))
        return np.full_like(tensor, round_to(np.float64(value), tensor.dtype))

    def normal(self, name, shape, scale=1.0, fmt=None) -> np.ndarray:
        return self.tensor(name, shape, lambda rng: (scale * part for part in stretches(rng.standard_normal, shape)), fmt)

    def attribute(self, name: str, default):
        return self.given.get(name, default)


def stretches(draw: Callable, shape) -> Iterator[np.ndarray]:
    """Yield draw(count) until the shape is full: the same numbers as of one call, for a generator keeps its place."""
    size = prod(shape)
    for start in range(0, size, STRETCH):
        yield draw(min(STRETCH, size - start))


def sprinkle(rng, values: np.ndarray, special) -> np.ndarray:
    """Return `values` with about an eighth of them replaced by members of `special`."""
    special, sprinkled = np.asarray(special, np.float64), values.flatten()
    chosen = [part < 0.125 for part in stretches(rng.random, values.shape)]
    for number, part in enumerate(stretches(lambda count: rng.choice(special, size=count), values.shape)):
        np.copyto(sprinkled[number * STRETCH:][:part.size], part, where=chosen[number])
    return sprinkled.reshape(values.shape)
