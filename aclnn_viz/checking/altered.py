"""Kernels that are right but for what they read or where they write: inputs taken for others, outputs moved or cut."""

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

from aclnn_viz.checking.candidates import Candidate
from aclnn_viz.checking.facts import choices
from aclnn_viz.checking.observing import Seen, Way
from aclnn_viz.operators import Operator
from aclnn_viz.words.speech import linked, message

BLOCKS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
MAPS = {"1 / it": lambda a: 1.0 / a, "sqrt(it)": np.sqrt, "1 / sqrt(it)": lambda a: 1.0 / np.sqrt(a),
        message("it squared"): np.square, "-it": np.negative, "abs(it)": np.abs, "exp(it)": np.exp, "log(it)": np.log,
        "1 + it": lambda a: 1.0 + a, "it - 1": lambda a: a - 1.0, "1 - it": lambda a: 1.0 - a}


def whole(length: int, block: int) -> int:
    """How many of `length` places lie in whole blocks."""
    return length - length % block


def before_last(length: int, block: int) -> int:
    """How many lie before the last block, whole or not; all where there is but one."""
    return max(length - 1, 0) // block * block or length


def whole_if_any(length: int, block: int) -> int:
    """How many lie in whole blocks; all where there is not one."""
    return whole(length, block) or length


CUTS = {message("behind the last whole {block} of {axis}"): whole,
        message("behind the last whole {block} of (all, if there is none) {axis}"): whole_if_any,
        message("in the last block of {block} of {axis}"): before_last}
AXIS = message("axis {axis}")


def cut(array: np.ndarray, axis: int | None, length: Callable[[int], int]) -> np.ndarray:
    """An array with zeros from some place of an axis on, or of all its elements in their order."""
    kept = np.array(array)
    if axis is None:
        kept.reshape(-1)[length(array.size):] = 0
    else:
        np.moveaxis(kept, axis, 0)[length(array.shape[axis]):] = 0
    return kept


# Inputs

def taken_for_others(op: Operator, seen: list[Seen]) -> Iterator[Candidate]:
    """Attributes that are read as another value, tensors that are not read, exchanged, read elsewhere or transformed."""
    values: dict[str, dict] = {}
    for one in seen:
        for name, value in choices(one.prepared.case).items():
            values.setdefault(name, {})[repr(value)] = value
    for p in op.parameters:
        if p.kind != "tensor":
            tried = values.get(p.name, {}) | ({repr(p.default): p.default} if p.optional else {})
            for value in tried.values():
                yield _bound(op, message("{input} is taken for {value}", input=p.name, value=repr(value)),
                             lambda bound, n=p.name, v=value: bound | {n: v})
        elif p.optional:
            yield _bound(op, message("{input} is not read", input=p.name), lambda bound, n=p.name: bound | {n: None})
    arrays = failing_arrays(seen)
    floating = [name for name, array in arrays.items() if array is not None and array.dtype.kind == "f"]
    for a, b in combinations(floating, 2):
        yield _arrays(op, message("{one} and {other} are exchanged", one=a, other=b),
                      lambda given, a=a, b=b: given | {a: given[b], b: given[a]})
    for names in _groups(op, arrays, floating):
        for words, values, change in (*_readings(arrays[names[0]].ndim, len(names)), *_values() * (len(names) == 1)):
            yield _arrays(op, message(words, input=linked("{some} and {more}", names), **values),
                          lambda given, names=names, change=change: given | {name: change(given[name]) for name in names})


def failing_arrays(seen: list[Seen]) -> dict:
    """The arrays of the page in one of the cases, the one in which the most optional tensors are given."""
    return max((one.arranged.arrays for one in seen), key=lambda arrays: sum(a is not None for a in arrays.values()))


def _groups(op: Operator, arrays: dict, floating: list[str]) -> list[tuple[str, ...]]:
    """Each tensor, and those that are read at the same places: saved together, or of the same shape."""
    groups = [(name,) for name in floating]
    alike: dict[tuple, list[str]] = {}
    for name in floating:
        alike.setdefault((arrays[name].shape, name in op.saved), []).append(name)
    groups += [tuple(names) for names in alike.values() if len(names) > 1]
    return groups


