"""`report`: what a store says of a run in words, tables, JSON and a page of HTML, and what changed against another one."""

import json
from dataclasses import dataclass
from pathlib import Path

from aclnn_viz.errors import place_of
from aclnn_viz.storage.results import new_file
from aclnn_viz.sweeps.findings import (
    CANCELLING,
    CHANGED,
    CHANGES,
    HEADER,
    Findings,
    changed_rows,
    counted,
    findings,
    left_lines,
    merged_rows,
    outcome_lines,
    part,
    rows,
    ulps,
    worst,
)
from aclnn_viz.sweeps.place import Place, device_text
from aclnn_viz.sweeps.work import DIED, RIGHT, WRONG
from aclnn_viz.tables import as_text
from aclnn_viz.words.messages import english, message, tr

MADE_BY = "<!-- made by aclnn-viz report -->"


@dataclass(frozen=True, eq=False)
class Report:
    """The report of one run, and of what changed; prints as text, `html` is a page that stands alone."""

    findings: Findings

    @property
    def headline(self) -> str:
        """The one thing to know: the worst regression, else what is wrong, else that all is right."""
        return _regression(self.findings) if self.findings.against else _state(self.findings)

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong, and nothing right before became wrong or lost its answer."""
        total = self.findings.total
        lost = sum(
            count for (_, then, _), count in self.findings.outcome_changes.items() if then == RIGHT
        )
        return bool(total[RIGHT]) and not total[WRONG] and not total[DIED] and not lost

    def lines(self) -> list[str]:
        """What stands below the headline: which run this is, and of what kind its numbers are."""
        found = self.findings
        lines = [_about(found)] + (
            [message("against {run}", run=_about(found.against))] if found.against else []
        )
        lines += [
            message("computed with {software}", software=software) for software in found.software
        ] + [CANCELLING]
        return [tr(line) for line in lines]

    def __str__(self) -> str:
        found, lines = self.findings, [tr(self.headline), *self.lines()]
        if found.against:
            lines += [
                "",
                *as_text([*map(tr, CHANGED)], changed_rows(found, CHANGES)),
                *outcome_lines(found),
            ]
        lines += [
            "",
            *as_text([*map(tr, HEADER)], merged_rows(found)),
            "",
            *left_lines(found),
            tr("worst cases, and how to run each again:"),
        ]
        for title, command in worst(found):
            lines += [f"  {tr(title)}", f"    {command}"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from aclnn_viz.sweeps.page import body

        return body(self)

    @property
    def html(self) -> str:
        """A page that needs no other file and no network, light or dark as the browser asks."""
        from aclnn_viz.sweeps.page import page

        return f"{MADE_BY}\n{page(self)}"

    def write(self, path, force: bool = False) -> Path:
        """Write the page; FileExistsError where something is, unless it is such a page and `force`."""
        path = place_of(path)
        with new_file(
            path, force, lambda there: there.read_bytes()[:200].startswith(MADE_BY.encode())
        ) as file:
            file.write(self.html.encode("utf-8", "replace"))
        return path

    def to_json(self) -> dict:
        """The headline and both tables, as JSON has them: in English."""
        found = self.findings
        with english():
            return {
                "headline": self.headline,
                "passed": self.passed,
                "kit": found.run.kit,
                "device": json.loads(found.run.device),
                "outcomes": dict(found.total),
                "places": [dict(zip(HEADER, row)) for row in rows(found)],
                "changes": [dict(zip(CHANGED, row)) for row in changed_rows(found)],
                "worst": [{"case": title, "command": command} for title, command in worst(found)],
            }


def report(store, against=None, device=None) -> Report:
    """Report the last run of a store that `sweep` wrote, and what changed against that of another store.

    `against` may be the same store: then the run before is meant. A store names no code to run: `device` is the kernel
    (FILE.py:FUNCTION) for the lines that run a case again, where this process has not swept it. Raises FileNotFoundError
    where no store is, ValueError for what is none, or holds no run.
    """
    device is None or Place.of(device)
    return Report(findings(store, against))


def _about(found: Findings) -> str:
    return message(
        "{store}: {counts}; {device}; kit {kit}; {seconds:,.0f} s of work",
        store=found.store,
        counts=counted(found.total),
        device=device_text(found.run.device),
        kit=found.run.kit,
        seconds=found.seconds,
    )


def _state(found: Findings) -> str:
    wrong = [(found.places[where], where) for where in found.places if found.places[where].wrong]
    if not wrong:
        most = max(found.places.items(), key=lambda item: item[1].used, default=None)
        right = (
            message("all {n:,} judged cases are right", n=found.total[RIGHT])
            if found.total[RIGHT]
            else message("no case was judged")
        )
        return (
            message(
                "{text}; the worst uses {part} of what rounding may do, in {place}",
                text=right,
                part=part(most[1].used),
                place=most[0].text,
            )
            if most
            else right
        )
    place, where = max(wrong, key=lambda pair: (pair[0].wrong / pair[0].cases, pair[0].wrong))
    return _and_more(
        message(
            "WRONG: {place}: {wrong} of {n} cases",
            place=where.text,
            wrong=place.wrong,
            n=place.cases,
        ),
        len(wrong) - 1,
    )


def _regression(found: Findings) -> str:
    changes = found.changes
    if not changes:
        return message("nothing to compare: the two runs share no case that was judged")
    common = message(
        "{n:,} outputs of cases that both have", n=sum(change.cases for change in changes.values())
    )
    where, change = next(iter(changes.items()))
    broken = sum(one.newly_wrong > 0 for one in changes.values())
    if broken:
        return _and_more(
            message(
                "REGRESSION: {place}: {wrong} of {n} cases are wrong that were right",
                place=where.text,
                wrong=change.newly_wrong,
                n=change.cases,
            ),
            broken - 1,
        )
    lost = {key: count for key, count in found.outcome_changes.items() if key[1] == RIGHT}
    if lost:
        (name, _, now), count = max(lost.items(), key=lambda item: item[1])
        return message(
            "REGRESSION: {name}: {n} cases are {now} that were right",
            name=name,
            n=count,
            now=message(now),
        )
    grown = sum(one.worse > 0 and one.growth > 1 for one in changes.values())
    if grown:
        return _and_more(
            message(
                "no case became wrong; the error grew most in {place}: at most {before} ulp before, {after} now",
                place=where.text,
                before=ulps(change.before),
                after=ulps(change.after),
            ),
            grown - 1,
        )
    bits = sum(one.other_bits for one in changes.values())
    return (
        message(
            "no regression: {bits:,} of {outputs} have other bits, no error grew",
            bits=bits,
            outputs=common,
        )
        if bits
        else message("nothing changed: {outputs} have the same bits", outputs=common)
    )


def _and_more(text: str, count: int) -> str:
    if count < 1:
        return text
    return (
        message("{text}, and {n} more place", text=text, n=1)
        if count == 1
        else message("{text}, and {n} more places", text=text, n=count)
    )
