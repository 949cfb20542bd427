"""Define acceptance standards: rules that decide pass, fail or not applicable for an output, and name the deciding number.

A standard works in two steps, so that one pass over the data serves all of them: `tally` turns a stretch into a dict of
numbers (combined by addition, or by maximum where the name starts with "max_"), `decide` turns the combined dict into a
verdict.
"""

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aclnn_viz.accuracy.measures import Pairing, Stretch, pair
from aclnn_viz.dtypes import FloatFormat
from aclnn_viz.words.messages import message

PASS, FAIL, NOT_APPLICABLE = message("pass"), message("fail"), message("not applicable")


@dataclass(frozen=True, eq=False)
class Verdict:
    """A decision: `outcome` is pass, fail or not applicable; `number` was compared with `limit`; `reason` is a sentence.

    A verdict equals its outcome as a string, and is true only when it is a pass.
    """

    outcome: str
    number: float
    limit: float
    reason: str

    def __eq__(self, other) -> bool:
        if isinstance(other, Verdict):
            return (self.outcome, self.reason) == (other.outcome, other.reason)
        return self.outcome == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.outcome)

    def __bool__(self) -> bool:
        return self.outcome == PASS

    def __str__(self) -> str:
        return self.outcome


@dataclass(frozen=True)
class Criterion:
    """One comparison of a standard; `strain` is the used share of the allowance, above 1 when the comparison fails."""

    number: float
    limit: float
    holds: bool
    strain: float
    sentence: str


def none(what: str, count: int) -> Criterion:
    """Return the criterion `count` = 0; `what` names the counted elements in the plural."""
    return Criterion(
        count,
        0,
        count == 0,
        math.inf if count else 0.0,
        message("{what}: {n}, none is allowed", what=what, n=count)
        if count
        else message("{what}: {n}", what=what, n=count),
    )


def _comparison(
    holds: Callable[[float, float], bool], said: str, otherwise: str, of_shares: bool = False
):
    """Return a function that makes criteria of one comparison; for shares, strain is (1 - number) / (1 - limit)."""

    def criterion(what: str, number: float, limit: float) -> Criterion:
        used, allowed = (1 - number, 1 - limit) if of_shares else (number, limit)
        # enough digits to show that the number differs from its limit
        digits = next((d for d in (4, 7, 17) if f"{number:.{d}g}" != f"{limit:.{d}g}"), 4)
        sentence = message(
            said if holds(number, limit) else otherwise,
            what=what,
            number=f"{number:.{digits}g}",
            limit=f"{limit:.{digits}g}",
        )
        strain = used / allowed if allowed else math.inf if used else 1.0
        return Criterion(number, limit, holds(number, limit), strain, sentence)

    return criterion


below = _comparison(
    operator.lt,
    message("{what} {number} is below {limit}"),
    message("{what} {number} is not below {limit}"),
)
at_most = _comparison(
    operator.le,
    message("{what} {number} is at most {limit}"),
    message("{what} {number} is not at most {limit}"),
)
above = _comparison(
    operator.gt,
    message("{what} {number} is above {limit}"),
    message("{what} {number} is not above {limit}"),
    True,
)
at_least = _comparison(
    operator.ge,
    message("{what} {number} is at least {limit}"),
    message("{what} {number} is not at least {limit}"),
    True,
)


def ratio(number: float, baseline: float) -> float:
    """Return a metric divided by the baseline's: 1 when both are zero, inf when only the baseline's is."""
    if not baseline:
        return math.inf if number else 1.0
    return number / baseline


def all_of(*criteria: Criterion) -> Verdict:
    """Return pass if all criteria hold, with the numbers of the first that fails, else of the one nearest its limit."""
    decisive = next((c for c in criteria if not c.holds), None) or max(
        criteria, key=lambda c: c.strain
    )
    return by(PASS if decisive.holds else FAIL, decisive)


def by(outcome: str, criterion: Criterion, remark: str = "") -> Verdict:
    """Return the verdict of a criterion; a remark is a message with a placeholder {sentence}."""
    sentence = message(remark, sentence=criterion.sentence) if remark else criterion.sentence
    return Verdict(outcome, criterion.number, criterion.limit, sentence)


def not_applicable(reason: str) -> Verdict:
    return Verdict(NOT_APPLICABLE, math.nan, math.nan, reason)


@dataclass(frozen=True)
class Standard:
    """An acceptance standard: `rule` states it, `tally` turns data into numbers, `decide` numbers into a verdict.

    `formats` are the names of the output formats it gives limits for.
    """

    name: str
    source: str
    rule: str
    formats: tuple[str, ...]
    tally: Callable[[Stretch, Stretch | None], dict[str, float]]
    decide: Callable[[dict[str, float], FloatFormat], Verdict]
    needs_baseline: bool = False

    def verdict(self, sums: dict[str, float], pairing: Pairing) -> Verdict:
        """Judge the combined numbers of one pass."""
        refusal = self.refusal(pairing) or (
            "" if sums else message("the truth is not known well enough to judge any element")
        )
        return not_applicable(refusal) if refusal else self.decide(sums, pairing.fmt)

    def refusal(self, pairing: Pairing) -> str:
        """Return the reason why the standard cannot judge this data, or an empty string."""
        if pairing.size == 0:
            return message("there are no elements to judge")
        if pairing.fmt.name not in self.formats:
            return message("the standard gives no limits for {dtype}", dtype=pairing.fmt.name)
        if self.needs_baseline and pairing.baseline is None:
            return message("no baseline of the same precision was given")
        return ""

    def judge(self, actual, truth, *, baseline=None) -> Verdict:
        """Judge an output of any of the four formats against its float64 truth (same shape).

        Raises TypeError for a dtype that does not fit, ValueError for a shape that does not.
        """
        judging = Judging([self], pair(actual, truth, baseline))
        for sums in judging.pairing.each(lambda start, *pair: judging.tallied(*pair)):
            judging.add(sums)
        with np.errstate(all="ignore"):
            return judging.verdicts()[self.name]


class Judging:
    """Several standards judged in one pass; standards with the same `tally` compute it once."""

    def __init__(self, standards, pairing: Pairing):
        self.standards, self.pairing = tuple(standards), pairing
        self.tallies = tuple(dict.fromkeys(s.tally for s in standards if not s.refusal(pairing)))
        self.sums: dict[Callable, dict[str, float]] = {}

    def tallied(self, stretch: Stretch, base: Stretch | None) -> dict[Callable, dict[str, float]]:
        """Return the numbers that the standards need from one stretch."""
        return (
            {tally: tally(stretch, base) for tally in self.tallies}
            if stretch.raw_actual.size
            else {}
        )

    def add(self, tallied: dict[Callable, dict[str, float]]) -> None:
        for tally, numbers in tallied.items():
            sums = self.sums.setdefault(tally, {})
            for name, value in numbers.items():
                if name not in sums:
                    sums[name] = value
                else:
                    sums[name] = (
                        max(sums[name], value) if name.startswith("max_") else sums[name] + value
                    )

    def verdicts(self) -> dict[str, Verdict]:
        return {s.name: s.verdict(self.sums.get(s.tally, {}), self.pairing) for s in self.standards}


def largest(values: np.ndarray) -> float:
    """Return the maximum, or 0 without elements (errors are never negative)."""
    return float(values.max()) if values.size else 0.0
