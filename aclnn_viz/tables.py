"""Read tables, and lay out tables and lines as text and as HTML, with each Chinese letter two columns wide.

The HTML sets no colours, so that it can be read on a light and on a dark background.
"""

import html
import re
import textwrap
import tomllib
from pathlib import Path
from unicodedata import combining, east_asian_width

_CELL = "text-align:left; vertical-align:top; padding:0.1em 0.9em 0.1em 0"
# colours of the line beside a verdict: right, wrong, open; a sign repeats each
GREEN, RED, GREY = "#3d9a5b", "#d6455a", "#7f7f7f"
# tables with at least so many rows get a filter field where scripts may run: in trusted outputs of JupyterLab, and in pages
LONG_TABLE = 20
_FILTER = """<div><input type="search" class="filter" placeholder="{0}" aria-label="{0}"
style="font:inherit; color:inherit; background:none; border:1px solid; border-radius:4px; padding:2px 6px; width:20em" oninput="
const words = this.value.toLowerCase().split(/\\s+/), holds = (row) => words.every((word) => row.textContent.toLowerCase().includes(word));
for (const row of this.parentElement.nextElementSibling.rows) row.hidden = Boolean(row.querySelector('td')) &amp;&amp; !holds(row)"></div>"""


def table_beside(module: str, name: str) -> dict:
    """Return the table of a TOML file in the folder of a module's file."""
    return tomllib.loads(Path(module).with_name(name).read_text("utf-8"))


def columns(text: str) -> int:
    """Return the number of columns of a text: two for a Chinese letter.

    >>> columns("tail"), columns("尾块")
    (4, 4)
    """
    return (
        len(text)
        if text.isascii()
        else sum(0 if combining(each) else 1 + (east_asian_width(each) in "WF") for each in text)
    )


def padded(text: str, width: int) -> str:
    """Return the text padded with spaces to a number of columns."""
    return text + " " * (width - columns(text))


def as_text(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table with aligned columns.

    >>> as_text(["a", "b"], [["10", "x"]])
    ['a   b', '10  x']
    """
    widths = [max(columns(row[k]) for row in [header, *rows]) for k in range(len(header))]
    return [
        "  ".join(padded(cell, width) for cell, width in zip(row, widths)).rstrip()
        for row in [header, *rows]
    ]


def as_html(
    title: str,
    header,
    rows,
    notes=(),
    more: str = "",
    mark: str = "",
    opens: str = "the full report",
    filters: str = "filter rows",
) -> str:
    """Return HTML: title, table, notes, and `more` behind the link `opens`; a long table has a filter named `filters`.

    `mark` is the CSS colour of a line at the left, which repeats the title's meaning.

    >>> as_html("t", (), [("a", "<b>")]).count("&lt;b&gt;"), as_html("t", ("", "a"), []).count("</th>"), as_html("t", (), [("a",)] * 20).count("<input")
    (1, 1, 1)
    """

    def row(cells, tag):
        # a header cell needs a text
        tags = [(tag if cell != "" else "td", html.escape(str(cell))) for cell in cells]
        return (
            "<tr>"
            + "".join(f'<{tag} style="{_CELL}">{cell}</{tag}>' for tag, cell in tags)
            + "</tr>"
        )

    table = (row(header, "th") if header else "") + "".join(row(cells, "td") for cells in rows)
    style = f' style="border-left:4px solid {mark}; padding-left:0.8em"' if mark else ""
    small = "".join(f"<div><small>{html.escape(note)}</small></div>" for note in notes)
    folded = (
        f"<details><summary>{html.escape(opens)}</summary><pre>{html.escape(more)}</pre></details>"
        if more
        else ""
    )
    return (
        f"<div{style}><b>{html.escape(title)}</b>"
        + (
            _FILTER.format(filters) * (len(rows) >= LONG_TABLE) + f"<table>{table}</table>"
            if table
            else ""
        )
        + f"{small}{folded}</div>"
    )


# marks pages that the kit wrote and may replace
GENERATOR = '<meta name="generator" content="aclnn-viz">'


def page(title: str, body: str, style: str, language: str) -> str:
    """Return a view as one page of HTML without further files, light or dark as in the browser."""
    head = f'<meta charset="utf-8"><meta name="color-scheme" content="light dark">{GENERATOR}<title>{html.escape(title)}</title>'
    return f'<!doctype html><html lang="{language}"><head>{head}</head><body style="{style}">{body}</body></html>'


# Chinese characters and punctuation, which are wide
WIDE = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]")
# Parts of a line that stay together: wide letters and words, with marks that may not start or end a line.
_PIECES = re.compile(
    rf"\s*[（“《]*(?:{WIDE.pattern}|(?:(?!{WIDE.pattern})\S)+)[，。；：、！？）”》]*"
)


def wrapped(text: str, width: int, first: str = "", later: str = "") -> list[str]:
    """Return the lines of a text, each of at most `width` columns, the first after `first`, the others after `later`.

    >>> wrapped("one two three", 8), wrapped("梯度的 slope，等于", 8)
    (['one two', 'three'], ['梯度的', 'slope，', '等于'])
    >>> wrapped("  one two", 20), wrapped("  梯度", 20)
    (['  one two'], ['  梯度'])
    """
    if not WIDE.search(text):
        return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=later)
    lines, begun = [first], False
    for piece in _PIECES.findall(text):
        if begun and columns(lines[-1] + piece) > width:
            lines.append(later + piece.lstrip())
        else:
            lines[-1] += piece
            begun = True
    return lines
