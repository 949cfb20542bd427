"""`report`: show the results of a sweep (many test cases, judged and recorded), and the changes against another one."""

import json
import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from aclnn_viz.errors import invalid, place_of
from aclnn_viz.operators import operators, registry
from aclnn_viz.sweeps import queries
from aclnn_viz.sweeps.place import about, device_text
from aclnn_viz.sweeps.recipes import named
from aclnn_viz.sweeps.store import Run, Store
from aclnn_viz.sweeps.work import DIED, LEFT_OUT, OUTCOMES, RIGHT, UNSUPPORTED, WRONG
from aclnn_viz.tables import GREEN, RED, as_html, as_text, page
from aclnn_viz.words.messages import commas, english, language_here, message, ntr, tr

WORST = 3  # wrong cases shown of each operator
CHANGES = 12  # places named in a comparison
REASONS = 4  # reasons for unjudged cases, of each operator
KERNEL = "FILE.py:FUNCTION"
COUNTED = {
    RIGHT: message("{n:,} right"),
    WRONG: message("{n:,} wrong"),
    LEFT_OUT: message("{n:,} left out"),
    UNSUPPORTED: message("{n:,} unsupported"),
    DIED: message("{n:,} crashed"),
}
PLACE = [message("operator"), message("output"), message("format"), message("mode")]
HEADER = [
    *PLACE,
    message("cases"),
    message("wrong"),
    message("part used"),
    message("worst ulp"),
    message("worst MERE"),
]
CHANGED = [
    *PLACE,
    message("cases"),
    message("other bits"),
    message("newly wrong"),
    message("newly right"),
]
CANCELLING = message(
    "errors are judged by the rounding bound, and the worst uses the part given; where terms cancel, an error of many ulps can be right"
)


class Where(NamedTuple):
    """A place in a report: an output of an operator, in a format and a mode."""

    operator: str
    output: str
    dtype: str
    mode: str

    @property
    def text(self) -> str:
        mode = self.mode or message("the only mode")
        return commas((f"{self.operator} {self.output}", self.dtype, mode))


class Numbers(NamedTuple):
    """The numbers of a place: cases, wrong cases, and the largest errors: share of the rounding bound, ulps, MERE."""

    cases: int
    wrong: int
    used: float
    max_ulp: float
    mere: float


class Change(NamedTuple):
    """The differences at a place between cases that two runs share."""

    cases: int
    other_bits: int
    newly_wrong: int
    newly_right: int


@dataclass(eq=False)
class Report:
    """The report of one run, and its changes against another run; prints as text."""

    store: str
    run: Run
    seconds: float
    software: list[str]
    outcomes: Counter
    reasons: dict[str, Counter]  # number of unjudged cases by reason, for each operator
    places: dict[Where, Numbers]
    worst: list[tuple[str, str]]  # title and recipe of the worst cases
    against: "Report | None" = None
    changes: dict[Where, Change] = field(default_factory=dict)
    # changed cases: operator, outcome before, outcome now, number
    moved: list[tuple] = field(default_factory=list)
    ran: int = 0  # cases run by the call that returns this report
    known: int = 0  # cases already in the store

    @property
    def headline(self) -> str:
        """The main result: the worst regression, else what is wrong, else that all is right."""
        return _regression(self) if self.against else _state(self)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, and no case that was right before became wrong or unjudged."""
        bad = self.outcomes[WRONG] or self.outcomes[DIED]
        return bool(self.outcomes[RIGHT]) and not bad and not _lost(self)

    def lines(self) -> list[str]:
        """The lines below the headline: the run, and the origin of its numbers."""
        lines = [_about(self)]
        if self.against:
            lines.append(message("compared with {run}", run=_about(self.against)))
        lines += [message("computed with {software}", software=text) for text in self.software]
        if self.ran or self.known:
            lines.append(
                message("{ran:,} cases ran, {known:,} were known", ran=self.ran, known=self.known)
            )
        return [tr(line) for line in (*lines, CANCELLING)]

    def changed(self) -> list[list[str]]:
        """The rows of the table of changes, the worst first."""
        return [
            [*where, *map(_count, change)]
            for where, change in self.changes.items()
            if change.other_bits or change.newly_wrong
        ]

    def rows(self) -> list[list[str]]:
        """The rows of the run's table."""
        return [
            [
                *where,
                *map(_count, numbers[:2]),
                part(numbers.used),
                ulps(numbers.max_ulp),
                f"{numbers.mere:.1e}",
            ]
            for where, numbers in self.places.items()
        ]

    def notes(self) -> list[str]:
        """Notes on cases with another outcome than before, and on unjudged cases."""
        lines = [
            ntr(
                "{name}: {n} case {then} before, {now} now",
                "{name}: {n} cases {then} before, {now} now",
                count,
                name=name,
                then=tr(then),
                now=tr(now),
            )
            for name, then, now, count in self.moved
        ]
        return lines + [
            ntr(
                "{name}: {n} case not judged: {why}",
                "{name}: {n} cases not judged: {why}",
                count,
                name=name,
                why=why,
            )
            for name, whys in self.reasons.items()
            for why, count in whys.most_common(REASONS)
        ]

    def commands(self) -> list[tuple[str, str]]:
        """The worst cases, each with the shell command that runs it again."""
        return [(title, _command(self, recipe)) for title, recipe in self.worst]

    def __str__(self) -> str:
        lines = [tr(self.headline), *self.lines(), ""]
        if changed := self.changed()[:CHANGES]:
            lines += [*as_text([*map(tr, CHANGED)], changed), ""]
        lines += [*as_text([*map(tr, HEADER)], self.rows()), "", *self.notes()]
        lines.append(tr("worst cases, and how to run each again:"))
        return "\n".join(
            [*lines, *(f"  {tr(title)}\n    {command}" for title, command in self.commands())]
        )

    def _repr_html_(self) -> str:
        mark, opens = GREEN if self.passed else RED, tr("the full report")
        return as_html(tr(self.headline), (), [], self.lines(), str(self), mark, opens)

    def to_html(self) -> str:
        """Return one self-contained HTML page without scripts."""
        return page(
            tr(self.headline), self._repr_html_(), "margin:1.5em; overflow-x:auto", language_here()
        )

    def to_json(self) -> dict:
        """Return the headline and both tables as JSON data in English."""
        with english():
            return {
                "headline": self.headline,
                "passed": self.passed,
                "store": self.store,
                "ran": self.ran,
                "known": self.known,
                "kit": self.run.kit,
                "device": json.loads(self.run.device),
                "outcomes": dict(self.outcomes),
                "places": [dict(zip(HEADER, row)) for row in self.rows()],
                "changes": [dict(zip(CHANGED, row)) for row in self.changed()],
                "worst": [
                    {"case": title, "command": command} for title, command in self.commands()
                ],
            }


