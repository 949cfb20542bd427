"""The explorer that zooms: from the formula of an operator to the tensor of one of its terms, its tiles, and their instructions on the pipes.

Of any operator with a page of arithmetic and a tile program. The element that is looked at is marked on every level; a click on a
term, a number or a tile leads one level down, and the path above leads back.
"""

from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from aclnn_viz.explorers import tiles, tiles_time
from aclnn_viz.explorers.arrays import XP, element
from aclnn_viz.explorers.state import choice, whole
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.explorers.tiles_data import MACHINE, Machine, inputs, operator_of, pipe_name
from aclnn_viz.explorers.zoom_data import FIRST, SMALL_CASE, TERMS, Data, data, gathered, laid
from aclnn_viz.pictures.marks import Box, Heat, Note, Spots
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import STILL, choose, number, written
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import Choice, meant, message, tr

LEVELS = {
    "formula": message("formula"),
    "tensor": meant("tensor", "tensor of a term"),
    "tiles": message("tiles"),
    "pipes": message("pipes"),
}
DOWN = {
    "formula": message("Click a term to see its tensor."),
    "tensor": message("Click a number to see which tile computes it."),
    "tiles": message(
        "A frame marks the element in each output. Click one to see the instructions of its tile."
    ),
    "pipes": message(
        "Filled instructions belong to the tile of the number. For each of them the table has what it wrote, which term that is, and its error in the program, which may compute in another order than the formula. Click the path to go back."
    ),
}
STEP, CHOSEN, OUTPUT, ALONG, GIVEN = range(5)  # kinds of marks
ALL_ROWS = 99  # rows of outputs: all that there are
WIDEST = 90  # letters across that formulas have at least
# pixels across: of a letter, a number in a cell, the table of instructions, the path
LETTER, DIGITS, TABLE, PATH = 7.4, 52, 640, 620
LEGEND = {
    GIVEN: message("input"),
    STEP: message("elementwise"),
    ALONG: message("reduced along an axis"),
    OUTPUT: message("output"),
}
ROWS = 16  # of the table of instructions, at most
IS = message("{term} {index} is {value}.")
EXACT = message("No step has rounded it.")
OFF = message(
    "It is off by {off}, that is {error} ulp, the sum of what rounding adds in each step, of either sign. The largest part, {share} ulp, comes from rounding {step}."
)
FORMULA, THE_OUTPUT = message("{formula}"), message("the output")
# sums have more to show
HOME = next(name for name in FIRST if len(operator_of(Machine(name)).outputs) > 1)


@dataclass(frozen=True)
class Look:
    """The part of a run that is shown: the level, the term and its element."""

    level: str = choice("formula", LEVELS, "level", "Look at")
    term: int = choice(
        -1,
        {-1: message("the first output")}
        | {k: message("{formula}", formula=label) for k, (_, label) in enumerate(TERMS)},
        meant("term", "term of a formula"),
        "Look at",
        of="program",
        owners={k: program for k, (program, _) in enumerate(TERMS)},
        moves=True,
    )
    row: int = whole(1, 0, 11, "row", "Look at", below="rows")
    column: int = whole(3, 0, 127, "column", "Look at", below="columns")


@dataclass(frozen=True)
class State(Machine, Look):
    """What can be moved."""

    program: str = choice(HOME, {name: name for name in FIRST}, "program", "Program")
    rows: int = whole(SMALL_CASE["rows"], 1, 12, "rows", "Tensors")
    columns: int = whole(SMALL_CASE["columns"], 1, 128, "columns", "Tensors")
    cores: int = whole(
        SMALL_CASE["cores"], 1, 48, "cores", "Machine", "vector cores offered to the tiling"
    )


def picked(which, options: int, make):
    """Return make(number); where the number moves, a choice between make(0), make(1), ... of all numbers that it may be."""
    return (
        make(int(which))
        if isinstance(which, STILL)
        else Choice(which, tuple(map(make, range(options))))
    )


def number_of(data: Data, term) -> int:
    """The number of a term among those of all programs."""
    return TERMS.index((data.state.program, term.label))


