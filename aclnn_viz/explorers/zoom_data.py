"""The numbers of a zoom: the terms of a backward page, what each step adds to their errors, and what the instructions of tiles wrote.

The page runs again and again, its first steps with the numbers of their format and all others in float64. The difference of two
such runs is what the rounding of one step adds, and these parts add up to the whole error. The tile machine runs the same
inputs; what an instruction wrote is a term where it holds the numbers of that term.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays.terms import Term, stepped
from aclnn_viz.dtypes import float_format, ulp
from aclnn_viz.errors import NotSupported, problem
from aclnn_viz.explorers import tiles_data
from aclnn_viz.explorers.arrays import element
from aclnn_viz.explorers.tiles_data import MACHINE, PROGRAMS, Machine
from aclnn_viz.operators import operator
from aclnn_viz.tiles.memory import MTE2
from aclnn_viz.tiles.platforms import BLOCK
from aclnn_viz.words.messages import message

MANY = 10**6  # tiles of a core
NEAR = {4: 1e-5, 2: 2.0**-8}  # how far numbers of so many bytes may lie from those of the term that they are, in parts of its largest
SMALL = {"rows": 4, "columns": 16, "cores": 2}  # so that the numbers of a tensor can be read


class Tile(NamedTuple):
    """What one store writes to an output: its instructions, and the place of its first element in the output.

    `wrote` holds (job, numbers, those that are exact, term, row) of what wrote as many numbers as the tile has; -1 is no term.
    """

    output: str
    core: int
    number: int
    jobs: list
    first: int
    wrote: list


class Zoomed(NamedTuple):
    """All of a state but the element: arrays (terms, rows, columns), of the errors in ulps `parts` (terms, steps, rows, columns).

    `shapes` says in how many rows and columns a term differs, `tile` which of the tiles stores an element of the output that it goes to.
    """

    terms: list
    shapes: list
    values: np.ndarray
    truth: np.ndarray
    parts: np.ndarray
    causes: list
    work: tiles_data.Work
    tiles: list
    tile: np.ndarray
    outputs: list


@dataclass(frozen=True, eq=False)
class Data:
    """What is drawn: an element of a term."""

    xp: object
    state: object
    zoomed: Zoomed
    term: object
    row: object
    column: object

    def at(self, table):
        """Return what a table (..., rows, columns) has for the element."""
        return element(self.xp, element(self.xp, table, self.column, -1), self.row, -1)

    @property
    def tile(self):
        return self.at(element(self.xp, self.zoomed.tile, self.term))


def gathered(state, *_) -> dict:
    return {"zoomed": zoomed(*(getattr(state, name) for name in MACHINE))}


def data(xp, state, zoomed: Zoomed) -> Data:
    rows, columns = zoomed.tile.shape[1:]
    first = next(k for k, one in enumerate(zoomed.terms) if one.name == zoomed.outputs[0])
    return Data(xp, state, zoomed, xp.where(state.term < 0, first, state.term - FIRST[state.program]), xp.minimum(state.row, rows - 1),
                xp.minimum(state.column, columns - 1))


def laid(term: Term, depth: int = 0) -> tuple[int, list]:
    """Return how many letters a term takes across, and (term, depth, start, end) of it and of what it is made of, which stands below it."""
    text = term.label if depth else f"{term.name} = {term.formula}"
    below = [laid(one, depth + 1) for one in term.parts if not (depth and term.name)]
    wide, total, found = max(len(text) + 1, 8), sum(each for each, _ in below), []
    wide = max(wide, total)
    start = (wide - total) / 2
    for each, those in below:
        found += [(one, deep, start + first, start + last) for one, deep, first, last in those]
        start += each
    return wide, [(term, depth, 0, wide), *found]


def read(op, given: dict) -> tuple:
    """Return (arranged, steps, outputs, {term of a formula: its array}, how an array becomes a matrix like the first output)."""
    arranged = op.arrange_backward(**op.bind(given))
    inputs, steps, outputs = stepped(op, arranged, arranged.compute)
    shape, arrays = next(iter(arranged.results.values())).shape, {one.term: one.values for one in (*inputs.values(), *steps) if one is not None}

    def wide(values):
        return np.broadcast_to(np.asarray(values, float), shape).reshape(-1, shape[-1])
    try:
        for values in arrays.values():
            wide(values)
    except ValueError as error:
        raise NotSupported(problem("a zoom takes pages whose arrays spread over the first output", str(error), "zoom into another operator")) from error
    found = {one for root in steps if root.term.name for one, *_ in laid(root.term)[1]}
    return arranged, steps, outputs, {one: values for one, values in arrays.items() if one in found}, wide


@lru_cache(8)
def zoomed(*machine) -> Zoomed:
    """Return the numbers of a state of the tile machine, by the values of its fields."""
    state = Machine(*machine)
    op, given = tiles_data.operator_of(state), tiles_data.inputs(state)
    arranged, steps, outputs, terms, wide = read(op, given)
    runs = [[one.values for one in stepped(op, arranged, np.dtype(float), [one.values for one in steps[:k]])[1]] for k in range(len(steps) + 1)]
    final, found, parts, shapes = op.backward(**given), [], [], []
    for one, values in terms.items():
        each, result = [wide(run[one.place] if one.takes else values) for run in runs], arranged.results.get(one.name)
        each.append(wide(final[one.name].astype(float).reshape(result.shape)) if result else each[-1])
        found.append(each)
        parts.append(np.diff(each, axis=0) / ulp(each[0], result.format if result else float_format(arranged.compute)))
        rows = values.size // max(values.shape[-1:], default=1)
        shapes.append((rows, values.shape[-1]) if values.ndim and rows in (1, len(each[0])) else each[0].shape)
    found, work = np.array(found), tiles_data.compute(state).work
    tiles, owner = tiles_of(work, found[:, 0])
    goes = [next((name for name in outputs if one in _below(outputs[name].term)), next(iter(outputs))) for one in terms]
    return Zoomed([*terms], shapes, found[:, -1], found[:, 0], np.nan_to_num(parts), [message("{formula}", formula=one.term.label) for one in steps], work, tiles,
                  np.array([owner[name] for name in goes]), [*outputs])


def _below(term: Term) -> list[Term]:
    return [term, *(each for one in term.parts for each in _below(one))]


def tiles_of(work, truth) -> tuple[list[Tile], dict]:
    """Return all tiles of a run, and by output which of them stores each element (rows, columns)."""
    tiles, owner, matrix = [], {}, truth.shape[1:]
    for part in work.owned:
        flat = part.core.reshape(-1) * MANY + part.tile.reshape(-1)
        for key in np.unique(flat):
            places, (core, number) = np.flatnonzero(flat == key), divmod(int(key), MANY)
            jobs = work.jobs.get(core, [])
            ends = [0, *(k + 1 for k, job in enumerate(jobs) if job.pipe != MTE2 and any(getattr(m, "name", "") == part.name for m, _ in job.writes))]
            mine = jobs[ends[number]:ends[number + 1]] if key >= 0 else []
            those = truth.reshape(len(truth), -1, flat.size)[:, :, places]
            owner.setdefault(part.name, np.empty(flat.size, int))[places] = len(tiles)
            tiles.append(Tile(part.name, core, number, mine, int(places[0]), [(job, *one) for job in mine for raw in job.wrote for one in known(
                raw, those, work.run.outputs[part.name].dtype)]))
    return tiles, {name: np.broadcast_to(numbers.reshape(-1, matrix[1]), matrix) for name, numbers in owner.items()}


def known(raw, truth, dtype):
    """Yield (numbers, exact numbers, term, row) of bytes that are as many numbers as `truth` (terms, rows, numbers) has."""
    for kind in dict.fromkeys((np.dtype(np.float32), dtype)):
        size = truth.shape[-1] * kind.itemsize
        if size <= raw.size < size + BLOCK:
            values = raw[:size].view(kind).astype(float)
            with np.errstate(all="ignore"):
                far = np.nan_to_num(np.abs(truth - values).max(axis=2) / np.abs(truth).max(axis=2), nan=np.inf)
            term, row = np.unravel_index(far.argmin(), far.shape)
            yield values, truth[term, row], int(term) if far[term, row] <= NEAR[kind.itemsize] else -1, int(row)


@cache
def _labels(op: str) -> tuple[str, ...]:
    """The terms of an operator; none where a zoom cannot show its page."""
    program = next(name for name, each in PROGRAMS.items() if each.operator == op)
    try:
        return tuple(one.label for one in read(operator(op), tiles_data.inputs(Machine(program, **SMALL)))[3])
    except NotSupported:
        return ()


TERMS = [(name, label) for name, program in PROGRAMS.items() for label in _labels(program.operator)]
FIRST = {name: [each for each, _ in TERMS].index(name) for name, _ in TERMS}
