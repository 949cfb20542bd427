"""Numbers of the interactive picture (explorer) that zooms: terms of the backward formulas, their errors, and the results of
tile instructions.

The reader chooses an element of the first output; each term marks its corresponding element. The page runs with numbers
rounded to their format, and in float64: the difference is the error. The tile machine runs the same inputs; an instruction's
result is shown with the term of the same numbers.
"""

from contextlib import suppress
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from aclnn_viz.dtypes import float_format, ulp
from aclnn_viz.errors import NotSupported, problem
from aclnn_viz.explorers import tiles_data
from aclnn_viz.explorers.arrays import element
from aclnn_viz.explorers.terms import Term, same_element, stepped
from aclnn_viz.explorers.tiles_data import PROGRAMS, Machine, record
from aclnn_viz.operators import operator
from aclnn_viz.tiles.memory import MTE2

ALL_TILES = 10**6  # (core, tile) is stored as core * ALL_TILES + tile; no core has so many tiles
REPEAT = 256  # bytes of a repeat; the last repeat of a vector instruction may write all of them
# Largest difference between numbers in memory and those of a term, relative to the largest of
# the term, by bytes of a number.
NEAR = {4: 1e-5, 2: 2.0**-8}
SMALL_CASE = {"rows": 4, "columns": 16, "cores": 2}  # a case whose tensors fit on the screen


class Tile(NamedTuple):
    """One store to an output: its instructions, and the place of its first element in the output.

    `wrote` holds (job, times, numbers, exact numbers, errors in ulps, term, rows below the tile's) of results with as many
    numbers as the tile, or a single sum; -1 is no term. The numbers are the term's `times` that; 0 is a sum over its rows
    so far.
    """

    output: str
    core: int
    number: int
    jobs: list
    first: int
    wrote: list


class Shown(NamedTuple):
    """A term as a matrix of its distinct elements; `rows` and `columns` map the first output's rows and columns to it.

    `firsts` are the first row and column of the first output for each of its rows and columns; `index` is its index, (axes,
    rows, columns).
    """

    term: Term
    shape: tuple
    rows: np.ndarray
    columns: np.ndarray
    firsts: tuple[np.ndarray, np.ndarray]
    index: np.ndarray

    @property
    def size(self):
        return len(self.firsts[0]), len(self.firsts[1])


class Zoomed(NamedTuple):
    """The data of a state for all elements, before one is chosen: arrays (terms, rows, columns), `errors` in ulps.

    `goes` names the output of a term, `tile` the tile that stores its element, and `place` the element in the tile.
    """

    terms: list
    shown: list
    values: np.ndarray
    truth: np.ndarray
    errors: np.ndarray
    work: tiles_data.Work
    tiles: list
    tile: np.ndarray
    place: np.ndarray
    goes: list


@record
class Data:
    """The data that the zoom explorer draws: a term of an operator, and one of its elements."""

    xp: object
    state: object
    zoomed: Zoomed
    term: object
    row: object
    column: object

    def at(self, table):
        """Return the numbers of the chosen element in a table (..., rows, columns)."""
        return element(self.xp, element(self.xp, table, self.column, -1), self.row, -1)

    def of_term(self, tables):
        """Return the number of the chosen term and element in the tables of all terms (terms, rows, columns)."""
        return self.at(element(self.xp, tables, self.term))


def gathered(state, *_):
    return {"zoomed": zoomed(tiles_data.machine_of(state))}


def data(xp, state, zoomed):
    rows, columns = zoomed.tile.shape[1:]
    ends = (state.term, len(zoomed.terms)), (state.row, rows), (state.column, columns)
    return Data(xp, state, zoomed, *(xp.minimum(at, size - 1) for at, size in ends))


def laid(term, depth=0):
    """Return a term's width in letters, and (term, depth, start, end) of it and of its parts below it."""
    text = term.label if depth else f"{term.name} = {term.formula}"
    below = [
        laid(link.part, depth + 1)
        for link in term.links
        if not (link.looked or depth and term.name)
    ]
    wide, total, found = (
        max(len(text) + 1, 13 if depth and term.name and term.takes else 8),
        sum(each for each, _ in below),
        [],
    )
    wide = max(wide, total)
    start = (wide - total) / 2
    for each, those in below:
        found += [(one, deep, start + first, start + last) for one, deep, first, last in those]
        start += each
    return wide, [(term, depth, 0, wide), *found]


