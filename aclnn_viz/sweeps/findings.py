"""What a store holds of a run, put together by operator, output, format and mode, and compared with another run.

Beside the numbers: the words and tables of a report, and the line that runs a case again.
"""

import json
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from aclnn_viz.errors import place_of, problem
from aclnn_viz.operators import operators, registry
from aclnn_viz.sweeps.ledger import Ledger, Run
from aclnn_viz.sweeps.place import about, kernels
from aclnn_viz.sweeps.recipes import named
from aclnn_viz.sweeps.work import DIED, LEFT_OUT, OUTCOMES, RIGHT, UNSUPPORTED, WRONG
from aclnn_viz.words.messages import enumerated, linked, message, ntr, tr

WORST = 3  # cases that are shown of each operator


class Where(NamedTuple):
    """What has numbers of its own: an output of an operator, in a format and a mode."""

    operator: str
    output: str
    dtype: str
    mode: str

    def __str__(self) -> str:
        return tr(self.text)

    @property
    def text(self) -> str:
        """The same, kept."""
        mode = self.mode or message("its only mode")
        return linked(
            "{some}, {more}", filter(None, (f"{self.operator} {self.output}", self.dtype, mode))
        )


@dataclass(eq=False)
class Found:
    """What is known of one place: cases, how many are wrong, the largest measures, standards that fail, its worst case."""

    cases: int = 0
    wrong: int = 0
    undecided: int = 0
    elements: int = 0
    # the largest part of what the judge allows; infinite where an output did not fit
    used: float = 0.0
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
        return (
            (self.after + 0.5) / (self.before + 0.5)
            if self.after < inf
            else inf
            if self.before < inf
            else 1.0
        )

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
    """Everything of one run that a report shows, and of another one that it is compared with."""

    store: str
    run: Run
    outcomes: dict[str, Counter]  # by operator
    reasons: dict[str, Counter]  # why cases were not judged, by operator
    places: dict[Where, Found]
    seconds: float
    software: tuple[str, ...]
    against: "Findings | None" = None
    changes: dict[Where, Change] = field(default_factory=dict)
    # (operator, outcome before, outcome now)
    outcome_changes: Counter = field(default_factory=Counter)

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
        return Findings(
            **vars(found) | {"against": before, "changes": changes, "outcome_changes": moved}
        )


def _last(ledger: Ledger, store, back: int) -> Run:
    runs = [
        run
        for run in ledger.runs()
        if next(ledger.rows("SELECT 1 FROM cases WHERE run = ? LIMIT 1", [run.number]), 0)
    ]
    if len(runs) < back:
        raise ValueError(
            problem(
                "a report is made of a run, and compared with another one",
                f"{len(runs)} in {store}",
                "sweep first, with another device or kit to compare" if back > 1 else "sweep first",
            )
        )
    return runs[-back]


def _read(ledger: Ledger, run: Run) -> Findings:
    about(run.device)
    order = {op.name: number for number, op in enumerate(operators())}
    outcomes: dict[str, Counter] = {}
    reasons: dict[str, Counter] = {}
    for name, outcome, note, count in ledger.rows(
        "SELECT operator, outcome, CASE WHEN outcome IN ('left out', 'unsupported') THEN note ELSE '' END AS why, "
        "count(*) FROM cases WHERE run = ? GROUP BY operator, outcome, why",
        [run.number],
    ):
        outcomes.setdefault(name, Counter())[outcome] += count
        if note:
            reasons.setdefault(name, Counter())[ledger.note(note)] += count
    places: dict[Where, Found] = {}
    for where, row in _outputs(ledger, run):
        _add(places.setdefault(where, Found()), *row)
    for where, found in places.items():
        wrong, used, recipe, note = found.worst
        found.worst = wrong, used, _own(recipe, where.operator), ledger.note(note)
    (seconds,) = next(
        ledger.rows(
            "SELECT total(seconds) FROM provenance JOIN cases USING (key) WHERE run = ?",
            [run.number],
        )
    )
    software = tuple(
        one
        for (one,) in ledger.rows(
            "SELECT DISTINCT software FROM provenance JOIN cases USING (key) WHERE run = ? ORDER BY 1",
            [run.number],
        )
    )

    def place(where: Where):
        return order.get(where.operator, len(order)), where

    return Findings(
        str(ledger.path),
        run,
        dict(sorted(outcomes.items(), key=lambda item: order.get(item[0], 99))),
        reasons,
        {where: places[where] for where in sorted(places, key=place)},
        seconds,
        software,
    )


