"""Backward formulas derived and proved for symbolic sizes."""

from derivations import cross_entropy_loss, group_norm_swish, hardswish, rms_norm
from derivations.evaluation import evaluate
from derivations.proving import proves_equal

_CHAPTERS = (hardswish, rms_norm, cross_entropy_loss, group_norm_swish)


def theorems():
    """
    The theorems about all five operators, in the order of the lesson; each has `.name`, `.operator` and `.prove()`.

    >>> next(theorems()).operator
    'hardswish'
    """
    for chapter in _CHAPTERS:
        yield from chapter.book.theorems


__all__ = ["evaluate", "proves_equal", "theorems"]