def read(op, given):
    """Return the page of an operator as terms, for these inputs: the arranged call, steps, outputs and inputs, the terms of its
    formulas as matrices, and for each term its element that each element (rows, columns) of the first output uses.
    """
    arranged = op.arrange_backward(**op.bind(given))
    inputs, steps, outputs = stepped(op, arranged, arranged.compute)
    inputs = {one.term: one for one in inputs.values() if one is not None}
    (name, first), whole = next(iter(outputs.items())), next(iter(arranged.results.values()))
    axes, shape = arranged.axes[name], whole.shape
    rows = np.prod(
        [n for letter, n in zip(axes, shape) if letter != "."]
        if "." in axes
        else whole.documented_shape[:-1],
        dtype=int,
    )
    laid_out = {one for root in steps if root.term.name for one, *_ in laid(root.term)[1]}
    found = [one for one in (*inputs, *(step.term for step in steps)) if one in laid_out]
    found.sort(key=lambda one: one is not first.term)
    try:
        elements = same_element([one.term for one in steps], first.term, first.size)
        if lost := [one.label for one in found if one not in elements or (elements[one] < 0).any()]:
            raise ValueError(f"{', '.join(lost)} apart from {name}")
        if any((one.at.reshape(-1) != np.arange(one.size)).any() for one in outputs.values()):
            raise ValueError("an output whose elements are moved")
        elements = {one: at.reshape(rows, -1) for one, at in elements.items()}
        shapes = {one.term.name: one.shape for one in (*steps, *inputs.values())} | {
            name: np.shape(value) for name, value in given.items()
        }
        shapes |= {name: result.documented_shape for name, result in arranged.results.items()}
        shown = [
            _matrix(one, shapes[one.name] if one.name else steps[one.place].shape, elements[one])
            for one in found
        ]
    except ValueError as error:
        raise NotSupported(
            problem(
                "a zoom takes pages of which each term has one element for one of the first output",
                str(error),
                "zoom into another operator",
            )
        ) from error
    return arranged, steps, outputs, inputs, shown, elements


def _matrix(term, shape, at):
    """Return a term as a matrix; raise ValueError if its elements form none."""
    (_, down, rows), (_, across, columns) = (
        np.unique(lines, axis=0, return_index=True, return_inverse=True) for lines in (at, at.T)
    )
    if len({*at.flat}) != len(down) * len(across):
        raise ValueError(f"elements of {term.label} that are no rows and columns")
    index = np.unravel_index(at, shape) if shape else []
    return Shown(
        term,
        shape,
        rows.reshape(-1),
        columns.reshape(-1),
        (down, across),
        np.array(index, int).reshape(-1, *at.shape),
    )


@lru_cache(8)
def zoomed(state):
    """Return the numbers of a state of the tile machine."""
    op, given = tiles_data.operator_of(state), tiles_data.inputs(state)
    arranged, steps, outputs, inputs, shown, elements = read(op, given)
    exact, final = stepped(op, arranged, np.dtype(float))[1], op.backward(**given)
    found, errors, terms = [], [], [one.term for one in shown]
    for one in terms:
        result = arranged.results.get(one.name)
        right, made = (
            (exact[one.place], steps[one.place]) if one.takes else (inputs[one], inputs[one])
        )
        both = right.values, final[one.name] if result else made.values
        found.append([np.asarray(each, float).reshape(-1)[elements[one]] for each in both])
        fmt = result.format if result else float_format(arranged.compute)
        errors.append((found[-1][1] - found[-1][0]) / ulp(found[-1][0], fmt))
    found, work = np.array(found), tiles_data.ran(state)
    places = {name: elements[one.term] for name, one in outputs.items()}
    sums = [
        (
            k,
            terms.index(part),
            int((to == 0).sum() ** (one.op == "mean") * (shown[k].size[0] == len(found[0][0]))),
        )
        for k, one in enumerate(terms)
        if one.op in ("sum", "mean")
        for part, to, *_ in one.links
    ]
    tiles, owner = tiles_of(work, found[:, 0], places, sums)
    # a term of more elements than the sum that it is part of belongs to the tile of its own row
    goes = [
        next(
            (
                name
                for name, own in outputs.items()
                if one.term in contained(own.term) and own.size >= np.prod(one.size)
            ),
            next(iter(outputs)),
        )
        for one in shown
    ]
    return Zoomed(
        terms,
        shown,
        found[:, -1],
        found[:, 0],
        np.nan_to_num(errors),
        work,
        tiles,
        np.array([owner[name][places[name]] for name in goes]),
        np.array([places[name] for name in goes]),
        goes,
    )