def panels(data: Data) -> list[Panel]:
    return [
        path(data),
        *{"formula": formula, "tensor": tensor, "tiles": owners, "pipes": pipes}[data.state.level](
            data
        ),
    ]


def path(data: Data) -> Panel:
    """The levels from left to right, and what of each is looked at."""
    z, at = data.zoomed, np.arange(4.0)
    place = tr(
        "row {row}, column {column}", row=written(data.row, "d"), column=written(data.column, "d")
    )
    shown = (
        *(
            picked(data.term, len(z.terms), make)
            for make in (
                lambda k: tr(FORMULA, formula=z.terms[k].label),
                lambda k: index(z, k, data.at) + " " * bool(z.shown[k].shape) + place,
            )
        ),
        *(
            picked(
                data.of_term(z.tile),
                len(z.tiles),
                lambda k, text=text: tr(
                    text, core=z.tiles[k].core, tile=z.tiles[k].number, n=len(z.tiles[k].jobs)
                ),
            )
            for text in (message("core {core}, tile {tile}"), message("{n} instructions"))
        ),
    )
    marks = [
        Spots(
            at,
            0 * at,
            at + 1,
            0 * at + 1,
            tuple(map(tr, LEVELS.values())),
            tuple((("level", level),) for level in LEVELS),
        )
    ]
    for k, (level, text) in enumerate(zip(LEVELS, shown)):
        here = level == data.state.level
        marks += [
            Box(k + 0.02, 0.05, k + 0.98, 0.95, "", CHOSEN if here else GIVEN, here),
            Note(k + 0.5, 0.3, f"{'▶ ' * here}{k + 1} {tr(LEVELS[level])}"),
            Note(k + 0.5, 0.7, text),
        ]
    return Panel(
        "path",
        tr("From the formula to the pipes"),
        tuple(marks),
        Axis("", 0, 4, ticks=()),
        Axis("", 1, 0, ticks=()),
        20,
        44,
        least=PATH,
    )


def _legend(across: int, y: float):
    """A sample of each kind of term in a row, and its name."""
    for k, (kind, text) in enumerate(LEGEND.items()):
        x = k * across / 4
        yield Box(x + 0.1, y + 0.1, x + 2, y + 0.5, "", kind)
        yield Note(x + 2.5, y + 0.3, tr(text), "left")


def _kind(z, term) -> int:
    if not term.takes:
        return GIVEN
    return OUTPUT if term.name in z.goes else STEP if term.axis is None else ALONG


def _frame(data: Data, spots: dict) -> Box:
    """The frame around the term that is looked at; it may stand in several boxes, of which this is the first."""
    chosen = np.array(
        [next(box for box in spots if spots[box] == k) for k in range(len(data.zoomed.terms))]
    )
    return Box(
        *(
            element(data.xp, chosen[:, end], data.term) + apart
            for end, apart in enumerate((-0.2, -0.1, 0.2, 0.1))
        ),
        "",
        CHOSEN,
    )


def formula(data: Data) -> list[Panel]:
    """The formulas of the outputs, then those of what they name; what a part is made of stands below it, with its number for the element."""
    z, marks, spots, x, y, tall = data.zoomed, [], {}, 0, 0, 0
    roots = sorted(
        (one for one in z.terms if one.name and one.takes), key=lambda one: one.name not in z.goes
    )
    roots = [laid(one) for one in roots]
    across = max(WIDEST, *(wide for wide, _ in roots))
    for wide, found in roots:
        if x + wide > across:
            x, y, tall = 0, y + tall, 0
        for term, depth, first, last in found:
            k, top = z.terms.index(term), y + depth
            box = x + first + 0.1, top + 0.06, x + last - 0.1, top + 0.94
            spots[box] = k
            middle = x + (first + last) / 2
            marks += [
                Box(*box, "", _kind(z, term), depth == 0),
                Note(
                    middle,
                    top + 0.33,
                    tr(FORMULA, formula=term.label if depth else f"{term.name} = {term.formula}"),
                    room=last - first,
                ),
                Note(middle, top + 0.7, number(data.at(z.values[k])), room=last - first),
            ]
        x, tall = x + wide + 1, max(tall, max(depth for _, depth, _, _ in found) + 1.4)
    y += tall
    marks += _legend(across, y)
    marks += [
        _frame(data, spots),
        Spots(
            *np.transpose([*spots]),
            tuple(tr(FORMULA, formula=z.terms[k].label) for k in spots.values()),
            tuple(
                (("term", number_of(data, z.terms[k])), ("level", "tensor")) for k in spots.values()
            ),
        ),
    ]
    return [
        Panel(
            "formula",
            tr(
                "What each part is made of stands below it, with its number for row {row}, column {column}",
                row=written(data.row, "d"),
                column=written(data.column, "d"),
            ),
            tuple(marks),
            Axis("", 0, across, ticks=()),
            Axis("", y + 0.6, -0.1, ticks=()),
            20,
            int(36 * y),
            least=int(LETTER * across),
        )
    ]


