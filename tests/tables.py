"""Tables as text, for rows that people read."""


def table(text):
    """Return the rows of a table: a line each, with cells between bars, in which \\n means a new line."""
    lines = text.strip().splitlines()
    return [
        [cell.strip().replace("\\n", "\n") for cell in f"{line} ".split(" | ")] for line in lines
    ]
