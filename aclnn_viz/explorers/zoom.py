"""The zoom: the formula of an operator, the tensor of one of its terms, the tiles that compute it, their instructions on the pipes.

Of any operator with a page of arithmetic and a tile program. The element that is looked at is marked on every level; a click on a
term, a number or a tile leads one level down, and the path above leads back.
"""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.explorers import tiles, tiles_time
from aclnn_viz.explorers.arrays import XP, element
from aclnn_viz.explorers.state import choice, whole
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.explorers.tiles_data import MACHINE, Machine, inputs, operator_of, pipe_name
from aclnn_viz.explorers.zoom_data import FIRST, SMALL, TERMS, Data, data, gathered, laid
from aclnn_viz.pictures.marks import Box, Heat, Note, Spots
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import STILL, number, written
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import Choice, meant, message, tr

LEVELS = {"formula": message("formula"), "tensor": meant("tensor", "tensor of a term"), "tiles": message("tiles"), "pipes": message("pipes")}
DOWN = {"formula": message("Click a term to see its tensor."), "tensor": message("Click a number to see which tile computes it."),
        "tiles": message("Click an element to see the instructions of its tile."), "pipes": message("Filled instructions belong to the tile of the number; the table says what they wrote. Click the path to go back.")}
STEP, CHOSEN, OUTPUT, ALONG, GIVEN = range(5)  # kinds of marks
LEGEND = {GIVEN: message("input"), STEP: message("elementwise"), ALONG: message("reduced along an axis"), OUTPUT: message("output")}
ROWS = 16  # of the table of instructions, at most
IS = message("{term} [{row}, {column}] is {value}.")
EXACT = message("No step has rounded it.")
OFF = message("It is off by {off}, that is {error} ulp; the largest part, {share} ulp, comes from rounding {step}.")
FORMULA, THE_OUTPUT = message("{formula}"), message("the output")
HOME = next(name for name in FIRST if len(operator_of(Machine(name)).outputs) > 1)  # sums have more to show


@dataclass(frozen=True)
class Look:
    """What of a run is looked at."""

    level: str = choice("formula", LEVELS, "level", "Look at")
    term: int = choice(-1, {-1: message("the first output")} | {k: message("{formula}", formula=label) for k, (_, label) in enumerate(TERMS)}, meant("term", "term of a formula"), "Look at", of="program",
                       owners={k: program for k, (program, _) in enumerate(TERMS)}, moves=True)
    row: int = whole(1, 0, 11, "row", "Look at", below="rows")
    column: int = whole(3, 0, 127, "column", "Look at", below="columns")


@dataclass(frozen=True)
class State(Machine, Look):
    """What can be moved."""

    program: str = choice(HOME, {name: name for name in FIRST}, "program", "Program")
    rows: int = whole(SMALL["rows"], 1, 12, "rows", "Tensors")
    columns: int = whole(SMALL["columns"], 1, 128, "columns", "Tensors")
    cores: int = whole(SMALL["cores"], 1, 48, "cores", "Machine", "vector cores offered to the tiling")


def picked(which, options: int, make):
    """What `make` makes of a number, or of all that it may be where it moves."""
    return make(int(which)) if isinstance(which, STILL) else Choice(which, tuple(map(make, range(options))))


def panels(data: Data) -> list[Panel]:
    return [path(data), *{"formula": formula, "tensor": tensor, "tiles": owners, "pipes": pipes}[data.state.level](data)]


def path(data: Data) -> Panel:
    """The levels from left to right, and what of each is looked at."""
    z, at = data.zoomed, np.arange(4.0)
    shown = (picked(data.term, len(z.terms), lambda k: tr(FORMULA, formula=z.terms[k].label)), tr("[{row}, {column}]", row=written(data.row, "d"), column=written(data.column, "d")),
             *(picked(data.tile, len(z.tiles), lambda k, text=text: tr(text, core=z.tiles[k].core, tile=z.tiles[k].number, n=len(z.tiles[k].jobs)))
               for text in (message("core {core}, tile {tile}"), message("{n} instructions"))))
    marks = [Spots(at, 0 * at, at + 1, 0 * at + 1, tuple(map(tr, LEVELS.values())), tuple((("level", level),) for level in LEVELS))]
    for k, (level, text) in enumerate(zip(LEVELS, shown)):
        here = level == data.state.level
        marks += [Box(k + 0.02, 0.05, k + 0.98, 0.95, "", CHOSEN if here else GIVEN, here),
                  Note(k + 0.5, 0.3, f"{'▶ ' * here}{k + 1} {tr(LEVELS[level])}"), Note(k + 0.5, 0.7, text)]
    return Panel("path", tr("From the formula to the pipes"), tuple(marks), Axis("", 0, 4, ticks=()), Axis("", 1, 0, ticks=()), 20, 44)