def _numbers(data: Data, k: int) -> Panel:
    z = data.zoomed
    shown = z.shown[k]
    (rows, columns), at = shown.size, np.ix_(*shown.firsts)
    i, j = np.indices((rows, columns)).reshape(2, -1)
    y, x = element(data.xp, shown.rows, data.row), element(data.xp, shown.columns, data.column)
    lines = sentences(z, k)
    texts = tuple(
        "\n".join(lines(lambda table: table[row, column]))
        for row in shown.firsts[0]
        for column in shown.firsts[1]
    )
    title = (
        message("{term}, shape {shape}: the elements that are looked up")
        if rows * columns < np.prod(shown.shape)
        else message("{term}, shape {shape}")
        if shown.shape == shown.size
        else message("{term}, shape {shape}, in {rows} rows")
    )
    return Panel(
        "tensor",
        tr(title, term=shown.term.label, shape=shown.shape, rows=rows),
        (
            Heat(z.values[k][at], *scale(z.values[k][at]), True),
            Box(-0.5, y - 0.5, columns - 0.5, y + 0.5, "", GIVEN),
            Box(x - 0.5, y - 0.5, x + 0.5, y + 0.5, "", CHOSEN),
            Spots(
                j - 0.5,
                i - 0.5,
                j + 0.5,
                i + 0.5,
                texts,
                tuple((*each, ("level", "tiles")) for each in shown.clicks),
            ),
        ),
        Axis(tr("column"), -0.5, columns - 0.5),
        Axis(tr("row"), rows - 0.5, -0.5),
        20,
        60 + 32 * rows,
        least=DIGITS * columns,
    )


def _parts(data: Data, k: int) -> Panel:
    z = data.zoomed
    steps = [n for n in range(z.parts.shape[1]) if z.parts[k, n].any()]
    marks = [
        Box(0.0, n - 0.35, data.at(z.parts[k, step]), n + 0.35, "", CHOSEN, True)
        for n, step in enumerate(steps)
    ]
    return Panel(
        "parts",
        tr("What rounding each step adds to the error of the marked number, in ulp")
        if steps
        else tr(EXACT),
        tuple(marks),
        Axis(ticks=None if steps else ()),
        Axis(
            "",
            len(steps) - 0.4,
            -0.6,
            ticks=tuple((n, tr([*z.causes, THE_OUTPUT][step])) for n, step in enumerate(steps)),
        ),
        20,
        40 + 20 * len(steps),
    )


def tensor(data: Data) -> list[Panel]:
    """The numbers of the term, and what each rounding adds to the error of the marked one."""
    return [
        picked(data.term, len(data.zoomed.terms), partial(make, data))
        for make in (_numbers, _parts)
    ]


def index(z, k: int, at):
    """Where a number of a term stands in the term's own shape; `at` takes what a table (rows, columns) has for its element."""
    text = "["
    for n, place in enumerate(z.shown[k].index):
        text = text + ", " * (n > 0) + written(at(place), "d")
    return text + "]" if len(z.shown[k].index) else ""


