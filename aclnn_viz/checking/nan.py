"""Where the first nan or infinity of a wrong output comes from: the operation that makes it, how it passes on, and what ends others.

Each element has an address, in memory or as a number of Python. A kernel is run once more with every operation in sight: what one
makes of finite operands begins a chain of links, what it makes of others goes on with theirs.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

import numpy as np

from aclnn_viz.accuracy.measures import same
from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.kernel_call import named
from aclnn_viz.checking.operations import WATCH, Operation, Watched
from aclnn_viz.storage.own import as_array
from aclnn_viz.words.messages import linked, message, tr

TILES = "aclnn_viz.checking.tile_operations"  # loaded for a tile program alone
SECONDS = 2.0  # in which the operations of a run are watched
WATCHED = 4096  # elements of one result that are not finite
SHOWN = 3  # operations through which one passes, and in which others end
EMPTY = {"empty", "empty_like", "new_empty"}
# an element of their result is made of many of an operand, although the shapes may be the same
MIXED = {"matmul", "dot", "mm", "bmm", "einsum", "cumsum"}


UNWRITTEN = message("memory that nobody wrote")


class Part(NamedTuple):
    """Elements of an operand or a result: their addresses, their values, and what they are called."""

    at: np.ndarray
    values: np.ndarray
    name: str = ""

    @property
    def wrong(self) -> np.ndarray:
        return ~np.isfinite(self.values)


class Link(NamedTuple):
    """What made an element that is not finite; `first` where no operand is, or where it is nan and none of them."""

    operation: Operation
    value: float
    operands: tuple[str, ...]
    first: bool
    index: tuple[int, ...] = ()
    before: "Link | None" = None


class Late(Exception):
    """The time for watching is over."""


@dataclass(frozen=True)
class NanOrigin:
    """Where a nan or an infinity comes from that is wrong, or where one is lost that is right.

    Attributes
    ----------
    element, actual, truth : str, float, float
        Of an output, what the kernel returns there, and what is right.
    file, line, code : str, int, str
        The operation that makes the first nan or infinity, "" and 0 where none does.
    place : str
        Of a tile program the core, and the buffer and element into which it is written.
    value, operands : float, tuple of str
        What it makes, and of what.
    passes, ends : tuple of str
        Operations through which it passes, and in which others end, such as a maximum, a selection
        or a comparison.
    given : bool
        Whether it is one of the inputs or constants, which this operation is the first to take.
    """

    element: str
    actual: float
    truth: float
    file: str = ""
    line: int = 0
    code: str = ""
    place: str = ""
    value: float = 0.0
    operands: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    given: bool = False

    @property
    def lines(self) -> tuple[str, str, str]:
        """Where it is made, what it passes, and where others end."""
        what = message(
            "{element} is {actual} instead of {truth}",
            element=self.element,
            actual=f"{self.actual:.9g}",
            truth=f"{self.truth:.9g}",
        )
        text = {"what": what, "place": self.place, "code": self.code, "value": f"{self.value:g}"}
        if not self.line:
            first = message(
                "{what}: no operation of the kernel makes a nan or an infinity of it", what=what
            )
        elif self.given:
            first = message(
                "{what}: the inputs or constants have {value}, in {place}: {code}", **text
            )
        else:
            first = message("{what}: the first {value} is made in {place}: {code}", **text)
        if self.operands:
            first = message(
                "{first}, of {operands}",
                first=first,
                operands=linked("{some}, {more}", self.operands),
            )
        return (
            first,
            message("  it passes {operations}", operations=linked("{some}; {more}", self.passes))
            if self.passes
            else message("  it passes no other operation"),
            message("  others end in {operations}", operations=linked("{some}; {more}", self.ends))
            if self.ends
            else message("  no others end on the way"),
        )

    def __str__(self) -> str:
        return "\n".join(map(tr, self.lines))


def nan_origin(kernel: Callable, runs: Iterable[CaseRun]) -> NanOrigin | None:
    """Where the first nan or infinity comes from, in the first run in which one is wrong, or is lost; else the memory that nobody
    wrote of which the first wrong element is made; None where that cannot be seen."""
    runs = [run for run in runs if run and run.misses and run.usable]
    for run in runs:
        for miss in run.misses:
            finite = (np.isfinite(part[miss.output]) for part in (run.truth, run.outputs))
            odd = np.argwhere(np.not_equal(*finite))
            if odd.size:
                return _told(kernel, run, miss.output, tuple(odd[0].tolist()))
    for run in runs[:1]:
        origin = _told(kernel, run, run.misses[0].output, run.misses[0].index)
        return origin if origin and UNWRITTEN in origin.operands else None
    return None


def _told(kernel, run: CaseRun, output: str, index: tuple) -> NanOrigin | None:
    trail, case = Trail(), run.prepared.case
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if hasattr(kernel, "under"):
                outputs = import_module(TILES).watched(kernel, trail, case.inputs)
            else:
                copies = {name: value.copy() for name, value in case.arrays.items()}
                returned = Watched(trail.made).of(kernel)(**case.inputs | copies)
                names = list(run.prepared.expected), case.operator.outputs
                outputs = named(returned, *names, taken=part)
    except Exception:  # whatever a kernel raises, or its source that is not there
        return None
    actual, truth = (float(part[output][index]) for part in (run.outputs, run.truth))
    last = int(outputs[output].at.reshape(run.truth[output].shape)[index])
    if not (hasattr(kernel, "under") or np.isfinite(actual)):
        # what is wrapped around a Python kernel copies its outputs
        last = last if last in trail.links else next(reversed(trail.links), None)
    chain, origin = _chain(trail.links.get(last)), {}
    if chain:
        first = next((link for link in chain if link.first), chain[0])
        after = [link.operation for link in chain[chain.index(first) + 1 :]]
        place = first.operation.place
        origin = first.operation._asdict() | {
            "operands": first.operands,
            "given": not first.first,
            "value": first.value,
            "passes": _shown(one for one in after if one.place != place),
        }
        if first.index:
            origin["place"] = message("{place}, element {index}", place=place, index=first.index)
    ends = _shown(trail.ends.values())
    return NanOrigin(f"{output}{list(index)}", actual, truth, **origin, ends=ends)


def _chain(link: Link | None) -> list[Link]:
    """A link and those before it, the first one first."""
    chain = []
    while link:
        chain.insert(0, link)
        link = link.before
    return chain


def _shown(operations: Iterable[Operation]) -> tuple[str, ...]:
    lines = {operation.place: operation.code for operation in operations}
    return tuple(
        message("{place}: {code}", place=place, code=code)
        for place, code in [*lines.items()][:SHOWN]
    )


def part(value, name: str = "") -> Part | None:
    """An array, a number or a list of them, with a copy of its values; None for anything else."""
    if isinstance(value, list | tuple):
        parts = [*filter(None, map(part, value))]
        both = (np.concatenate([one[place].ravel() for one in parts]) for place in range(2))
        return Part(*both, name) if parts else None
    scalar = isinstance(value, float | np.generic)
    array = np.asarray(value) if scalar else as_array(value) if hasattr(value, "shape") else None
    if not isinstance(array, np.ndarray) or array.dtype.kind in "OSUcmM":
        return None
    return Part(
        np.array(-id(value)) if scalar else addresses(array), array.astype(np.float64), name
    )


def addresses(array: np.ndarray) -> np.ndarray:
    """Where each element lies in memory."""
    at = np.array(array.__array_interface__["data"][0])
    for length, step in zip(array.shape, array.strides):
        at = np.add.outer(at, np.arange(length) * step)
    return at


class Trail:
    """The links of all elements that are not finite, by address, and the operations in which such elements end."""

    def __init__(self):
        self.links: dict[int, Link] = {}
        self.ends: dict[tuple, Operation] = {}
        self.latest: Link | None = None
        self.kept: list = []  # what an address would else be given to anew
        self.until = time.monotonic() + SECONDS

    def note(
        self,
        operation: Operation,
        operands: Sequence[Part],
        result: Part,
        mixed: bool = False,
        origin: str | Link = "",
    ):
        """Note what an operation made of its operands, as these were before; `origin` is of what else: in words, or what its parts made."""
        if time.monotonic() > self.until:
            raise Late
        new = {
            int(result.at[index]): self._link(operation, operands, result, index, mixed, origin)
            for index in map(tuple, np.argwhere(result.wrong)[:WATCHED].tolist())
        }
        if any(_ended(operand.wrong, result.wrong) for operand in operands):
            self.ends.setdefault(operation[:2], operation)
        for key in self.links.keys() & set(result.at.ravel().tolist()):
            del self.links[key]
        self.links |= new
        self.latest = next(reversed(new.values()), self.latest)

    def _link(self, operation, operands, result: Part, index: tuple, mixed, origin) -> Link:
        value, sources, texts = float(result.values[index]), [], []
        for operand in operands:
            reach = _reach(index, result.values.shape, operand.values)
            at, values = np.atleast_1d(operand.at[reach]), np.atleast_1d(operand.values[reach])
            if np.isfinite(values).all() and (mixed or values.size > 1):
                at, values = operand.at, operand.values
            texts.append(_text(operand.name, values))
            wrong = ~np.isfinite(values)
            sources += zip(np.isnan(values[wrong]).tolist(), at[wrong].tolist())
        links = (self.links.get(key) for _, key in sorted(sources, reverse=True))
        before = next(filter(None, links), None)
        if isinstance(origin, Link) and not sources:
            return Link(operation, value, (), False, index, origin)
        made = not sources or value != value and not any(nan for nan, _ in sources)
        texts = tuple(filter(None, [*texts, origin]))
        return Link(operation, value, texts, bool(texts) and made, index, before)

    def made(self, operation: Operation, function: Callable, *args, **options):
        """Make an operation of a Python kernel, and note it."""
        if WATCH in getattr(function, "__globals__", ()):
            return function(*args, **options)
        name, given = getattr(function, "__name__", ""), [*args, *options.values()]
        if len(operation.operands) > len(given):  # the array of which it is a method
            given.insert(0, getattr(function, "__self__", None))
        parts, latest = [*map(part, given, operation.operands)], self.latest
        result = function(*args, **options)
        self.kept.append((given, result))
        operands, origin = [*filter(None, parts)], self.latest is not latest and self.latest or ""
        mixed = (
            name in MIXED
            or name.endswith("softmax")
            or any(isinstance(value, list | tuple) for value in given)
        )
        if name in ("getitem", "setitem") and parts[0]:
            after, place = part(args[0]), _indices(args[1])
            chosen = map(np.asarray, (after.at[place], after.values[place]))
            chosen = Part(*chosen, operation.operands[0])
            if name == "setitem":
                self.note(operation, operands[-1:], chosen)
                return result
            operands, mixed = [chosen], False
        elif name in EMPTY:
            as_array(result)[...] = np.nan
            operands, origin = [], UNWRITTEN
        for value, before in zip(given, parts):  # what is written into an operand
            after = part(value) if before and value is not result else before
            if before and (changed := ~same(before.values, after.values)).any():
                self.note(operation, operands, Part(after.at[changed], after.values[changed]), True)
        for value in result if isinstance(result, tuple) else [result]:
            if (operands or origin) and (leaf := part(value)):
                self.note(operation, operands, leaf, mixed, origin)
        return result


def _indices(place):
    """An index as NumPy takes it."""
    if isinstance(place, tuple):
        return tuple(map(_indices, place))
    return as_array(place) if hasattr(place, "shape") else place


def _reach(index: tuple[int, ...], shape: tuple[int, ...], values: np.ndarray) -> tuple:
    """The elements of an operand of which one of a result is made, as far as the shapes tell."""
    ours = values.shape
    if ours != shape and values.size == np.prod(shape, dtype=int):
        return np.unravel_index(np.ravel_multi_index(index, shape), ours)
    if len(ours) > len(shape) and ours[: len(shape)] != shape:  # of a sum over leading axes
        index, shape = (0,) * len(ours) + index, (-1,) * len(ours) + shape
    if len(ours) > len(shape):
        index, shape = index + (0,) * len(ours), shape + (-1,) * len(ours)
    else:
        index, shape = index[len(shape) - len(ours) :], shape[len(shape) - len(ours) :]
    return tuple(
        i if n == m else 0 if n == 1 else slice(None) for i, n, m in zip(index, ours, shape)
    )


def _ended(held: np.ndarray, wrong: np.ndarray) -> bool:
    """Whether what is not finite in an operand is finite in the result."""
    try:
        held = np.broadcast_to(held, wrong.shape)
    except ValueError:
        return bool(held.any() and not wrong.any())
    return bool((held & ~wrong).any())


def _text(name: str, values: np.ndarray) -> str:
    """What an operand is at an element; nothing for a number that stands in the code."""
    with suppress(ValueError):
        float(name or "a")
        return ""
    low, high = (f"{pick(values):.6g}" for pick in (np.min, np.max))
    extent = low if low == high else message("{low} to {high}", low=low, high=high)
    return message("{name} = {value}", name=name, value=extent) if name else extent
