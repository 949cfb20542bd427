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
WATCHED = 1024  # elements of one result that are not finite
SHOWN = 3  # operations through which one passes, and in which others end
EMPTY = {"empty", "empty_like", "new_empty"}
# an element of their result is made of many of an operand, although the shapes may be the same
MIXED = {"matmul", "dot", "mm", "bmm", "einsum", "cumsum"}
UNWRITTEN = message("memory that nobody wrote")
MADE = message("{what}: the first {value} is made in {place}: {code}, of {operands}")
GIVEN = message(
    "{what}: an input, a constant or a loop brings {value} to {place}: {code}, of {operands}"
)
NOWHERE = message("{what}: no operation of the kernel makes a nan or an infinity of it")


class Part(NamedTuple):
    """Elements of an operand or a result: their addresses, their values, and what they are called."""

    at: np.ndarray
    values: np.ndarray
    name: str = ""

    def chosen(self, place) -> "Part":
        """Those at an index."""
        return Part(*(np.asarray(array[place]) for array in self[:2]), self.name)

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


class Unseen(Exception):
    """The time for watching is over, or elements have no address that stays."""


@dataclass(frozen=True)
class NanOrigin:
    """Where a nan or an infinity comes from that is wrong, or where one is lost that is right.

    Attributes
    ----------
    element, actual, truth : str, float, float
        Of an output, what the kernel returns there, and what is right.
    file, line, code : str, int, str
        The operation that makes the first nan or infinity; 0 and empty texts where none does.
    lines : tuple of str
        Where it is made and of what, the operations through which it passes, and those in which
        others end, such as a maximum, a selection or a comparison.
    """

    element: str
    actual: float
    truth: float
    file: str
    line: int
    code: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(map(tr, self.lines))


def nan_origin(kernel: Callable, runs: Iterable[CaseRun]) -> NanOrigin | None:
    """Where the first nan or infinity comes from, in the first run in which one is wrong, or is lost; else the memory that nobody
    wrote of which the first wrong element is made; None where that cannot be seen."""
    runs = [run for run in runs if run and run.misses and run.usable]
    for run in runs:
        for miss in run.misses:
            finite = (np.isfinite(part[miss.output]) for part in (run.truth, run.outputs))
            for index in np.argwhere(np.not_equal(*finite)).tolist():
                return _told(kernel, run, miss.output, tuple(index))
    for miss in runs[0].misses[:1] if runs else ():
        return _told(kernel, runs[0], miss.output, miss.index)
    return None


def _told(kernel, run: CaseRun, output: str, index: tuple) -> NanOrigin | None:
    trail, case, tiles = Trail(), run.prepared.case, hasattr(kernel, "under")
    actual, truth = (float(part[output][index]) for part in (run.outputs, run.truth))
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if tiles:
                outputs = import_module(TILES).watched(kernel, trail, case.inputs)
            else:
                copies = {name: value.copy() for name, value in case.arrays.items()}
                watched = Watched(trail.made)
                returned = watched.of(kernel)(**case.inputs | copies)
                if not watched.operations:
                    return None  # of a device, or of another process
                names = list(run.prepared.expected), case.operator.outputs
                outputs = named(returned, *names, taken=part)
        at = int(outputs[output].at.reshape(run.truth[output].shape)[index])
    except Exception:  # whatever a kernel raises, or its source that is not there
        return None
    if not (tiles or at in trail.links or np.isfinite(actual)):
        at = next(reversed(trail.links), at)  # what is wrapped around a kernel copies its outputs
    chain, link = [], trail.links.get(at)
    while link:
        chain.insert(0, link)
        link = link.before
    first = next((link for link in chain if link.first), chain[0] if chain else None)
    if np.isfinite([actual, truth]).all() and not (first and UNWRITTEN in first.operands):
        return None
    text = {"element": f"{output}{list(index)}", "actual": f"{actual:.9g}", "truth": f"{truth:.9g}"}
    text = {"what": message("{element} is {actual} instead of {truth}", **text)}
    if first:
        place = first.operation.place
        text |= {
            "value": f"{first.value:g}",
            "place": message("{place}, element {index}", place=place, index=first.index)
            if first.index
            else place,
            "code": first.operation.code,
            "operands": linked("{some}, {more}", first.operands),
        }
        # what a loop goes over is only named
        chain = [
            link.operation
            for link in chain
            if link.operation.place != place and not link.operation.code.isidentifier()
        ]
    made = message((MADE if first.first else GIVEN) if first else NOWHERE, **text)
    after = message("  it passes: {operations}", operations=_shown(chain))
    ends = message("  others end in: {operations}", operations=_shown(trail.ends.values()))
    file, line, code = first.operation[:3] if first else ("", 0, "")
    return NanOrigin(f"{output}{list(index)}", actual, truth, file, line, code, (made, after, ends))