def _outputs(ledger: Ledger, run: Run) -> Iterator[tuple[Where, tuple]]:
    for (
        *where,
        verdict,
        elements,
        undecided,
        used,
        ulp,
        mere,
        standards,
        recipe,
        note,
    ) in ledger.rows(
        "SELECT operator, output, dtype, mode, verdict, elements, undecided, used, max_ulp, mere, standards, recipe, note "
        "FROM cases JOIN outputs USING (key) WHERE run = ? ORDER BY key",
        [run.number],
    ):
        yield (
            Where(*where),
            (verdict, elements, undecided, used, ulp, mere, standards, recipe, note),
        )


def _own(recipe: str, operator: str) -> str:
    """A recipe that is printed to be run again; ValueError for that of another operator."""
    if named(recipe) != operator:
        raise ValueError(f"a case of {operator} with the recipe {recipe:.80}")
    return recipe


def _add(
    found: Found, verdict, elements, undecided, used, ulp, mere, standards, recipe, note
) -> None:
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
    both = "cases AS c JOIN other.cases AS d ON d.run = ? AND d.same = c.same {} WHERE c.run = ? ORDER BY c.key"
    for *where, recipe, now, then, after, earlier, same in ledger.rows(
        "SELECT c.operator, o.output, c.dtype, c.mode, c.recipe, o.verdict, p.verdict, o.max_ulp, p.max_ulp, "
        "o.bits = p.bits FROM "
        + both.format(
            "JOIN outputs AS o ON o.key = c.key JOIN other.outputs AS p "
            "ON p.key = d.key AND p.output = o.output"
        ),
        [before.number, run.number],
    ):
        changes.setdefault(Where(*where), Change()).add(
            _own(recipe, where[0]), (now, then), (after, earlier), bool(same)
        )
    moved = Counter(
        (name, then, now)
        for name, then, now in ledger.rows(
            "SELECT c.operator, d.outcome, c.outcome FROM " + both.format(""),
            [before.number, run.number],
        )
        if then != now
    )
    return dict(sorted(changes.items(), key=lambda item: item[1].rank, reverse=True)), moved


COUNTED = {
    RIGHT: message("{n:,} right"),
    WRONG: message("{n:,} wrong"),
    LEFT_OUT: message("{n:,} left out"),
    UNSUPPORTED: message("{n:,} unsupported"),
    DIED: message("{n:,} died"),
}
KERNEL = "FILE.py:FUNCTION"
CHANGES = 12  # places that are named of a comparison
MODE, WORST_MODE = message("mode"), message("worst mode")
HEADER = [
    message("operator"),
    message("output"),
    message("format"),
    WORST_MODE,
    message("cases"),
    message("wrong"),
    message("part used"),
    message("worst ulp"),
    message("worst MERE"),
    message("standards that fail"),
]
CHANGED = [
    message("operator"),
    message("output"),
    message("format"),
    MODE,
    message("cases"),
    message("other bits"),
    message("newly wrong"),
    message("newly right"),
    message("ulp before"),
    message("ulp now"),
]
CANCELLING = message(
    "cases are judged by what rounding may do, of which the worst uses a part; where terms cancel, many ulps are "
    "right"
)


def ulps(value: float) -> str:
    """An error in ulps in few words.

    >>> ulps(3.0), ulps(123456.0), ulps(inf)
    ('3', '1.2e+05', 'inf')
    """
    return f"{value:.0f}" if value < 1e4 else "inf" if value == inf else f"{value:.1e}"


def part(used: float) -> str:
    """A part of what is allowed in few words: at most 1 where nothing is wrong.

    >>> part(0.0), part(0.2549), part(41.7), part(inf)
    ('0', '0.25', '42', 'inf')
    """
    return f"{used:.2g}" if used < 10 else ulps(used)


def counted(total) -> str:
    """How many cases ended how."""
    return linked(
        "{some}, {more}",
        [message(COUNTED[name], n=total[name]) for name in OUTCOMES if total[name]],
    )


def rows(found: Findings) -> list[list[str]]:
    """The table of a run, one row a place."""
    return [
        [
            *where,
            str(one.cases),
            str(one.wrong) if one.wrong else "",
            part(one.used),
            ulps(one.max_ulp),
            f"{one.mere:.1e}",
            _failed(one.failed),
        ]
        for where, one in found.places.items()
    ]


