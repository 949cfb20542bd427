"""A report as a page of HTML that stands alone: no other file, no network, no script; light or dark as the browser asks."""

import base64
import html

from aclnn_viz.pictures.style import THEMES
from aclnn_viz.sweeps.pictures import modes_of, picture
from aclnn_viz.sweeps.wording import (
    CHANGED, CHANGES, HEADER, MODE, WORST_MODE, changed_rows, left_lines, outcome_lines, rows, worst,
)
from aclnn_viz.words.speech import language, tr

_STYLE = """
:root { color-scheme: light dark; %s }
@media (prefers-color-scheme: dark) { :root { %s } }
body { margin: 0 auto; max-width: 62rem; padding: 1rem 1.5rem 4rem; color: var(--ink); background: var(--paper);
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
    colours = [" ".join(f"--{name}: {getattr(look, name)};" for name in ("ink", "paper", "quiet", "grid", "band", "inner", "alarm"))
               + f" --mark: {_LINK[name]};" for name, look in THEMES.items()]
    return (f'<!doctype html>\n<html lang="{language()}"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width"><title>{html.escape(tr(report.headline))}</title>'
            f"<style>{_STYLE % tuple(colours)}</style></head><body>{body(report)}</body></html>\n")


def body(report) -> str:
    """What stands on the page, without its colours."""
    found = report.findings
    state = "" if report.passed else ' class="wrong"'
    parts = [f"<h1{state}>{html.escape(tr(report.headline))}</h1>",
             *(f'<p class="quiet">{html.escape(line)}</p>' for line in report.lines()),
             "<nav>" + "".join(f'<a href="#{name}">{name}</a>' for name in map(html.escape, found.outcomes)) + "</nav>"]
    if found.against:
        parts.append(_tag("h2", tr("What changed")))
        changed = changed_rows(found, CHANGES)
        parts += [_table(CHANGED, changed, 6)] if changed else [_tag("p", tr("No output has other bits."))]
        parts += [f"<p>{html.escape(line)}</p>" for line in outcome_lines(found)]
    parts += [_tag("h2", tr("Worst cases, and how to run each again")),
              *(f"<p>{html.escape(tr(title))}</p><code>{html.escape(line)}</code>" for title, line in worst(found))]
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
        said = html.escape(tr("{picture}; the table below says the same in numbers", picture=drawn.headline[0]))
        parts.append(f'<picture><source media="(prefers-color-scheme: dark)" srcset="data:image/png;base64,{dark}">'
                     f'<img src="data:image/png;base64,{light}" alt="{said}"></picture>')
        numbers = {mode: f"{number}: {mode}" for number, mode in enumerate(modes_of(found, name), 1)}
        if len(numbers) > 1:
            own = [[*row[:3], numbers[row[3]], *row[4:]] for row in own]
        parts.append(_table([MODE if one == WORST_MODE else one for one in HEADER[1:]], [row[1:] for row in own], 4))
    return parts + [f'<p class="quiet">{html.escape(line)}</p>' for line in left_lines(found, name)]


def _tag(name: str, text: str) -> str:
    return f"<{name}>{html.escape(text)}</{name}>"


def _table(header: list[str], lines: list[list[str]], wrong: int) -> str:
    """A table; a row that has something in the column `wrong` stands out."""
    def cell(text: str) -> str:
        number = text.replace(".", "").replace("e", "").replace("-", "").replace("+", "").isdigit()
        return f'<td class="number">{text}</td>' if number else f"<td>{html.escape(text)}</td>"
    head = "".join(f"<th>{html.escape(tr(text))}</th>" for text in header)
    return f"<table><thead><tr>{head}</tr></thead><tbody>" + "".join(
        f"<tr{' class=wrong' * bool(line[wrong])}>{''.join(map(cell, line))}</tr>" for line in lines) + "</tbody></table>"
