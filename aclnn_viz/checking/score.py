"""The score of the checker itself: every named fault through `check`, and through tests as they are usually written."""

import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from aclnn_viz.checking.diagnosis import diagnose
from aclnn_viz.checking.examining import examine
from aclnn_viz.checking.faulty import faulty_kernel
from aclnn_viz.checking.mutant_table import MutantTable
from aclnn_viz.checking.mutants import score_mutants
from aclnn_viz.checking.usual import USUAL, caught_by
from aclnn_viz.errors import function, listed, whole
from aclnn_viz.operators import Operator, operator, operators, registry
from aclnn_viz.operators.faults import Fault, faults
from aclnn_viz.words.speech import message, tr

NOT_CAUGHT = message("{operator}: {fault!r} is not caught")
MISNAMED = message("{operator}: {fault!r} is called {name!r}")


@dataclass(frozen=True)
class FaultScore:
    """What became of one named fault: whether `check` caught it, the name it gave, and which usual tests caught it."""

    operator: str
    fault: str
    caught: bool
    named: str | None
    first_failure: float | None
    usual: dict[str, bool]

    @property
    def right_name(self) -> bool:
        return self.named == self.fault

    @property
    def wrong_name(self) -> bool:
        return self.named not in (None, self.fault)


@dataclass(frozen=True)
class Score:
    """The scores of all faults, and those of mutants; prints as tables, of the faults with one row an operator.

    The median time is that to the first counterexample, with the preparation of the cases.
    """

    faults: tuple[FaultScore, ...]
    mutants: MutantTable | None = None

    @property
    def passed(self) -> bool:
        """Every fault caught, nine of ten named, none named wrongly, in a median of under two seconds; mutants passed."""
        return (not self.mutants or self.mutants.passed) and bool(self.faults) and all(one.caught and not one.wrong_name for one in self.faults) \
            and sum(one.right_name for one in self.faults) >= 0.9 * len(self.faults) and self.median < 2.0

    @property
    def median(self) -> float:
        times = [one.first_failure for one in self.faults if one.first_failure is not None]
        return statistics.median(times) if times else float("inf")

    def __str__(self) -> str:
        return "\n\n".join([self._faults(), *([str(self.mutants)] if self.mutants else [])])

    def _faults(self) -> str:
        header = (tr("operator"), tr("faults"), tr("caught"), tr("named"), tr("wrong name"), tr("median time"), *(
            tr("allclose, {inputs}", inputs=name) for name in USUAL))
        names = list(dict.fromkeys(one.operator for one in self.faults))
        rows = [self._row(name, [one for one in self.faults if one.operator == name]) for name in names]
        rows.append(self._row(tr("all"), self.faults))
        lines = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        missed = [tr(NOT_CAUGHT if not one.caught else MISNAMED, operator=one.operator, fault=one.fault, name=one.named)
                  for one in self.faults if not one.caught or not one.right_name]
        return "\n".join(lines + missed)

    def _row(self, name: str, some) -> tuple[str, ...]:
        count = len(some)
        return (name, str(count), str(sum(one.caught for one in some)), str(sum(one.right_name for one in some)),
                str(sum(one.wrong_name for one in some)), f"{Score(tuple(some)).median:.3f} s",
                *(str(sum(one.usual[usual] for one in some)) for usual in USUAL))

    def _repr_html_(self) -> str:
        rows = [line.strip("|").split("|") for line in self._faults().splitlines() if line.startswith("|")]
        cells = ["".join(f"<td>{cell.strip()}</td>" for cell in row) for row in rows if "---" not in row[0]]
        return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>"

    def to_json(self) -> str:
        return json.dumps({"passed": self.passed, "median": self.median, "faults": [
            asdict(one) | {"right_name": one.right_name} for one in self.faults],
            "mutants": self.mutants and self.mutants.to_dict()}, indent=1)


def score(names: Iterable | None = None, seed: int = 0, progress: Callable | None = None, mutants: int = 0) -> Score:
    """Run every fault of the operators (by default of those that have named ones) through `check` and the usual tests.

    `mutants` of each operator (by default of all) are drawn and tried, too; `progress(iterable, total)` may show a bar.
    """
    seed = whole("seed", seed)
    progress is None or function("progress", progress)
    table = score_mutants(names, seed, mutants, progress) if whole("mutants", mutants) else None
    chosen = named() if names is None else listed("names", names, (str, Operator))
    todo = [(operator(name), fault) for name in chosen for fault in faults(operator(name).name)]
    found = (_score(op, fault, seed) for op, fault in (progress(todo, len(todo)) if progress else todo))
    return Score(tuple(one for one in found if one), table)


def named() -> list[str]:
    """The operators that have faults with names and stories of their own."""
    return [op.name for op in operators() if registry.file("faults", op.name)]


def _score(op, fault: Fault, seed: int) -> FaultScore | None:
    """The score of a fault; None for a mechanical edit that computes the same as the page, bit by bit."""
    wrong = faulty_kernel(op, fault)
    evidence = examine(op, wrong, seed, time_limit=60.0)
    failing = [one for one in evidence.seen if one.misses]
    if fault.edit and not failing and all(_same(one.outputs, op.backward(**one.prepared.case.inputs))
                                          for one in evidence.seen):
        return None
    diagnosis = diagnose(op, evidence.seen, silent=evidence.silent) if failing else None
    name = diagnosis.name if diagnosis and diagnosis.confident else None
    return FaultScore(op.name, fault.name, bool(failing), name, evidence.first_failure, caught_by(wrong, op, seed))


def _same(some: dict, others: dict) -> bool:
    return some.keys() == others.keys() and all(some[name].tobytes() == others[name].tobytes() for name in some)
