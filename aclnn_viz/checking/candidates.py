"""List possible mistakes that may explain a wrong kernel, as changes of a right one, and test which of them give the wrong
outputs.

Inputs are confused, outputs moved or cut; the page has one or two edits, sums over other places, or another constant, which is
fitted to the numbers.
"""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from math import prod
from types import ModuleType

import numpy as np

from aclnn_viz.checking.budgets import SEVERAL
from aclnn_viz.checking.case_run import Candidate, CaseRun, Variant
from aclnn_viz.checking.conditions import choices, lengths
from aclnn_viz.operators import Operator
from aclnn_viz.operators.faults.edits import Edit, replacements, units
from aclnn_viz.words.messages import linked, message

BLOCKS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
AXIS = message("axis {axis}")
FIRST_ALONG = message("of {input} only the first index along axis {axis} is read")
REVERSED = message("{input} is read in reverse order along axis {axis}")
EARLY = message("{input} is read along axis {axis} at an index that is one too small")
LATE = message("{input} is read along axis {axis} at an index that is one too large")
FIRST = message("only the first element of {input} is read")
AGAIN = message("only the first {block} elements of {input} are read, again and again")
ZEROED = message("0 is taken for {input} {place}")
FITTED = "fitted"
# relative difference up to which fitted numbers count as equal; a comparison of outputs follows
CLOSE = 1e-3


def _in_words(kind: str, words: str, test: Callable[[CaseRun], bool]) -> Candidate:
    return Candidate(kind, lambda: ("", "", words), test)


def of_edit(edit: Edit, only: frozenset[str] | None = None) -> Candidate:
    """Return the candidate of an edited page; with `only`, all other outputs come from the right page."""
    variant = Variant(lambda: edit.page, only=only)

    def texts():
        place = edit.place
        if only:
            place = message(
                "{place}, for {outputs} alone",
                place=place,
                outputs=linked("{some} and {more}", sorted(only)),
            )
        return place, edit.before, edit.after

    return Candidate(edit.kind, texts, lambda run: run.matches(variant))


def exchanges(some: Iterable[Edit]) -> Iterator[Candidate]:
    """Yield candidates that swap the same two things in two places of a function, or in all its places."""
    by_exchange: dict[tuple, list[Edit]] = {}
    for edit in some:
        if edit.change.exchange:
            by_exchange.setdefault((edit.unit.name, *edit.change.exchange), []).append(edit)
    for alike in sorted(by_exchange.values(), key=len):
        for places in (*combinations(alike, 2), *[tuple(alike)] * (len(alike) > 2)):
            if len({(id(edit.change.node), *edit.change.values) for edit in places}) == len(places):
                first, *others = places
                yield of_edit(replace(first, others=tuple(others)))


def whole(length: int, block: int) -> int:
    """Return how many of `length` places lie in whole blocks."""
    return length - length % block


def before_last(length: int, block: int) -> int:
    """Return the number of places before the last block, whole or not; all for a single block."""
    return max(length - 1, 0) // block * block or length


def whole_if_any(length: int, block: int) -> int:
    """Return the number of places in whole blocks; all if there is no whole block."""
    return whole(length, block) or length


CUTS = {
    message("behind the last whole {block} of {axis}"): whole,
    message("behind the last whole {block} of (all, if there is none) {axis}"): whole_if_any,
    message("in the last block of {block} of {axis}"): before_last,
}


def places_of_axes() -> Iterator[tuple[str, int, Callable[[int], int | slice]]]:
    """Yield (words, block, f) on places that a kernel may miss; f(length of an axis) is their slice or start."""
    yield message("in the last place of {axis}"), 0, lambda n: max(n - 1, 0)
    yield message("in the first place of {axis}"), 0, lambda n: slice(1)
    for words, length in CUTS.items():
        for block in BLOCKS:
            yield words, block, lambda n, f=length, b=block: f(n, b)


def cut(array: np.ndarray, axis: int | None, places: Callable[[int], int | slice]) -> np.ndarray:
    """Return a copy of an array, 0 at the slice or from the start `places(length)` on an axis (None: flat)."""
    kept = np.array(array)
    whole = kept.reshape(-1) if axis is None else np.moveaxis(kept, axis, 0)
    part = places(len(whole))
    whole[part if isinstance(part, slice) else slice(part, None)] = 0
    return kept


