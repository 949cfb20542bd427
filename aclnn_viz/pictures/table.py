"""Tables, drawn and written from the same cells."""

import textwrap

from aclnn_viz.pictures.style import WIDTH

LINE = 0.19  # inches of a line of text
LEFT = 0.15  # inches


def as_text(header: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table with aligned columns.

    >>> as_text(["a", "b"], [["10", "x"]])
    ['a   b', '10  x']
    """
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [header, *rows]]


def wrapped(rows: list[list[str]], last: int) -> list[list[str]]:
    """The rows with their last cell broken into lines of at most `last` characters."""
    return [[*row[:-1], textwrap.fill(row[-1], last)] for row in rows]


def rows_height(rows: list[list[str]]) -> float:
    """Inches that drawn rows take, their header included."""
    return LINE * 1.5 + sum(_height(row) for row in rows)


def draw_table(drawn, look, top: float, header: list[str], rows: list[list[str]], starts: list[float],
               emphasis) -> None:
    """Draw a table below `top` inches from the upper edge; `starts` are the columns' left edges in inches.

    `emphasis[k]` holds the columns of row k that are set in bold and in the alarm colour.
    """
    height = drawn.get_figheight()

    def put(x, y, text, **more):
        for k, line in enumerate(text.split("\n")):
            drawn.text(x / WIDTH, 1 - (y + (k + 0.7) * LINE) / height, line, va="baseline", fontsize=9, **more)

    def rule(y, **more):
        from matplotlib.lines import Line2D
        drawn.add_artist(Line2D([LEFT / WIDTH, 1 - LEFT / WIDTH], [1 - y / height] * 2, **more))

    for x, cell in zip(starts, header):
        put(x, top, cell, color=look.quiet)
    y = top + LINE * 1.2
    for row, loud in zip(rows, emphasis):
        rule(y, color=look.grid, linewidth=0.8)
        for k, (x, cell) in enumerate(zip(starts, row)):
            put(x, y + 0.05, cell, **({"color": look.alarm, "fontweight": "bold"} if k in loud else {}))
        y += _height(row)


def _height(row: list[str]) -> float:
    return LINE * max(cell.count("\n") + 1 for cell in row) + 0.07
