"""Backward formulas derived and proved for symbolic sizes."""

import pkgutil
from importlib import import_module
from inspect import ismodule

from derivations.evaluation import evaluate
from derivations.proving import proves_equal


def chapters(*outside):
    """
    The derivations of the operators, in the order of the lessons: the modules here that derive, then those given.

    A chapter has `derive`, `book`, its place `CHAPTER` (last when it has none), and `PARTS`, modules with books of
    their own that come before it.

    >>> chapters()[0].__name__
    'derivations.hardswish'
    """
    for found in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{found.name}")
    here = [module for module in globals().values() if ismodule(module) and hasattr(module, "derive")]
    return [*sorted(here, key=lambda module: (getattr(module, "CHAPTER", 1000), module.__name__)), *outside]


def theorems(*outside):
    """
    The theorems about all operators, in the order of the lessons; modules given are chapters from elsewhere.

    Each has `.name`, `.operator`, `.text`, `.statement` (LaTeX), `.prove()` and `.mutants`, which have `.prove()`, too.

    >>> next(theorems()).operator
    'hardswish'
    """
    for chapter in chapters(*outside):
        for part in (*getattr(chapter, "PARTS", ()), chapter):
            yield from part.book.theorems


chapters()  # so that each is an attribute of the package

__all__ = ["chapters", "evaluate", "proves_equal", "theorems"]
