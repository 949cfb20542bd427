"""`same_bits`: test whether a row gets the same bits in any batch, at any place, on any cores, threads and calls; if not,
report where and why.

A row appears in batches of several sizes, at several places, with other neighbours, on other cores, in other orders. Its bits
must stay. Two recordings of the kernel explain a change: sums cut at other places, or lines that ran in only one of them.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from aclnn_viz.cases import Case, case
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.counterexample import Axes
from aclnn_viz.checking.judge import documented, suite_recipes
from aclnn_viz.checking.kernel import as_kernel
from aclnn_viz.checking.kernel_call import bits_alike, outputs_alone
from aclnn_viz.checking.operations import SUMS, Step, place_of, recorded, said
from aclnn_viz.errors import invalid, whole
from aclnn_viz.operators import operator
from aclnn_viz.words.messages import commas, message, tr

ROWS, SIZES, LENGTH = 70, (2, 3, 5, 8, 17, 33, 64), 132
# index of the tested row; rows of a batch in which this row moves; rows of a batch that runs on other
# cores (tile programs); rows of a batch that runs in other threads (other kernels)
ROW, BATCH, ROWS_ON_TILES, LONGEST_BATCH = 3, 4, 9, 64
CALLS, OTHERS = message("another call"), message("other values in other rows")
SIZE, PLACE = message("another batch"), message("another place")
# what is varied between runs; the first value is the reference
ON_TILES = (
    (message("another number of cores"), "cores", 1, 2, 7),
    (message("another order"), "schedule", "eager", "late", 0, 1),
)
IN_PYTHON = ((message("other threads"), "threads", 1, 4),)
ATOMIC = message("atomic additions land in any order: {code}")
CUT = message(
    "a sum is split at other places; its shape is {a} in one call and {b} in the other: {code}"
)
PATH = message(
    "the kernel takes another branch; this line runs in only one of the two calls: {code}"
)
LIBRARY = message("the library adds in another order: {code}")
REASONS = {
    CALLS: message(
        "a call changes state that later calls read, or the kernel is not deterministic"
    ),
    OTHERS: message("the result of a row is computed from other rows, too"),
}
UNSEEN = message("no recorded operation shows the reason")


@dataclass(frozen=True)
class Change:
    """A cause of changed bits: `what` in words, the output, the smallest batch that shows it, and the reason."""

    what: str
    output: str
    rows: int
    reason: str


@dataclass(frozen=True)
class SameBits:
    """The answer whether a row has the same bits at every place.

    Attributes
    ----------
    operator : str
        The short name of the operator.
    holds : bool or None
        None if the rows of the operator, or of the kernel, are not independent.
    where : tuple of Change
        Each cause of a change, with the output, the smallest batch and the reason.
    tried : tuple of str
        The variations; if a repeated call, or other rows, change the bits, no further ones are tried.
    """

    operator: str
    holds: bool | None
    where: tuple[Change, ...]
    tried: tuple[str, ...]

    def __str__(self) -> str:
        tried = commas(self.tried)
        if self.holds is None:
            return tr("{operator}: no result of a row could be compared", operator=self.operator)
        if self.holds:
            return tr("{operator}: the same bits with {tried}", operator=self.operator, tried=tried)
        changes = (
            tr("{output} changes with {what}, from {rows} rows on: {reason}", **vars(change))
            for change in self.where
        )
        return "\n".join([tr("{operator}: NOT the same bits", operator=self.operator), *changes])

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
        return json.dumps(asdict(self), indent=1)


class View(NamedTuple):
    """Rows of a batch by `first`, `count`, `step`; the tested row's `place` in these; `how` to run them, which tests all; at
    which `call`.
    """

    first: int = ROW
    count: int = BATCH
    step: int = 1
    place: int = 0
    how: tuple = ()
    call: int = 0


class _Rows:
    """A case with independent rows; `along` gives the row axis of each output."""

    def __init__(self, base: Case, kernel: Callable, attributes: dict):
        self.base, self.kernel, self.axes = base, kernel, Axes(base)
        self.options = base.arrays | attributes | {"dtype": base.dtype}
        axes = {name: self.axes.of(name) for name in documented(base)}
        self.axis = next(iter(axes.values()))[0]
        self.along = {name: own.index(self.axis) for name, own in axes.items() if self.axis in own}
        self.seen = cache(partial(self._seen, kernel))
        alone, several = (self._seen(base.operator.truth, view) for view in (View(count=1), View()))
        for name in alone:
            if not np.allclose(alone[name], several[name], 1e-9, 0):
                del self.along[name]

    def cut(self, view: View) -> Case:
        rows = slice(view.first, view.first + view.count * view.step, view.step)
        options = next(self.axes.cut(self.options, self.axis, rows))
        return Recipe(self.base.operator.name, options).case(0)

    def _seen(self, kernel: Callable, view: View) -> dict[str, np.ndarray]:
        """Return the tested row of each output on a view (all rows if it says how to run them); none if the kernel fails."""
        if view.how:
            under = getattr(kernel, "under", partial(_in_threads, kernel))
            kernel = under(**dict(view.how))
        outputs = outputs_alone(kernel, self.cut(view)) or {}
        return {
            name: outputs[name] if view.how else np.take(outputs[name], view.place, axis)
            for name, axis in self.along.items()
            if name in outputs
        }

    def recorded(self, view: View) -> list[Step]:
        """Return the steps of the kernel on a view."""
        with suppress(Exception):  # the kernel may raise anything, or its source is missing
            return recorded(self.kernel, self.cut(view).inputs, **dict(view.how))[0]
        return []


def _in_threads(kernel: Callable, threads: int) -> Callable:
    """Return a kernel that runs in several threads at once, each with as many threads of PyTorch."""
    torch = sys.modules.get("torch")

    def call(**inputs):
        if torch:
            before = torch.get_num_threads()
            torch.set_num_threads(threads)
        try:
            with ThreadPoolExecutor(threads) as pool:
                return [*pool.map(lambda _: kernel(**inputs), range(threads))][-1]
        finally:
            if torch:
                torch.set_num_threads(before)

    return call


def _views(tiles: bool) -> Iterator[tuple[str, View, View]]:
    """Yield each variation with the two views that it compares."""
    # tile programs are slow, so they get smaller batches
    rows, longest = View(), ROWS_ON_TILES if tiles else LONGEST_BATCH
    yield CALLS, rows, View(call=1)
    for step in (5, 16):
        yield OTHERS, rows, View(step=step)
    for size in SIZES:
        yield SIZE, View(count=1), View(count=size)
    for place in range(1, BATCH):
        yield PLACE, rows, View(ROW - place, place=place)
    yield PLACE, View(count=longest), View(0, longest, place=ROW)
    for what, name, *values in ON_TILES if tiles else IN_PYTHON:
        first, *others = (View(0, longest, how=((name, value),)) for value in values)
        for other in others:
            yield what, first, other
    yield CALLS, rows, View(call=2)


def same_bits(op, kernel, seed: int = 0, *, soc=None, cann=None, signature=None) -> SameBits:
    """Test whether a row has the same bits in any batch, at any place, on any cores, in any thread and call.

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
        `holds`, and `where` not: each cause of a change, with the output, the smallest batch and the
        reason.

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
            raise invalid(
                "a kernel is called", f"the folder {given.folder}", "name a function or a device"
            )
        changes, tried = {}, {}
        for rows in _cases(op, given.function, whole("seed", seed)):
            for what, first, second in _views(hasattr(given.function, "under")):
                row, other = rows.seen(first), rows.seen(second)
                for name in row if other else ():
                    tried[what] = None
                    if (what, name) not in changes and not bits_alike(row[name], other.get(name)):
                        reason = REASONS.get(what) or _reason(*map(rows.recorded, (first, second)))
                        changes[what, name] = Change(what, name, second.count, reason)
                if changes and what in REASONS:
                    break
    return SameBits(op.name, not changes if tried else None, tuple(changes.values()), tuple(tried))


