"""One test for many cases that cost less than a test each: pytest's work per test, over all processes, is six
milliseconds.
"""

from itertools import product

import pytest


def in_one(test):
    """Return a parametrised test as one that tries every case; it raises all cases' errors, each with its case."""

    def axis(names, cases):
        several = not isinstance(names, str) or "," in names
        names = [one.strip() for one in names.split(",")] if isinstance(names, str) else names
        values = (
            one.values if isinstance(one, type(pytest.param())) else one if several else (one,)
            for one in cases
        )
        return [dict(zip(names, each, strict=True)) for each in values]

    def every():
        failed = []
        for parts in product(*axes):
            case = {name: value for part in parts for name, value in part.items()}
            try:
                test(**case)
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(f"the case: {case}")
                failed.append(error)
        if failed:
            raise BaseExceptionGroup(f"{len(failed)} cases failed", failed)

    assert all(
        mark.name == "parametrize" and mark.kwargs.keys() <= {"ids"} for mark in test.pytestmark
    )
    axes = [axis(*mark.args) for mark in test.pytestmark]
    every.__name__, every.__module__, every.__doc__ = test.__name__, test.__module__, test.__doc__
    return every
