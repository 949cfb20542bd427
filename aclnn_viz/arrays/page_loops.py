"""Generate loops for numba from an operator's formulas (see `lines.py`), for operators without loops of their own.

An elementwise page becomes one loop. A page that sums along rows becomes, for each row, one loop per sum, in float64, and one
that writes the outputs; each loop recomputes the values that it needs.
"""

import math
from functools import cache

from aclnn_viz.arrays import loops
from aclnn_viz.arrays.javascript import Traced
from aclnn_viz.arrays.lines import NotStraight, straight
from aclnn_viz.arrays.plan import SEQUENTIAL, Plan

PLAN = Plan("written from the page", order=SEQUENTIAL, accumulate="float64")
STEPS = {
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "divide": "{0} / {1}",
    "minimum": "np.minimum({0}, {1})",
    "maximum": "np.maximum({0}, {1})",
    "negative": "-{0}",
    "abs": "abs({0})",
    "where": "{1} if {0} else {2}",
    "exp": "exponential({0})",
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
    "logical_and": "{0} and {1}",
    "logical_or": "{0} or {1}",
    "logical_not": "not {0}",
} | {name: f"np.{name}({{0}})" for name in ("sqrt", "log", "log1p", "expm1", "tanh")}
ELEMENTS = "def loop(part, first, last, n, {names}):\n    for row in range(1):\n{body}        for i in range(first, last):\n{inside}"
ROWS = (
    "def loop(part, first, last, n, {names}):\n    for row in range(first, last):\n{body}        for i in range(row * n, row * n + n):\n"
    "{inside}"
)
SUM = "        total = np.float64(0.0)\n        for i in range(row * n, row * n + n):\n{0}            total += {1}\n        {2} = real({3}, total)\n"


def written(op, arranged) -> tuple:
    """Return (parts, loop, numbers, shapes) of a page: `loop` runs over `parts`, and takes `numbers` and flat arrays of
    these shapes by name. Raise NotStraight if the page has other steps.
    """
    lines, whole = straight(op, arranged), arranged.results[op.main].shape
    at = arranged.axes[op.main].find(".")
    rows = tuple(1 if k == at else n for k, n in enumerate(whole))
    shapes = {
        name: whole if lines.inputs[name].size > 1 else rows if lines.length else (1,) * array.ndim
        for name, array in arranged.arrays.items()
        if name in lines.inputs
    }
    size, length = math.prod(whole), lines.length or 1
    return (
        loops.cuts(size // length, size),
        _loop(_text(lines)),
        (length,),
        shapes | dict.fromkeys(lines.outputs, whole),
    )


@cache
def _loop(text: str):
    made = vars(loops) | {}
    exec(text, made)
    return made["loop"]


def _text(lines) -> str:
    names, like = (
        [f"{name}_" for name in (*lines.inputs, *lines.outputs)],
        f"{next(iter(lines.outputs))}_",
    )
    numbers = "".join(
        f"        {name} = read({name}_, {'row' if lines.length else 0})\n"
        for name, one in lines.inputs.items()
        if one.size == 1
    )
    inside = "".join(
        f"            {name} = read({name}_, i)\n"
        for name, one in lines.inputs.items()
        if one.size > 1
    )
    body = numbers.replace(" self =", " self_number =")
    for value, step, taken in lines.steps:
        used = [one.name if isinstance(one, Traced) else f"real({like}, {one!r})" for one in taken]
        if step == "sum":
            body += SUM.format(inside, used[0], value.name, like)
        elif step not in STEPS:
            raise NotStraight.of(f"{step}, for which there is no line")
        else:
            line = f"{value.name} = {STEPS[step].format(*used)}\n"
            body, inside = (
                (body, inside + " " * 12 + line)
                if value.size > 1
                else (body + " " * 8 + line, inside)
            )
    inside += "".join(
        f"            write({name}_, i, {one.name})\n" for name, one in lines.outputs.items()
    )
    return (ROWS if lines.length else ELEMENTS).format(
        names=", ".join(names), body=body, inside=inside
    )
