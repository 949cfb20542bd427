"""Define a check of `verify`, by which this package tests itself, and the row of the report for its result."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from aclnn_viz.words.messages import message


@dataclass(frozen=True)
class Row:
    """The result of one check: its number of cases, the worst `value` against its `limit`, and the first failure."""

    operator: str
    check: str
    scope: str
    passed: bool
    cases: int
    value: str
    seconds: float = 0.0
    failure: str | None = None


@dataclass(frozen=True)
class Check:
    """A check to run; `run` yields (value, failure or None) for each case.

    The row shows the largest, that is the worst, of numeric values, or the first text.
    """

    operator: str
    name: str
    scope: str
    run: Callable
    unit: str = ""  # unit of the value, such as "times unit roundoff times scale"

    def __call__(self) -> Row:
        start, found = time.perf_counter(), [*self.run()]
        values, problems = zip(*found or [("", message("no case was seen"))])
        shown, failure = values[0], next(filter(None, problems), None)
        if not isinstance(shown, str):
            shown = f"{max(values):.3g}"
            if self.unit:
                shown = message("{n} {unit}", n=shown, unit=self.unit)
        seconds, passed = time.perf_counter() - start, failure is None
        return Row(
            self.operator, self.name, self.scope, passed, len(found), shown, seconds, failure
        )
