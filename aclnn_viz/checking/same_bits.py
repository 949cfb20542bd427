"""`same_bits`: test whether a row gets the same bits in any batch, at any place, on any cores, threads and calls; if not,
report where and why.

A row appears in batches of several sizes, at several places, with other neighbours, on other cores, in other orders. Its bits
must stay. Two recordings of the kernel explain a change: sums cut at other places, or lines that ran in only one of them.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import permutations
from typing import NamedTuple

import numpy as np

from aclnn_viz.cases import Case, case
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.counterexample import Axes
from aclnn_viz.checking.judge import documented, suite_recipes
from aclnn_viz.checking.kernel import as_kernel
from aclnn_viz.checking.kernel_call import bits_alike, outputs_alone
from aclnn_viz.checking.operations import SUMS, recorded
from aclnn_viz.errors import invalid, whole
from aclnn_viz.operators import operator
from aclnn_viz.words.messages import commas, message, tr

ROWS, LENGTH = 70, 132  # rows of a case, and a second length of their last axis
CALLS, OTHERS = message("another call"), message("other values in other rows")
SIZE, PLACE = message("another batch"), message("another place")
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


def _batches(tiles: bool) -> list[tuple]:
    """Return for each run what it varies, the rows of its batch, and keywords with their values."""
    rows = range(ROWS)
    few, many = rows[3:7], rows[: 8 if tiles else 64]  # tile programs are slow
    cores, order = message("another number of cores"), message("another order")
    on_tiles = [
        *((cores, many, ("cores", n)) for n in (1, 2, 7)),
        *((order, many, ("schedule", name)) for name in ("eager", "late", 0, 1)),
    ]
    in_python = [(message("other threads"), many, ("threads", n)) for n in (1, 4)]
    return [
        *[(CALLS, few)] * 2,
        *((OTHERS, rows[3::step][:4]) for step in (5, 16)),
        *((SIZE, rows[3 : 3 + n]) for n in (1, 2, 3, 5, 8, 17, 33, 64)),
        *((PLACE, rows[at : at + 4]) for at in (2, 1, 0)),
        (PLACE, many),
        *(on_tiles if tiles else in_python),
        (CALLS, few),
    ]


class Run(NamedTuple):
    """A run of the kernel: its case, its keywords, and the bits of each (output, row)."""

    case: Case
    how: dict
    bits: dict[tuple[str, int], np.ndarray]


def _rows(base: Case, attributes: dict) -> Callable[..., Run] | None:
    """Return a function that runs a kernel on some rows of a case, or None if no result of a row is independent of others."""
    op, axes = base.operator, Axes(base)
    options = base.arrays | attributes | {"dtype": base.dtype}
    named = {name: axes.of(name) for name in documented(base)}
    axis = next(iter(named.values()))[0]
    along = {name: own.index(axis) for name, own in named.items() if axis in own}

    def run(kernel: Callable, rows: range, **how) -> Run:
        cut = next(axes.cut(options, axis, slice(rows.start, rows.stop, rows.step)))
        batch = Recipe(op.name, cut).case(0)
        if how:
            kernel = getattr(kernel, "under", partial(_in_threads, kernel))(**how)
        outputs = outputs_alone(kernel, batch) or {}
        bits = {
            (name, row): values
            for name in along.keys() & outputs
            for row, values in zip(rows, np.moveaxis(outputs[name], along[name], 0))
        }
        return Run(batch, how, bits)

    alone, several = (run(op.truth, range(3, end)).bits for end in (4, 7))
    for name, row in alone:
        if not np.allclose(alone[name, row], several[name, row], 1e-9, 0):
            del along[name]
    return run if along else None


def _in_threads(kernel: Callable, threads: int) -> Callable:
    """Return a kernel that runs in several threads at once, each with as many threads of PyTorch."""
    torch = sys.modules.get("torch")

    def call(**inputs):
        with ThreadPoolExecutor(threads) as pool, ExitStack() as after:
            if torch:
                after.callback(torch.set_num_threads, torch.get_num_threads())
                torch.set_num_threads(threads)
            return [*pool.map(lambda _: kernel(**inputs), range(threads))][-1]

    return call


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
        function, changes, tried = given.function, {}, {}
        if function is None:
            raise invalid(
                "a kernel is called", f"the folder {given.folder}", "name a function or a device"
            )
        for run in _cases(op, whole("seed", seed)):
            firsts = {}
            for what, rows, *how in _batches(hasattr(function, "under")):
                now = run(function, rows, **dict(how))
                # another size is compared with one row, all else with the first run of its size
                first = firsts.setdefault((len(rows), *now.how), now)
                if what is SIZE:
                    first = firsts.setdefault(SIZE, now)
                shared = now.bits.keys() & first.bits if now is not first else ()
                for name, row in sorted(shared):
                    tried[what] = None
                    same = bits_alike(first.bits[name, row], now.bits[name, row])
                    if not same and (what, name) not in changes:
                        reason = REASONS.get(what) or _reason(function, first, now)
                        changes[what, name] = Change(what, name, len(rows), reason)
                if changes and what in REASONS:
                    break
    return SameBits(op.name, not changes if tried else None, tuple(changes.values()), tuple(tried))


def _cases(op, seed: int) -> list[Callable[..., Run]]:
    """Return what runs a kernel on cases with independent rows, for the first attributes of the suite that have any."""
    small = case(op, seed=seed).inputs
    shape = small.get(op.first, small[op.like]).shape
    for options in ({}, *(recipe.options for recipe in suite_recipes(op.name))):
        attributes = {name: options[name] for name in op.attributes if name in options}
        cases = []
        for length in (shape[-1], LENGTH):
            sizes = (ROWS, *shape[1:-1], length)[: len(shape)]
            with suppress(ValueError, TypeError, KeyError, StopIteration):
                cases.append(_rows(case(op, seed=seed, shape=sizes, **attributes), attributes))
        if cases := [*filter(None, cases)]:
            return cases
    return []


def _reason(kernel: Callable, *runs: Run) -> str:
    """Return the likeliest reason why bits differ between two runs, from the kernel's steps in each."""
    try:
        steps = [recorded(kernel, run.case.inputs, **run.how)[0] for run in runs]
    except Exception:  # the kernel may raise anything, or its source is missing
        return UNSEEN
    found = {}
    for mine, yours in permutations(steps):
        there = defaultdict(list)
        for other in yours:
            there[other[:4]].append(other)
        for step in mine:
            others = there[step[:4]]
            if "(atomic)" in step.name:
                reason = ATOMIC
            elif not others:
                reason = PATH
            elif not SUMS.search(step.name):
                continue
            else:
                reason = LIBRARY if any(step.shares & other.shares for other in others) else CUT
            found.setdefault(reason, [step, *others])
    for reason in (ATOMIC, CUT, PATH, LIBRARY):
        if pair := found.get(reason):
            shapes = (step.operands[0].values.shape for step in pair if step.operands)
            return message(reason, code=pair[0]._replace(core="").said, **dict(zip("ab", shapes)))
    return UNSEEN