def _shown(operations: Iterable[Operation]) -> str:
    """The operations of the first few lines."""
    lines = {
        one.place: message("{place}: {code}", place=one.place, code=one.code) for one in operations
    }
    return linked("{some}; {more}", [*lines.values()][:SHOWN] or [message("none")])


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
    at = np.array(-id(value)) if scalar else addresses(array)
    if hasattr(value, "data_ptr") and array.size and value.data_ptr() != at.flat[0]:
        raise Unseen  # a copy of what lies on a device
    return Part(at, array.astype(np.float64), name)


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
        self, operation: Operation, operands: Sequence[Part], result: Part, mixed=False, origin=""
    ):
        """Note what an operation made of its operands, as these were before; `origin` is of what else, in words or as a Link."""
        if time.monotonic() > self.until:
            raise Unseen
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
            some = operand.chosen(_reach(index, result.values.shape, operand.values))
            if not some.wrong.any() and (mixed or some.values.size > 1):
                some = operand
            texts.append(_text(some))
            nans, at = np.isnan(some.values[some.wrong]).tolist(), some.at[some.wrong].tolist()
            sources += [(nan, self.links.get(key)) for nan, key in zip(nans, at)]
        sources.sort(key=lambda source: not source[0])
        before = next((link for _, link in sources if link), None)
        if isinstance(origin, Link) and not sources:
            return Link(operation, value, (), False, index, origin)
        made = not sources or value != value and not sources[0][0]
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
        if name in ("getitem", "setitem"):
            if hasattr(args[0], "shape"):
                whole = part(args[0], operation.operands[0]).chosen(_index(args[1]))
                made = whole if name == "setitem" else part(result)
                self.note(
                    operation, [whole] if made is not whole else [*filter(None, parts[2:])], made
                )
            return result
        operands, origin = [*filter(None, parts)], self.latest is not latest and self.latest or ""
        if name in EMPTY:
            as_array(result)[...] = np.nan
            operands, origin = [], UNWRITTEN
        for value, before in zip(given, parts):  # what is written into an operand
            after = part(value) if before and hasattr(value, "shape") else before
            if (
                before
                and value is not result
                and (changed := ~same(before.values, after.values)).any()
            ):
                self.note(operation, operands, after.chosen(changed), True)
        mixed = name in MIXED or name.endswith("softmax") or {list, tuple} & {*map(type, given)}
        for value in result if isinstance(result, tuple) else [result]:
            if (operands or origin) and (leaf := part(value)):
                self.note(operation, operands, leaf, mixed, origin)
        return result


def _index(place):
    """An index as NumPy takes it."""
    if isinstance(place, tuple):
        return tuple(map(_index, place))
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
    with suppress(ValueError):
        return bool((np.broadcast_to(held, wrong.shape) & ~wrong).any())
    return bool(held.any() and not wrong.any())


def _text(operand: Part) -> str:
    """What an operand is at an element; nothing for a number that stands in the code."""
    with suppress(ValueError):
        float(operand.name or "a")
        return ""
    low, high = (f"{pick(operand.values):.6g}" for pick in (np.min, np.max))
    value = low if low == high else f"{low} .. {high}"
    return f"{operand.name} = {value}" if operand.name else value
