"""The report of a sweep as one HTML file with its pictures; it needs no other file, no network and no script.

The pictures show each error as a share of the error that is allowed, by output, format and mode, and how many elements
are off by how many ulps.
"""

import base64
import html
from math import isfinite

import numpy as np

from aclnn_viz.pictures import Picture
from aclnn_viz.pictures.marks import Heat, Line
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.style import THEMES
from aclnn_viz.sweeps.findings import (
    CHANGED,
    CHANGES,
    HEADER,
    MODE,
    WORST_MODE,
    Findings,
    Where,
    changed_rows,
    left_lines,
    outcome_lines,
    part,
    rows,
    ulps,
    worst,
)
from aclnn_viz.words.messages import language, tr

ROW, MARGIN = 22, 96  # pixels of a row of cells, and above and below them
# where "exact" stands on a logarithmic axis of ulps, and all that is larger
LEAST, MOST = 0.25, 1e6
FORMATS = ("float32", "float16", "bfloat16", "float64")  # in the order of the kinds of lines


def modes_of(found: Findings, operator: str) -> list[str]:
    """The modes of an operator in the order of their numbers in pictures."""
    return sorted({where.mode for where in found.places if where.operator == operator})


def picture(found: Findings, operator: str) -> Picture:
    """The picture of an operator: the part used at each place, its change where runs are compared, and all cases."""
    places = {where: one for where, one in found.places.items() if where.operator == operator}
    modes = modes_of(found, operator)
    sides = list(dict.fromkeys((where.output, where.dtype) for where in places))
    errors, words = (
        np.full((len(sides), len(modes)), np.nan),
        np.full((len(sides), len(modes)), "", object),
    )
    for where, one in places.items():
        at = _at(where, sides, modes)
        errors[at] = min(one.used, 1.0)
        words[at] = (
            tr("{part}, {n} wrong", part=part(one.used), n=one.wrong)
            if one.wrong
            else part(one.used)
        )
    wrong = sum(one.wrong for one in places.values())
    count = sum(found.outcomes[operator].values())
    whole = (
        tr(
            "{operator}: {n:,} cases, {wrong} outputs wrong",
            operator=operator,
            n=count,
            wrong=wrong,
        )
        if wrong
        else tr("{operator}: {n:,} cases, none wrong", operator=operator, n=count)
    )
    panels = [
        _cells(
            "errors",
            tr("part used of what rounding may do; more than 1 is wrong"),
            errors,
            words,
            "sequential",
            0.0,
            1.0,
            sides,
            modes,
        )
    ]
    if found.changes:
        panels.append(_changed(found, operator, sides, modes))
    panels.append(_spread(places))
    return Picture(
        (whole,),
        tuple(panels),
        "\n".join(
            [
                whole,
                *(
                    tr(
                        "{place}: {part} used, {ulps} ulp",
                        place=where.text,
                        part=part(one.used),
                        ulps=ulps(one.max_ulp),
                    )
                    for where, one in places.items()
                ),
            ]
        ),
        width=940,
    )


def _at(where: Where, sides: list, modes: list) -> tuple[int, int]:
    return sides.index((where.output, where.dtype)), modes.index(where.mode)


def _cells(name, title, values, words, map_, low, high, sides, modes) -> Panel:
    ticks = tuple((number, f"{output} {dtype}") for number, (output, dtype) in enumerate(sides))
    return Panel(
        name,
        title,
        (Heat(values, map_, low, high, words=tuple(words.ravel())),),
        Axis(
            tr("mode, by its number in the table") if len(modes) > 1 else "",
            ticks=tuple((number, str(number + 1)) for number in range(len(modes)))
            if len(modes) > 1
            else (),
        ),
        Axis(ticks=ticks),
        span=20 if len(modes) > 4 else 10,
        height=MARGIN + ROW * len(sides),
    )


def _changed(found: Findings, operator: str, sides, modes) -> Panel:
    grown, words = (
        np.full((len(sides), len(modes)), np.nan),
        np.full((len(sides), len(modes)), "", object),
    )
    for where, one in found.changes.items():
        if where.operator == operator and (where.output, where.dtype) in sides:
            at = _at(where, sides, modes)
            grown[at] = float(np.clip(np.log2(one.growth), -8, 8)) if isfinite(one.growth) else 8.0
            words[at] = (
                tr("{n} newly wrong", n=one.newly_wrong)
                if one.newly_wrong
                else "="
                if not one.other_bits
                else tr("{first} to {last}", first=ulps(one.before), last=ulps(one.after))
            )
    return _cells(
        "changes",
        tr("ulps before and now, = for the same bits (colour: logarithm of the ratio)"),
        grown,
        words,
        "diverging",
        -8.0,
        8.0,
        sides,
        modes,
    )


def _spread(places: dict) -> Panel:
    lines = []
    for kind, dtype in enumerate(FORMATS):
        found = sorted(
            ulp for where, one in places.items() if where.dtype == dtype for ulp in one.ulps
        )
        if found:
            shown = np.array([LEAST, *(min(max(ulp, LEAST), MOST) for ulp in found), MOST])
            share = np.array([0.0, *(100 * np.arange(1, len(found) + 1) / len(found)), 100.0])
            lines.append(
                Line(
                    np.repeat(shown, 2)[1:],
                    np.repeat(share, 2)[:-1],
                    kind,
                    tr("{dtype}, {n:,} outputs", dtype=dtype, n=len(found)),
                )
            )
    ticks = (
        (LEAST, tr("exact")),
        *((10.0**power, f"{10**power:,}") for power in range(6)),
        (MOST, "1,000,000+"),
    )
    return Panel(
        "spread",
        tr("share of outputs whose largest error is at most so many ulps"),
        tuple(lines),
        Axis(tr("ulps, on a logarithmic scale"), LEAST, 2.5 * MOST, "log", ticks),
        Axis(
            tr("% of outputs"),
            0.0,
            104.0,
            ticks=tuple((share, str(share)) for share in range(0, 101, 25)),
        ),
        span=20,
        height=210,
    )


