"""What became of the mutants of pages: one row each, counted in tables by operator and by kind."""

import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass

from aclnn_viz.words.speech import meant, message, tr

WRONGLY = message("wrongly explained")
EXPLAINED = VERY, EQUAL = message("the very edit"), message("an equal one")
NUMBERS = (*EXPLAINED, WRONGLY, "unexplained")  # caught by the numbers that it gives
EQUIVALENT = SAME, UNCALLED, ROUNDED = message("same bits"), message("never called"), message("within rounding")
OUTCOMES = (*NUMBERS, "fails", *EQUIVALENT, "missed")
MISSED = message("{operator}, {computed}: {mutant} is right on the suite and wrong on other cases {told}")
MISTAKEN = message("{operator}, {computed}: {mutant} is told to be {told}")
SHARE, SECONDS = 0.9, 3.0  # that must be explained, and the median of the seconds on one core


@dataclass(frozen=True)
class MutantScore:
    """What became of one mutant: one of OUTCOMES, what it was told to be, and the seconds of one core for that.

    "fails": it raises an error, or is no Python, and gives no wrong number. "never called": no case calls the function.
    "within rounding": other bits, but right on every case, also in float64. "missed": right on the suite, wrong on others.
    """

    operator: str
    kind: str
    mutant: str
    computed: str
    outcome: str
    told: str
    seconds: float | None


@dataclass(frozen=True)
class MutantTable:
    """The rows of some mutants; `totals` says how many each operator has. Prints as tables."""

    rows: tuple[MutantScore, ...]
    totals: dict[str, int]

    @property
    def passed(self) -> bool:
        """None explained wrongly or missed, nine of ten explained (of a few all but one), in a median of under 3 s."""
        caught, explained = self.count(*NUMBERS), self.count(*EXPLAINED)
        return bool(self.rows) and not self.count(WRONGLY, "missed") and self.median < SECONDS \
            and caught - explained <= max(1, (1 - SHARE) * caught)

    @property
    def median(self) -> float:
        times = [one.seconds for one in self.rows if one.seconds is not None]
        return statistics.median(times) if times else 0.0

    def count(self, *outcomes: str) -> int:
        return sum(one.outcome in outcomes for one in self.rows)

    def where(self, test: Callable[[MutantScore], bool]) -> "MutantTable":
        """The table of the rows for which a test holds."""
        return MutantTable(tuple(filter(test, self.rows)), self.totals)

    def __str__(self) -> str:
        lines = self._table(tr("operator, computed in"), tr("of all"), [
            (f"{name}, {computed}", str(self.totals[name]), self.where(
                lambda one: (one.operator, one.computed) == (name, computed)))
            for name in self.totals for computed in dict.fromkeys(one.computed for one in self.rows)])
        lines += ["", *self._table(tr("kind of edit"), tr("operators"), [
            (kind, str(len({one.operator for one in some.rows})), some) for kind, some in (
                (kind, self.where(lambda one: one.kind == kind)) for kind in sorted({one.kind for one in self.rows}))])]
        told = {"missed": MISSED, WRONGLY: MISTAKEN}
        lines += [tr(told[one.outcome], operator=one.operator, computed=one.computed, mutant=one.mutant, told=one.told).rstrip()
                  for one in self.rows if one.outcome in told]
        return "\n".join(lines)

    def _table(self, first: str, second: str, parts: list[tuple[str, str, "MutantTable"]]) -> list[str]:
        header = (first, second, tr("tried"), tr("caught"), tr(meant("fail", "the mutant raises an error")), tr("by numbers"),
                  tr("explained"), tr("so"), tr("as equal"), tr("wrongly"), tr("median"), *map(tr, EQUIVALENT), tr("missed"))
        rows = [(name, of, *some._cells()) for name, of, some in parts if some.rows]
        rows.append((tr("all"), "", *self._cells()))
        return ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1),
                *("| " + " | ".join(row) + " |" for row in rows)]

    def _cells(self) -> tuple[str, ...]:
        numbers, explained = self.count(*NUMBERS), self.count(*EXPLAINED)
        share = f"{100 * explained / numbers:.1f} %" if numbers else ""
        return (str(len(self.rows)), str(numbers + self.count("fails")), str(self.count("fails")), str(numbers), share,
                *(str(self.count(outcome)) for outcome in (*EXPLAINED, WRONGLY)),
                f"{self.median:.2f} s" if numbers else "", *(str(self.count(one)) for one in (*EQUIVALENT, "missed")))

    def to_dict(self) -> dict:
        return {"passed": self.passed, "median": self.median, "totals": self.totals,
                "mutants": [asdict(one) for one in self.rows]}
