"""What a ledger says, put together: by operator, output, format and mode, and what changed against another run."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from aclnn_viz.errors import place_of, problem
from aclnn_viz.operators import operators
from aclnn_viz.sweeps.ledger import Ledger, Run
from aclnn_viz.sweeps.place import about
from aclnn_viz.sweeps.recipes import named
from aclnn_viz.sweeps.work import WRONG
from aclnn_viz.words.speech import linked, message, tr

WORST = 3  # cases that are told of each operator


class Where(NamedTuple):
    """What has numbers of its own: an output of an operator, in a format and a mode."""

    operator: str
    output: str
    dtype: str
    mode: str

    def __str__(self) -> str:
        return tr(self.told)

    @property
    def told(self) -> str:
        """The same, kept."""
        mode = self.mode or message("its only mode")
        return linked("{some}, {more}", filter(None, (f"{self.operator} {self.output}", self.dtype, mode)))


@dataclass(eq=False)
class Found:
    """What is known of one place: cases, how many are wrong, the largest measures, standards that fail, its worst case."""

    cases: int = 0
    wrong: int = 0
    undecided: int = 0
    elements: int = 0
    used: float = 0.0  # the largest part of what the judge allows; infinite where an output did not fit
    max_ulp: float = 0.0
    mere: float = 0.0
    failed: Counter = field(default_factory=Counter)
    ulps: list[float] = field(default_factory=list)
    worst: tuple = ()  # (wrong, part used, recipe, note)


@dataclass(eq=False)
class Change:
    """How cases that two runs share differ at one place: `before` and `after` are the largest errors in ulps."""

    cases: int = 0
    other_bits: int = 0
    newly_wrong: int = 0
    newly_right: int = 0
    worse: int = 0
    before: float = 0.0
    after: float = 0.0
    recipe: str = ""
    _most: tuple = (False, 0.0)

    @property
    def rank(self) -> tuple:
        """By what changes are sorted, the worst first: the share of cases that became wrong, then how much the largest error grew."""
        return self.newly_wrong / self.cases, self.growth if self.worse else 0.0, self.newly_wrong

    @property
    def growth(self) -> float:
        return (self.after + 0.5) / (self.before + 0.5) if self.after < inf else inf if self.before < inf else 1.0

    def add(self, recipe: str, verdicts: tuple[str, str], ulps: tuple, same_bits: bool) -> None:
        after, before = ((inf if value is None else value) for value in ulps)
        broken = verdicts[0] == WRONG != verdicts[1]
        self.cases += 1
        self.other_bits += not same_bits
        self.newly_wrong += broken
        self.newly_right += verdicts[1] == WRONG != verdicts[0]
        self.worse += after > before
        self.before, self.after = max(self.before, before), max(self.after, after)
        if (most := (broken, after - before if after > before else 0.0)) > self._most:
            self._most, self.recipe = most, recipe


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything of one run that a report tells, and of another one that it is compared with."""

    store: str
    run: Run
    outcomes: dict[str, Counter]  # by operator
    reasons: dict[str, Counter]  # why cases were not judged, by operator
    places: dict[Where, Found]
    seconds: float
    software: tuple[str, ...]
    against: "Findings | None" = None
    changes: dict[Where, Change] = field(default_factory=dict)
    outcome_changes: Counter = field(default_factory=Counter)  # (operator, outcome before, outcome now)

    @property
    def total(self) -> Counter:
        return sum(self.outcomes.values(), Counter())


def findings(store, against=None) -> Findings:
    """Read the last run of a store, and of another store that it is compared with; of the same one the run before.

    Raises FileNotFoundError, ForeignError and AlteredError for what is no store, ValueError for one without the run.
    """
    store, against = place_of(store), None if against is None else place_of(against)
    with Ledger(store, reading=True) as ledger:
        run = _last(ledger, store, 1)
        with ledger.unaltered():
            found = _read(ledger, run)
        if against is None:
            return found
        same = store.resolve() == against.resolve()
        with Ledger(against, reading=True) as other:
            run = _last(other, against, 2 if same else 1)
            with other.unaltered():
                before = _read(other, run)
        ledger.attach(against)
        with ledger.unaltered():
            changes, moved = _changes(ledger, found.run, before.run)
        return Findings(**vars(found) | {"against": before, "changes": changes, "outcome_changes": moved})