def report(store, against=None) -> Report:
    """Report the last run of a store that `sweep` wrote, and its changes against the last run of another store.

    If `against` is the same store, its previous run is meant. Commands that run a kernel's case again leave out the kernel's
    file, because a store must not name code to run. Raises FileNotFoundError without a store, ValueError for another file or a
    store without a run.
    """
    store = place_of(store)
    with Store(store, reading=True) as opened:
        result = _last(opened, 1)
        if against is None:
            return result
        other = place_of(against)
        with Store(other, reading=True) as earlier:
            result.against = _last(earlier, 2 if store.resolve() == other.resolve() else 1)
        opened.attach(other)
        with opened.unaltered():
            _compare(opened, result)
    return result


def _last(store: Store, back: int) -> Report:
    """Return the report of run number `back`, counted from the last."""
    is_begun = "SELECT 1 FROM cases WHERE run = ? LIMIT 1"
    runs = [run for run in store.runs() if any(store.rows(is_begun, [run.number]))]
    if len(runs) < back:
        raise invalid(
            "a report is made of a run, and compared with another one",
            f"{len(runs)} in {store.path}",
            "sweep first, with another device or kit to compare" if back > 1 else "sweep first",
        )
    return of_run(store, runs[-back])


def of_run(store: Store, run: Run) -> Report:
    """Return the report of a run of a store."""

    def rows(query):
        return store.rows(query, [run.number])

    with store.unaltered():
        about(run.device)
        outcomes, reasons = Counter(), defaultdict(Counter)
        for name, outcome, why, count in rows(queries.CASES):
            outcomes[outcome] += count
            if outcome in (LEFT_OUT, UNSUPPORTED):
                reasons[name][why] += count
        order = {op.name: number for number, op in enumerate(operators())}
        places = sorted(
            rows(queries.PLACES), key=lambda row: (order.get(row[0], len(order)), row[:4])
        )
        worst, shown = [], Counter()
        for *where, wrong, used, recipe, note in rows(queries.WORST_CASES):
            where = Where(*where)
            if shown[where.operator] < (WORST if wrong else 1):
                shown[where.operator] += 1
                right = message("right, {part} of what is allowed", part=part(used))
                worst.append(_titled(where, note if wrong else right, recipe))
        return Report(
            str(store.path),
            run,
            next(rows(queries.SECONDS))[0],
            [text for (text,) in rows(queries.SOFTWARE)],
            outcomes,
            reasons,
            {Where(*row[:4]): Numbers(*row[4:6], *map(float, row[6:])) for row in places},
            worst,
        )


