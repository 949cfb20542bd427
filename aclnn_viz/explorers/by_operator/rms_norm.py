"""The RMS norm gradient in panels and in words: a row and its projection, epsilon, the order of sums, both outputs."""

import numpy as np

from aclnn_viz.dtypes import float_format
from aclnn_viz.explorers.arrays import only, point
from aclnn_viz.explorers.by_operator.rms_norm_data import (
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
from aclnn_viz.pictures.marks import Arrows, Bars, Box, Dots, Heat, Line, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import choose, count, extent, number, written
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import message, tr

ARRIVING, PART, KEPT, OTHER, GUIDE = range(5)  # kinds of marks; GUIDE is grey
BELOW = message(
    "ε = {epsilon} against mean(x²) = {mean}: far below: scaling the row would not change y, so dx has no part "
    "along x. Column {column} holds {share} % of the row's squares."
)
ABOVE = message(
    "ε = {epsilon} against mean(x²) = {mean}: above: the row is hardly normalised, and dx keeps its part along x. "
    "Column {column} holds {share} % of the row's squares."
)
NEAR = message(
    "ε = {epsilon} against mean(x²) = {mean}: near: y grows a little with x, and dx keeps some of its part along x. "
    "Column {column} holds {share} % of the row's squares."
)
LEAST_SHARE = 1e-18  # of a share on a logarithmic axis
ASPECT = 1.45  # of the panel of the plane, so that its right angle is drawn as one


@np.errstate(invalid="ignore")
def panels(data: Data) -> list[Panel]:
    """Return the six panels of a state's data."""
    return [_row(data), _plane(data), _epsilon(data), _dx(data), _dgamma(data), _orders(data)]


def _row(data: Data) -> Panel:
    at = np.arange(data.x.size, dtype=float)
    marks = (
        Bars(at, data.arriving, ARRIVING, "dy × gamma"),
        Line(at, data.part, PART, tr("its part along x-hat"), 1.5),
        Line(at, data.kept, KEPT, tr("dx / rstd: the rest"), 1.5),
        Dots(at, data.kept, KEPT, "", 3.0 if at.size <= 64 else 1.0),
        Rule(
            "x",
            data.state.column,
            choose(data.state.outlier > 0, tr("chosen"), tr("outlier")),
            GUIDE,
        ),
    )
    return Panel(
        "row",
        tr(
            "row {row}: dx / rstd is dy × gamma without its part along x-hat",
            row=written(data.state.row, "d"),
        ),
        marks,
        Axis(tr("column"), -0.7, at.size - 0.3),
        Axis(),
        10,
        225,
        ("column",),
    )


def _plane(data: Data) -> Panel:
    xp, ((along, across), kept) = data.xp, data.plane
    ends = xp.stack([xp.zeros_like(kept), data.plane[0], kept, xp.stack([along, 0.0 * across])])
    ends = xp.where(xp.all(xp.isfinite(ends), axis=1, keepdims=True), ends, 0.0)
    low, high = xp.min(ends, axis=0), xp.max(ends, axis=0)
    middle, size = (high + low) / 2, high - low
    half = 0.6 * xp.maximum(size[0] / ASPECT, size[1])
    half = xp.where(half == 0.0, 1.0, half)

    def arrow(x, y, kind, label):
        return Arrows(np.zeros(1), np.zeros(1), point(x), point(y), kind, label)

    marks = (
        Rule("y", 0.0, "x", GUIDE),
        arrow(along, across, ARRIVING, "dy × gamma"),
        arrow(along, 0.0, PART, tr("part along x")),
        arrow(*kept, KEPT, "dx / rstd"),
    )
    return Panel(
        "plane",
        tr("the same in their plane"),
        marks,
        Axis(tr("along x"), middle[0] - half * ASPECT, middle[0] + half * ASPECT),
        Axis("", middle[1] - half, middle[1] + half),
        5,
        225,
    )


def _epsilon(data: Data) -> Panel:
    xp, square = data.xp, data.mean_square
    order = xp.argsort(data.epsilons)
    x, measured, exact = (
        xp.take(values, order)
        for values in (data.epsilons, *xp.unstack(xp.maximum(data.left, LEAST_SHARE)))
    )
    marks = (
        Line(x, exact, PART, tr("ε / (mean x² + ε)")),
        Line(x, measured, KEPT, tr("measured, {dtype}", dtype=data.state.dtype)),
        Rule("x", data.epsilon, "ε", ARRIVING),
        *only(xp, (square >= 1e-12) & (square <= 1e2), Rule("x", square, tr("mean x²"), GUIDE)),
        Dots(data.epsilons[-1:], xp.maximum(data.left[0, -1:], LEAST_SHARE), ARRIVING, "", 5.0),
    )
    least = xp.min(xp.where(xp.isnan(data.left), np.inf, xp.maximum(data.left, LEAST_SHARE)))
    return Panel(
        "epsilon",
        tr("share along x that dx keeps"),
        marks,
        Axis(
            tr("epsilon"), 1e-12, 1e2, "log", tuple((10.0**k, f"1e{k}") for k in range(-12, 3, 4))
        ),
        Axis("", xp.maximum(least / 3, LEAST_SHARE), 5.0, "log"),
        5,
        225,
    )


def _orders(data: Data) -> Panel:
    state = data.state
    lengths = data.lengths.astype(float)
    least = max(data.order_errors[data.order_errors > 0].min(initial=1.0) / 4, LEAST_SHARE)
    marks = []
    for errors, name, kind in zip(
        data.order_errors,
        (tr("sequential"), tr("tiles of {size}", size=state.tile), tr("pairwise")),
        (PART, ARRIVING, KEPT),
    ):
        shown = np.maximum(errors, least)
        marks += [Line(lengths, shown, kind, name), Dots(lengths, shown, kind, "", 3.0)]
    size = state.rows if state.output == "dgammaOut" else state.columns
    marks += [
        Rule("y", float_format(state.accumulate).unit_roundoff, tr("unit roundoff"), GUIDE),
        Rule("x", float(size), tr("now {size}", size=size), OTHER),
    ]
    ticks = tuple((n, f"{n:.0f}") for n in lengths)
    return Panel(
        "orders",
        tr("relative error of {output}", output=state.output),
        tuple(marks),
        Axis(
            tr("terms: rows") if state.output == "dgammaOut" else tr("terms: columns"),
            0.7,
            lengths[-1] * 1.5,
            "log",
            ticks,
        ),
        Axis("", scale="log"),
        5,
        195,
    )


def _dx(data: Data) -> Panel:
    state = data.state
    marks = (
        Heat(data.dxOut, *scale(data.dxOut, data.xp)),
        Box(-0.5, state.row - 0.5, state.columns - 0.5, state.row + 0.5),
        Box(state.column - 0.5, state.row - 0.5, state.column + 0.5, state.row + 0.5, "", PART),
    )
    return Panel(
        "dx",
        tr("dxOut, {extent}", extent=extent(data.dxOut, data.xp)),
        marks,
        Axis(tr("column")),
        Axis(tr("row"), state.rows - 0.5, -0.5),
        10,
        195,
        ("column", "row"),
    )


def _dgamma(data: Data) -> Panel:
    at = np.arange(data.dgammaOut.size, dtype=float)
    marks = (
        Bars(at, data.dgammaOut, ARRIVING, tr("sum over rows")),
        Dots(
            at,
            data.term,
            PART,
            tr("term of row {row}", row=written(data.state.row, "d")),
            3.5 if at.size <= 64 else 2.0,
        ),
    )
    return Panel(
        "dgamma",
        "dgammaOut",
        marks,
        Axis(tr("column"), -0.7, at.size - 0.3),
        Axis(),
        5,
        195,
        ("column",),
    )


@np.errstate(divide="ignore", invalid="ignore")
def headline(data: Data) -> list[str]:
    """What the projection removes, what epsilon leaves, what the longest sum costs, and who computed it."""
    xp, (share, exact) = data.xp, data.left[:, -1]
    ratio = data.epsilon / data.mean_square
    sequential, tiled, pairwise = map(number, data.order_errors[:, -1])
    squares = data.x**2
    total = xp.sum(squares)
    held = 100 * xp.max(squares) / xp.where(total == 0.0, 1.0, total)
    found = {
        "epsilon": number(data.epsilon),
        "mean": number(data.mean_square),
        "column": written(xp.argmax(squares), "d"),
        "share": written(held, ".0f"),
    }
    return [
        tr(
            "Row {row}: ⟨dx, x⟩ = {inner}, without the projection {without}; {share} of the part along x is left, in exact "
            "arithmetic {exact}.",
            row=written(data.state.row, "d"),
            inner=number(data.inner[0]),
            without=number(data.inner[1]),
            share=number(share),
            exact=number(exact),
        ),
        choose(
            xp.where(ratio < 1e-3, 0, xp.where(ratio > 1, 2, 1)),
            *(tr(regime, **found) for regime in (BELOW, NEAR, ABOVE)),
        ),
        tr(
            "Relative error of {output} for sums of {n} terms in {dtype}: sequential {sequential}, tiled {tiled}, pairwise "
            "{pairwise}.",
            output=data.state.output,
            n=count(data.lengths[-1]),
            dtype=data.state.accumulate,
            sequential=sequential,
            tiled=tiled,
            pairwise=pairwise,
        ),
        tr(
            "Computed by {who}; largest distance from the truth: dxOut {dx}, dgammaOut {dgamma}.",
            who=tr(data.computed_by),
            dx=number(data.errors[0]),
            dgamma=number(data.errors[1]),
        ),
    ]


@np.errstate(invalid="ignore")
def text(data: Data) -> str:
    """Return the whole picture in words and tables."""
    state = data.state
    first = tr(
        "{name}: x ({rows}, {columns}) in {dtype}, gamma {gamma}, dy {dy}",
        name=OP.aclnn_name,
        rows=state.rows,
        columns=state.columns,
        dtype=state.dtype,
        gamma=chosen(state, "gamma"),
        dy=chosen(state, "dy"),
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
