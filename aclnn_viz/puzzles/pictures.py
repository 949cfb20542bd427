"""Draw puzzles: the wanted function as a curve, or the inputs of one output.

Moving each element of an input shows whether the output depends on it.
"""

from math import ceil

import numpy as np

from aclnn_viz.errors import mistyped
from aclnn_viz.pictures.fonts import legible
from aclnn_viz.pictures.marks import Box, Dots, Heat, Line
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel, bare
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.puzzles.detective import Detective
from aclnn_viz.puzzles.puzzle import Curve, Puzzle
from aclnn_viz.puzzles.symptoms import COLUMNS, ROW, WIDE
from aclnn_viz.puzzles.verdict import right_answer
from aclnn_viz.words.messages import enumerated, tr

POINTS = 601
JUMP = 0.2  # a step beyond this share of a curve's range is drawn as a gap
READ, OUTPUT = 2, 0  # kinds of boxes: pixels read, output
CURVES = 2, 1, 0, 4  # kinds of the lines, in order; the first is drawn solid
# (factor, addend) changes of an element: a small one may stay within a constant piece, a large
# one may leave it
MOVES = (1.0, 0.37), (-2.3, -0.11), (0.999, 1e-4)


@legible
def picture(of) -> Picture:
    """Return the picture of a puzzle or a detective case; raise TypeError for anything else.

    >>> from aclnn_viz.puzzles import puzzle
    >>> print(str(picture(puzzle("rms_dgamma"))).splitlines()[0])
    dgamma[1] is made of dy (2 of 6), x (2 of 6), rstd (2 of 2)
    """
    if isinstance(of, Detective):
        return of.symptom
    if not isinstance(of, Puzzle):
        raise mistyped(
            "a picture is of a puzzle or of a detective case",
            type(of).__name__,
            "pass such as puzzle('rms_dx')",
        )
    lines, panels = (_curve if isinstance(of.picture, Curve) else _reads)(of)
    return Picture(lines, panels, "\n".join([*lines, *in_words(panels)]), width=WIDE)


def _curve(puzzle: Puzzle) -> tuple[tuple, tuple]:
    """Return a panel for each output and each set of the other inputs."""
    wanted, panels = puzzle.picture, []
    span = COLUMNS // (len(wanted.series) * len(puzzle.outputs))
    x, marked = np.linspace(wanted.low, wanted.high, POINTS), np.array(wanted.marks)
    for fixed in wanted.series:
        curves, at = (right_answer(puzzle, {wanted.over: xs} | fixed) for xs in (x, marked))
        others = [f"{name} = {value}" for name, value in fixed.items()]
        for name in puzzle.outputs:
            marks = []
            for k, row in enumerate(np.atleast_2d(curves[name])):
                label = f"{name}[{k}]" if curves[name].ndim > 1 else ""
                dots = np.atleast_2d(at[name])[k]
                line = Line(x, _with_gaps(row), CURVES[k], label)
                marks += [line, Dots(marked, dots, CURVES[k], "", 3.5)]
            over = tr(", ").join([wanted.over, *others])
            title = tr("{output} over {input}", output=name, input=over)
            panels.append(Panel(name + over, title, marks, Axis(wanted.over), span=span))
    head = tr(
        "{title}: what is wanted of {function}. Dots mark the places that are easily got wrong.",
        title=puzzle.title,
        function=puzzle.name,
    )
    return (head,), tuple(panels)


def _with_gaps(row: np.ndarray) -> np.ndarray:
    """Return the curve, interrupted where it jumps."""
    steps = np.abs(np.diff(row, prepend=row[:1]))
    return np.where(steps > JUMP * np.ptp(row), np.nan, row)


def _reads(puzzle: Puzzle) -> tuple[tuple, tuple]:
    """Return a panel for each array, with boxes around the elements on which the chosen element depends."""
    wanted = puzzle.picture
    arrays = {name: value for name, value in wanted.inputs.items() if np.ndim(value)}
    rest = tr(", ").join(
        f"{name} = {value}" for name, value in wanted.inputs.items() if name not in arrays
    )
    read = {name: _moved_by(puzzle, name) for name in arrays}
    output = right_answer(puzzle, wanted.inputs)[wanted.output]
    chosen = np.zeros(output.shape, bool)
    chosen[wanted.index] = True
    panels = [_cells(name, value, read[name], READ) for name, value in arrays.items()]
    panels.append(_cells(wanted.output, output, chosen, OUTPUT))
    inputs = [
        tr("{input} ({n} of {all})", input=name, n=int(mask.sum()), all=mask.size)
        for name, mask in read.items()
        if mask.any()
    ]
    place = f"{wanted.output}{list(wanted.index) if wanted.index else ''}"
    made = enumerated(inputs) if inputs else tr("no element of a floating input")
    return (
        tr("{output} is made of {inputs}", output=place, inputs=made),
        *[tr("with {inputs}", inputs=rest)] * bool(rest),
    ), tuple(panels)


def _moved_by(puzzle: Puzzle, name: str) -> np.ndarray:
    """Return the elements of an input that move the chosen output element; integers are not moved."""
    wanted = puzzle.picture
    values = wanted.inputs[name]

    def chosen(changed):
        return right_answer(puzzle, wanted.inputs | {name: changed})[wanted.output][wanted.index]

    def moves(place):
        for factor, addend in MOVES * (values.dtype.kind == "f"):
            moved = values.copy()
            moved[place] = factor * moved[place] + addend
            if chosen(moved) != still:
                return True
        return False

    still = chosen(values)
    return np.reshape([moves(place) for place in np.ndindex(values.shape)], values.shape)


def _cells(name: str, values: np.ndarray, boxed: np.ndarray, kind: int) -> Panel:
    """Return any array as rows of cells, with boxes of a kind around some."""
    cells, boxed = (
        np.asarray(each, np.float64).reshape(-1, each.shape[-1] if each.ndim else 1)
        for each in (values, boxed)
    )
    boxes = [
        Box(column - 0.46, row - 0.46, column + 0.46, row + 0.46, kind=kind)
        for row, column in np.argwhere(boxed)
    ]
    words = f"{name} {list(values.shape)}" if values.ndim else name
    return Panel(
        name,
        words,
        (Heat(cells, *scale(cells), digits=True), *boxes),
        bare(),
        bare(),
        min(COLUMNS, max(5, cells.shape[1] + 1, ceil(len(words) / 4))),
        ROW * len(cells) + 30,
    )
