"""The cross-entropy gradient in panels and in words: the map, one row and its target, the divisor, the row sums."""

import numpy as np

from aclnn_viz.explorers.cross_entropy_loss_data import OP, Data, State, compute, inputs
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Bars, Box, Dots, Heat, Line, Note, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.text import number, signed

SOFTMAX, PRODUCT, TARGET, ROW, PAPER = range(5)  # kinds of marks
TALL, LOW = 230, 162


def panels(data: Data) -> list[Panel]:
    """Return the five panels of a state's data."""
    return [_map(data), _distributions(data), _gradient(data), _divisor(data), _sums(data)]


def _map(data: Data) -> Panel:
    state, (rows, classes) = data.state, data.xGradOut.shape
    marks = [Heat(data.xGradOut, *scale(data.xGradOut)),
             Dots(data.inputs["target"][data.counted], np.flatnonzero(data.counted), TARGET, "target",
                  min(3.5, TALL / rows / 4)),
             *_ignored(data),
             Box(-0.5, state.row - 0.5, classes - 0.5, state.row + 0.5, kind=ROW),
             Box(state.column - 0.5, state.row - 0.5, state.column + 0.5, state.row + 0.5, kind=ROW)]
    if np.isnan(data.xGradOut).all():
        marks.append(Note((classes - 1) / 2, (rows - 1) / 2, "NaN everywhere: 0/0"))
    step = -(-rows // 16)
    ticks = tuple((row, str(row) if data.counted[row] else f"ignored {row}") for row in range(0, rows, step))
    title = f"xGradOut: {rows} rows × {classes} classes"
    return Panel("map", title, tuple(marks), Axis("class"), Axis("row", ticks=ticks), 8, TALL, ("column", "row"))


def _ignored(data: Data) -> list:
    """Frames around ignored rows, or a mark at the edge of each where rows are too thin for a frame."""
    rows, classes = data.xGradOut.shape
    if rows <= 32:
        return [Box(-0.5, first - 0.5, classes - 0.5, last + 0.5, kind=PAPER) for first, last in runs(~data.counted)]
    lost = np.flatnonzero(~data.counted)
    return [Dots(np.full(lost.size, -0.5), lost, PAPER, "ignored", 2.5)]


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
    softmax = "softmax" if number(total) in ("0", "1") else f"softmax × {number(total)}"
    pulled = "target" if not state.labelSmoothing else "smoothed target"
    if state.weight != "none":
        pulled += " × weight"
    marks = [Bars(classes - 0.2, data.softmax[row] * (total or 1.0), SOFTMAX, softmax, 0.36),
             Bars(classes + 0.2, data.target[row], TARGET, pulled, 0.36), Rule("x", state.column, kind=ROW)]
    if not data.counted[row]:
        marks.append(Note((state.classes - 1) / 2, 0.9 * float(data.softmax[row].max()), "an ignored row has no target"))
    return Panel("row", f"row {row}: what is, and what pulls it", tuple(marks), _classes(data),
                 Axis("", low=0.0), 6, TALL, ("column",))


def _gradient(data: Data) -> Panel:
    state, row, classes = data.state, data.state.row, np.arange(data.state.classes)
    values = data.xGradOut[row]
    title = f"their difference × {number(data.factor[row])}" if np.isfinite(data.factor[row]) else "their difference × NaN"
    told = values.any() and np.isfinite(values).all()
    marks = [Rule("y", 0.0, kind=PAPER), Rule("x", state.column, kind=ROW)]
    if told:
        marks.append(Bars(classes, values, PRODUCT, "xGradOut", 0.7))
        if data.zloss.any():
            marks.append(Dots(classes, values + data.zloss[row], ROW, "with the z-loss, by the documents", 4.0))
    else:
        marks.append(Note((state.classes - 1) / 2, 0.5, "0 everywhere" if not values.any() else "NaN: the divisor is 0"))
    return Panel("gradient", title, tuple(marks), _classes(data),
                 Axis("") if told else Axis("", -1.0, 1.0), 6, TALL, ("column",))


def _divisor(data: Data) -> Panel:
    classes = np.arange(data.state.classes)
    counts = rows_of(data)
    marks = (Bars(classes - 0.27, data.weights, SOFTMAX, "weight", 0.25),
             Bars(classes, counts, TARGET, "rows that count", 0.25),
             Bars(classes + 0.27, counts * data.weights, PRODUCT, "their product", 0.25),
             Rule("x", data.state.column, kind=ROW))
    title = f"mean divides by the sum of the products: W = {number(data.divisor)}"
    if data.state.reduction != "mean":
        title = f"{data.state.reduction} does not divide (mean would, by W = {number(data.divisor)})"
    return Panel("divisor", title, marks, _classes(data), Axis("", low=0.0), 9, LOW, ("column",))


def _classes(data: Data) -> Axis:
    return Axis("class", -0.6, data.state.classes - 0.4)


def rows_of(data: Data) -> np.ndarray:
    """Return how many rows that count have each class as their target (C,)."""
    return np.bincount(data.inputs["target"][data.counted], minlength=data.state.classes)


def _sums(data: Data) -> Panel:
    rows = np.arange(data.state.rows)
    sums = data.xGradOut.sum(1)
    series = [(np.abs(data.xGradOut).max(1), PRODUCT, "largest |xGradOut|"), (np.abs(sums), SOFTMAX, "|sum of the row|"),
              (data.errors, PAPER, "error")]
    if data.zloss.any():
        series.insert(1, (np.abs(sums + data.zloss.sum(1)), ROW, "|sum with the z-loss|"))
    marks = [Rule("x", data.state.row, kind=ROW)]
    for values, kind, label in series:
        drawn = np.where(values > 0, values, np.nan)
        marks += [Line(rows, drawn, kind, label, 1.0), Dots(rows, drawn, kind, label, 3.5)]
    found = np.concatenate([values[values > 0] for values, *_ in series])
    marks += [] if found.size else [Note(rows.mean(), 0.3, "nothing to draw: all 0 or NaN")]
    low, high = (found.min() / 3, found.max() * 3) if found.size else (0.1, 1.0)
    return Panel("sums", "each row of xGradOut sums to 0, but for rounding (0 has no place here)", tuple(marks),
                 Axis("row"), Axis("", low, high, "log"), 11, LOW, ("row",))


def headline(data: Data) -> list[str]:
    """One sentence each: the chosen cell, the divisor, what smoothing does, the sums and the errors."""
    state, row, column = data.state, data.state.row, data.state.column
    given = data.inputs["target"][row]
    place = f"Row {row}, class {column}"
    if not data.counted[row]:
        cell = f"Row {row} is ignored, for its target is ignoreIndex {state.ignoreIndex}: its gradient is "
        cell += "0 · gradLoss/0 = NaN." if np.isnan(data.xGradOut[row]).any() else "exactly 0."
    else:
        kind = "the target" if column == given else f"not the target {given}"
        total = data.target[row].sum()
        cell = (f"{place} ({kind}): {number(data.factor[row])} × (softmax {number(data.softmax[row, column])}"
                f"{'' if number(total) == '1' else f' × {number(total)}'} − target {number(data.target[row, column])}) = "
                f"{signed(data.xGradOut[row, column])}.")
    return [cell, _divided(data), *_smoothed(data), _summed(data)]


def _divided(data: Data) -> str:
    state, lost = data.state, int((~data.counted).sum())
    kept = state.rows - lost
    rest = f"{lost} of {state.rows} rows are ignored" if lost else f"all {state.rows} rows count"
    if state.reduction != "mean":
        rest += ": exactly 0" if lost else ""
        upstream = "each row has its own gradLoss" if state.reduction == "none" else "every row gets the whole gradLoss"
        return f"{state.reduction}: {upstream}, nothing is divided; {rest}."
    if data.divisor == 0:
        why = "all rows are ignored" if not kept else "every row that counts has weight 0"
        return (f"mean: {why}, so W = 0, and gradLoss/0 · 0 is NaN in every element, on the device as well; "
                f"sum and none would give 0.")
    return f"mean divides by W = {number(data.divisor)}, the weights of {kept} targets, not by N = {state.rows}; {rest}."


def _smoothed(data: Data) -> list[str]:
    state, row = data.state, data.state.row
    if not (state.labelSmoothing and data.counted[row] and data.target[row].any()):
        return []
    given = data.inputs["target"][row]
    rest = data.target[row, given] / data.target[row].sum()
    p = data.softmax[row, given]
    return [f"Smoothing {number(state.labelSmoothing)} puts the rest of row {row} at softmax {number(rest)} of class "
            f"{given}, which has {number(p)}: that is {'beyond' if p > rest else 'short of'} it."]


def _summed(data: Data) -> str:
    state, sums = data.state, np.abs(data.xGradOut.sum(1))
    if np.isnan(sums).any():
        return "A row of NaN sums to NaN; there is no error to speak of."
    apart = np.abs(data.softmax.sum(1) - 1).max()
    zloss = ""
    if data.zloss.any():
        zloss = f" The z-loss would make it up to {number(np.abs((data.xGradOut + data.zloss).sum(1)).max())}."
    return (f"Rows sum to 0 within {number(sums.max())}, as the softmax of the saved {state.dtype} logProb sums to 1 within "
            f"{number(apart)}.{zloss} Largest error {number(data.errors.max())}.")


def text(data: Data) -> str:
    """Return the whole picture in words and tables."""
    state, row = data.state, data.state.row
    counts = rows_of(data)
    lines = [f"aclnnCrossEntropyLossGrad: {state.rows} rows, {state.classes} classes, {state.dtype}; reduction "
             f"{state.reduction}, labelSmoothing {number(state.labelSmoothing)}, weights {state.weight}, ignoreIndex "
             f"{state.ignoreIndex}, gradLoss {number(state.gradLoss)}", *headline(data), f"Computed by {data.computed_by}.", "",
             f"Row {row}, one line a class:",
             "  class  softmax    target     xGradOut    weight     rows that count   rows × weight",
             *(f"  {c:5d}  {number(data.softmax[row, c]):<9}  {number(data.target[row, c]):<9}  "
               f"{signed(data.xGradOut[row, c]):<10}  {number(data.weights[c]):<9}  {counts[c]:<16d}  "
               f"{number(counts[c] * data.weights[c])}" for c in range(state.classes)), "",
             "All rows:",
             "  row  target      largest |xGradOut|  sum         with z-loss  error",
             *(f"  {r:3d}  {_target(data, r):<10}  {number(np.abs(data.xGradOut[r]).max()):<18}  "
               f"{signed(data.xGradOut[r].sum()):<10}  {signed((data.xGradOut[r] + data.zloss[r]).sum()):<11}  "
               f"{number(data.errors[r])}" for r in range(state.rows))]
    return "\n".join([*lines, *data.notices]).replace("+nan", "nan")


def _target(data: Data, row: int) -> str:
    given = f"{data.inputs['target'][row]}"
    return given if data.counted[row] else f"{given} ignored"


def show(data: Data) -> Picture:
    return Picture(tuple(headline(data)), tuple(panels(data)), text(data), data.notices)


def subject():
    return Subject(OP.name, lambda state: OP, State, inputs, compute, show)
