"""Define a check of `verify`, by which this package tests itself, and the row of the report for its result."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

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

    def to_json(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Check:
    """A check to run; `run` yields (value, failure or None) for each case.

    The row shows the largest, that is the worst, of numeric values, or the first text.
    """

    operator: str
    name: str
    scope: str
    unit: str  # unit of the value, such as "times unit roundoff times scale"
    run: Callable

    def __call__(self) -> Row:
        start, cases, worst, failure = time.perf_counter(), 0, None, None
        for value, problem in self.run():
            cases += 1
            worst = (
                value if worst is None else worst if isinstance(worst, str) else max(worst, value)
            )
            failure = failure or problem
        if cases == 0:
            failure = message("no case was seen")
        shown = (
            worst or ""
            if isinstance(worst, str | None)
            else message("{n} {unit}", n=f"{worst:.3g}", unit=self.unit)
            if self.unit
            else f"{worst:.3g}"
        )
        seconds = time.perf_counter() - start
        return Row(
            self.operator, self.name, self.scope, failure is None, cases, shown, seconds, failure
        )
