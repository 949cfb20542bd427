"""The cross-entropy gradient in panels and in words: the map, one row and its target, the divisor, the row sums."""

import numpy as np

from aclnn_viz.explorers.state import chosen
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Bars, Box, Dots, Heat, Line, Note, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import number, signed
from aclnn_viz.words.speech import message, tr

from .explorer_data import OP, Data, State, compute, inputs

SOFTMAX, PRODUCT, TARGET, ROW, GUIDE = range(5)  # kinds of marks; GUIDE is grey
TALL, LOW = 230, 162
IGNORED = message("Row {row} is ignored, for its target is ignoreIndex {index}: its gradient is exactly 0.")
IGNORED_NAN = message("Row {row} is ignored, for its target is ignoreIndex {index}: its gradient is 0 · gradLoss/0 = NaN.")
IS_TARGET = message("Row {row}, class {column} (the target): {factor} × (softmax {softmax} − target {goal}) = {gradient}.")
BEYOND = message("Smoothing {smoothing} puts the rest of row {row} at softmax {rest} of class {target}, which has {softmax}: "
                 "that is beyond it.")
SHORT = message("Smoothing {smoothing} puts the rest of row {row} at softmax {rest} of class {target}, which has {softmax}: "
                "that is short of it.")
NO_TARGET = message("Row {row}, class {column} (not the target {target}): {factor} × (softmax {softmax} − target {goal}) = "
                    "{gradient}.")
LOST = message("{lost} of {rows} rows are ignored")
EXACTLY = message("{lost} of {rows} rows are ignored: exactly 0")
DIVIDES = message("mean divides by the sum of the products: W = {W}")
KEEPS = message("{reduction} does not divide (mean would, by W = {W})")


def panels(data: Data) -> list[Panel]:
    """Return the five panels of a state's data."""
    return [_map(data), _distributions(data), _gradient(data), _divisor(data), _sums(data)]


