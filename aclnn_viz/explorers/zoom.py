"""Interactive picture (explorer) that zooms into one number of a gradient: formula, tensor, instructions of a tile.

Each picture opens from a place of the previous one: the formula, the tensor of a term with its tiles, and the instructions of
one tile. The lesson: one tile computes a number of a result; its instructions write the formula's terms one after another.
Any operator with a page of arithmetic and a tile program has one.
"""

from itertools import product

import numpy as np

from aclnn_viz.explorers.arrays import XP, element, sweep
from aclnn_viz.explorers.fields import stated
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.explorers.terms import REDUCING, Term, constant, spoken, typeset
from aclnn_viz.explorers.terms import written as formula_of
from aclnn_viz.explorers.tiles_data import MACHINE, OWN, Machine, inputs, operator_of, pipe_name
from aclnn_viz.explorers.zoom_data import contained, data, gathered, laid, programs
from aclnn_viz.pictures.marks import Bars, Box, Heat, Note, Spots, row_spots
from aclnn_viz.pictures.panels import UNIT, Axis, Panel, bare
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, PALE, READ
from aclnn_viz.pictures.text import STILL, choose, number, told, unmarked, written
from aclnn_viz.words.messages import Choice, meant, message, tr

LEVELS = "formula", "tensor", "pipes"
FILLED = {READ: 0.04, GUIDE: 0.0, INK: 0.16, GRADIENT: 0.3, PALE: 0.2}  # their opacity
LEGEND = {
    INK: message("input"),
    READ: message("elementwise"),
    GUIDE: message("reduced"),
    GRADIENT: message("output"),
}
WIDEST, ROWS = 53, 16  # least width of formulas, in letters; most listed instructions
# heights in pixels: a picture, a formula without and with fractions
TALL, DEEP, FRACTION = 390, 44, 65
FORMULA = message("{formula}")
MADE = (
    message(
        "{term} {index} = {value} is an input: [b:the bars above it are made of it.] Click one to see its tensor."
    ),
    message(
        "{term} {index} = {calc} = {value}: [b:a bar is made of those under it] or at its arrow. Click one to see its tensor."
    ),
)
# it starts with a program of several outputs: sums over rows are among them
PROGRAM = {
    "start": next(name for name in programs() if len(operator_of(Machine(name)).outputs) > 1),
    "options": {name: name for name in programs()},
}


@stated("zoom", **OWN | {"program": PROGRAM})
class State:
    """The values that a reader can move in the zoom explorer: the level, the term and its element, and the machine."""

    seed, __post_init__ = Machine.seed, Machine.__post_init__


def picked(which, options, make):
    """Return make(number); if the number moves, a choice between make(0), make(1), ... for all its values."""
    return (
        make(int(which))
        if isinstance(which, STILL)
        else Choice(which, tuple(map(make, range(options))))
    )


def panels(data):
    z, level = data.zoomed, data.state.level
    if level == "formula":
        return [formula(data)]
    if level == "tensor":
        return [picked(data.term, len(z.terms), lambda k: tensor(data, k))]
    return [picked(data.of_term(z.tile), len(z.tiles), lambda k: pipes(data, k))]


def _panel(data, title, marks, x, y, opens=(), height=TALL):
    """Return the panel of a level; one of its places opens the next level."""
    opens = LEVELS.index(data.state.level), *opens
    return Panel("zoom", title, marks, x, y, 20, height, opens=opens)


def legend():
    """Return marks without a place, which the legend names."""
    nothing = np.full(1, np.nan)
    return [Bars(nothing, nothing, kind, tr(text)) for kind, text in LEGEND.items()]


def _kind(z, term):
    if not term.takes:
        return INK
    return GRADIENT if term.name in z.goes else READ if term.axis is None else GUIDE


