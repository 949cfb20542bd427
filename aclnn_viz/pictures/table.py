"""Tables in words."""


def as_text(header: list[str], rows: list[list[str]]) -> list[str]:
    """The lines of a table with aligned columns.

    >>> as_text(["a", "b"], [["10", "x"]])
    ['a   b', '10  x']
    """
    widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [header, *rows]]