def _last(ledger: Ledger, store, back: int) -> Run:
    runs = [run for run in ledger.runs() if next(ledger.rows("SELECT 1 FROM cases WHERE run = ? LIMIT 1", [run.number]), 0)]
    if len(runs) < back:
        raise ValueError(problem("a report is made of a run, and compared with another one", f"{len(runs)} in {store}",
                                 "sweep first, with another device or kit to compare" if back > 1 else "sweep first"))
    return runs[-back]


def _read(ledger: Ledger, run: Run) -> Findings:
    about(run.device)
    order = {op.name: number for number, op in enumerate(operators())}
    outcomes: dict[str, Counter] = {}
    reasons: dict[str, Counter] = {}
    for name, outcome, note, count in ledger.rows(
            "SELECT operator, outcome, CASE WHEN outcome IN ('left out', 'unsupported') THEN note ELSE '' END AS why, "
            "count(*) FROM cases WHERE run = ? GROUP BY operator, outcome, why", [run.number]):
        outcomes.setdefault(name, Counter())[outcome] += count
        if note:
            reasons.setdefault(name, Counter())[ledger.note(note)] += count
    places: dict[Where, Found] = {}
    for where, row in _outputs(ledger, run):
        _add(places.setdefault(where, Found()), *row)
    for where, found in places.items():
        wrong, used, recipe, note = found.worst
        found.worst = wrong, used, _own(recipe, where.operator), ledger.note(note)
    seconds, = next(ledger.rows("SELECT total(seconds) FROM provenance JOIN cases USING (key) WHERE run = ?", [run.number]))
    software = tuple(one for one, in ledger.rows(
        "SELECT DISTINCT software FROM provenance JOIN cases USING (key) WHERE run = ? ORDER BY 1", [run.number]))
    def place(where: Where):
        return order.get(where.operator, len(order)), where
    return Findings(str(ledger.path), run, dict(sorted(outcomes.items(), key=lambda item: order.get(item[0], 99))), reasons,
                    {where: places[where] for where in sorted(places, key=place)}, seconds, software)


def _outputs(ledger: Ledger, run: Run) -> Iterator[tuple[Where, tuple]]:
    for *where, verdict, elements, undecided, used, ulp, mere, standards, recipe, note in ledger.rows(
            "SELECT operator, output, dtype, mode, verdict, elements, undecided, used, max_ulp, mere, standards, recipe, note "
            "FROM cases JOIN outputs USING (key) WHERE run = ? ORDER BY key", [run.number]):
        yield Where(*where), (verdict, elements, undecided, used, ulp, mere, standards, recipe, note)


def _own(recipe: str, operator: str) -> str:
    """A recipe that is printed to be run again; ValueError for that of another operator."""
    if named(recipe) != operator:
        raise ValueError(f"a case of {operator} with the recipe {recipe:.80}")
    return recipe


def _add(found: Found, verdict, elements, undecided, used, ulp, mere, standards, recipe, note) -> None:
    wrong = verdict == WRONG
    used, ulp = (inf if value is None and elements else value or 0.0 for value in (used, ulp))
    found.cases += 1
    found.wrong += wrong
    found.elements += elements
    found.undecided += undecided
    found.mere = max(found.mere, mere or 0.0)
    found.ulps.append(ulp)
    if not wrong or ulp < inf:
        found.max_ulp = max(found.max_ulp, ulp)
    found.failed.update(name for name, said in json.loads(standards).items() if said == "fail")
    found.used = max(found.used, used)
    if not found.worst or (wrong, used) > found.worst[:2]:
        found.worst = wrong, used, recipe, note


def _changes(ledger: Ledger, run: Run, before: Run) -> tuple[dict[Where, Change], Counter]:
    changes: dict[Where, Change] = {}
    both = ("cases AS c JOIN other.cases AS d ON d.run = ? AND d.same = c.same {} WHERE c.run = ? ORDER BY c.key")
    for *where, recipe, now, then, after, earlier, same in ledger.rows(
            "SELECT c.operator, o.output, c.dtype, c.mode, c.recipe, o.verdict, p.verdict, o.max_ulp, p.max_ulp, "
            "o.bits = p.bits FROM " + both.format("JOIN outputs AS o ON o.key = c.key JOIN other.outputs AS p "
                                                  "ON p.key = d.key AND p.output = o.output"),
            [before.number, run.number]):
        changes.setdefault(Where(*where), Change()).add(_own(recipe, where[0]), (now, then), (after, earlier), bool(same))
    moved = Counter((name, then, now) for name, then, now in ledger.rows(
        "SELECT c.operator, d.outcome, c.outcome FROM " + both.format(""), [before.number, run.number]) if then != now)
    return dict(sorted(changes.items(), key=lambda item: item[1].rank, reverse=True)), moved
