"""Panels and words of the interactive picture (explorer) of attention's gradient, from the numbers of
`flash_attention_score_data`.
"""

import numpy as np

from aclnn_viz.explorers.arrays import element
from aclnn_viz.explorers.by_operator.flash_attention_score_data import (
    OP,
    Data,
    State,
    compute,
    data,
    gathered,
    inputs,
)
from aclnn_viz.explorers.state import chosen
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Bars, Box, Dots, Heat, Line, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import choose, number, signed, written
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import message, tr

WEIGHT, ARRIVING, GRADIENT, CHOSEN, GUIDE = range(5)  # kinds of marks; GUIDE is grey
TILE = (
    message(
        "Tile ({i}, {j}) of query {row} and key {column} is hidden: nothing of it is loaded, and it adds nothing."
    ),
    message(
        "Tile ({i}, {j}) of query {row} and key {column} is cut by the mask: it is computed, and what is hidden set to 0."
    ),
    message("Tile ({i}, {j}) of query {row} and key {column} is whole: it needs no mask."),
)


def panels(data: Data) -> list[Panel]:
    """Return the six panels of a state's data."""
    return [
        _map(data, "P", data.P),
        _map(data, "dS", data.dS),
        _tiles(data),
        _scores(data),
        _sums(data),
        _row(data),
    ]


def _map(data: Data, name: str, values) -> Panel:
    state, (rows, columns) = data.state, data.seen.shape
    lines = [
        Rule(axis, at - 0.5, kind=GUIDE)
        for axis, size in (("x", columns), ("y", rows))
        for at in range(state.block, size, state.block)
    ]
    marks = (
        Heat(data.xp.where(data.seen, values, np.nan), *scale(values, data.xp)),
        *lines,
        Box(-0.5, state.row - 0.5, columns - 0.5, state.row + 0.5, kind=CHOSEN),
        Box(state.column - 0.5, state.row - 0.5, state.column + 0.5, state.row + 0.5, kind=CHOSEN),
    )
    return Panel(
        name,
        tr(
            "{name}: {rows} queries × {columns} keys, empty where hidden",
            name=name,
            rows=rows,
            columns=columns,
        ),
        marks,
        Axis(tr("key")),
        Axis(tr("query")),
        7,
        220,
        ("column", "row"),
    )


def _tiles(data: Data) -> Panel:
    xp, state = data.xp, data.state
    i, j = (xp.floor(at / state.block) for at in (state.row, state.column))
    marks = (
        Heat(data.kinds, "grey", 0.0, 2.0, digits=True),
        Box(j - 0.5, i - 0.5, j + 0.5, i + 0.5, kind=CHOSEN),
    )
    return Panel(
        "tiles",
        tr("tiles: 0 hidden, 1 masked, 2 whole"),
        marks,
        Axis(tr("block of keys")),
        Axis(tr("block of queries")),
        6,
        220,
    )