def formula(data: Data) -> list[Panel]:
    """Each formula of the page; what a part of it is made of stands below the part, with its number for the element."""
    z, marks, spots, y = data.zoomed, [], {}, 0
    roots = [laid(one) for one in z.terms if one.name and one.takes]
    across = max(wide for wide, _ in roots)
    for _, found in roots:
        for term, depth, first, last in found:
            k, top = z.terms.index(term), y + depth
            box = first + 0.1, top + 0.06, last - 0.1, top + 0.94
            spots[box] = k
            kind = GIVEN if not term.takes else OUTPUT if term.name in z.outputs else ALONG if term.axis is not None else STEP
            marks += [Box(*box, "", kind, depth == 0), Note((first + last) / 2, top + 0.3, tr(FORMULA, formula=term.label if depth else f"{term.name} = {term.formula}")),
                      Note((first + last) / 2, top + 0.7, number(data.at(z.values[k])))]
        y += max(depth for _, depth, _, _ in found) + 1.3
    for k, (kind, text) in enumerate(LEGEND.items()):
        x = k * across / 4
        marks += [Box(x + 0.1, y + 0.1, x + 2, y + 0.5, "", kind), Note(x + 2.5, y + 0.3, tr(text), "left")]
    chosen = np.array([next(box for box in spots if spots[box] == k) for k in range(len(z.terms))])
    marks += [Box(*(element(data.xp, chosen[:, end], data.term) for end in range(4)), "", CHOSEN, True),
              Spots(*np.transpose([*spots]), tuple(tr(FORMULA, formula=z.terms[k].label) for k in spots.values()),
                    tuple((("term", FIRST[data.state.program] + k), ("level", "tensor")) for k in spots.values()))]
    title = tr("What each part is made of stands below it, with its number for row {row}, column {column}", row=written(data.row, "d"), column=written(data.column, "d"))
    return [Panel("formula", title, tuple(marks), Axis("", 0, across, ticks=()), Axis("", y + 0.6, 0, ticks=()), 20, int(32 * y))]


def tensor(data: Data) -> list[Panel]:
    """The numbers of the term, and what each rounding adds to the error of the marked one."""
    z = data.zoomed

    def numbers(k):
        rows, columns = z.shapes[k]
        i, j, values = *np.indices((rows, columns)).reshape(2, -1), z.values[k, :rows, :columns]
        y, x = data.row if rows > 1 else 0, data.column if columns > 1 else 0
        sets = tuple((("row", int(r)),) * (rows > 1) + (("column", int(c)),) * (columns > 1) + (("level", "tiles"),) for r, c in zip(i, j))
        return Panel("tensor", tr(FORMULA, formula=f"{z.terms[k].label} ({rows}, {columns})"), (
            Heat(values, *scale(values), True), Box(-0.5, y - 0.5, columns - 0.5, y + 0.5, "", GIVEN), Box(x - 0.5, y - 0.5, x + 0.5, y + 0.5, "", CHOSEN),
            Spots(j - 0.5, i - 0.5, j + 0.5, i + 0.5, tuple("\n".join(sentences(z, k, *at)) for at in zip(i, j)), sets)),
            Axis(tr("column"), -0.5, columns - 0.5), Axis(tr("row"), rows - 0.5, -0.5), 20, 60 + 32 * rows)

    def parts(k):
        steps = [n for n in range(z.parts.shape[1]) if z.parts[k, n].any()]
        marks = [Box(0.0, n - 0.35, data.at(z.parts[k, step]), n + 0.35, "", CHOSEN, True) for n, step in enumerate(steps)]
        return Panel("parts", tr("What rounding each step adds to the error of the marked number, in ulp") if steps else tr(EXACT), tuple(marks),
                     Axis(ticks=None if steps else ()), Axis("", len(steps) - 0.4, -0.6, ticks=tuple(
                         (n, tr([*z.causes, THE_OUTPUT][step])) for n, step in enumerate(steps))), 20, 40 + 20 * len(steps))
    return [picked(data.term, len(z.terms), make) for make in (numbers, parts)]


def sentences(z, k: int, i: int, j: int) -> list[str]:
    """A number of a term, and how far off it is and why."""
    parts = z.parts[k, :, i, j]
    most = np.abs(parts).argmax()
    found = {"error": number(parts.sum()), "share": number(parts[most]), "step": tr([*z.causes, THE_OUTPUT][most]), "term": z.terms[k].label,
             "row": i, "column": j, "value": number(z.values[k, i, j]), "off": written(z.values[k, i, j] - z.truth[k, i, j], ".1g")}
    return [tr(IS, **found), tr(OFF if parts.any() else EXACT, **found)]


