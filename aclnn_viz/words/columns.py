"""Lines of a text, where a Chinese letter is two columns wide and a line may end after any of them."""

import re
import textwrap

from aclnn_viz.tables import columns

WIDE = re.compile(r"[\u2e80-\u9fff\uff00-\uffef]")  # Chinese letters and their punctuation
# What a line breaks into: wide letters and words, with marks that must not end a line before and such as must not begin one behind.
_PIECES = re.compile(rf"\s*[（“《]*(?:{WIDE.pattern}|(?:(?!{WIDE.pattern})\S)+)[，。；：、！？）”》]*")


def wrapped(text: str, width: int, first: str = "", later: str = "") -> list[str]:
    """Return the lines of a text, each of at most so many columns, the first behind `first`, the others behind `later`.

    >>> wrapped("one two three", 8), wrapped("梯度的 slope，等于", 8)
    (['one two', 'three'], ['梯度的', 'slope，', '等于'])
    """
    if not WIDE.search(text):
        return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=later)
    lines, begun = [first], False
    for piece in _PIECES.findall(text):
        if begun and columns(lines[-1] + piece) > width:
            lines.append(later + piece.lstrip())
        else:
            lines[-1] += piece if begun else piece.lstrip()
            begun = True
    return lines
