"""`same_bits`: does the result of a row depend on its batch, its place, other rows, cores, threads or calls; where, and why.

A row comes in batches of several sizes, at several places, with other neighbours, on other cores, in other orders. Its bits must stay.
Why they do not, two recordings of the kernel tell: which sums were cut at other places, which lines ran in one of them alone.
"""

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

import numpy as np

from aclnn_viz.cases import Case, case
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.counterexample import Axes
from aclnn_viz.checking.judge import documented, suite_recipes
from aclnn_viz.checking.kernel import as_kernel
from aclnn_viz.checking.kernel_call import bits_alike, outputs_alone
from aclnn_viz.checking.nan import TILES
from aclnn_viz.checking.operations import Operation, Watched
from aclnn_viz.errors import problem, whole
from aclnn_viz.operators import operator
from aclnn_viz.words.messages import linked, message, tr

ROWS, SIZES, LENGTH = 70, (1, 2, 3, 5, 8, 17, 33, 64), 132
SECONDS = 60.0  # after which no other view is computed
ROW, BATCH = 3, 4  # the row that is looked at, and rows of a batch in which it moves
# What is varied, and its first value, with which the others are compared.
ON_TILES = (
    (message("another number of cores"), "cores", 1, 2, 7),
    (message("another order"), "schedule", "eager", "late", 0, 1),
)
IN_PYTHON = ((message("other threads"), "threads", 1, 4),)
SUMS = "sum mean dot matmul einsum mm bmm inner norm reduceat reduce std var linear addmm".split()
ATOMIC = message("atomic additions land in any order: {code}")
CUT = message("its sum is cut at other places, of shape {a} here and {b} there: {code}")
PATH = message("it goes another way, through a line that runs in one of them alone: {code}")
LIBRARY = message("the library adds in another order: {code}")
CALLS, OTHERS = message("another call"), message("other values in other rows")
REASONS = {
    CALLS: message("a call leaves something behind, or is not deterministic"),
    OTHERS: message("it is computed of other rows, too"),
}
UNSEEN = message("no operation was seen that tells why")


class Step(NamedTuple):
    """An operation of a recording: the shapes of what it reads, and whether it adds them up, or adds atomically."""

    operation: Operation
    shapes: tuple[tuple[int, ...], ...]
    sums: bool
    atomic: bool = False


class Change(NamedTuple):
    """What changes the bits of a row: `what` in words, the output, the rows of the smallest batch in which it does, and why."""

    what: str
    output: str
    rows: int
    reason: str