def _titled(where: Where, what: str, recipe: str) -> tuple[str, str]:
    """Return a title of a case and its recipe; raise ValueError for a recipe of another operator."""
    if named(recipe) != where.operator:
        raise ValueError(f"a case of {where.operator} with the recipe {recipe:.80}")
    return message("{place}: {what}", place=where.text, what=what), recipe


def _compare(store: Store, result: Report) -> None:
    runs = result.run.number, result.against.run.number
    result.changes = {
        Where(*row[:4]): Change(*row[4:]) for row in store.rows(queries.CHANGES, runs)
    }
    result.moved = [*store.rows(queries.MOVED, runs)]
    lines = [
        _titled(where, message("newly wrong"), recipe)
        for where in [*result.changes][:WORST]
        for (recipe,) in store.rows(queries.NEWLY_WRONG, [*runs, *where])
    ]
    recipes = {recipe for _, recipe in lines}
    result.worst = lines + [line for line in result.worst if line[1] not in recipes]


def _count(number: int) -> str:
    return str(number) if number else ""


def ulps(value: float) -> str:
    """Return an error in ulps as short text.

    >>> ulps(3.0), ulps(123456.0), ulps(float("inf"))
    ('3', '1.2e+05', 'inf')
    """
    return f"{value:.0f}" if value < 1e4 else f"{value:.1e}"


def part(used: float) -> str:
    """Return an error's share of the rounding bound as short text: at most 1 where nothing is wrong.

    >>> part(0.0), part(0.2549), part(41.7), part(float("inf"))
    ('0', '0.25', '42', 'inf')
    """
    return f"{used:.2g}" if used < 10 else ulps(used)


def _command(result: Report, recipe: str) -> str:
    """Return the shell command that runs one case again; for a kernel, FILE.py:FUNCTION stands for its file."""
    said = about(result.run.device)
    is_kernel = ".py:" in said["open"]
    device = KERNEL if is_kernel else said["open"]
    words = ["aclnn-viz", "sweep", "--cases", f"[{recipe}]", "--device", device]
    if is_kernel or device == "host":
        for option in ("soc", "cann", "plan"):
            words += [f"--{option}", said[option]] if option in said else []
    if folder := registry.outside().get(named(recipe)):
        words += ["--operator", str(folder)]
    return shlex.join(words)


def _about(result: Report) -> str:
    return message(
        "{store}: {counts}; {device}; kit {kit}; {seconds:,.0f} s of work",
        store=result.store,
        counts=commas(
            [
                message(COUNTED[name], n=result.outcomes[name])
                for name in OUTCOMES
                if result.outcomes[name]
            ],
        ),
        device=device_text(result.run.device),
        kit=result.run.kit,
        seconds=result.seconds,
    )


def _state(result: Report) -> str:
    wrong = {where: numbers for where, numbers in result.places.items() if numbers.wrong}
    if wrong:
        where = max(
            wrong, key=lambda where: (wrong[where].wrong / wrong[where].cases, wrong[where])
        )
        text = message(
            "WRONG: {place}: {wrong} of {n} cases",
            place=where.text,
            wrong=wrong[where].wrong,
            n=wrong[where].cases,
        )
        return _and_more(text, len(wrong) - 1)
    if not result.places:
        return message("no case was judged")
    where = max(result.places, key=lambda where: result.places[where].used)
    return message(
        "{text}; the worst uses {part} of what rounding may do, in {place}",
        text=message("all {n:,} judged cases are right", n=result.outcomes[RIGHT]),
        part=part(result.places[where].used),
        place=where.text,
    )


def _regression(result: Report) -> str:
    if not result.changes:
        return message("nothing to compare: no case was judged in both runs")
    changes = result.changes.values()
    where, change = next(iter(result.changes.items()))
    if change.newly_wrong:
        text = message(
            "REGRESSION: {place}: {wrong} of {n} cases are wrong that were right",
            place=where.text,
            wrong=change.newly_wrong,
            n=change.cases,
        )
        return _and_more(text, sum(each.newly_wrong > 0 for each in changes) - 1)
    if lost := _lost(result):
        name, _, now, count = max(lost, key=lambda row: row[3])
        return message(
            "REGRESSION: {name}: {n} cases are {now} that were right",
            name=name,
            n=count,
            now=message(now),
        )
    return message(
        "no regression: {bits:,} of {n:,} shared outputs have other bits",
        bits=sum(each.other_bits for each in changes),
        n=sum(each.cases for each in changes),
    )


def _lost(result: Report) -> list[tuple]:
    """Return the cases that were right before and are not now."""
    return [row for row in result.moved if row[1] == RIGHT]


def _and_more(text: str, count: int) -> str:
    return message("{text}, and {n} more", text=text, n=count) if count > 0 else text
