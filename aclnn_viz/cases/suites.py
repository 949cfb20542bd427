"""The cases that a kernel is checked with, in an order that finds faults early: modes first, then shapes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from aclnn_viz.cases import default
from aclnn_viz.cases.case import Case, case
from aclnn_viz.operators import operator, registry
from aclnn_viz.words.speech import linked, message


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a case is made: the keywords of `av.case`, and whether its tensors lie transposed in memory."""

    operator: str
    options: dict = field(default_factory=dict)
    strided: bool = False

    def case(self, seed: int) -> Case:
        made = case(self.operator, seed=seed, **self.options)
        return transposed(made) if self.strided else made

    def __str__(self) -> str:
        """A message that is kept, so English."""
        told = [f"{name}={_short(value)}" for name, value in self.options.items()] + [message("strided tensors")] * self.strided
        return linked("{some}, {more}", told) if told else message("the default case")


def _short(value) -> str:
    return f"array{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)


def transposed(made: Case) -> Case:
    """The same case, its tensors in another order in memory: no axis but one is contiguous."""
    inputs = {name: _scattered(value) if isinstance(value, np.ndarray) else value
              for name, value in made.inputs.items()}
    return Case(made.operator, inputs, made.dtype, made.seed)


def _scattered(array: np.ndarray) -> np.ndarray:
    if array.ndim == 1:
        return np.repeat(array, 2)[::2]
    return np.asfortranarray(array) if array.ndim else array


def recipes(op) -> Iterator[Recipe]:
    """Yield the recipes of an operator's suite.

    >>> str(next(recipes("rms_norm")))
    'shape=(4, 6)'
    """
    op = operator(op)
    own = registry.own("cases", op.name, "suite")
    for options in own() if own else filter(partial(_taken, op), default.suite(op)):
        yield Recipe(op.name, {name: value for name, value in options.items() if name != "strided"},
                     options.get("strided", False))


def _taken(op, options: dict) -> bool:
    try:
        case(op, **{name: value for name, value in options.items() if name != "strided"})
    except (TypeError, ValueError):
        return False
    return True


def suite(op, seed: int = 0) -> Iterator[tuple[Recipe, Case]]:
    """Yield every recipe with its case; each case has a seed of its own, so that no two repeat the same numbers."""
    for number, recipe in enumerate(recipes(op)):
        yield recipe, recipe.case(1000 * seed + number)
