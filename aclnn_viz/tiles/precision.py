"""Tell why a kernel's numbers are wrong: an approximate instruction, rounding in 16 bits, or its formula."""

from collections.abc import Callable, Mapping

from aclnn_viz.words.messages import Message, linked, message

DOCUMENTED = message(
    "right with an exact {names}: the page of this function states an error of 1e-3 for half and 1e-4 for float; use Div and Sqrt"
)
PRECISION = message(
    "right if every format is float32: the cause of the error is the precision of the 16-bit formats, not the formula"
)
FORMULA = message(
    "wrong even if every format is float32: the cause of the error is the formula, not the precision of the 16-bit formats"
)


def cause(
    right: Callable[..., bool], approximate: Mapping[str, tuple[str, int]], narrow: bool
) -> Message | None:
    """Return why a kernel is wrong; `right(precision=..., precise=...)` tests it, and `narrow` marks 16-bit formats."""
    if approximate and right(precision="exact"):
        names = [
            message("{name} (line {line})", name=name, line=line)
            for name, (_, line) in approximate.items()
        ]
        return message(DOCUMENTED, names=linked("{some}, {more}", names))
    if narrow:
        return PRECISION if right(precise=True) else FORMULA
    return None