def formula(data):
    """Return the formulas of the first output, then of the others and of named parts, the widest first, with their numbers."""
    z, marks, spots, firsts, trees, x, y, tall = data.zoomed, [], {}, {}, [], 0, 0, 0
    main, *others = (laid(term) for term in z.terms if term.name and term.takes)
    # a wide part lies straight below the formula that it is a part of
    roots = main, *sorted(others, key=lambda root: -root[0])
    across = max(WIDEST, *(wide for wide, _ in roots))
    for wide, parts in roots:
        if x + wide > across:
            x, y, tall = 0, y + tall, 0
        many = {}
        for term, depth, first, last in parts:
            top, middle = y + depth, x + (first + last) / 2
            box = x + first + 0.3, top + 0.06, x + last - 0.3, top + 0.94, len(trees)
            k = spots[box] = z.terms.index(term)
            if not depth or k not in firsts:
                firsts[k] = box
            text = term.label if depth else f"{term.name} = {term.formula}"
            text, value = tr(FORMULA, formula=text), number(data.at(z.values[k]))
            if not depth or not term.name:
                value = counted(z, term, value)
            if term in many:
                value = tr("{value}, one of {n}", value=value, n=many[term])
            many = {part: np.count_nonzero(to == 0) for part, to, many, _ in term.links if many}
            room, kind = ("center", last - first), _kind(z, term)
            marks += [
                Box(*box[:4], "", kind, FILLED[kind], kind == GUIDE),
                Note(middle, top + 0.34, text, *room, typeset(term, not depth)),
                Note(middle, top + 0.73, value, *room),
            ]
        deep = max(depth for _, depth, _, _ in parts) + 1.3
        trees.append((parts[0][0], x, y, x + wide, y + deep))
        x, tall = x + wide + 1, max(tall, deep)
    y += tall
    marks += legend()
    # of a term with several boxes, the one above its parts is marked, or the first, by a frame around it
    firsts = [firsts[k] for k in range(len(z.terms))] - np.array([0.3, 0.06, -0.3, -0.06, 0.0])
    place = element(data.xp, firsts[:, :4], data.term)
    marks += [
        Note(right - 1.2, top + 0.67, "↑↓↗↘"[(high > top) + 2 * (left > right)])
        for root, left, high, *_ in trees
        for (_, top, right, _, n), k in spots.items()
        if z.terms[k] == root != trees[n][0]
    ]
    for root, left, *ends in trees:  # trees that the marked one does not use fade
        used = [root in contained(trees[int(n)][0]) for n in firsts[:, 4]]
        marks += [
            Box(element(data.xp, np.where(used, np.nan, left), data.term), *ends, filled=-0.3)
        ]
    marks += [
        Box(*place, "", MOVED),
        Spots(
            *np.transpose([*spots])[:4],
            [sentence(z, k, data.at) for k in spots.values()],
            [(("term", k), ("level", "tensor")) for k in spots.values()],
        ),
    ]
    title = tr("backward of {program}, with the numbers of one element", program=data.state.program)
    fraction = any("frac" in getattr(mark, "math", "") for mark in marks)
    height = max(TALL, int((FRACTION if fraction else DEEP) * y))
    axes = bare(-0.4, across), bare(y, -0.1)
    return _panel(data, title, marks, *axes, place, height)


def counted(z, term, value):
    """Return a number in words: with how many others it is reduced from, where the bars under it show one of them."""
    for part, to, many, looked in term.links:
        if many or looked:
            (rows, columns), shown = z.shown[z.terms.index(term)].size, z.shown[z.terms.index(part)]
            n = (to == 0).sum() if many else shown.shape[0]
            return told(
                (shown.size == (n * rows, columns)) + 2 * (shown.size == (rows, n * columns)),
                "{value}, {op} of {n} numbers",
                "{value}, {op} over {n} rows",
                "{value}, {op} over {n} columns",
                "{value}",
                value=value,
                op=term.op.replace("take", "one"),
                n=n,
            )
    return value


