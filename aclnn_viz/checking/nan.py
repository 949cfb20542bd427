"""Find the source of the first nan or infinity in a wrong output: the operation that makes it, its path, and where others are
lost.

Each element has an address, in memory or as a Python number. A kernel runs once more with every operation watched: a result of
finite operands begins a chain of links, other results extend the chains of their operands.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

import numpy as np

from aclnn_viz.accuracy.measures import same
from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.kernel_call import named
from aclnn_viz.checking.operations import WATCH, Operation, watched
from aclnn_viz.storage.foreign_arrays import as_array, is_number
from aclnn_viz.words.messages import commas, linked, message, tr

TILES = "aclnn_viz.checking.tile_operations"  # loaded only for tile programs
WATCHED = 1024  # most nonfinite elements that are watched in one result
WORK = 20_000_000  # most elements of all watched results; each result counts as at least `WATCHED`
SHOWN = 3  # operations listed on the path of a nan, and at the ends of other paths
EMPTY = {"empty", "empty_like", "new_empty"}
# each result element may depend on many elements of an operand, even of the same shape
MIXED = {"matmul", "dot", "mm", "bmm", "einsum", "cumsum"}
UNWRITTEN = message("memory that was never written")
MADE = message("{what}: the first {value:g} is made in {place}: {code}, of {operands}")
GIVEN = message(
    "{what}: {value:g} enters from an input, a constant or a loop, in {place}: {code}, of {operands}"
)
PASSES, ENDS = (
    message("  the value passes through: {operations}"),
    message("  other such values end in: {operations}"),
)
NOWHERE = message("{what}: no operation of the kernel makes a nan or an infinity of it")


class Part(NamedTuple):
    """Elements of an operand or a result: their addresses, values and name."""

    at: np.ndarray
    values: np.ndarray
    name: str = ""

    def chosen(self, place) -> "Part":
        """Return the elements at an index."""
        return Part(*(np.asarray(array[place]) for array in self[:2]), self.name)

    @property
    def wrong(self) -> np.ndarray:
        return ~np.isfinite(self.values)


class Link(NamedTuple):
    """The origin of a nonfinite element; `first` if all operands are finite, or if it is nan and none of them is."""

    operation: Operation
    value: float
    operands: tuple[str, ...]
    first: bool
    index: tuple[int, ...] = ()
    before: "Link | None" = None


class Unseen(Exception):
    """The search for an origin stops: there is too much to watch, or elements have no stable address."""


@dataclass(frozen=True)
class NanOrigin:
    """The origin of a wrong nan or infinity, or the place where a right one is lost.

    Attributes
    ----------
    file, line : str, int
        The operation that makes the first nan or infinity, or "" and 0.
    lines : tuple of str
        The wrong element, the origin of its first nan or infinity and the operands there; the
        operations on its path, and operations that lose others, such as a maximum or a comparison.
    """

    file: str
    line: int
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(map(tr, self.lines))


def nan_origin(kernel: Callable, runs: Iterable[CaseRun]) -> NanOrigin | None:
    """Return the origin of the first wrong or lost nan or infinity, else of unwritten memory in the first wrong element, or
    None.
    """
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
    trail, case, tiles = Trail(), run.case, hasattr(kernel, "under")
    try:
        if tiles:
            outputs = import_module(TILES).watched(kernel, trail, case.inputs)
        else:
            names = list(run.expected), case.operator.outputs
            outputs = named(watched(kernel, trail.made, **deepcopy(case.inputs)), *names, part)
        at = int(outputs[output].at.reshape(run.truth[output].shape)[index])
    except Exception:  # a kernel may raise anything, or have no source
        return None
    actual, truth = (float(values[output][index]) for values in (run.outputs, run.truth))
    if not (tiles or at in trail.links or np.isfinite(actual)):
        at = next(reversed(trail.links), at)  # a wrapper of the kernel may copy its outputs
    chain, link = [], trail.links.get(at)
    while link:
        chain.insert(0, link)
        link = link.before
    first = next((link for link in chain if link.first), chain[0] if chain else None)
    if np.isfinite([actual, truth]).all() and not (first and UNWRITTEN in first.operands):
        return None
    what = message(
        "{element} is {actual} instead of {truth}",
        element=f"{output}{list(index)}",
        actual=f"{actual:.9g}",
        truth=f"{truth:.9g}",
    )
    if not first:
        file, line, made = "", 0, message(NOWHERE, what=what)
    else:
        file, line, code, _, place = first.operation
        # leave out operations whose code is a bare name, such as the iterable of a loop
        chain = [
            link.operation
            for link in chain
            if link.operation.place != place and not link.operation.code.isidentifier()
        ]
        if first.index:
            place = message("{place}, element {index}", place=place, index=first.index)
        made = message(
            MADE if first.first else GIVEN,
            what=what,
            value=first.value,
            place=place,
            code=code,
            operands=commas(first.operands),
        )
    after, ends = _shown(PASSES, chain), _shown(ENDS, trail.ends.values())
    return NanOrigin(file, line, (made, *after, *ends))


def _shown(what: str, operations: Iterable[Operation]) -> list[str]:
    """Return a line of the first few operations, or none."""
    lines = {operation.place: said(operation) for operation in operations}
    some = [*lines.values()][:SHOWN]
    return [message(what, operations=linked("{some}; {more}", some))] * bool(some)


def said(operation: Operation) -> str:
    """Return an operation with its place as text."""
    return message("{place}: {code}", place=operation.place, code=operation.code)


def part(value, name: str = "") -> Part | None:
    """Return an array, a number or a list of these as a Part with copied values; None for other types."""
    if isinstance(value, list | tuple):
        parts = [*filter(None, map(part, value))]
        arrays = (np.concatenate([*map(np.ravel, arrays)]) for arrays in [*zip(*parts)][:2])
        return Part(*arrays, name) if parts else None
    scalar = isinstance(value, float | np.generic)
    array = np.asarray(value) if scalar else as_array(value) if hasattr(value, "shape") else None
    if not isinstance(array, np.ndarray) or not is_number(array.dtype):
        return None
    at = np.array(-id(value)) if scalar else addresses(array)
    if hasattr(value, "data_ptr") and array.size and value.data_ptr() != at.flat[0]:
        raise Unseen  # a copy of an array on a device has other addresses
    return Part(at, array.astype(np.float64), name)


def addresses(array: np.ndarray) -> np.ndarray:
    """Return the address of each element in memory."""
    steps = np.tensordot(np.int64(array.strides), np.indices(array.shape), 1)
    return np.asarray(array.ctypes.data + steps)


class Trail:
    """The links of all nonfinite elements by address, and the operations in which such elements end."""

    def __init__(self):
        self.links: dict[int, Link] = {}
        self.ends: dict[tuple, Operation] = {}
        self.latest: Link | None = None
        # recorded arrays stay alive, so that no other array gets their address
        self.kept: list = []
        self.left = WORK

    def note(
        self, operation: Operation, operands: Sequence[Part], result: Part, mixed=False, origin=""
    ):
        """Record an operation with its operands' earlier values; `origin` names another source, in words or as a Link."""
        self.left -= max(result.at.size, WATCHED)
        if self.left < 0:
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
            wrong = some.chosen(some.wrong)
            sources += zip(np.isnan(wrong.values), map(self.links.get, wrong.at))
        sources.sort(key=lambda source: not source[0])
        before = next((link for _, link in sources if link), None)
        if isinstance(origin, Link) and not sources:
            return Link(operation, value, (), False, index, origin)
        made = not sources or value != value and not sources[0][0]
        texts = tuple(filter(None, [*texts, origin]))
        return Link(operation, value, texts, bool(texts) and made, index, before)

    def made(self, operation: Operation, function: Callable, given: list, call: Callable):
        """Run an operation of a Python kernel, and record it."""
        if WATCH in getattr(getattr(function, "__code__", None), "co_names", ()):
            return call()
        name = getattr(function, "__name__", "")
        parts, latest = [*map(part, given, operation.operands)], self.latest
        result = call()
        self.kept.append((given, result))
        operands, origin = [*filter(None, parts)], self.latest is not latest and self.latest or ""
        mixed = name in MIXED or name.endswith("softmax") or {list, tuple} & {*map(type, given)}
        leaves = [*map(part, result if isinstance(result, tuple) else [result])]
        if name in ("getitem", "setitem"):
            if not hasattr(given[0], "shape"):
                return result
            element = part(given[0], operation.operands[0]).chosen(_index(given[1]))
            if name == "getitem":
                operands = [element]
            else:
                operands, leaves = [*filter(None, parts[2:])], [element]
            parts = []
        elif name in EMPTY:
            as_array(result)[...] = np.nan
            operands, origin, leaves = [], UNWRITTEN, [part(result)]
        for value, before in zip(given, parts):  # an operation may write into its operand
            if before and hasattr(value, "shape") and value is not result:
                after = part(value)
                if (changed := ~same(before.values, after.values)).any():
                    self.note(operation, operands, after.chosen(changed), True)
        for leaf in filter(None, leaves if operands or origin else ()):
            self.note(operation, operands, leaf, mixed, origin)
        return result