def _every(z, name: str) -> bool:
    """Whether an output has an element in every row and column."""
    return next(part.core.size for part in z.work.owned if part.name == name) == z.tile[0].size


def _seen(data: Data, k: int) -> tiles.Data:
    """What the explorer of tile programs sees of the core of a tile, when the tile is stored."""
    tile = data.zoomed.tiles[k]
    return tiles.Data(tiles.State(**{name: getattr(data.state, name) for name in MACHINE}, core=max(tile.core, 0),
                                  step=max((job.step for job in tile.jobs), default=0)), data.zoomed.work)


def owners(data: Data) -> list[Panel]:
    """Which core and tile writes what, as the explorer of tile programs draws it, with the element marked in each output."""
    z, seen, top, marks = data.zoomed, _seen(data, 0), 0, []
    found, columns = tiles.owners(seen), z.tile.shape[2]
    for part in z.work.owned:
        (height, wide), every = part.core.shape, _every(z, part.name)
        at = data.row * columns * every + data.column
        x, y, (i, j) = at % wide, at // wide + top, np.indices((height, wide)).reshape(2, -1)
        output = FIRST[data.state.program] + next(n for n, one in enumerate(z.terms) if one.name == part.name)
        marks += [Box(x - 0.5, y - 0.5, x + 0.5, y + 0.5, "", CHOSEN), Spots(
            j - 0.5, i + top - 0.5, j + 0.5, i + top + 0.5,
            tuple(tr("core {core}, tile {tile}", core=core, tile=tile) for core, tile in zip(part.core.flat, part.tile.flat)),
            tuple((("row", n // columns),) * every + (("column", n % columns), ("term", output), ("level", "pipes")) for n in range(height * wide)))]
        top += height + 1
    return [Panel("owners", found.title, (*found.marks, *marks), found.x, found.y, 20, 30 + 30 * top),
            tiles.moved(seen), tiles.hazards(seen), picked(data.tile, len(z.tiles), lambda k: tiles_time.unified_buffer(_seen(data, k)))]


def pipes(data: Data) -> list[Panel]:
    """The instructions of the tile on the pipes, with buffers and hazards, and what they wrote for the element."""
    z, xp, columns = data.zoomed, data.xp, data.zoomed.tile.shape[2]

    def wrote(k):
        tile, every = z.tiles[k], _every(z, z.tiles[k].output)
        at = data.row * columns * every + data.column - tile.first
        for job, values, exact, term, row in tile.wrote:
            value, right = (element(xp, each, xp.maximum(xp.minimum(at, values.size - 1), 0)) for each in (values, exact))
            text = message("{value}") if term < 0 else message("{value} = {term}, off by {error}") if every else message(
                "{value} = {term} of row {row}, off by {error}")
            yield job, tr(text, value=number(value), error=written(value - right, ".1g"), term=z.terms[term].label, row=row)

    def timeline(k):
        numbers = dict(wrote(k))
        return tiles_time.pipes(_seen(data, k), {job: tr("{name} in line {line}", name=job.name, line=job.line) + "\n" + numbers.get(job, "")
                                                 for job in z.tiles[k].jobs})

    def table(k):
        shown = [*wrote(k)][-ROWS:]
        marks = [Note(x, y, text, align) for y, (job, said) in enumerate(shown) for x, align, text in (
            (0.03, "right", str(job.step)), (0.04, "left", pipe_name(job.pipe)), (0.1, "left", job.name), (0.24, "left", said))]
        return Panel("table", tr("Step, pipe, instruction, and what it wrote for the element: the last {n}, as they were issued", n=len(shown)), tuple(marks), Axis("", 0, 1, ticks=()),
                     Axis("", len(shown) - 0.4, -0.6, ticks=()), 20, 15 * len(shown) + 10)
    return [picked(data.tile, len(z.tiles), make) for make in (timeline, table)]


def headline(data: Data) -> list[str]:
    """The number of the element and why it is off, and where a click leads."""
    z, (count, rows, columns) = data.zoomed, data.zoomed.tile.shape
    at = (data.term * rows + data.row) * columns + data.column
    return [*(picked(at, count * rows * columns, lambda n, line=line: sentences(z, *np.unravel_index(n, z.tile.shape))[line]) for line in (0, 1)),
            tr(DOWN[data.state.level])]


def text(data: Data) -> str:
    return "\n".join([*headline(data), *in_words(panels(data)), *notices(data)])


def notices(data: Data) -> list[str]:
    seen = _seen(data, 0)
    return [tr("Errors are measured from the same formula in float64."), *tiles.headline(seen), *tiles.notices(seen)]


def subject():
    return Subject("zoom", operator_of, State, inputs, lambda state, backward=None: data(XP, state, **gathered(state)), panels, headline, text,
                   tiles.pytest_case, tiles.cpp, notices, (gathered, data), tuple(MACHINE))