# Candidates that read inputs wrongly
def taken_for_others(op: Operator, seen: list[CaseRun]) -> Iterator[Candidate]:
    """Yield candidates that read an attribute as another value, or leave out, exchange or shift tensors."""
    values: dict[str, dict] = {}
    for run in seen:
        for name, value in choices(run.case).items():
            values.setdefault(name, {})[repr(value)] = value
    for p in op.parameters:
        if p.kind != "tensor":
            tried = values.get(p.name, {}) | ({repr(p.default): p.default} if p.optional else {})
            for value in tried.values():
                yield _of(
                    op,
                    message("{input} is taken for {value}", input=p.name, value=repr(value)),
                    bound=lambda bound, n=p.name, v=value: bound | {n: v},
                )
        elif p.optional:
            yield _of(
                op,
                message("{input} is not read", input=p.name),
                bound=lambda bound, n=p.name: bound | {n: None},
            )
    arrays = failing_arrays(seen)
    floating = [
        name for name, array in arrays.items() if array is not None and array.dtype.kind == "f"
    ]
    for a, b in combinations(floating, 2):
        yield _of(
            op,
            message("{one} and {other} are exchanged", one=a, other=b),
            arrays=lambda arrays, a=a, b=b: arrays | {a: arrays[b], b: arrays[a]},
        )
    for names in _groups(op, arrays, floating):
        for reading in _readings(_axis_names(op, names[0], arrays)):
            yield _changed(op, names, *reading)


def _changed(op: Operator, names: tuple[str, ...], words: str, values: dict, change) -> Candidate:
    return _of(
        op,
        message(words, input=linked("{some} and {more}", names), **values),
        arrays=lambda arrays: arrays | {name: change(arrays[name]) for name in names},
    )


def failing_arrays(seen: list[CaseRun]) -> dict:
    """Return the page's arrays in the case with the most optional tensors."""
    return max(
        (run.arranged.arrays for run in seen),
        key=lambda arrays: sum(a is not None for a in arrays.values()),
    )


def _groups(op: Operator, arrays: dict, floating: list[str]) -> list[tuple[str, ...]]:
    """Return groups of tensors' names: each alone; and those of one shape, saved ones apart from others."""
    groups = [(name,) for name in floating]
    alike: dict[tuple, list[str]] = {}
    for name in floating:
        alike.setdefault((arrays[name].shape, name in op.saved), []).append(name)
    groups += [tuple(names) for names in alike.values() if len(names) > 1]
    return groups


def _axis_names(op: Operator, name: str, arrays: dict) -> dict[int, str | int]:
    """Return the names of an array's axes in its tensor's pattern; axes that only the page has keep their numbers."""
    names = op.page_axes(name, {}) if name in op.tensors else ()
    return {axis: dict(enumerate(names)).get(axis, axis) for axis in range(arrays[name].ndim)}


def _readings(axes: dict[int, str | int]) -> Iterator[tuple[str, dict, Callable]]:
    for axis, name in axes.items():
        for words, change in {
            FIRST_ALONG: lambda a, axis: np.broadcast_to(np.take(a, [0], axis), a.shape),
            REVERSED: np.flip,
            EARLY: partial(np.roll, shift=1),
            LATE: partial(np.roll, shift=-1),
        }.items():
            yield words, {"axis": name}, partial(change, axis=axis)
    yield (
        FIRST,
        {},
        lambda a: np.broadcast_to(a.reshape(-1)[:1].reshape((1,) * a.ndim), a.shape),
    )
    for block in BLOCKS[2:]:
        yield (
            AGAIN,
            {"block": block},
            lambda a, b=block: a.reshape(-1)[np.arange(a.size) % b].reshape(a.shape),
        )
    for axis in (*axes, None):
        where = message("its elements") if axis is None else message(AXIS, axis=axes[axis])
        for words, block, places in places_of_axes():
            yield (
                ZEROED,
                {"place": message(words, block=block, axis=where)},
                partial(cut, axis=axis, places=places),
            )


def _of(op: Operator, words: str, **changes) -> Candidate:
    """Return the candidate that `words` describe: the right page with other inputs or outputs, by `changes`."""
    variant = Variant(lambda: op.page, **changes)
    return _in_words("inputs", words, lambda run: run.matches(variant))


def read_and_written(op: Operator, seen: list[CaseRun]) -> Iterator[Candidate]:
    """Yield candidates in which a tensor is read, and its gradient written, in reverse along an axis."""
    arrays = failing_arrays(seen)
    for output, name in op.gradient_of.items():
        if arrays.get(name) is None:
            continue
        for axis, called in _axis_names(op, name, arrays).items():
            yield _of(
                op,
                message(
                    "axis {axis} of {input} is read, and of {output} written, in reverse",
                    axis=called,
                    input=name,
                    output=output,
                ),
                arrays=lambda arrays, n=name, k=axis: arrays | {n: np.flip(arrays[n], k)},
                outputs=lambda values, _, o=output, k=axis: (
                    values | ({o: np.flip(values[o], k)} if o in values else {})
                ),
            )


