"""Derivations of backward formulas, with proofs, for symbolic sizes."""

import pkgutil
from functools import reduce
from importlib import import_module
from inspect import ismodule

from derivations.prover.equality import proves_equal
from derivations.prover.evaluation import evaluate
from derivations.prover.sentences import SAID, said


def chapters(*outside):
    """Return the derivations of the operators in the order of the lessons: the modules here, then those given.

    A chapter has `book`, its place `CHAPTER` (without it the chapter comes last), mostly `derive`, and `PARTS`, modules with
    their own books, which come before it.

    >>> chapters()[0].__name__
    'derivations.hardswish'
    """
    for found in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{found.name}")
    here = [
        module for module in globals().values() if ismodule(module) and hasattr(module, "CHAPTER")
    ]
    return [
        *sorted(here, key=lambda module: (getattr(module, "CHAPTER", 1000), module.__name__)),
        *outside,
    ]


def theorems(*outside):
    """Yield the theorems about all operators, in the order of the lessons.

    Parameters
    ----------
    *outside : module
        Further chapters, whose theorems come last.

    Yields
    ------
    Theorem
        It has `.name`, `.operator`, `.text`, `.statement` (LaTeX), `.prove()` and `.mutants`, which
        also have `.prove()`.

    Examples
    --------
    >>> next(theorems()).operator
    'hardswish'
    """
    for chapter in chapters(*outside):
        for part in (*getattr(chapter, "PARTS", ()), chapter):
            yield from part.book.theorems


def evidence(operator, *names):
    """Return the proofs of an operator's theorems, all or those named, and the results for their mutants, as text.

    Raises KeyError for an operator without theorems and for an unknown name.

    >>> print(evidence("hardswish", "stationary_point"))
    proved: The only stationary point above -3 is x = -3/2, with value -3/8.
        rejected, as it must be: the point is at -1; the value is -1/2
    """
    text = list(theorems())
    known = {theorem.name: theorem for theorem in text if theorem.operator == operator}
    if not known:
        operators = dict.fromkeys(theorem.operator for theorem in text)
        raise KeyError(
            f"an operator with theorems: got {operator!r}; choose among {', '.join(operators)}"
        )
    for name in names:
        if name not in known:
            raise KeyError(
                f"a theorem about {operator}: got {name!r}; choose among {', '.join(known)}"
            )
    lines = []
    for theorem in (known[name] for name in names or known):
        through = [mutant.name for mutant in theorem.mutants if mutant.prove().holds]
        refused = [mutant.name for mutant in theorem.mutants if mutant.name not in through]
        lines += [
            said(
                SAID["proved" if theorem.prove().holds else "not proved"], claim=said(theorem.text)
            ),
            said(SAID["refused"], claims=_row(refused)),
        ]
        lines += [said(SAID["through"], claims=_row(through))] if through else []
    return "\n".join(lines)


def _row(names):
    """Join the names of mutants by semicolons."""
    first, *rest = [*map(said, names)] or [""]
    return reduce(lambda some, more: said("{some}; {more}", some=some, more=more), rest, first)


chapters()  # importing the chapters makes them attributes of the package

__all__ = ["chapters", "evaluate", "evidence", "proves_equal", "theorems"]