def _index(place):
    """Return an index in NumPy's form."""
    if isinstance(place, tuple):
        return tuple(map(_index, place))
    return as_array(place) if hasattr(place, "shape") else place


def _reach(index: tuple[int, ...], shape: tuple[int, ...], values: np.ndarray) -> tuple:
    """Return the index of the operand's elements from which one result element is computed, as shapes suggest."""
    ours = values.shape
    if ours != shape and values.size == np.prod(shape, dtype=int):
        return np.unravel_index(np.ravel_multi_index(index, shape), ours)
    # a sum over axes matches any index of those axes
    pairs, free = [*zip(index, shape)], [(0, -1)] * (len(ours) - len(shape))
    pairs = pairs + free if ours[: len(shape)] == shape else free + pairs
    return tuple(
        i if n == m else 0 if n == 1 else slice(None)
        for n, (i, m) in zip(ours, pairs[len(pairs) - len(ours) :])
    )


def _ended(held: np.ndarray, wrong: np.ndarray) -> bool:
    """Return whether a nonfinite element of an operand is finite in the result."""
    with suppress(ValueError):
        return bool((np.broadcast_to(held, wrong.shape) & ~wrong).any())
    return bool(held.any() and not wrong.any())


def _text(operand: Part) -> str:
    """Return name and value of an operand's elements; "" for a literal number."""
    with suppress(ValueError):
        float(operand.name or "a")
        return ""
    low, high = (f"{pick(operand.values):.6g}" for pick in (np.min, np.max))
    value = low if low == high else f"{low} .. {high}"
    return f"{operand.name} = {value}" if operand.name else value
