"""Backward formulas derived and proved for symbolic sizes."""

from derivations import (
    coordinates,
    cross_entropy_loss,
    grid_sampler_2d,
    group_norm_swish,
    hardswish,
    interpolation,
    rms_norm,
)
from derivations.evaluation import evaluate
from derivations.proving import proves_equal

_CHAPTERS = (hardswish, rms_norm, coordinates, interpolation, grid_sampler_2d, cross_entropy_loss, group_norm_swish)


def theorems():
    """
    The theorems about all five operators, in the order of the lessons.

    Each has `.name`, `.operator`, `.text`, `.statement` (LaTeX), `.prove()` and `.mutants`, which have `.prove()`, too.

    >>> next(theorems()).operator
    'hardswish'
    """
    for chapter in _CHAPTERS:
        yield from chapter.book.theorems


__all__ = ["evaluate", "proves_equal", "theorems"]