_STYLE = """
:root { color-scheme: light dark; %s }
@media (prefers-color-scheme: dark) { :root { %s } }
body { margin: 0 auto; max-width: 62rem; padding: 1rem 1.5rem 4rem; color: var(--ink); background: var(--background);
  font: 0.95rem/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.35rem; line-height: 1.35; border-left: 5px solid var(--mark); padding-left: 0.8rem; }
h1.wrong { border-left: 5px dashed var(--alarm); }
h2 { font-size: 1.15rem; margin-top: 2.2rem; border-top: 1px solid var(--grid); padding-top: 1rem; }
p { margin: 0.3rem 0; }
.quiet { color: var(--quiet); font-size: 0.86rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: 0.84rem; display: block; overflow-x: auto; margin: 0.8rem 0; }
th, td { border: 1px solid var(--grid); padding: 0.2rem 0.55rem; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.wrong td { background: var(--inner); font-weight: bold; }
code { display: block; background: var(--band); padding: 0.35rem 0.6rem; margin: 0.15rem 0 0.7rem; border-radius: 3px;
  font: 0.8rem/1.45 "JetBrains Mono", Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
img { max-width: 100%%; height: auto; display: block; }
a { color: var(--mark); }
nav a { margin-right: 1rem; white-space: nowrap; }
a:focus-visible, summary:focus-visible { outline: 3px solid var(--alarm); outline-offset: 2px; }
"""
_LINK = {"light": "#0a5c9e", "dark": "#79bdf2"}


def page(report) -> str:
    """The whole page."""
    colours = [
        " ".join(
            f"--{name}: {getattr(look, name)};"
            for name in ("ink", "background", "quiet", "grid", "band", "inner", "alarm")
        )
        + f" --mark: {_LINK[name]};"
        for name, look in THEMES.items()
    ]
    return (
        f'<!doctype html>\n<html lang="{language()}"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{html.escape(tr(report.headline))}</title>'
        f"<style>{_STYLE % tuple(colours)}</style></head><body>{body(report)}</body></html>\n"
    )


def body(report) -> str:
    """What stands on the page, without its colours."""
    found = report.findings
    state = "" if report.passed else ' class="wrong"'
    parts = [
        f"<h1{state}>{html.escape(tr(report.headline))}</h1>",
        *(f'<p class="quiet">{html.escape(line)}</p>' for line in report.lines()),
        "<nav>"
        + "".join(f'<a href="#{name}">{name}</a>' for name in map(html.escape, found.outcomes))
        + "</nav>",
    ]
    if found.against:
        parts.append(_tag("h2", tr("What changed")))
        changed = changed_rows(found, CHANGES)
        parts += (
            [_table(CHANGED, changed, 6)]
            if changed
            else [_tag("p", tr("No output has other bits."))]
        )
        parts += [f"<p>{html.escape(line)}</p>" for line in outcome_lines(found)]
    parts += [
        _tag("h2", tr("Worst cases, and how to run each again")),
        *(
            f"<p>{html.escape(tr(title))}</p><code>{html.escape(line)}</code>"
            for title, line in worst(found)
        ),
    ]
    for name in found.outcomes:
        parts += _operator(report, name)
    return "\n".join(parts)


def _operator(report, name: str) -> list[str]:
    found = report.findings
    own = [row for row in rows(found) if row[0] == name]
    parts = [f'<h2 id="{html.escape(name)}">{html.escape(name)}</h2>']
    if own:
        drawn = picture(found, name)
        dark, light = (base64.b64encode(drawn.png(theme)).decode() for theme in ("dark", "light"))
        said = html.escape(
            tr("{picture}; the table below says the same in numbers", picture=drawn.headline[0])
        )
        parts.append(
            f'<picture><source media="(prefers-color-scheme: dark)" srcset="data:image/png;base64,{dark}">'
            f'<img src="data:image/png;base64,{light}" alt="{said}"></picture>'
        )
        numbers = {
            mode: f"{number}: {mode}" for number, mode in enumerate(modes_of(found, name), 1)
        }
        if len(numbers) > 1:
            own = [[*row[:3], numbers[row[3]], *row[4:]] for row in own]
        parts.append(
            _table(
                [MODE if one == WORST_MODE else one for one in HEADER[1:]],
                [row[1:] for row in own],
                4,
            )
        )
    return parts + [f'<p class="quiet">{html.escape(line)}</p>' for line in left_lines(found, name)]


def _tag(name: str, text: str) -> str:
    return f"<{name}>{html.escape(text)}</{name}>"


def _table(header: list[str], lines: list[list[str]], wrong: int) -> str:
    """A table; a row that has something in the column `wrong` stands out."""

    def cell(text: str) -> str:
        number = text.replace(".", "").replace("e", "").replace("-", "").replace("+", "").isdigit()
        return f'<td class="number">{text}</td>' if number else f"<td>{html.escape(text)}</td>"

    head = "".join(f"<th>{html.escape(tr(text))}</th>" for text in header)
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>"
        + "".join(
            f"<tr{' class=wrong' * bool(line[wrong])}>{''.join(map(cell, line))}</tr>"
            for line in lines
        )
        + "</tbody></table>"
    )