def tensor(data, k):
    """Return the numbers of a term, coloured by row, and the tiles around their results."""
    z = data.zoomed
    shown, (rows, columns) = z.shown[k], z.shown[k].size
    values, owner = (table[np.ix_(*shown.firsts)] for table in (z.values[k], z.tile[k]))
    i, j = np.indices((rows, columns)).reshape(2, -1)
    y, x = element(data.xp, shown.rows, data.row), element(data.xp, shown.columns, data.column)
    tiles, marks = {}, []
    # a number that several tiles use belongs to no tile
    single = (owner[np.ix_(shown.rows, shown.columns)] == z.tile[k]).all()
    for n in np.unique(owner) if single else ():
        down, across = (np.nonzero((owner == n).any(axis=axis))[0] for axis in (1, 0))
        ends = across[0] - 0.5, down[0] - 0.5, across[-1] + 0.5, down[-1] + 0.5
        marks.append(Box(*ends, "", GUIDE))
        tiles.setdefault((ends[1] + ends[3]) / 2, _told(z, z.tiles[n])["tile"])
    texts, sets = [], []
    for row, column in product(*shown.firsts):
        texts.append(sentence(z, k, lambda table: table[row, column]))
        own = (("row", int(row)),) * (rows > 1) + (("column", int(column)),) * (columns > 1)
        sets.append((*own, ("level", "pipes")))
    place = x - 0.5, y - 0.5, x + 0.5, y + 0.5
    most = np.nanmax(np.abs(values), axis=1 if columns > 1 else None, keepdims=True, initial=1e-300)
    marks = (
        Heat(values / most, "diverging", -1.0, 1.0, True, tuple(map(number, values.flat))),
        *marks,
        Box(*place, "", MOVED),
        Spots(j - 0.5, i - 0.5, j + 0.5, i + 0.5, texts, sets),
    )
    axes = (
        Axis(tr("column"), -0.5, columns - 0.5, ticks=[(k, f"{k}") for k in range(columns)]),
        Axis("" if single else tr("row"), rows - 0.5, -0.5, "linear", (*tiles.items(),) or None),
    )
    return _panel(
        data,
        told(
            2 if rows * columns < np.prod(shown.shape) else columns == 1,
            "{term}, shape {shape}: colours are shares of the largest of a row",
            "{term}, shape {shape}: colours are shares of the largest",
            "{term}, shape {shape}: the elements that are looked up",
            term=spoken(shown.term),
            shape=shown.shape,
        ),
        marks,
        *axes,
        place,
        max(TALL, 60 + 26 * rows),
    )


def _output(z, tile):
    return next(shown for shown in z.shown if shown.term.name == tile.output)


def _told(z, tile):
    """Return the number of a tile's instructions, and the tile in words: an output of fewer rows is made by all of them."""
    return {
        "n": len(tile.jobs),
        "tile": told(
            _output(z, tile).size[0] < len(z.shown[0].rows),
            "core {core}, tile {tile}",
            "core {core}, all its tiles",
            core=tile.core,
            tile=tile.number,
        ),
    }


def index(z, k, at):
    """Return a number's index in its term; `at` returns the element of a table (rows, columns)."""
    text = "["
    for n, place in enumerate(z.shown[k].index):
        text = text + ", " * (n > 0) + written(at(place), "d")
    return text + "]" if len(z.shown[k].index) else ""


def sentence(z, k, at):
    """Return the value of a term's number and its error in words; `at` returns the element of a table (rows, columns)."""
    return tr(
        "{term} {index} is {value}. {off}",
        term=spoken(z.terms[k]),
        index=index(z, k, at),
        value=number(at(z.values[k])),
        off=told(
            at(z.errors[k] != 0.0),
            "No step has rounded this value.",
            "It is off the exact value by {off}, or {error} ulp.",
            off=written(at(z.values[k] - z.truth[k]), ".1g"),
            error=written(at(z.errors[k]), ".2g"),
        ),
    )


def _wrote(data, k):
    """Return (number, times, term, a line about its error) of each of the tile's instructions for the element."""
    z, xp, tile, found = data.zoomed, data.xp, data.zoomed.tiles[k], {}
    of = _output(z, tile)
    first = element(xp, of.firsts[0], element(xp, of.rows, data.row))
    at = data.of_term(z.place) - tile.first
    for job, times, values, _, errors, term, below in tile.wrote:
        place = xp.maximum(xp.minimum(at, values.size - 1), 0)
        value, error = (element(xp, each, place) for each in (values, errors))
        text = told(
            term >= 0 and z.shown[term].size[0] > 1,
            "off by {error} ulp",
            "off by {error} ulp, row {row}",
            error=written(error, ".2g"),
            row=written(first + below, "d"),
        )
        found[job] = number(value), times, term, "\n" + text
    return found


