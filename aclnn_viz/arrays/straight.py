"""A page as straight lines: what it does to one element, and to the rows that it sums, step after step.

A page runs once over values without numbers, and what it did to them is written down. From these lines programs for other machines
are written: tiles for Ascend C, and loops that numba compiles. A page that does more than this (it moves elements, or
looks at a shape) raises NotStraight.
"""

from dataclasses import dataclass
from functools import cache, partial

from aclnn_viz.arrays.functions import Guards
from aclnn_viz.errors import NotSupported, problem

UNARY = {"negative", "abs", "sqrt", "exp", "log", "expm1", "log1p", "tanh", "erf", "logical_not"}
COMPARED = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_not"}
STEPS = UNARY | COMPARED | {"add", "subtract", "multiply", "divide", "minimum", "maximum"}


class NotStraight(NotSupported):
    """A page that is more than arithmetic of single elements and sums of rows."""


def _refused(what: str):
    raise NotStraight(problem("what is made of a page by itself takes arithmetic of single elements and sums of rows", what,
                              "write the file by hand"))


@dataclass(frozen=True, eq=False)
class Line:
    """`value` is made by a step of others and of Python's numbers."""

    value: "Value"
    step: str
    taken: tuple


class Value:
    """One element where `wide`, else one number of a row; `truth` is a condition."""

    __array_ufunc__ = None

    def __init__(self, xp, name: str, wide: bool, truth: bool = False):
        self.xp, self.name, self.wide, self.truth, self.dtype = xp, name, wide, truth, None

    def __getattr__(self, name):
        _refused(f"its {name}")

    def __getitem__(self, key):
        _refused("a part of an array")

    def __bool__(self):
        _refused("a number that is looked at")


for _name, _step in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "eq": "equal", "ne": "not_equal", "lt": "less",
                     "le": "less_equal", "gt": "greater", "ge": "greater_equal", "and": "logical_and", "or": "logical_or"}.items():
    setattr(Value, f"__{_name}__", lambda self, other, step=_step: self.xp.step(step, self, other))
    setattr(Value, f"__r{_name}__", lambda self, other, step=_step: self.xp.step(step, other, self))
for _name, _step in {"neg": "negative", "abs": "abs", "invert": "logical_not"}.items():
    setattr(Value, f"__{_name}__", lambda self, step=_step: self.xp.step(step, self))
Value.__hash__ = object.__hash__


class Straight(Guards):
    """The namespace of a page of values; `axis` is that of a row, which sums are over, None where elements are alone."""

    def __init__(self, axis: int | None):
        self.axis, self.lines = axis, []

    def __getattr__(self, name):
        return partial(self.step, name) if name in STEPS else _refused(f"xp.{name}")

    def step(self, name, *taken):
        return self._made(name, taken, any(one.wide for one in taken if isinstance(one, Value)), name in COMPARED)

    def _made(self, name, taken, wide, truth=False) -> Value:
        value = Value(self, f"v{len(self.lines)}", wide, truth)
        self.lines.append(Line(value, name, taken))
        return value

    def where(self, condition, a, b):
        return self._made("where", (condition, a, b), any(one.wide for one in (condition, a, b) if isinstance(one, Value)))

    def clip(self, x, low=None, high=None):
        x = x if low is None else self.step("maximum", x, low)
        return x if high is None else self.step("minimum", x, high)

    def zeros_like(self, x):
        return 0.0

    def ones_like(self, x):
        return 1.0

    def astype(self, x, dtype):
        return self.where(x, 1.0, 0.0) if x.truth else x

    def _reduced(self, name, x, axis, keepdims):
        if self.axis is None or axis != self.axis or not keepdims or not x.wide:
            _refused(f"a {name} over axis {axis}")
        return self._made(name, (x,), False)

    def sum(self, x, axis=None, keepdims=False):
        return self._reduced("sum", x, axis, keepdims)

    def mean(self, x, axis=None, keepdims=False):
        return self._reduced("sum", x, axis, keepdims) / self.length


@dataclass(frozen=True, eq=False)
class Program:
    """The lines of a page, its inputs by name and what becomes its outputs; rows have `length` elements, None where they are alone."""

    lines: tuple[Line, ...]
    inputs: dict[str, Value]
    outputs: dict[str, Value]
    length: int | None


def straight(op, arranged) -> Program:
    """Return the backward page of an operator as straight lines for arranged inputs; NotStraight where it has none."""
    axes, result = arranged.axes, arranged.results.get(op.main)
    if result is None or arranged.prelude is not None:
        _refused("an output that is left out, or something made of whole inputs before")
    dots = [k for k, letter in enumerate(axes[op.main]) if letter == "."]
    behind = [n for k, n in enumerate(result.shape) if dots and k > dots[0]]
    if len(dots) > 1 or any(n != 1 for n in behind):
        _refused("rows whose elements lie apart, or that have several axes")
    if any(axes[name] != axes[op.main] or each.shape != result.shape for name, each in arranged.results.items()):
        _refused("an output that is a sum over rows")
    xp, axis = Straight(dots[0] if dots else None), dots[0] if dots else None
    xp.length = result.shape[axis] if dots else None
    known = {}
    for name, array in arranged.arrays.items():
        if array is not None and len(axes[name]) != len(axes[op.main]):
            _refused(f"{name}, which has other axes")
        known[name] = None if array is None else Value(
            xp, name, array.shape[axis] != 1 or xp.length == 1 if dots else array.size != 1 or result.shape == array.shape, array.dtype == bool)
    outputs = op.page.backward(xp, **known, **arranged.attributes)
    given = {name: value for name, value in known.items() if value is not None}
    return Program(tuple(xp.lines), given, {name: outputs[name] for name in arranged.results}, xp.length)


@cache
def last_uses(program: Program) -> dict[str, int]:
    """The last line that takes each value; outputs are taken after the last one."""
    found = {one.name: k for k, line in enumerate(program.lines) for one in line.taken if isinstance(one, Value)}
    return found | {value.name: len(program.lines) for value in program.outputs.values()}