def sentences(z, k: int):
    """A number of a term, and how far off it is and why, as a function of `at`, which takes what a table (rows, columns) has for its element."""
    shown, parts = z.shown[k], z.parts[k]
    steps = np.flatnonzero(parts.any(axis=(1, 2))).tolist() or [0]
    most, total, off, inexact = (
        np.abs(parts[steps]).argmax(axis=0),
        parts.sum(axis=0),
        z.values[k] - z.truth[k],
        parts.any(axis=0),
    )
    share = np.take_along_axis(parts[steps], most[None], 0)[0]

    def lines(at):
        cause = picked(at(most), len(steps), lambda n: tr([*z.causes, THE_OUTPUT][steps[n]]))
        found = {
            "error": number(at(total)),
            "share": number(at(share)),
            "step": cause,
            "term": shown.term.label,
            "index": index(z, k, at),
            "value": number(at(z.values[k])),
            "off": written(at(off), ".1g"),
        }
        return [tr(IS, **found), choose(at(inexact), tr(EXACT), tr(OFF, **found))]

    return lines


def _seen(data: Data, k: int) -> tiles.Data:
    """What the explorer of tile programs sees of the core of a tile, when the tile is stored."""
    tile = data.zoomed.tiles[k]
    return tiles.Data(
        tiles.State(
            **{name: getattr(data.state, name) for name in MACHINE},
            core=max(tile.core, 0),
            step=max((job.step for job in tile.jobs), default=0),
        ),
        data.zoomed.work,
    )