def _keys(data: Data) -> Axis:
    return Axis(
        tr("key"),
        -0.6,
        data.state.keys - 0.4,
        ticks=tuple((k, str(k)) for k in range(0, data.state.keys, 1 + data.state.keys // 8)),
    )


def _scores(data: Data) -> Panel:
    at, state = np.arange(data.state.keys), data.state
    ends = np.repeat(at, 2) + np.tile([-0.5, 0.5], at.size)  # it is a step, and slopes nowhere
    marks = (
        Dots(at, data.scores, WEIGHT, tr("score"), 3.5),
        Line(
            ends,
            data.xp.take(data.tops, np.repeat(at, 2) // state.block),
            ARRIVING,
            tr("maximum so far"),
        ),
        Rule("x", state.column, kind=CHOSEN),
    )
    return Panel(
        "scores",
        tr("scores of query {row}", row=written(state.row, "d")),
        marks,
        _keys(data),
        Axis(),
        7,
        200,
        ("column",),
    )


def _sums(data: Data) -> Panel:
    at = np.arange(data.sums.shape[0])
    marks = (
        Bars(at, data.sums, WEIGHT, tr("sum so far"), 0.7),
        Line(at, data.factors, ARRIVING, tr("factor of the sum before")),
        Dots(at, data.factors, ARRIVING, "", 3.5),
    )
    return Panel(
        "sums",
        tr("its sum of exp(score − maximum), tile by tile"),
        marks,
        Axis(tr("block of keys"), -0.6, at.size - 0.4),
        Axis("", low=0.0),
        6,
        200,
    )


def _row(data: Data) -> Panel:
    at, state = np.arange(data.state.keys), data.state
    P, dS, seen = (element(data.xp, values, state.row) for values in (data.P, data.dS, data.seen))
    marks = (
        Bars(at - 0.2, P, WEIGHT, "P", 0.36),
        Bars(at + 0.2, dS, GRADIENT, tr("dS"), 0.36),
        Dots(at, data.xp.where(seen, data.dP, np.nan), ARRIVING, tr("dP"), 3.5),
        Rule("y", data.D, "D", GUIDE),
        Rule("x", state.column, kind=CHOSEN),
    )
    return Panel(
        "row",
        tr("query {row}: dS = P × (dP − D)", row=written(state.row, "d")),
        marks,
        _keys(data),
        Axis(),
        7,
        200,
        ("column",),
    )


@np.errstate(all="ignore")
def headline(data: Data) -> list[str]:
    """The chosen number, its tile, all tiles, how often the maximum grew, and the errors."""
    xp, state, kinds = data.xp, data.state, data.kinds
    seen, dS = (element(xp, values, state.row) for values in (data.seen, data.dS))
    p, gradient = (
        element(xp, element(xp, values, state.row), state.column) for values in (data.P, data.dS)
    )
    i, j = (xp.floor(at / state.block) for at in (state.row, state.column))
    place = {
        "i": written(i, ".0f"),
        "j": written(j, ".0f"),
        "row": written(state.row, "d"),
        "column": written(state.column, "d"),
    }
    kind = element(xp, element(xp, kinds, xp.astype(i, xp.int64)), xp.astype(j, xp.int64))
    grew = xp.sum(xp.where((data.factors < 1.0) & (data.factors > 0.0), 1.0, 0.0))
    return [
        tr(
            "Query {row} sees {seen} of {keys} keys. Key {column}: P {p} × (dP {dp} − D {d}) = dS {gradient}; dS of the query sums to {sum}.",
            seen=written(xp.sum(xp.where(seen, 1.0, 0.0)), ".0f"),
            keys=state.keys,
            p=number(p),
            dp=number(element(xp, data.dP, state.column)),
            d=number(data.D),
            gradient=signed(gradient),
            sum=number(xp.sum(dS)),
            **place,
        ),
        choose(kind, *(tr(each, **place) for each in TILE)),
        tr(
            "Of {all} tiles {hidden} are hidden, {cut} masked, {whole} whole. A tile that is computed needs its rows of Q, K, V and dy, and of each "
            "query max, sum and D; P is computed again.",
            all=kinds.size,
            hidden=int((kinds == 0).sum()),
            cut=int((kinds == 1).sum()),
            whole=int((kinds == 2).sum()),
        ),
        tr(
            "Tiles after the first with a larger maximum, by which the sum so far is rescaled: {n}.",
            n=written(grew, ".0f"),
        ),
        tr(
            "Computed by {who}; largest distance from the truth: dqOut {dq}, dkOut {dk}, dvOut {dv}.",
            who=tr(data.computed_by),
            **dict(zip(("dq", "dk", "dv"), map(number, data.errors))),
        ),
    ]


def text(data: Data) -> str:
    """Return the whole picture in words and tables."""
    state = data.state
    first = tr(
        "{name}: one head, {queries} queries and {keys} keys in {dtype}, sparseMode {mode}, scaleValue {scale}",
        name=OP.aclnn_name,
        queries=state.queries,
        keys=state.keys,
        dtype=state.dtype,
        mode=chosen(state, "sparseMode"),
        scale=number(state.scaleValue),
    )
    return "\n".join([first, *headline(data), *in_words(panels(data)), *map(tr, data.notices)])


def subject():
    return Subject(
        OP.name,
        lambda state: OP,
        State,
        inputs,
        compute,
        panels,
        headline,
        text,
        live=(gathered, data),
    )