@dataclass(frozen=True)
class SameBits:
    """Whether the results of a row are the same bits wherever it stands.

    Attributes
    ----------
    operator : str
        The short name of the operator.
    holds : bool or None
        None where the kernel, or the operator, has no rows of their own.
    where : tuple of Change
        What changes them, in which output, from which size on, and why.
    tried : tuple of str
        What was changed.
    """

    operator: str
    holds: bool | None
    where: tuple[Change, ...]
    tried: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why the bits change first; an empty text where they do not."""
        return self.where[0].reason if self.where else ""

    def __str__(self) -> str:
        tried = linked("{some}, {more}", self.tried)
        if self.holds is None:
            return tr("{operator}: no result of a row could be compared", operator=self.operator)
        if self.holds:
            return tr("{operator}: the same bits with {tried}", operator=self.operator, tried=tried)
        lines = [
            tr(
                "{output} changes with {what}, from {n} rows on: {reason}",
                output=output,
                what=what,
                n=rows,
                reason=reason,
            )
            for what, output, rows, reason in self.where
        ]
        return "\n".join([tr("{operator}: NOT the same bits", operator=self.operator), *lines])

    def to_json(self) -> str:
        """Return everything as JSON text.

        Returns
        -------
        str
            An object whose names are the attributes of the result.

        Examples
        --------
        >>> import json, aclnn_viz as av
        >>> result = av.same_bits("hardswish", av.operator("hardswish").backward)
        >>> json.loads(result.to_json())["holds"]
        True
        """
        changes = [change._asdict() for change in self.where]
        return json.dumps(vars(self) | {"where": changes}, indent=1)


class View(NamedTuple):
    """Rows of a batch that are computed, and which of them is looked at (None: all); on which cores, in which order or threads."""

    rows: tuple[int, int | None, int]
    place: int | None = 0
    how: tuple = ()


class _Case:
    """A case with rows of their own; `along` has the axis of rows of each output."""

    def __init__(self, base: Case, kernel: Callable, attributes: dict):
        self.base, self.kernel, self.axes, self.known = base, kernel, Axes(base), {}
        self.options = base.arrays | attributes | {"dtype": base.dtype}
        axes = {name: self.axes.of(name) for name in documented(base)}
        self.axis = next(iter(axes.values()))[0]
        self.along = {name: own.index(self.axis) for name, own in axes.items() if self.axis in own}
        one, several = (self._row(self._computed(n), 0) for n in (1, BATCH))
        for name in one:
            if not np.allclose(one[name], several[name], 1e-9, 0):
                del self.along[name]

    def _computed(self, count: int) -> dict[str, np.ndarray]:
        made = self.cut(View((ROW, ROW + count, 1)))
        return made.operator.truth(**made.inputs)

    def cut(self, view: View) -> Case:
        options = next(self.axes.cut(self.options, self.axis, slice(*view.rows)))
        return Recipe(self.base.operator.name, options).case(0)

    def _row(self, outputs: Mapping, place: int | None) -> dict[str, np.ndarray]:
        return {
            name: outputs[name] if place is None else np.take(outputs[name], place, axis)
            for name, axis in self.along.items()
            if name in outputs
        }

    def seen(self, view: View, again: bool = False) -> dict[str, np.ndarray] | None:
        """What the kernel computes of a view; None where it fails."""
        if again or view not in self.known:
            made = self.cut(view)
            outputs = outputs_alone(self._on(dict(view.how)), made, list(documented(made)))
            self.known[view] = outputs and self._row(outputs, view.place)
        return self.known[view]

    def _on(self, how: dict) -> Callable:
        """The kernel on some cores, in an order, or in threads."""
        kernel, threads, torch = self.kernel, how.get("threads"), sys.modules.get("torch")
        if not how or not threads:
            return kernel.under(**how) if how else kernel

        def together(**inputs):
            with ThreadPoolExecutor(threads) as pool:
                return [*pool.map(lambda _: kernel(**inputs), range(threads))][-1]

        def alone(**inputs):
            before = torch.get_num_threads()
            torch.set_num_threads(1)
            try:
                return kernel(**inputs)
            finally:
                torch.set_num_threads(before)

        return alone if threads == 1 and torch else together

    def recorded(self, view: View) -> list[Step]:
        """The operations of the kernel on a view."""
        made, steps = self.cut(view), []
        if hasattr(self.kernel, "under"):
            return import_module(TILES).steps(self.kernel, made.inputs, dict(view.how))

        def watch(operation, function, *args, **options):
            given = getattr(function, "__self__", None), *args
            shapes = (getattr(value, "shape", None) for value in given)
            shapes = tuple(tuple(shape) for shape in shapes if isinstance(shape, tuple))
            steps.append(Step(operation, shapes, getattr(function, "__name__", "") in SUMS))
            return function(*args, **options)

        with suppress(Exception):  # whatever a kernel raises, or its source that is not there
            Watched(watch).of(self.kernel)(**made.inputs)
        return steps


def _views(tiles: bool) -> Iterator[tuple[str, int, View, View]]:
    """What is changed, of how many rows, and two views between which it is."""
    most = SIZES[-1]
    alone, moved, large = (View((ROW, ROW + count, 1)) for count in (1, BATCH, most))
    yield CALLS, BATCH, moved, moved
    yield OTHERS, BATCH, moved, View((ROW, None, -1))
    yield from (
        (message("another batch"), size, alone, View((ROW, ROW + size, 1))) for size in SIZES[1:]
    )
    for count, first, place in (
        *((BATCH, moved, place) for place in range(1, BATCH)),
        (most, large, ROW),
    ):
        yield (
            message("another place"),
            count,
            first,
            View((ROW - place, ROW - place + count, 1), place),
        )
    every = View((0, most, 1), None)
    for what, name, *values in ON_TILES if tiles else IN_PYTHON:
        first, *others = (every._replace(how=((name, value),)) for value in values)
        yield from ((what, most, first, other) for other in others)
    yield CALLS, BATCH, moved, moved


def same_bits(op, kernel, seed: int = 0, *, soc=None, cann=None, signature=None) -> SameBits:
    """Tell whether the results of a row are the same bits in any batch, at any place, on any cores, in any thread and call.

    Parameters
    ----------
    op : Operator, str or path
        An operator, or its name.
    kernel : callable, Device or str
        As for `check`: a function, a device, a tile program, "FILE.py:FUNCTION" or "FILE.cpp:ENTRY".
    seed : int
        The same seed draws the same rows.
    soc, cann, signature : str, optional
        As for `check`.

    Returns
    -------
    SameBits
        Whether it `holds`, and `where` not: what changes the bits, of which output, from how many
        rows on, and the reason.

    Raises
    ------
    ValueError, TypeError
        As `check` does.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> same_bits("rms_norm", av.operator("rms_norm").backward).holds
    True
    """
    op = operator(op)
    with as_kernel(kernel, op, signature, soc, cann) as given, np.errstate(all="ignore"):
        if given.function is None:
            raise ValueError(
                problem(
                    "a kernel is called",
                    f"the folder {given.folder}",
                    "name a function or a device",
                )
            )
        function, changes, tried, end = given.function, {}, {}, time.monotonic() + SECONDS
        for rows in _cases(op, function, whole("seed", seed)):
            for what, size, first, second in _views(hasattr(function, "under")):
                if time.monotonic() > end:
                    break
                one, other = rows.seen(first), rows.seen(second, first is second)
                for name in one if one and other else ():
                    tried[what] = None
                    if (what, name) not in changes and not bits_alike(one[name], other.get(name)):
                        changes[what, name] = Change(
                            what, name, size, _reason(rows, what, first, second)
                        )
                if changes and what in (CALLS, OTHERS):
                    break
    return SameBits(op.name, not changes if tried else None, tuple(changes.values()), tuple(tried))


def _cases(op, kernel: Callable, seed: int) -> list[_Case]:
    """Cases of which rows do not depend on each other, for the first attributes of the suite with which there are any."""
    small = case(op, seed=seed).inputs
    shape = small.get(op.first, small[op.like]).shape
    attributes = (
        {name: value for name, value in recipe.options.items() if name in op.attributes}
        for recipe in suite_recipes(op.name)
    )
    for options in ({}, *attributes):
        found = []
        for length in (shape[-1], LENGTH):
            with suppress(ValueError, TypeError, KeyError, StopIteration):
                base = case(
                    op, seed=seed, shape=(ROWS, *shape[1:-1], length)[: len(shape)], **options
                )
                found += [rows for rows in [_Case(base, kernel, options)] if rows.along]
        if found:
            return found
    return []


def _reason(rows: _Case, what: str, first: View, second: View) -> str:
    """Why bits differ between two views, by what the kernel does on each."""
    if what in (CALLS, OTHERS):
        return REASONS[what]
    ours, theirs = rows.recorded(first), rows.recorded(second)
    for step in (*ours, *theirs):
        if step.atomic:
            return _at(ATOMIC, step)
    count, other = (len(range(ROWS)[slice(*view.rows)]) for view in (first, second))
    for mine, yours, n, m in ((ours, theirs, count, other), (theirs, ours, other, count)):
        there = defaultdict(dict)
        for step in yours:
            there[step.operation][step.shapes] = None
        for step in mine:
            shapes = there[step.operation]
            if step.sums and shapes and not any(_fit(step.shapes, b, n, m) for b in shapes):
                return _at(CUT, step, a=step.shapes[0], b=next(iter(shapes))[0])
    lines = [{step.operation.line for step in steps} for steps in (ours, theirs)]
    for step in (*ours, *theirs):
        if any(step.operation.line not in part for part in lines):
            return _at(PATH, step)
    return next((_at(LIBRARY, step) for step in ours if step.sums), UNSEEN)


def _at(reason: str, step: Step, **shapes) -> str:
    place, code = step.operation.place, step.operation.code
    return message(reason.key, code=message("{place}: {code}", place=place, code=code), **shapes)


def _fit(ours: tuple, theirs: tuple, count: int, other: int) -> bool:
    """Whether shapes differ by the number of rows alone."""
    return all(
        a[1:] == b[1:] and (a[:1] == b[:1] or a[0] * other == b[0] * count)
        for a, b in zip(ours, theirs)
    )