def _marked(data: Data, part, across: int, top: int) -> list:
    """The element in one output, which starts at a height, and what a click on each of its elements does."""
    z, xp = data.zoomed, data.xp
    shown, (height, wide) = _output(z, part.name), part.core.shape
    # of the elements of an output that has fewer columns than others
    ends = -(-np.arange(wide + 1) * across // wide) - 0.5
    row, column = (
        element(xp, shown.rows, data.row) + top,
        element(xp, shown.columns, data.column),
    )
    i, j = np.indices((height, wide)).reshape(2, -1)
    term = element(
        xp,
        np.array(
            [
                number_of(data, one if goes == part.name else shown.term)
                for one, goes in zip(z.terms, z.goes)
            ]
        ),
        data.term,
    )
    # the chosen one, where this output is what it goes to
    term = int(term) if isinstance(term, STILL) else term
    return [
        Box(
            element(xp, ends, column),
            row - 0.5,
            element(xp, ends, column + 1),
            row + 0.5,
            "",
            CHOSEN,
        ),
        Spots(
            ends[j],
            i + top - 0.5,
            ends[j + 1],
            i + top + 0.5,
            tuple(
                tr(
                    "{output} {index}: core {core}, tile {tile}",
                    output=part.name,
                    index=[*map(int, at)],
                    core=core,
                    tile=tile,
                )
                for *at, core, tile in zip(
                    *(each[np.ix_(*shown.firsts)].flat for each in shown.index),
                    part.core.flat,
                    part.tile.flat,
                )
            ),
            tuple((*each, ("term", term), ("level", "pipes")) for each in shown.clicks),
        ),
    ]


def owners(data: Data) -> list[Panel]:
    """Which core and tile writes what, as the explorer of tile programs draws it, with the element marked in each output."""
    z, top, marks = data.zoomed, 0, []
    parts = [
        replace(
            part,
            **{
                name: getattr(part, name).reshape(-1)[_places(z, part)]
                for name in ("core", "cores", "tile", "wrong")
            },
            tail=np.zeros(_places(z, part).shape, bool),
        )
        for part in z.work.owned
    ]
    seen, across = _seen(data, 0), max(part.core.shape[1] for part in parts)
    found = tiles.owners(replace(seen, work=replace(z.work, owned=parts)), ALL_ROWS)
    for part in parts:
        marks += _marked(data, part, across, top)
        top += part.core.shape[0] + 1
    return [
        Panel("owners", found.title, (*found.marks, *marks), found.x, found.y, 20, 30 + 30 * top),
        tiles.moved(seen),
        tiles.hazards(seen),
        picked(
            data.of_term(z.tile),
            len(z.tiles),
            lambda k: tiles_time.unified_buffer(_seen(data, k), whole=False),
        ),
    ]


def _output(z, name: str):
    """An output as a matrix of its own."""
    return next(one for one in z.shown if one.term.name == name)


def _places(z, part) -> np.ndarray:
    """Which element of an output lies where in its matrix."""
    k = next(k for k, one in enumerate(z.shown) if one.term.name == part.name)
    return z.place[k][np.ix_(*z.shown[k].firsts)]


def _wrote(data: Data, k: int):
    """The instructions that wrote a number for the element, each with what it wrote."""
    z, xp = data.zoomed, data.xp
    tile, rows = z.tiles[k], len(z.shown[0].rows)
    of = _output(z, tile.output)
    first, at = (
        element(xp, of.firsts[0], element(xp, of.rows, data.row)),
        data.of_term(z.place) - tile.first,
    )
    for job, values, exact, term, below in (
        one for one in tile.wrote if one[0].step > tile.jobs[-1].step - tiles_time.PAGE
    ):
        place = xp.maximum(xp.minimum(at, values.size - 1), 0)
        value, right = (element(xp, each, place) for each in (values, exact))
        of_row = (below or of.size[0] < rows) and z.shown[term].size[0] > 1
        text = (
            message("{value}")
            if term < 0
            else message("{value} = {term} of row {row}, off by {error}")
            if of_row
            else message("{value} = {term}, off by {error}")
        )
        yield (
            job,
            tr(
                text,
                value=number(value),
                error=written(value - right, ".1g"),
                term=z.terms[term].label,
                row=written(first + below, "d"),
            ),
        )


def _table(jobs, numbers: dict) -> Panel:
    shown = jobs[-ROWS:]
    marks = [
        Note(x, y, text, align)
        for y, job in enumerate(shown)
        for x, align, text in (
            (0.03, "right", str(job.step)),
            (0.04, "left", pipe_name(job.pipe)),
            (0.1, "left", job.name),
            (0.24, "left", numbers.get(job, "")),
        )
    ]
    title = tr(
        message(
            "Step, pipe and instruction in the order of issue, and what it wrote for the element, if anything: the last {n} of {all}"
        )
        if jobs[ROWS:]
        else message(
            "Step, pipe and instruction in the order of issue, and what it wrote for the element, if anything"
        ),
        n=len(shown),
        all=len(jobs),
    )
    return Panel(
        "table",
        title,
        tuple(marks),
        Axis("", 0, 1, ticks=()),
        Axis("", len(shown) - 0.4, -0.6, ticks=()),
        20,
        15 * len(shown) + 10,
        least=TABLE,
    )


def pipes(data: Data) -> list[Panel]:
    """The instructions of the tile on the pipes, with buffers and hazards, and what they wrote for the element."""
    z = data.zoomed

    wrote = cache(lambda k: dict(_wrote(data, k)))

    def timeline(k):
        numbers = wrote(k)
        return tiles_time.pipes(
            _seen(data, k),
            {
                job: tr("{name} in line {line}", name=job.name, line=job.line)
                + "\n"
                + numbers.get(job, "")
                for job in z.tiles[k].jobs
            },
        )

    def table(k):
        return _table(z.tiles[k].jobs, wrote(k))

    return [picked(data.of_term(z.tile), len(z.tiles), make) for make in (timeline, table)]


def headline(data: Data) -> list[str]:
    """The number of the element and why it is off, and where a click leads."""
    lines = cache(lambda k: sentences(data.zoomed, k)(data.at))
    return [
        *(
            picked(data.term, len(data.zoomed.terms), lambda k, line=line: lines(k)[line])
            for line in (0, 1)
        ),
        tr(DOWN[data.state.level]),
    ]


def text(data: Data) -> str:
    return "\n".join([*headline(data), *in_words(panels(data)), *notices(data)])


def notices(data: Data) -> list[str]:
    seen = _seen(data, 0)
    return [
        tr("Errors are measured from the same formula in float64."),
        *tiles.headline(seen),
        *tiles.notices(seen),
    ]


def subject():
    return Subject(
        "zoom",
        operator_of,
        State,
        inputs,
        lambda state, backward=None: data(XP, state, **gathered(state)),
        panels,
        headline,
        text,
        tiles.pytest_case,
        notices=notices,
        live=(gathered, data),
        kept=tuple(MACHINE),
    )