def _cases(op, kernel: Callable, seed: int) -> list[_Rows]:
    """Return cases with independent rows, for the first attributes of the suite that have any."""
    small = case(op, seed=seed).inputs
    shape = small.get(op.first, small[op.like]).shape
    attributes = (
        {name: value for name, value in recipe.options.items() if name in op.attributes}
        for recipe in suite_recipes(op.name)
    )
    for options in ({}, *attributes):
        cases = []
        for length in (shape[-1], LENGTH):
            sizes = (ROWS, *shape[1:-1], length)[: len(shape)]
            with suppress(ValueError, TypeError, KeyError, StopIteration):
                cases.append(_Rows(case(op, seed=seed, shape=sizes, **options), kernel, options))
        if cases := [rows for rows in cases if rows.along]:
            return cases
    return []


def _reason(*runs: list[Step]) -> str:
    """Return the likeliest reason why bits differ between two runs, from the kernel's steps in each."""
    firsts = {}
    for mine, yours in (runs, runs[::-1]):
        there = defaultdict(list)
        for other in yours:
            there[other[:4]].append(other)
        for step in mine:
            others = there[step[:4]]
            if "(atomic)" in step.name:
                reason = ATOMIC
            elif not others:
                reason = PATH
            elif SUMS.search(step.name):
                reason = LIBRARY if any(_shares(step) & _shares(other) for other in others) else CUT
            else:
                continue
            firsts.setdefault(reason, [step, *others])
    for reason in (ATOMIC, CUT, PATH, LIBRARY):
        if steps := firsts.get(reason):
            shapes = (step.operands[0].values.shape if step.operands else () for step in steps)
            code = said(steps[0], place_of(*steps[0][:2]))
            return message(reason, code=code, **dict(zip("ab", shapes)))
    return UNSEEN


def _shares(step: Step) -> set[float]:
    """Return the number of elements of each operand for one element of the result."""
    return {operand.at.size / max(step.result.at.size, 1) for operand in step.operands}
