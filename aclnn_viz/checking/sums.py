"""Explain wrong outputs by one wrong sum: over the last axis alone, without some terms, not cleared, or divided by a wrong
length.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from aclnn_viz.checking.candidates import BLOCKS, cut, places_of_axes
from aclnn_viz.checking.case_run import Candidate, CaseRun, Variant
from aclnn_viz.operators import Operator
from aclnn_viz.operators.faults.edits import Change, Edit, statements, units
from aclnn_viz.words.messages import linked, message

REDUCED = "reduced"


def _axes(options: dict, rank: int) -> tuple[int, ...]:
    axis = options.get("axis")
    axes = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(at % rank for at in axes)


def _cut_sum(at: int, length: Callable[[int], int]):
    def reduce(whole, values, **options):
        axes = _axes(options, np.ndim(values))
        return whole(cut(values, axes[at % len(axes)], length), **options)

    return reduce


def _one_place(place: int):
    def reduce(whole, values, **options):
        for axis in _axes(options, np.ndim(values)):
            values = np.take(values, [place], axis) * 1.0
        shape = np.shape(whole(values, **options))
        return values.reshape(shape)

    return reduce


def _over_last(run: CaseRun) -> Callable:
    """Return a function that reduces only the last of several axes, also where the page has them flattened to one."""
    case = run.case
    block = case.inputs[case.operator.like].shape[-1]

    def reduce(whole, values, **options):
        shape, axes = np.shape(values), _axes(options, np.ndim(values))
        if len(axes) > 1:
            return whole(values, **options | {"axis": axes[-1]})
        if axes != (len(shape) - 1,):
            raise ValueError(axes)
        parts = np.reshape(values, (-1, block))
        return np.broadcast_to(whole(parts, axis=-1, keepdims=True), parts.shape).reshape(shape)

    return reduce


def _carried(whole, values, **options):
    result = whole(values, **options)
    return np.cumsum(np.asarray(result).reshape(-1)).reshape(np.shape(result))


def _length_of(change: Callable[[int, list[int], list[int]], int]):
    """Return a mean that divides by `change(number of its terms, lengths of its axes, lengths of the others)`."""

    def reduce(whole, values, **options):
        if whole.__name__ != "mean":
            raise ValueError(whole)
        shape, axes = np.shape(values), _axes(options, np.ndim(values))
        n = int(np.prod([shape[axis] for axis in axes]))
        others = [shape[axis] for axis in range(len(shape)) if axis not in axes]
        return whole(values, **options) * (
            n / max(change(n, [shape[axis] for axis in axes], others), 1) if n else 1.0
        )

    return reduce


def _ways() -> Iterator[tuple[str, Callable]]:
    yield message("the sum includes the sums before it: it is never cleared"), _carried
    yield message("the sum is its first term alone"), _one_place(0)
    yield message("the sum is its last term alone"), _one_place(-1)
    for words, block, places in places_of_axes():
        for at, where in (
            (-1, message("the last axis of the sum")),
            (0, message("the first axis of the sum")),
        ):
            yield (
                message(
                    "the sum leaves out the elements {place}",
                    place=message(words, block=block, axis=where),
                ),
                _cut_sum(at, places),
            )
    for block in BLOCKS:
        yield (
            message("divided by the length rounded up to whole {block}", block=block),
            _length_of(lambda n, axes, others, b=block: -(-n // b) * b),
        )
    for words, length in {
        message("divided by the length minus one"): lambda n, axes, others: n - 1,
        message("divided by the length plus one"): lambda n, axes, others: n + 1,
        message("divided by the length of the first axis alone"): lambda n, axes, others: axes[0],
        message("divided by the length of the last axis alone"): lambda n, axes, others: axes[-1],
        message("divided by the length of the other axes"): lambda n, axes, others: int(
            np.prod(others)
        ),
        message("divided by the length 1"): lambda n, axes, others: 1,
    }.items():
        yield words, _length_of(length)


def _candidate(site: Edit, words: str, reduce_of: Callable[[CaseRun], Callable]) -> Candidate:
    def test(run: CaseRun) -> bool:
        setattr(site.page, REDUCED, reduce_of(run))
        return run.matches(Variant(lambda: site.page))

    def texts():
        sums = "; ".join(ast.unparse(edit.change.node) for edit in (site, *site.others))
        where = message("with {sum} computed differently: {change}", sum=sums, change=words)
        return site.place, site.before, linked("{some}\n    {more}", [site.before, where])

    return Candidate("sum", texts, test)


def sites(op: Operator, probe: CaseRun) -> Iterator[Edit]:
    """Yield edits that replace each sum of a page, and all sums of a function over the same axes, by another function."""
    for unit in units(op.page):
        alike: dict[str, list[Edit]] = {}
        holder = statements(unit.tree)
        for node in ast.walk(unit.tree) if unit.name in probe.floats else ():
            match node:
                case ast.Call(ast.Attribute(attr="sum" | "mean") as whole, args):
                    called = {"func": ast.Name(REDUCED, ast.Load()), "args": [whole, *args]}
                    edit = Edit(
                        "sum", unit, holder[id(node)], Change("sum", node, called, line=node.lineno)
                    )
                    alike.setdefault(" ".join(map(ast.unparse, node.keywords)), []).append(edit)
        for edits in alike.values():
            yield from edits
            if len(edits) > 1:
                yield replace(edits[0], others=tuple(edits[1:]))


def over_fewer(op: Operator, probe: CaseRun) -> Iterator[Candidate]:
    """Return candidates that sum over the last axis alone, in one sum or in all sums over the same axes."""
    words = message("over the last of the axes alone")
    return (_candidate(site, words, _over_last) for site in sites(op, probe))


def reduced(op: Operator, probe: CaseRun) -> Iterator[Candidate]:
    """Yield candidates with one sum, or all over the same axes, computed another way."""
    ways = list(_ways())
    for site in sites(op, probe):
        for words, reduce in ways:
            yield _candidate(site, words, lambda run, reduce=reduce: reduce)