# Candidates that return outputs wrongly
def moved(op: Operator, wrong: list[CaseRun]) -> Iterator[Candidate]:
    """Yield outputs with right numbers at other places (reversed, transposed, shifted, cut), or with those of another output or
    input.
    """
    names = sorted(
        {miss.output for run in wrong for miss in run.misses if miss.output in run.outputs}
    )
    for name in names:
        others = (other for other in op.outputs if other != name)
        for held in (*others, *(p.name for p in op.parameters if p.kind == "tensor")):
            yield _with(
                name,
                message("{output} holds {tensor}", output=name, tensor=held),
                lambda truth, inputs, n=held: np.asarray((truth | inputs)[n]).astype(np.float64),
            )
        rank = max(run.outputs[name].ndim for run in wrong if name in run.outputs)
        for axis in (-1, -2, 0)[: max(rank, 1)]:
            yield _mapped(
                name,
                message("{output} is reversed along axis {axis}", output=name, axis=axis),
                partial(np.flip, axis=axis),
            )
            for step in (1, -1):
                yield _mapped(
                    name,
                    message(
                        "{output} is shifted by {step:+d} along axis {axis}",
                        output=name,
                        step=step,
                        axis=axis,
                    ),
                    partial(np.roll, shift=step, axis=axis),
                )
        yield _mapped(
            name,
            message("{output} is laid out transposed", output=name),
            partial(np.swapaxes, axis1=-1, axis2=-2),
        )
        yield _mapped(name, message("{output} is 0 everywhere", output=name), np.zeros_like)
        yield _mapped(
            name, message("{output} holds absolute values: signs are lost", output=name), np.abs
        )
    yield from _cut(names, wrong)
    if len(names) == 2:
        a, b = names

        def exchanged(run: CaseRun) -> bool:
            truth = run.truth
            return (
                a in truth and b in truth and run.explained_by(truth | {a: truth[b], b: truth[a]})
            )

        yield _in_words(
            "outputs", message("{one} and {other} are exchanged", one=a, other=b), exchanged
        )


def _cut(names: list[str], wrong: list[CaseRun]) -> Iterator[Candidate]:
    """Yield partly unwritten outputs: places behind some place of an axis are missing, such as the tail of a tile."""
    rank = max(part.ndim for run in wrong for _, (part, _) in run.wanted.items())
    for some in dict.fromkeys((*((name,) for name in names), tuple(names))):
        names = linked("{some} and {more}", some)
        for axis in (None, *range(-rank, 0)):
            where = message("all elements") if axis is None else message(AXIS, axis=axis)
            shapes = (
                run.wanted[name][0].shape for run in wrong for name in some if name in run.wanted
            )
            counts = {
                prod(shape) if axis is None else shape[axis]
                for shape in shapes
                if axis is None or -axis <= len(shape)
            }
            for words, block, places in places_of_axes():
                if not any(cut(np.ones(n), None, places).any() for n in counts):
                    continue

                def same(run: CaseRun, some=some, axis=axis, places=places) -> bool:
                    truth = run.truth
                    if axis is not None and any(
                        -axis > run.wanted[name][0].ndim for name in some if name in truth
                    ):
                        return False
                    return run.explained_by(
                        truth
                        | {
                            name: cut(truth[name].reshape(run.wanted[name][0].shape), axis, places)
                            for name in some
                            if name in truth
                        }
                    )

                yield _in_words(
                    "outputs",
                    message(
                        "{output} stays 0 {place}",
                        output=names,
                        place=message(words, block=block, axis=where),
                    ),
                    same,
                )


def _with(name: str, words: str, change: Callable) -> Candidate:
    def same(run: CaseRun) -> bool:
        truth = run.truth
        return name not in truth or run.explained_by(truth | {name: change(truth, run.case.inputs)})

    return _in_words("outputs", words, same)


def _mapped(name: str, words: str, change: Callable) -> Candidate:
    return _with(name, words, lambda truth, _: change(truth[name]))


@cache
def slots(page: ModuleType) -> tuple[Edit, ...]:
    """Return edits, each of which puts an unknown number where a page may have a wrong number or lack a factor."""
    return tuple(
        Edit("constant", unit, statement, change)
        for unit in units(page)
        for statement, change in replacements(unit.tree, _unknown)
    )