def merged_rows(found: Findings) -> list[list[str]]:
    """The table of a run, one row an output and format: all its modes together, and which mode is the worst."""
    together: dict[tuple, list[Where]] = {}
    for where in found.places:
        together.setdefault(where[:3], []).append(where)
    lines = []
    for key, own in together.items():
        all_ = [found.places[where] for where in own]
        most = max(own, key=lambda where: (found.places[where].wrong, found.places[where].used))
        failed = sum((one.failed for one in all_), Counter())
        wrong = sum(one.wrong for one in all_)
        lines.append(
            [
                *key,
                most.mode,
                str(sum(one.cases for one in all_)),
                str(wrong) if wrong else "",
                part(max(one.used for one in all_)),
                ulps(max(one.max_ulp for one in all_)),
                f"{max(one.mere for one in all_):.1e}",
                _failed(failed),
            ]
        )
    return lines


def _failed(failed: Counter) -> str:
    return enumerated([f"{tr(name)} {count}" for name, count in failed.most_common(2)])


def changed_rows(found: Findings, most: int | None = None) -> list[list[str]]:
    """The table of what changed, worst first."""

    def row(where: Where, one: Change) -> list[str]:
        counts = (one.other_bits, one.newly_wrong, one.newly_right)
        return [
            *where,
            str(one.cases),
            *(str(count) if count else "" for count in counts),
            ulps(one.before),
            ulps(one.after),
        ]

    return [
        row(*item) for item in found.changes.items() if item[1].other_bits or item[1].newly_wrong
    ][:most]


def outcome_lines(found: Findings) -> list[str]:
    return [
        ntr(
            "{name}: {n} case {then} before, {now} now",
            "{name}: {n} cases {then} before, {now} now",
            count,
            name=name,
            then=tr(then),
            now=tr(now),
        )
        for (name, then, now), count in sorted(found.outcome_changes.items())
    ]


def left_lines(found: Findings, operator: str = "") -> list[str]:
    """Why cases were not judged, of an operator or of all."""
    return [
        ntr(
            "{name}: {n} case not judged: {why}",
            "{name}: {n} cases not judged: {why}",
            count,
            name=name,
            why=tr(why),
        )
        for name, whys in found.reasons.items()
        if operator in ("", name)
        for why, count in whys.most_common(4)
    ]


def worst(found: Findings) -> list[tuple[str, str]]:
    """The worst cases of each operator, those that got worse first, each with the command that runs it again."""
    lines = [
        (
            message(
                "{place}: {what}",
                place=where.text,
                what=message("newly wrong") if change.newly_wrong else message("worse"),
            ),
            change.recipe,
        )
        for where, change in list(found.changes.items())[:WORST]
        if change.recipe and (change.newly_wrong or change.worse)
    ]
    ranked = [
        sorted(
            (
                (one.worst[:2], where, one.worst)
                for where, one in found.places.items()
                if where.operator == name
            ),
            key=lambda item: item[0],
            reverse=True,
        )
        for name in found.outcomes
    ]
    # operators with wrong cases first
    for own in sorted(filter(None, ranked), key=lambda own: not own[0][0][0]):
        lines += [
            (
                message("{place}: {what}", place=where.text, what=note)
                if wrong
                else message(
                    "{place}: right, {part} of what is allowed", place=where.text, part=part(used)
                ),
                recipe,
            )
            for number, (_, where, (wrong, used, recipe, note)) in enumerate(own[:WORST])
            if wrong or not number
        ]
    seen: dict[str, str] = {}
    for title, recipe in lines:
        seen.setdefault(recipe, title)
    return [(title, command(found, recipe)) for recipe, title in seen.items()]


def command(found: Findings, recipe: str) -> str:
    """The line for a shell that runs one case again; files of code are named in it only as a person named them here."""
    said = about(found.run.device)
    name, kernel = said["open"], ".py:" in said["open"]
    words = [
        "aclnn-viz",
        "sweep",
        "--cases",
        f"[{recipe}]",
        "--device",
        kernels.get(name, KERNEL) if kernel else name,
    ]
    if kernel or name == "host":
        words += [
            word
            for option in ("soc", "cann", "plan")
            if option in said
            for word in (f"--{option}", said[option])
        ]
    if (folder := registry.outside().get(named(recipe))) in registry.folders():
        words += ["--operator", str(folder)]
    return shlex.join(words)
