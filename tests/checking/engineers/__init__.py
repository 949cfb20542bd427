"""Kernels as engineers write them by hand, from the formulas: rows, tiles and cores, float32 inside, storage outside.

Each is right with the slip "" and wrong with any other: a mistake that people make, named by what they did. They share
no code with the pages, and no order of operations.
"""

from functools import partial
from importlib import import_module
from pathlib import Path

from machine import taught

OPERATORS = [op.name for op in taught() if (Path(__file__).parent / f"{op.name}.py").exists()]


def right(name):
    return partial(import_module(f"checking.engineers.{name}").kernel, "")


def wrong():
    """Yield (operator, slip, kernel, options of check)."""
    for name in OPERATORS:
        module = import_module(f"checking.engineers.{name}")
        for slip in module.SLIPS:
            beyond = slip in getattr(module, "BEYOND", ())
            yield (
                name,
                slip,
                partial(module.kernel, slip),
                {"beyond": True, "dtypes": ("float32", "float16", "bfloat16")} if beyond else {},
            )
