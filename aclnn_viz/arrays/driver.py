"""Evaluate a kernel page block by block: each block fits the cache, and results do not depend on the threads.

A page says how it may be cut with one string per input and output, one character per axis: a letter names an axis
that a block may cut, a dot one that must stay whole. An output that lacks a letter of the inputs is a sum over that
axis: its blocks are added pairwise, in at least float64, in a fixed order.

    AXES = {"dy": "r.", "x": "r.", "rstd": "r.", "gamma": ".", "dxOut": "r.", "dgammaOut": "."}
"""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from aclnn_viz.dtypes import FloatFormat, round_to

BLOCK_ELEMENTS = 1 << 15  # of the largest array: with its temporaries a block stays within a core's second cache
THREADED_ELEMENTS = 1 << 18  # below, starting threads costs more than they save


class Result(NamedTuple):
    """One output of a page: its shape there, its format, and the shape under which the caller gets it."""

    shape: tuple[int, ...]
    format: FloatFormat
    documented_shape: tuple[int, ...]


class PairwiseSum:
    """A running sum that adds equal numbers of terms to each other, so that its error grows with their logarithm."""

    def __init__(self):
        self._levels = []

    def add(self, value):
        for level, held in enumerate(self._levels):
            if held is None:
                self._levels[level] = value
                return
            value, self._levels[level] = held + value, None
        self._levels.append(value)

    def total(self):
        return sum(value for value in self._levels if value is not None)


def evaluate(page: Callable, axes: Mapping[str, str], arrays: Mapping[str, np.ndarray | None], attributes: Mapping,
             results: Mapping[str, Result], namespace, compute) -> dict[str, np.ndarray]:
    """Run `page(namespace, **arrays, **attributes)` in the type `compute` and round each of the `results` once.

    `arrays` have the axes that `axes` describes; integers keep their type, and an array that is None stays None.
    """
    given = {name: array for name, array in arrays.items() if array is not None}
    sizes = _sizes(axes, given)
    outputs = {name: np.zeros(result.shape, result.format.numpy) for name, result in results.items()}
    mapped = {name for name in outputs if sizes.keys() <= set(axes[name])}
    sums: dict[tuple, PairwiseSum] = {}

    def run(block):
        with np.errstate(all="ignore"):
            inputs = {name: _widened(_part(array, axes[name], block), compute) for name, array in given.items()}
            values = page(namespace, **{name: inputs.get(name) for name in arrays}, **attributes)
            for name in mapped:
                part = _part(outputs[name], axes[name], block)
                part[...] = round_to(values[name], part.dtype)
            carry = np.promote_types(compute, np.float64)
            return {name: values[name].astype(carry) for name in outputs.keys() - mapped}

    order = list(_blocks(sizes, _units(sizes, axes, given)))
    for partial, block in zip(_run_all(run, order, sum(array.size for array in given.values())), order, strict=True):
        for name, value in partial.items():
            cut = ((letter, block[letter].start, block[letter].stop) for letter in axes[name] if letter != ".")
            sums.setdefault((name, *cut), PairwiseSum()).add(value)
    for (name, *place), running in sums.items():
        part = _part(outputs[name], axes[name], {letter: slice(*at) for letter, *at in place})
        with np.errstate(all="ignore"):
            part[...] = round_to(running.total(), part.dtype)
    return {name: output.reshape(results[name].documented_shape) for name, output in outputs.items()}


def _sizes(axes, arrays):
    """The length of each lettered axis, in the order in which the inputs name them; length 1 broadcasts."""
    sizes: dict[str, int] = {}
    for name, array in arrays.items():
        for letter, n in zip(axes[name], array.shape, strict=True):
            if letter != "." and sizes.get(letter, 1) == 1:
                sizes[letter] = n
    return sizes


def _units(sizes, axes, arrays):
    """The elements that one step along each letter takes of the largest array, with all later letters whole."""
    letters = list(sizes)
    return {
        letter: max(array.size // max(1, prod(n for other, n in zip(axes[name], array.shape)
                                              if other in letters[:at + 1]))
                    for name, array in arrays.items())
        for at, letter in enumerate(letters)
    }


def _blocks(sizes, units) -> Iterator[dict[str, slice]]:
    steps = {letter: max(1, BLOCK_ELEMENTS // max(1, units[letter])) for letter in sizes}
    cuts = [[(letter, slice(at, min(at + steps[letter], n))) for at in range(0, n, steps[letter])]
            for letter, n in sizes.items()]
    return map(dict, product(*cuts))


def _run_all(run, order, elements):
    if len(order) < 2 or elements < THREADED_ELEMENTS:
        yield from map(run, order)
    else:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            yield from threads.map(run, order)


def _part(array, letters, block):
    index = tuple(block.get(letter, slice(None)) if n != 1 else slice(None) for letter, n in zip(letters, array.shape))
    return array[index]


def _widened(array, compute):
    return array if array.dtype.kind in "iub" else array.astype(compute, copy=False)