# What is read otherwise, of one input and of several.
FIRST_ALONG = (message("only the first place of {input} along axis {axis} is read"),
               message("only the first place of {input} along axis {axis} are read"))
REVERSED = message("{input} is read in reverse along axis {axis}"), message("{input} are read in reverse along axis {axis}")
EARLY = (message("{input} is read one place too early along axis {axis}"),
         message("{input} are read one place too early along axis {axis}"))
LATE = (message("{input} is read one place too late along axis {axis}"),
        message("{input} are read one place too late along axis {axis}"))
FIRST = message("only the first place of {input} is read"), message("only the first place of {input} are read")
AGAIN = (message("only the first {block} of {input} is read, again and again"),
         message("only the first {block} of {input} are read, again and again"))
ZEROED = message("{input} is taken for 0 {place}"), message("{input} are taken for 0 {place}")


def _readings(rank: int, inputs: int) -> Iterator[tuple[str, dict, Callable]]:
    several = inputs > 1
    for axis in range(rank):
        where = {"axis": axis}
        yield FIRST_ALONG[several], where, lambda a, k=axis: np.broadcast_to(np.take(a, [0], k), a.shape)
        yield REVERSED[several], where, lambda a, k=axis: np.flip(a, k)
        yield EARLY[several], where, lambda a, k=axis: np.roll(a, 1, k)
        yield LATE[several], where, lambda a, k=axis: np.roll(a, -1, k)
    yield FIRST[several], {}, lambda a: np.broadcast_to(a.reshape(-1)[:1].reshape((1,) * a.ndim), a.shape)
    for block in BLOCKS[2:]:
        yield AGAIN[several], {"block": block}, lambda a, b=block: a.reshape(-1)[np.arange(a.size) % b].reshape(a.shape)
    for axis in (*range(rank), None):
        where = message("its elements") if axis is None else message(AXIS, axis=axis)
        for words, length in CUTS.items():
            for block in BLOCKS:
                yield ZEROED[several], {"place": message(words, block=block, axis=where)}, \
                    lambda a, k=axis, b=block, f=length: cut(a, k, lambda n: f(n, b))


def _values() -> tuple[tuple[str, dict, Callable], ...]:
    numbers = tuple((message("{input} is taken for {number} everywhere"), {"number": f"{number:g}"},
                     lambda a, v=number: np.full_like(a, v)) for number in (1.0, 0.0))
    return numbers + tuple((message("{input} is taken for {value}"), {"value": value}, change) for value, change in MAPS.items())


def _bound(op: Operator, words: str, change: Callable) -> Candidate:
    return _of(words, Way(lambda: op.page, bound=change))


def _arrays(op: Operator, words: str, change: Callable, outputs: Callable | None = None) -> Candidate:
    return _of(words, Way(lambda: op.page, arrays=change, outputs=outputs))


def _of(words: str, way: Way) -> Candidate:
    return Candidate("inputs", lambda: ("", "", words), lambda one: one.shares(way))


def read_and_written(op: Operator, seen: list[Seen]) -> Iterator[Candidate]:
    """A tensor whose axis is reversed when it is read, and its gradient's when it is written; a factor that comes last."""
    arrays = failing_arrays(seen)
    for output, name in op.gradient_of.items():
        if arrays.get(name) is None:
            continue
        for axis in range(arrays[name].ndim):
            def reversed_(values, _, o=output, k=axis):
                return values | ({o: np.flip(values[o], k)} if o in values else {})
            yield _arrays(op, message("axis {axis} of {input} is read, and of {output} written, in reverse", axis=axis,
                                      input=name, output=output),
                          lambda given, n=name, k=axis: given | {n: np.flip(given[n], k)}, reversed_)
    for name, array in arrays.items():
        if array is None or array.dtype.kind != "f":
            continue
        for output in op.outputs:
            for words, ones in ((message("{output} is multiplied with {input} at the end, not before"), True),
                                (message("{output} is multiplied with {input} once more"), False)):
                yield _last(op, message(words, output=output, input=name), name, output, ones)


