"""Run an operator's formulas block by block, so that each block fits the cache and results do not depend on the number of
threads.

A page says how it may be cut with one string per input and output, one character per axis: a letter names an axis that
a block may cut, a dot one that must stay whole. An array of several elements with an empty string is not passed to the
page. An output that lacks a letter of the inputs is a sum over that axis: its blocks are added as a tree of neighbours,
in at least float64.

    AXES = {"dy": "r.", "x": "r.", "rstd": "r.", "gamma": ".", "dxOut": "r.", "dgammaOut": "."}
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays.sums import PairwiseSum
from aclnn_viz.dtypes import STRETCH, FloatFormat, round_into
from aclnn_viz.errors import invalid, problem

# elements of a block's largest array; smaller blocks cost more in calls than they save in the cache
BLOCK_ELEMENTS = 1 << 17
# smaller arrays use one thread, because starting threads costs more than it saves
THREADED_ELEMENTS = 1 << 18


class Result(NamedTuple):
    """One output of a page: its shape in the page, its format, and the shape that the caller gets."""

    shape: tuple[int, ...]
    format: FloatFormat
    documented_shape: tuple[int, ...]


class Arranged(NamedTuple):
    """The inputs of a page: arrays in the page's shapes, attributes, and descriptions of its outputs."""

    arrays: dict[str, np.ndarray | None]
    attributes: dict
    results: dict[str, Result]
    compute: np.dtype
    axes: dict[str, str]
    # function (xp, arrays) -> more arrays, called once, before the inputs are cut into blocks
    prelude: Callable | None = None
    # whether a tensor has no elements; then no page runs, because sums of nothing are 0
    empty: bool = False


def _zeros(results: Mapping) -> dict[str, np.ndarray]:
    try:
        return {
            name: np.zeros(result.shape, result.format.numpy) for name, result in results.items()
        }
    except (MemoryError, ValueError) as error:
        shapes = ", ".join(f"{name} {list(result.shape)}" for name, result in results.items())
        raise MemoryError(
            problem("outputs fit into the memory", f"{shapes}: {error}", "use smaller shapes")
        ) from None


def evaluate(page: Callable, arranged: Arranged, namespace) -> dict[str, np.ndarray]:
    """Run `page(namespace, **arrays, **attributes)` in the type `arranged.compute` and round each result once.

    Integers keep their type, and an array that is None stays None.
    """
    axes, arrays, compute = arranged.axes, arranged.arrays, arranged.compute
    if arranged.prelude is not None:
        with np.errstate(all="ignore"):
            arrays = arrays | arranged.prelude(namespace, arrays)
    given = {name: array for name, array in arrays.items() if array is not None}
    outputs, summed = _zeros(arranged.results), sums(axes, given, arranged.results)
    wide = np.promote_types(compute, np.float64)

    def run(block, inputs):
        widened = {
            name: array if array.dtype.kind in "iub" else array.astype(compute, copy=False)
            for name, array in inputs.items()
        }
        values = page(
            namespace, **{name: widened.get(name) for name in arrays}, **arranged.attributes
        )
        for name in outputs:
            if name in summed:
                values[name] = values[name].astype(wide)
            else:
                place, value = (
                    outputs[name][place_of(outputs[name], axes[name], block)],
                    values.pop(name),
                )
                try:
                    round_into(place, value)
                except ValueError as error:
                    raise invalid(
                        f"a page gives {name} the shape that is declared, here {list(place.shape)}",
                        str(error),
                        "mend the page or the declaration",
                    ) from None
        return values

    # For an output that sums over an inner axis (a sample's channels), another block length would
    # change the last bits; so the block length is fixed.
    inner = list(sizes_of(axes, given))[1:]
    elements = BLOCK_ELEMENTS // (
        4 if any(letter not in axes[name] for name in outputs for letter in inner) else 1
    )
    # a page without outputs could search the maximum of no elements
    filled = any(output.size for output in outputs.values())
    for name, block, total in combined(
        axes, given, outputs, over_blocks(run, axes, given, max(1, elements)) if filled else ()
    ):
        round_into(outputs[name][place_of(outputs[name], axes[name], block)], total)
    return {
        name: output.reshape(arranged.results[name].documented_shape)
        for name, output in outputs.items()
    }


