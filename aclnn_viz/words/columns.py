"""Text in a terminal, where a Chinese letter is two columns wide, and a line may end after any of them."""

import re
import textwrap

from aclnn_viz.tables import columns, padded

__all__ = ["columns", "filled", "padded"]

# What a line breaks into: words with the space before them, and wide letters with the marks that must not begin a line.
PIECES = re.compile(r"\s*(?:[（“《]*[^\x00-\x7f][，。；：、！？）”》]*|[!-~]+[，。；：、！？）”》]*)")


def filled(text: str, width: int, first: str = "", later: str = "") -> str:
    """The text in lines of at most `width` columns, the first of them behind `first`, the others behind `later`."""
    if columns(text) == len(text):
        return textwrap.fill(text, width, initial_indent=first, subsequent_indent=later)
    lines, line = [], first
    for piece in PIECES.findall(text):
        if columns(line + piece) > width and line.strip() and line != first:
            lines, line, piece = [*lines, line], later, piece.lstrip()
        line += piece.lstrip() if line in (first, later) else piece
    return "\n".join([*lines, line])