def _unknown(node: ast.expr, parent: ast.AST, field: str) -> Iterator[tuple[str, ast.expr]]:
    unknown = ast.Name(FITTED, ast.Load())
    number = isinstance(node, ast.Constant)
    match parent:
        case ast.BinOp(op=ast.Mult() | ast.Div()) if not (number and field == "right"):
            return
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()):
            yield "constant", unknown if number else ast.BinOp(unknown, ast.Mult(), node)
        case ast.Assign() | ast.Dict() if field != "keys" and not isinstance(
            node, ast.Tuple | ast.List | ast.Dict
        ):
            yield "constant", unknown if number else ast.BinOp(unknown, ast.Mult(), node)


def _with_number(slot: Edit, run: CaseRun, number: float) -> dict:
    setattr(slot.page, FITTED, number)
    return run.computed(Variant(lambda: slot.page))


def fit(slot: Edit, run: CaseRun) -> float | None:
    """Return the number with which the page computes the kernel's outputs, by Newton's method on least squares, or None."""

    def flat(number: float) -> np.ndarray:
        values = _with_number(slot, run, number)
        return np.concatenate([np.asarray(values[name], np.float64).ravel() for name in run.wanted])

    try:
        wanted, near = (
            np.concatenate([part.ravel() for part in parts]) for parts in zip(*run.wanted.values())
        )
        sure = np.isfinite(near) & np.isfinite(wanted) & np.isfinite(flat(1.0))
        number, step = 1.0, 1.0
        for _ in range(4):  # if the page is linear in the number, the first step is exact
            here = flat(number)[sure]
            slope = (flat(number + step)[sure] - here) / step
            square = float(slope @ slope)
            if not np.isfinite(square) or square == 0.0:
                return None
            number += float(slope @ (wanted[sure] - here)) / square
            step = 1e-4 * max(abs(number), 1e-3)
        same = run.narrow or run.agrees(_with_number(slot, run, number))
        return number if np.isfinite(number) and same else None
    except Exception:  # a broken page may raise anything
        return None


def fitted(slot: Edit, failing: list[CaseRun]) -> Candidate | None:
    """Return the edit `slot` with the number, or the law of lengths, that explains all failing cases; else None."""
    # some cases in which a number can be fitted to many digits
    numbers, sharp = [], ([run for run in failing if not run.narrow] or failing)[:SEVERAL]
    for run in sharp:
        numbers.append(fit(slot, run))
        if numbers[-1] is None:
            return None
    law = _law(numbers, sharp)
    if law is None:
        return None
    text, number_of = law
    return Candidate(
        "constant",
        lambda: (slot.place, slot.before, slot.after.replace(FITTED, text)),
        lambda run: run.explained_by(_with_number(slot, run, number_of(run))),
    )


def _law(numbers: list[float], failing: list[CaseRun]):
    """Return words and a function of the case that give the fitted numbers, or None."""
    first = numbers[0]
    if all(abs(number - first) <= CLOSE * max(abs(first), 1e-9) for number in numbers):
        number = min(numbers, key=lambda value: abs(value - np.median(numbers)))
        for nice in (Fraction(number).limit_denominator(12), Fraction(f"{number:.4f}")):
            if abs(nice - number) <= CLOSE / 10 * abs(number):
                texts = f"{float(nice):.6g}", str(nice)
                return min(texts, key=len), lambda run, value=float(nice): value
        return f"{number:.6g}", lambda run: number
    laws = [
        ("{}", float),
        ("1 / {}", lambda n: 1 / n),
        ("({} - 1)", lambda n: n - 1.0),
        ("-{}", lambda n: -float(n)),
        ("sqrt({})", np.sqrt),
    ]
    known = [_counts(run.case) for run in failing]
    for name in known[0]:
        for words, law in laws:
            with np.errstate(all="ignore"):
                if all(
                    name in counts
                    and counts[name]
                    and abs(law(counts[name]) - number) <= CLOSE * abs(number)
                    for counts, number in zip(known, numbers)
                ):
                    return words.format(name), lambda run, name=name, law=law: law(
                        _counts(run.case)[name]
                    )
    return None


def _counts(case) -> dict[str, int]:
    """Return the lengths of a case, and the products of the last lengths of its tensors."""
    return lengths(case) | {
        f"prod({name}.shape[{at}:])": prod(value.shape[at:])
        for name, value in case.arrays.items()
        for at in range(value.ndim - 1)
    }