def in_blocks(
    page: Callable,
    axes: Mapping[str, str],
    arrays: Mapping,
    outputs: Iterable[str],
    namespace: Callable,
):
    """Return {output: array in a number system}, computed block by block, without the last rounding to a format.

    `namespace()` makes the number system of one block; `arrays` are its arrays, integers and Nones.
    """
    given = {name: array for name, array in arrays.items() if array is not None}
    letters = list(sizes_of(axes, given))

    def run(block, inputs):
        values = page(namespace(), **{name: inputs.get(name) for name in arrays})
        return {name: values[name] for name in outputs}

    def widened(parts):
        for block, values in parts:
            yield (
                block,
                {
                    name: xp.astype(value, np.promote_types(value.dtype, np.float64))
                    for name, value in values.items()
                },
            )

    xp, joined = namespace(), {}
    # smaller blocks, because arrays of `namespace` may hold several numbers per element
    parts = list(over_blocks(run, axes, given, max(1, BLOCK_ELEMENTS // 4)))
    summed = sums(axes, given, outputs)
    found = {
        name: [(block, values[name]) for block, values in parts]
        for name in outputs
        if name not in summed
    }
    for name, place, total in combined(axes, given, outputs, widened(parts)):
        found.setdefault(name, []).append((place, total))
    for name, pieces in found.items():
        kept = [letter for letter in letters if letter in axes[name]]
        joined[name] = _joined(xp, kept, axes[name], pieces)
    return joined


def _joined(xp, letters, axes, pieces):
    """Join the pieces of an output, in the order of the blocks, to one array; the last letter changes fastest."""
    if not letters:
        return pieces[0][1]
    first, *rest = letters
    starts = sorted({place[first].start for place, _ in pieces})
    rows = [
        _joined(xp, rest, axes, [piece for piece in pieces if piece[0][first].start == start])
        for start in starts
    ]
    return rows[0] if len(rows) == 1 else xp.concat(rows, axis=axes.index(first))


def over_blocks(
    run: Callable, axes: Mapping[str, str], arrays: Mapping, elements: int | None = None
) -> Iterator:
    """Yield (block, run(block, arrays cut to the block)) in a fixed order, by threads if that is worth it.

    A block has at most `elements` of the largest array (None: BLOCK_ELEMENTS), if it can be cut that small.
    """
    order = list(_blocks(sizes_of(axes, arrays), axes, arrays, elements or BLOCK_ELEMENTS))

    def cut(block):
        with np.errstate(all="ignore"):
            return run(
                block,
                {name: array[place_of(array, axes[name], block)] for name, array in arrays.items()},
            )

    yield from zip(
        order, run_all(cut, order, sum(array.size for array in arrays.values())), strict=True
    )


def sums(axes: Mapping[str, str], arrays: Mapping, outputs: Iterable[str]) -> list[str]:
    """Return the outputs that are sums over an axis that blocks may cut."""
    letters = sizes_of(axes, arrays).keys()
    return [name for name in outputs if not letters <= set(axes[name])]


def combined(axes, arrays, outputs, parts) -> Iterator[tuple[str, dict[str, slice], object]]:
    """Add up the parts (block, {output: value}) of outputs that are sums; yield (output, place, sum)."""
    summed = sums(axes, arrays, outputs)
    totals: dict[tuple, PairwiseSum] = {}
    for block, values in parts:
        for name in summed:
            place = (
                (letter, block[letter].start, block[letter].stop)
                for letter in axes[name]
                if letter != "."
            )
            with np.errstate(all="ignore"):
                totals.setdefault((name, *place), PairwiseSum()).add(values[name])
    for (name, *place), running in totals.items():
        with np.errstate(all="ignore"):
            yield name, {letter: slice(*at) for letter, *at in place}, running.total()


def sizes_of(axes, arrays):
    """Return the length of each lettered axis, in the order of the inputs; length 1 broadcasts."""
    sizes: dict[str, int] = {}
    for name, array in arrays.items():
        for letter, n in zip(axes[name], array.shape, strict=True):
            if letter != "." and sizes.get(letter, 1) == 1:
                sizes[letter] = n
    return sizes


def _blocks(sizes, axes, arrays, elements) -> Iterator[dict[str, slice]]:
    steps, letters = {}, list(sizes)
    # `unit`: elements of the largest array at one place of this letter's axis and of earlier ones
    for at, letter in enumerate(letters):
        unit = max(
            array.size
            // max(
                1,
                prod(n for other, n in zip(axes[name], array.shape) if other in letters[: at + 1]),
            )
            for name, array in arrays.items()
        )
        steps[letter] = max(1, elements // max(1, unit))
    # Blocks are powers of two, so that the tree over block sums equals the tree over all terms.
    steps = {letter: 1 << (step.bit_length() - 1) for letter, step in steps.items()}
    cuts = [
        [(letter, slice(at, min(at + steps[letter], n))) for at in range(0, n, steps[letter])]
        for letter, n in sizes.items()
    ]
    return map(dict, product(*cuts))


def run_all(run: Callable, order: Sequence, elements: int) -> Iterator:
    """Yield run(part) for every part in order, by threads if `elements` are many enough."""
    if len(order) < 2 or elements < THREADED_ELEMENTS:
        yield from map(run, order)
    else:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            yield from threads.map(run, order)


def in_stretches(run: Callable, size: int) -> None:
    """Call run(part) for every slice of `size` elements that fits the cache, by threads if that is worth it."""

    def one(start):
        with np.errstate(all="ignore"):
            run(slice(start, start + STRETCH))

    for _ in run_all(one, range(0, size, STRETCH), size):
        pass


def place_of(array, letters, block):
    """Return the index that cuts a block out of an array; an axis of length 1 serves every block."""
    return tuple(
        block.get(letter, slice(None)) if n != 1 else slice(None)
        for letter, n in zip(letters, array.shape)
    )