def pipes(data, k):
    """Return the instructions of a tile from the top down, with their pipes and their results for the element."""
    z, tile = data.zoomed, data.zoomed.tiles[k]
    shown, wrote = [*enumerate(tile.jobs, 1)][-ROWS:], _wrote(data, k)
    spots, rows, marks = (
        [],
        {},
        [
            Note(0.6, -0.75, tr("wrote"), "right"),
            Note(0.62, -0.75, tr(meant("term", "term of a formula")), "left"),
            *legend(),
        ],
    )
    for y, (step, job) in enumerate(shown):
        value, times, term, line = wrote.get(job, ("–", 1, -1, ""))
        said = tr("step {step}: {name}, line {line}", step=step, name=job.name, line=job.line)
        kind, sets, formula = PALE, (), ""
        label = tr("(not in the formula)")
        marks += [Note(0.056, y, str(step), "right"), Note(0.6, y, value, "right")]
        if term >= 0:
            one, said = z.terms[term], said + line
            kind, sets = _kind(z, one), (("term", term), ("level", "formula"))
            many = f"{times} × " * (times > 1)
            label = told(times > 0, "part of {formula}", FORMULA, formula=many + spoken(one))
            formula = (many + typeset(one, flat=True)) * (times > 0)
            if times:  # of a sum, where it is whole
                rows.setdefault(term, y)
        marks += [
            Note(0.62, y, label, "left", 0.4, formula),
            Box(0.065, y - 0.42, 0.18, y + 0.42, "", kind, FILLED[kind], kind == GUIDE),
            Note(0.122, y, pipe_name(job.pipe)),
            Note(0.19, y, job.name, "left", 0.26),
        ]
        spots.append((said, sets))
    at = element(data.xp, np.array([rows.get(k, np.nan) for k in range(len(z.terms))]), data.term)
    marks += [Box(0.0, at - 0.48, 1.0, at + 0.48, "", MOVED), row_spots(*zip(*spots))]
    return _panel(
        data,
        told(
            len(tile.jobs) <= ROWS,
            "The last {shown} of {n} instructions of {tile}, in order: MTE2 copies in, V computes, MTE3 copies out",
            "The instructions of {tile}, in order: MTE2 copies in, V computes, MTE3 copies out",
            shown=len(shown),
            **_told(z, tile),
        ),
        marks,
        UNIT,
        bare(len(shown) - 0.4, -1.2),
    )


def caption(data):
    z, level = data.zoomed, data.state.level
    if level == "formula":
        return picked(data.term, len(z.terms), lambda k: made(data, k))
    return picked(
        data.of_term(z.tile),
        len(z.tiles),
        lambda k: told(
            level == "pipes",
            "{value} [b:It is handled by {tile}.] Click a number to see the instructions of its tile.",
            "{n} instructions run on {tile}. Beside each is the [5:term] that it wrote. [b:One rounding is at most ½ ulp: more came from earlier steps, or from a sum, which adds its numbers’ errors.] Click one to see it in the formula.",
            value=headline(data)[0],
            **_told(z, z.tiles[k]),
        ),
    )


def made(data, k):
    """Return a sentence on how a term's number is made of those under it."""
    z, term, texts, values = data.zoomed, data.zoomed.terms[k], [], {}
    for name, taken in zip("abcdefgh", term.takes):
        if isinstance(taken, Term):
            one = data.at(z.values[z.terms.index(taken)])
            values[name] = choose((one < 0) & (name > "a"), number(one), "(" + number(one) + ")")
        text = _inked(z, taken, f"{{{name}}}") if name in values else constant(taken)
        texts.append(f"…, {text}, …" if term.op in REDUCING else text)
    return tr(
        MADE[bool(values)],
        term=_inked(z, term, spoken(term)),
        index=index(z, k, data.at),
        value=number(data.at(z.values[k])),
        calc=tr(formula_of(term, texts=texts), **values),
    )


def _inked(z, term, text):
    """Return the text of a term in the colour of its box, or bold."""
    kind = _kind(z, term)
    return f"[{kind if kind in (READ, GRADIENT) else 'b'}:{text}]"


def headline(data):
    """Return the element's number and its error in words."""
    z = data.zoomed
    return [picked(data.term, len(z.terms), lambda k: sentence(z, k, data.at))]


def around(data):
    """Return the lines before and after the panels in words."""
    return [unmarked(caption(data)), *headline(data)], notices(data)


def notices(data):
    return [tr("Errors are measured against the same formula in float64.")]


def plays(data):
    deep = data.state.level == "pipes"
    return sweep(
        told(deep, "zoom in", "zoom out"),
        "level",
        6.0,
        LEVELS[::-1] if deep else LEVELS,
        waits=True,
    )


def subject():
    return Subject(
        "zoom",
        operator_of,
        State,
        inputs,
        lambda state, backward=None: data(XP, state, **gathered(state)),
        panels,
        headline,
        around,
        notices=notices,
        caption=caption,
        plays=plays,
        live=(gathered, data),
        kept=tuple(MACHINE),
    )