def contained(term):
    return [term, *(each for one in term.parts for each in contained(one))]


def tiles_of(work, truth, places, sums):
    """Return all tiles of a run, and by output the tile that stores each element; `places` maps elements to (rows, columns),
    `sums` are (term, its part, times a mean's or a sum's number, or 0 for a sum over rows).
    """
    tiles, owner = [], {}
    for part in work.owned:
        flat = part.core.reshape(-1) * ALL_TILES + part.tile.reshape(-1)
        # for each element of this output, the first matching element of the first output
        home = np.zeros(flat.size, int)
        home[places[part.name].reshape(-1)[::-1]] = np.arange(truth[0].size)[::-1]
        for key in np.unique(flat):
            own, (core, number) = np.flatnonzero(flat == key), divmod(int(key), ALL_TILES)
            jobs = work.jobs.get(core, [])
            ends = [
                0,
                *(
                    k + 1
                    for k, job in enumerate(jobs)
                    if job.pipe != MTE2
                    and any(getattr(m, "name", "") == part.name for m, _ in job.writes)
                ),
            ]
            mine = jobs[ends[number] : ends[number + 1]] if key >= 0 else []
            owner.setdefault(part.name, np.empty(flat.size, int))[own] = len(tiles)
            tiles.append(
                Tile(
                    part.name,
                    core,
                    number,
                    mine,
                    int(own[0]),
                    [
                        (job, *one)
                        for job in mine
                        for raw in job.wrote
                        for one in known(
                            raw, truth, home[own], work.run.outputs[part.name].dtype, sums
                        )
                    ],
                )
            )
    return tiles, owner


def known(raw, truth, places, dtype, sums):
    """Yield (times, numbers, exact numbers, errors in ulps, term, rows below) for bytes whose numbers match, at `places`, a
    term of `truth` (terms, rows, columns), or its sum so far; a single number matches a sum of the row.
    """
    across, size = truth.shape[2], truth[0].size
    rows = range(-int(places.min()) // across, (size - 1 - int(places.max())) // across + 1)
    those = np.stack([truth.reshape(len(truth), -1)[:, places + n * across] for n in rows], axis=1)
    named = [(1, k) for k in range(len(truth))]
    for k, part, times in sums:
        for first in range(1 if times else len(rows)):
            more = those[k] * (times or np.nan)
            if not times:
                more[first:] = np.cumsum(those[part, first:], axis=0)
            those = np.stack([*those, more])
            named += [(times, k)]
    for kind in dict.fromkeys((np.dtype(np.float32), dtype)):
        needed = len(places) * kind.itemsize
        single = sums and raw.size == kind.itemsize < needed
        if single or needed <= raw.size < needed + REPEAT:
            start = len(truth) if single else 0
            right = those[start:]
            with np.errstate(all="ignore"):
                values = raw[:needed].view(kind).astype(float)
                far = np.nan_to_num(
                    np.abs(right - values).max(axis=2) / np.abs(right).max(axis=2), nan=np.inf
                )
                fits = far <= NEAR[kind.itemsize]
                # of several fitting terms and rows, take the nearest row, then the first term
                far = np.where(fits, np.abs(rows), np.inf)
                at, row = np.unravel_index(far.argmin(), far.shape)
                times, term = named[start + at] if fits.any() else (1, -1)
                values, exact = np.broadcast_to(values, places.shape), right[at, row]
                errors = (values - exact) / ulp(exact, kind)
            yield times, values, exact, errors, term, rows[row]


@cache
def programs():
    """Return the programs whose page a zoom can show."""
    found = []
    for name, program in PROGRAMS.items():
        with suppress(NotSupported):
            read(operator(program.operator), tiles_data.inputs(Machine(name, **SMALL_CASE)))
            found.append(name)
    return tuple(found)
