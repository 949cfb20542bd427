"""The explorer of the cross-entropy gradient, panels and words: the map, one row and its target, the divisor, the row sums."""

import numpy as np

from aclnn_viz.explorers.arrays import element, only
from aclnn_viz.explorers.by_operator.cross_entropy_loss_data import (
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
from aclnn_viz.pictures.marks import Bars, Box, Dots, Heat, Line, Note, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import choose, number, signed, written
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import message, tr

SOFTMAX, PRODUCT, TARGET, ROW, GUIDE = range(5)  # kinds of marks; GUIDE is grey
TALL, LOW = 230, 162
IGNORED = message(
    "Row {row} is ignored, for its target is ignoreIndex {index}: its gradient is exactly 0."
)
IGNORED_NAN = message(
    "Row {row} is ignored, for its target is ignoreIndex {index}: its gradient is 0 · gradLoss/0 = NaN."
)
IS_TARGET = message(
    "Row {row}, class {column} (the target): {factor} × (softmax {softmax} − target {goal}) = {gradient}."
)
BEYOND = message(
    "Smoothing {smoothing} puts the rest of row {row} at softmax {rest} of class {target}, which has {softmax}: "
    "that is beyond it."
)
SHORT_WORDS = message(
    "Smoothing {smoothing} puts the rest of row {row} at softmax {rest} of class {target}, which has {softmax}: "
    "that is short of it."
)
NO_TARGET = message(
    "Row {row}, class {column} (not the target {target}): {factor} × (softmax {softmax} − target {goal}) = "
    "{gradient}."
)
LOST = message("{lost} of {rows} rows are ignored")
EXACTLY = message("{lost} of {rows} rows are ignored: exactly 0")
DIVIDES = message("mean divides by the sum of the products: W = {W}")
KEEPS = message("{reduction} does not divide (mean would, by W = {W})")


def panels(data: Data) -> list[Panel]:
    """Return the five panels of a state's data."""
    return [_map(data), _distributions(data), _gradient(data), _divisor(data), _sums(data)]


def _map(data: Data) -> Panel:
    state, (rows, classes) = data.state, data.xGradOut.shape
    marks = [
        Heat(data.xGradOut, *scale(data.xGradOut, data.xp)),
        Dots(
            data.inputs["target"][data.counted],
            np.flatnonzero(data.counted),
            TARGET,
            tr("target"),
            min(3.5, TALL / rows / 4),
        ),
        *_ignored(data),
        Box(-0.5, state.row - 0.5, classes - 0.5, state.row + 0.5, kind=ROW),
        Box(state.column - 0.5, state.row - 0.5, state.column + 0.5, state.row + 0.5, kind=ROW),
    ]
    nothing = data.xp.all(data.xp.isnan(data.xGradOut))
    marks += only(
        data.xp, nothing, Note((classes - 1) / 2, (rows - 1) / 2, tr("NaN everywhere: 0/0"))
    )
    step = -(-rows // 16)
    ticks = tuple(
        (row, str(row) if data.counted[row] else tr("ignored {row}", row=row))
        for row in range(0, rows, step)
    )
    title = tr("xGradOut: {rows} rows × {classes} classes", rows=rows, classes=classes)
    return Panel(
        "map",
        title,
        tuple(marks),
        Axis(tr("class")),
        Axis(tr("row"), ticks=ticks),
        8,
        TALL,
        ("column", "row"),
    )


def _ignored(data: Data) -> list:
    """Frames around ignored rows, or a mark at the edge of each where rows are too thin for a frame."""
    rows, classes = data.xGradOut.shape
    if rows <= 32:
        return [
            Box(-0.5, first - 0.5, classes - 0.5, last + 0.5, kind=GUIDE)
            for first, last in runs(~data.counted)
        ]
    lost = np.flatnonzero(~data.counted)
    return [Dots(np.full(lost.size, -0.5), lost, GUIDE, tr("ignored"), 2.5)]


def runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """Return (first, last) of each run of flags that are set.

    >>> runs(np.array([True, True, False, True]))
    [(0, 1), (3, 3)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]


def _distributions(data: Data) -> Panel:
    xp, state, row, classes = data.xp, data.state, data.state.row, np.arange(data.state.classes)
    target, softmax = element(xp, data.target, row), element(xp, data.softmax, row)
    total = xp.sum(target)
    plain = (total == 0.0) | (number_is_one(total))
    softmax_label = choose(plain, tr("softmax × {sum}", sum=number(total)), tr("softmax"))
    pulled = (
        (tr("target × weight"), tr("smoothed target × weight"))
        if state.weight != "none"
        else (tr("target"), tr("smoothed target"))
    )
    marks = [
        Bars(
            classes - 0.2,
            softmax * xp.where(total == 0.0, 1.0, total),
            SOFTMAX,
            softmax_label,
            0.36,
        ),
        Bars(classes + 0.2, target, TARGET, choose(state.labelSmoothing > 0.0, *pulled), 0.36),
        Rule("x", state.column, kind=ROW),
        *only(
            xp,
            ~element(xp, data.counted, row),
            Note(
                (state.classes - 1) / 2, 0.9 * xp.max(softmax), tr("an ignored row has no target")
            ),
        ),
    ]
    return Panel(
        "row",
        tr("row {row}: what is, and what pulls it", row=written(row, "d")),
        tuple(marks),
        _classes(data),
        Axis("", low=0.0),
        6,
        TALL,
        ("column",),
    )


def number_is_one(value):
    """Whether four digits of a number are 1."""
    return (value >= 0.99995) & (value < 1.0005)


def _gradient(data: Data) -> Panel:
    xp, state, classes = data.xp, data.state, np.arange(data.state.classes)
    values, factor = element(xp, data.xGradOut, state.row), element(xp, data.factor, state.row)
    zero, known = ~xp.any(values != 0.0), xp.all(xp.isfinite(values))
    drawn, zloss = ~zero & known, data.zloss
    marks = [
        Rule("y", 0.0, kind=GUIDE),
        Rule("x", state.column, kind=ROW),
        *only(xp, drawn, Bars(classes, values, PRODUCT, "xGradOut", 0.7)),
        *only(
            xp,
            drawn & xp.any(zloss != 0.0),
            Dots(
                classes,
                values + element(xp, zloss, state.row),
                ROW,
                tr("with the z-loss, by the documents"),
                4.0,
            ),
        ),
        *only(
            xp,
            ~drawn,
            Note(
                (state.classes - 1) / 2,
                0.5,
                choose(zero, tr("NaN: the divisor is 0"), tr("0 everywhere")),
            ),
        ),
    ]
    title = tr(
        "their difference × {factor}", factor=choose(xp.isfinite(factor), "NaN", number(factor))
    )
    return Panel(
        "gradient",
        title,
        tuple(marks),
        _classes(data),
        choose(drawn, Axis("", -1.0, 1.0), Axis("")),
        6,
        TALL,
        ("column",),
    )


def _divisor(data: Data) -> Panel:
    classes = np.arange(data.state.classes)
    counts = rows_of(data)
    marks = (
        Bars(classes - 0.27, data.weights, SOFTMAX, tr("weight"), 0.25),
        Bars(classes, counts, TARGET, tr("rows that count"), 0.25),
        Bars(classes + 0.27, counts * data.weights, PRODUCT, tr("their product"), 0.25),
        Rule("x", data.state.column, kind=ROW),
    )
    said = DIVIDES if data.state.reduction == "mean" else KEEPS
    title = tr(said, reduction=data.state.reduction, W=number(data.divisor))
    return Panel("divisor", title, marks, _classes(data), Axis("", low=0.0), 9, LOW, ("column",))


def _classes(data: Data) -> Axis:
    return Axis(tr("class"), -0.6, data.state.classes - 0.4)


def rows_of(data: Data) -> np.ndarray:
    """Return how many rows that count have each class as their target (C,)."""
    return np.bincount(data.inputs["target"][data.counted], minlength=data.state.classes)


def _sums(data: Data) -> Panel:
    xp, rows = data.xp, np.arange(data.state.rows)
    sums, zloss = xp.sum(data.xGradOut, axis=1), xp.any(data.zloss != 0.0)
    series = [
        (xp.max(xp.abs(data.xGradOut), axis=1), PRODUCT, tr("largest |xGradOut|"), True),
        (xp.abs(sums + xp.sum(data.zloss, axis=1)), ROW, tr("|sum with the z-loss|"), zloss),
        (xp.abs(sums), SOFTMAX, tr("|sum of the row|"), True),
        (data.errors, GUIDE, tr("error"), True),
    ]
    marks, drawn = [Rule("x", data.state.row, kind=ROW)], []
    for values, kind, label, there in series:
        values = xp.where((values > 0) & there, values, np.nan)
        drawn.append(values)
        for mark in (Line(rows, values, kind, label, 1.0), Dots(rows, values, kind, label, 3.5)):
            marks += only(xp, there, mark)
    found = xp.stack(drawn)
    some = xp.any(found > 0)
    low, high = xp.min(xp.where(found > 0, found, np.inf)), xp.max(xp.where(found > 0, found, 0.0))
    marks += only(xp, ~some, Note(rows.mean(), 0.3, tr("nothing to draw: all 0 or NaN")))
    return Panel(
        "sums",
        tr("each row of xGradOut sums to 0, but for rounding (0 has no place here)"),
        tuple(marks),
        Axis(tr("row")),
        Axis("", xp.where(some, low / 3, 0.1), xp.where(some, high * 3, 1.0), "log"),
        11,
        LOW,
        ("row",),
    )


@np.errstate(all="ignore")
def headline(data: Data) -> list[str]:
    """One sentence each: the chosen cell, the divisor, what smoothing does, the sums and the errors."""
    return [_cell(data), _divided(data), *_smoothed(data), _summed(data)]


def _cell(data: Data) -> str:
    xp, state = data.xp, data.state
    given, counted, factor, target, softmax, values = (
        element(xp, each, state.row)
        for each in (
            data.inputs["target"],
            data.counted,
            data.factor,
            data.target,
            data.softmax,
            data.xGradOut,
        )
    )
    total = xp.sum(target)
    p, goal, gradient = (element(xp, each, state.column) for each in (softmax, target, values))
    found = {
        "row": written(state.row, "d"),
        "column": written(state.column, "d"),
        "target": written(given, "d"),
        "index": state.ignoreIndex,
        "factor": number(factor),
        "goal": number(goal),
        "gradient": signed(gradient),
        "softmax": number(p) + choose(number_is_one(total), " × " + number(total), ""),
    }
    which = xp.where(
        counted, xp.where(state.column == given, 1, 0), xp.where(xp.any(xp.isnan(values)), 3, 2)
    )
    return choose(
        which, *(tr(each, **found) for each in (NO_TARGET, IS_TARGET, IGNORED, IGNORED_NAN))
    )


def _divided(data: Data) -> str:
    state, lost = data.state, int((~data.counted).sum())
    kept = state.rows - lost
    some = LOST if state.reduction == "mean" else EXACTLY
    rest = (
        tr(some, lost=lost, rows=state.rows)
        if lost
        else tr("all {rows} rows count", rows=state.rows)
    )
    if state.reduction == "none":
        return tr("none: each row has its own gradLoss, nothing is divided; {rest}.", rest=rest)
    if state.reduction == "sum":
        return tr("sum: every row gets the whole gradLoss, nothing is divided; {rest}.", rest=rest)
    nothing = (
        tr(
            "mean: every row that counts has weight 0, so W = 0, and gradLoss/0 · 0 is NaN in every element, on the "
            "device as well; sum and none would give 0."
        )
        if kept
        else tr(
            "mean: all rows are ignored, so W = 0, and gradLoss/0 · 0 is NaN in every element, on the device as well; "
            "sum and none would give 0."
        )
    )
    return choose(
        data.divisor == 0,
        tr(
            "mean divides by W = {W}, the weights of {kept} targets, not by N = {rows}; {rest}.",
            W=number(data.divisor),
            kept=kept,
            rows=state.rows,
            rest=rest,
        ),
        nothing,
    )


def _smoothed(data: Data) -> list[str]:
    """The sentence about the place where smoothing lets the gradient vanish, if the chosen row has such a place."""
    xp, state = data.xp, data.state
    given, counted, target, softmax = (
        element(xp, each, state.row)
        for each in (data.inputs["target"], data.counted, data.target, data.softmax)
    )
    at = xp.where(counted, given, 0)
    rest, p = element(xp, target, at) / xp.sum(target), element(xp, softmax, at)
    found = {
        "smoothing": number(state.labelSmoothing),
        "row": written(state.row, "d"),
        "rest": number(rest),
        "target": written(given, "d"),
        "softmax": number(p),
    }
    there = (state.labelSmoothing > 0.0) & counted & xp.any(target != 0.0)
    said = choose(there, "", choose(p > rest, tr(SHORT_WORDS, **found), tr(BEYOND, **found)))
    return [said] if said != "" else []


def _summed(data: Data) -> str:
    xp, state, sums = data.xp, data.state, data.xp.abs(data.xp.sum(data.xGradOut, axis=1))
    found = {
        "sum": number(xp.max(sums)),
        "dtype": state.dtype,
        "apart": number(xp.max(xp.abs(xp.sum(data.softmax, axis=1) - 1))),
        "zloss": number(xp.max(xp.abs(xp.sum(data.xGradOut + data.zloss, axis=1)))),
        "error": number(xp.max(data.errors)),
    }
    plain = tr(
        "Rows sum to 0 within {sum}, as the softmax of the saved {dtype} logProb sums to 1 within {apart}. Largest error "
        "{error}.",
        **found,
    )
    zloss = tr(
        "Rows sum to 0 within {sum}, as the softmax of the saved {dtype} logProb sums to 1 within {apart}. The z-loss "
        "would make it up to {zloss}. Largest error {error}.",
        **found,
    )
    return choose(
        xp.where(xp.any(xp.isnan(sums)), 2, xp.where(xp.any(data.zloss != 0.0), 1, 0)),
        plain,
        zloss,
        tr("A row of NaN sums to NaN; there is no error to speak of."),
    )


def text(data: Data) -> str:
    """Return the whole picture in words and tables."""
    state = data.state
    lines = [
        tr(
            "{name}: {rows} rows, {classes} classes, {dtype}; reduction {reduction}, labelSmoothing {smoothing}, weights "
            "{weight}, ignoreIndex {index}, gradLoss {loss}",
            name=OP.aclnn_name,
            rows=state.rows,
            classes=state.classes,
            dtype=state.dtype,
            reduction=state.reduction,
            smoothing=number(state.labelSmoothing),
            weight=chosen(state, "weight"),
            index=state.ignoreIndex,
            loss=number(state.gradLoss),
        ),
        *headline(data),
        tr("Computed by {who}.", who=tr(data.computed_by)),
        *in_words(panels(data)),
    ]
    return "\n".join([*lines, *map(tr, data.notices)])


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
        # they decide which rows and parts there are
        live=(gathered, data),
        kept=("ignored", "lseSquareScaleForZloss"),
    )