def _map(data: Data) -> Panel:
    state, (rows, classes) = data.state, data.xGradOut.shape
    marks = [Heat(data.xGradOut, *scale(data.xGradOut)),
             Dots(data.inputs["target"][data.counted], np.flatnonzero(data.counted), TARGET, tr("target"),
                  min(3.5, TALL / rows / 4)),
             *_ignored(data),
             Box(-0.5, state.row - 0.5, classes - 0.5, state.row + 0.5, kind=ROW),
             Box(state.column - 0.5, state.row - 0.5, state.column + 0.5, state.row + 0.5, kind=ROW)]
    if np.isnan(data.xGradOut).all():
        marks.append(Note((classes - 1) / 2, (rows - 1) / 2, tr("NaN everywhere: 0/0")))
    step = -(-rows // 16)
    ticks = tuple((row, str(row) if data.counted[row] else tr("ignored {row}", row=row)) for row in range(0, rows, step))
    title = tr("xGradOut: {rows} rows × {classes} classes", rows=rows, classes=classes)
    return Panel("map", title, tuple(marks), Axis(tr("class")), Axis(tr("row"), ticks=ticks), 8, TALL, ("column", "row"))


def _ignored(data: Data) -> list:
    """Frames around ignored rows, or a mark at the edge of each where rows are too thin for a frame."""
    rows, classes = data.xGradOut.shape
    if rows <= 32:
        return [Box(-0.5, first - 0.5, classes - 0.5, last + 0.5, kind=GUIDE) for first, last in runs(~data.counted)]
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
    state, (row, classes) = data.state, (data.state.row, np.arange(data.state.classes))
    total = float(data.target[row].sum())
    softmax = tr("softmax") if number(total) in ("0", "1") else tr("softmax × {sum}", sum=number(total))
    weighted, smoothed = state.weight != "none", bool(state.labelSmoothing)
    pulled = (tr("smoothed target × weight") if weighted and smoothed else tr("target × weight") if weighted
              else tr("smoothed target") if smoothed else tr("target"))
    marks = [Bars(classes - 0.2, data.softmax[row] * (total or 1.0), SOFTMAX, softmax, 0.36),
             Bars(classes + 0.2, data.target[row], TARGET, pulled, 0.36), Rule("x", state.column, kind=ROW)]
    if not data.counted[row]:
        marks.append(Note((state.classes - 1) / 2, 0.9 * float(data.softmax[row].max()), tr("an ignored row has no target")))
    return Panel("row", tr("row {row}: what is, and what pulls it", row=row), tuple(marks), _classes(data),
                 Axis("", low=0.0), 6, TALL, ("column",))


def _gradient(data: Data) -> Panel:
    state, row, classes = data.state, data.state.row, np.arange(data.state.classes)
    values = data.xGradOut[row]
    factor = number(data.factor[row]) if np.isfinite(data.factor[row]) else "NaN"
    title = tr("their difference × {factor}", factor=factor)
    told = values.any() and np.isfinite(values).all()
    marks = [Rule("y", 0.0, kind=GUIDE), Rule("x", state.column, kind=ROW)]
    if told:
        marks.append(Bars(classes, values, PRODUCT, "xGradOut", 0.7))
        if data.zloss.any():
            marks.append(Dots(classes, values + data.zloss[row], ROW, tr("with the z-loss, by the documents"), 4.0))
    else:
        marks.append(Note((state.classes - 1) / 2, 0.5, tr("0 everywhere") if not values.any() else tr("NaN: the divisor is 0")))
    return Panel("gradient", title, tuple(marks), _classes(data),
                 Axis("") if told else Axis("", -1.0, 1.0), 6, TALL, ("column",))


def _divisor(data: Data) -> Panel:
    classes = np.arange(data.state.classes)
    counts = rows_of(data)
    marks = (Bars(classes - 0.27, data.weights, SOFTMAX, tr("weight"), 0.25),
             Bars(classes, counts, TARGET, tr("rows that count"), 0.25),
             Bars(classes + 0.27, counts * data.weights, PRODUCT, tr("their product"), 0.25),
             Rule("x", data.state.column, kind=ROW))
    said = DIVIDES if data.state.reduction == "mean" else KEEPS
    title = tr(said, reduction=data.state.reduction, W=number(data.divisor))
    return Panel("divisor", title, marks, _classes(data), Axis("", low=0.0), 9, LOW, ("column",))


def _classes(data: Data) -> Axis:
    return Axis(tr("class"), -0.6, data.state.classes - 0.4)


def rows_of(data: Data) -> np.ndarray:
    """Return how many rows that count have each class as their target (C,)."""
    return np.bincount(data.inputs["target"][data.counted], minlength=data.state.classes)


def _sums(data: Data) -> Panel:
    rows = np.arange(data.state.rows)
    sums = data.xGradOut.sum(1)
    series = [(np.abs(data.xGradOut).max(1), PRODUCT, tr("largest |xGradOut|")), (np.abs(sums), SOFTMAX, tr("|sum of the row|")),
              (data.errors, GUIDE, tr("error"))]
    if data.zloss.any():
        series.insert(1, (np.abs(sums + data.zloss.sum(1)), ROW, tr("|sum with the z-loss|")))
    marks = [Rule("x", data.state.row, kind=ROW)]
    for values, kind, label in series:
        drawn = np.where(values > 0, values, np.nan)
        marks += [Line(rows, drawn, kind, label, 1.0), Dots(rows, drawn, kind, label, 3.5)]
    found = np.concatenate([values[values > 0] for values, *_ in series])
    marks += [] if found.size else [Note(rows.mean(), 0.3, tr("nothing to draw: all 0 or NaN"))]
    low, high = (found.min() / 3, found.max() * 3) if found.size else (0.1, 1.0)
    return Panel("sums", tr("each row of xGradOut sums to 0, but for rounding (0 has no place here)"), tuple(marks),
                 Axis(tr("row")), Axis("", low, high, "log"), 11, LOW, ("row",))


def headline(data: Data) -> list[str]:
    """One sentence each: the chosen cell, the divisor, what smoothing does, the sums and the errors."""
    state, row, column = data.state, data.state.row, data.state.column
    given, total = data.inputs["target"][row], data.target[row].sum()
    told = {"row": row, "column": column, "target": given, "index": state.ignoreIndex, "factor": number(data.factor[row]),
            "softmax": number(data.softmax[row, column]) + ("" if number(total) == "1" else f" × {number(total)}"),
            "goal": number(data.target[row, column]), "gradient": signed(data.xGradOut[row, column])}
    if not data.counted[row]:
        cell = tr(IGNORED_NAN if np.isnan(data.xGradOut[row]).any() else IGNORED, **told)
    else:
        cell = tr(IS_TARGET if column == given else NO_TARGET, **told)
    return [cell, _divided(data), *_smoothed(data), _summed(data)]


def _divided(data: Data) -> str:
    state, lost = data.state, int((~data.counted).sum())
    kept = state.rows - lost
    some = LOST if state.reduction == "mean" else EXACTLY
    rest = tr(some, lost=lost, rows=state.rows) if lost else tr("all {rows} rows count", rows=state.rows)
    if state.reduction == "none":
        return tr("none: each row has its own gradLoss, nothing is divided; {rest}.", rest=rest)
    if state.reduction == "sum":
        return tr("sum: every row gets the whole gradLoss, nothing is divided; {rest}.", rest=rest)
    if data.divisor == 0 and not kept:
        return tr("mean: all rows are ignored, so W = 0, and gradLoss/0 · 0 is NaN in every element, on the device as well; "
                  "sum and none would give 0.")
    if data.divisor == 0:
        return tr("mean: every row that counts has weight 0, so W = 0, and gradLoss/0 · 0 is NaN in every element, on the "
                  "device as well; sum and none would give 0.")
    return tr("mean divides by W = {W}, the weights of {kept} targets, not by N = {rows}; {rest}.", W=number(data.divisor),
              kept=kept, rows=state.rows, rest=rest)


def _smoothed(data: Data) -> list[str]:
    state, row = data.state, data.state.row
    if not (state.labelSmoothing and data.counted[row] and data.target[row].any()):
        return []
    given = data.inputs["target"][row]
    rest = data.target[row, given] / data.target[row].sum()
    p = data.softmax[row, given]
    return [tr(BEYOND if p > rest else SHORT, smoothing=number(state.labelSmoothing), row=row, rest=number(rest), target=given,
               softmax=number(p))]


def _summed(data: Data) -> str:
    state, sums = data.state, np.abs(data.xGradOut.sum(1))
    if np.isnan(sums).any():
        return tr("A row of NaN sums to NaN; there is no error to speak of.")
    told = {"sum": number(sums.max()), "dtype": state.dtype, "apart": number(np.abs(data.softmax.sum(1) - 1).max()),
            "zloss": number(np.abs((data.xGradOut + data.zloss).sum(1)).max()), "error": number(data.errors.max())}
    if data.zloss.any():
        return tr("Rows sum to 0 within {sum}, as the softmax of the saved {dtype} logProb sums to 1 within {apart}. The z-loss "
                  "would make it up to {zloss}. Largest error {error}.", **told)
    return tr("Rows sum to 0 within {sum}, as the softmax of the saved {dtype} logProb sums to 1 within {apart}. Largest error "
              "{error}.", **told)


def text(data: Data) -> str:
    """Return the whole picture in words and tables."""
    state, row = data.state, data.state.row
    counts = rows_of(data)
    lines = [tr("{name}: {rows} rows, {classes} classes, {dtype}; reduction {reduction}, labelSmoothing {smoothing}, weights "
                "{weight}, ignoreIndex {index}, gradLoss {loss}", name=OP.aclnn_name, rows=state.rows, classes=state.classes,
                dtype=state.dtype, reduction=state.reduction, smoothing=number(state.labelSmoothing), weight=chosen(state, "weight"),
                index=state.ignoreIndex, loss=number(state.gradLoss)),
             *headline(data), tr("Computed by {who}.", who=tr(data.computed_by)), "",
             tr("Row {row}, one line a class:", row=row),
             tr("  class  softmax    target     xGradOut    weight     rows that count   rows × weight"),
             *(f"  {c:5d}  {number(data.softmax[row, c]):<9}  {number(data.target[row, c]):<9}  "
               f"{signed(data.xGradOut[row, c]):<10}  {number(data.weights[c]):<9}  {counts[c]:<16d}  "
               f"{number(counts[c] * data.weights[c])}" for c in range(state.classes)), "",
             tr("All rows:"),
             tr("  row  target      largest |xGradOut|  sum         with z-loss  error"),
             *(f"  {r:3d}  {_target(data, r):<10}  {number(np.abs(data.xGradOut[r]).max()):<18}  "
               f"{signed(data.xGradOut[r].sum()):<10}  {signed((data.xGradOut[r] + data.zloss[r]).sum()):<11}  "
               f"{number(data.errors[r])}" for r in range(state.rows))]
    return "\n".join([*lines, *map(tr, data.notices)]).replace("+nan", "nan")


def _target(data: Data, row: int) -> str:
    given = f"{data.inputs['target'][row]}"
    return given if data.counted[row] else tr("{target} ignored", target=given)


def subject():
    return Subject(OP.name, lambda state: OP, State, inputs, compute, panels, headline, text)