def _last(op: Operator, words: str, name: str, output: str, ones: bool) -> Candidate:
    def ones_for(given):
        return given | {name: np.ones_like(given[name])}

    def outputs(values, given):
        return values | {output: values[output] * given[name]}
    return _of(words, Way(lambda: op.page, arrays=ones_for if ones else None, outputs=outputs, only=frozenset([output])))


# Outputs

def moved(op: Operator, wrong: list[Seen]) -> Iterator[Candidate]:
    """Outputs that are the right ones elsewhere: in another's place, reversed, transposed, shifted, cut, another input."""
    names = sorted({miss.output for one in wrong for miss in one.misses if miss.output in one.outputs})
    for name in names:
        for other in op.outputs:
            if other != name:
                yield _with(name, message("{output} holds {tensor}", output=name, tensor=other), lambda truth, _, o=other: truth[o])
        for p in op.parameters:
            if p.kind == "tensor":
                yield _with(name, message("{output} holds {tensor}", output=name, tensor=p.name),
                            lambda _, inputs, n=p.name: np.asarray(inputs[n]).astype(np.float64))
        for axis in (-1, -2, 0):
            yield _with(name, message("{output} is reversed along axis {axis}", output=name, axis=axis),
                        lambda truth, _, n=name, a=axis: np.flip(truth[n], a))
            for step in (1, -1):
                yield _with(name, message("{output} is shifted by {step:+d} along axis {axis}", output=name, step=step, axis=axis),
                            lambda truth, _, n=name, a=axis, s=step: np.roll(truth[n], s, a))
        yield _with(name, message("{output} is laid out transposed", output=name),
                    lambda truth, _, n=name: np.swapaxes(truth[n], -1, -2))
        yield _with(name, message("{output} is 0 everywhere", output=name), lambda truth, _, n=name: np.zeros_like(truth[n]))
        yield _with(name, message("{output} is its absolute value", output=name), lambda truth, _, n=name: np.abs(truth[n]))
    yield from _cut(names, wrong)
    if len(names) == 2:
        a, b = names

        def exchanged(one: Seen) -> bool:
            truth = one.truth
            return a in truth and b in truth and one.agrees(truth | {a: truth[b], b: truth[a]})
        yield Candidate("outputs", lambda: ("", "", message("{one} and {other} are exchanged", one=a, other=b)), exchanged)


def _cut(names: list[str], wrong: list[Seen]) -> Iterator[Candidate]:
    """Outputs that are not written behind some place of an axis: the tail of a tile, or the rest that no core takes."""
    rank = max(part.ndim for one in wrong for _, (part, _) in one.wanted.items())
    for some in dict.fromkeys((*((name,) for name in names), tuple(names))):
        told = linked("{some} and {more}", some)
        for axis in (None, *range(-rank, 0)):
            where = message("all elements") if axis is None else message(AXIS, axis=axis)
            for words, length in CUTS.items():
                for block in BLOCKS:
                    def same(one: Seen, some=some, axis=axis, length=length, block=block) -> bool:
                        truth = one.truth
                        if axis is not None and any(-axis > one.wanted[name][0].ndim for name in some if name in truth):
                            return False
                        return one.agrees(truth | {name: cut(truth[name].reshape(one.wanted[name][0].shape), axis,
                                                             lambda n: length(n, block))
                                                   for name in some if name in truth})
                    yield Candidate("outputs", lambda told=told, words=words, block=block, where=where: (
                        "", "", message("{output} stays 0 {place}", output=told, place=message(words, block=block, axis=where))), same)


def _with(name: str, words: str, change: Callable) -> Candidate:
    def same(one: Seen) -> bool:
        try:
            truth = one.truth
            return name not in truth or one.agrees(truth | {name: change(truth, one.prepared.case.inputs)})
        except Exception:  # an axis that is not there, an input that is not given
            return False
    return Candidate("outputs", lambda: ("", "", words), same)
