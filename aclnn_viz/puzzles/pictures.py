"""Draw puzzles: the wanted function as a curve, or which inputs one output is made of; and symptoms of a broken kernel.

Which inputs an output is made of is found by moving each element of an input: then the output moves, too.
"""

from math import ceil
from typing import NamedTuple

import numpy as np

from aclnn_viz.errors import problem
from aclnn_viz.pictures.fonts import legible
from aclnn_viz.pictures.marks import Box, Dots, Heat, Line, Note, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.text import number
from aclnn_viz.puzzles.detective import Detective
from aclnn_viz.puzzles.puzzle import Curve, Puzzle
from aclnn_viz.puzzles.solutions import solution_of
from aclnn_viz.puzzles.symptoms import Symptom
from aclnn_viz.words.messages import enumerated, tr

POINTS, YOURS_POINTS = 601, 41
JUMP = 0.2  # of the range of a curve: a larger step between two neighbours is drawn as a gap
SPEC, YOURS, OUTPUT = 2, 1, 0  # kinds of boxes
CURVES, YOURS_CURVE = (2, 1, 0, 4), 3  # kinds of lines: a lonely one is solid
ROW, COLUMNS = 26, 20  # pixels of a row of cells, columns of a row of panels
WIDE = 800  # pixels: shrunk into a narrow window, its words can still be read
FEWEST_ULPS = 1e-3  # on a logarithmic axis
# of an element, as (factor, addend): a small one may stay in a piece that is constant, a large one may leave it
MOVES = (1.0, 0.37), (-2.3, -0.11), (0.999, 1e-4)


class Made(NamedTuple):
    """An output, and by floating input a mask of the elements that its chosen element is made of."""

    output: np.ndarray
    reads: dict[str, np.ndarray]


@legible
def picture(of, answer=None) -> Picture:
    """Return the picture of a puzzle, with that of an answer beside it if there is one, or that of a detective case.

    Raises TypeError for anything else, and ValueError for a puzzle that has no picture.

    >>> from aclnn_viz.puzzles import puzzle
    >>> print(str(picture(puzzle("rms_dgamma"))).splitlines()[0])
    dgamma[1] is made of dy (2 of 6), x (2 of 6), rstd (2 of 2)
    """
    if isinstance(of, Detective):
        return symptom(of.symptom, tr(of.title))
    if not isinstance(of, Puzzle):
        raise TypeError(
            problem(
                "a picture is of a puzzle or of a detective case",
                type(of).__name__,
                "pass such as puzzle('rms_dx')",
            )
        )
    if of.picture is None:
        raise ValueError(
            problem(
                "a picture is of a puzzle whose answer is numbers",
                f"{of.name}, a part of a program",
                "print the puzzle",
            )
        )
    return _curve(of, answer) if isinstance(of.picture, Curve) else _reads(of, answer)


def _curve(puzzle: Puzzle, answer) -> Picture:
    wanted, panels, lines = puzzle.picture, {}, []
    x, marked = np.linspace(wanted.low, wanted.high, POINTS), np.array(wanted.marks)
    sparse = np.linspace(wanted.low, wanted.high, YOURS_POINTS)
    # two curves beside each other are easier to read
    apart = len(puzzle.outputs) == 1 and len(wanted.series) == 2
    for count, fixed in enumerate(wanted.series):
        text = tr(", ").join(f"{name} = {value}" for name, value in fixed.items())
        curves, at = (
            _outputs(puzzle, puzzle.spec, {wanted.over: xs} | fixed) for xs in (x, marked)
        )
        yours, complaint = _drawable(
            lambda: _outputs(puzzle, answer, {wanted.over: sparse} | fixed), answer
        )
        for name in puzzle.outputs:
            place = (name, text) if apart else (name, "")
            marks = panels.setdefault(place, [])
            for k, row in enumerate(np.atleast_2d(curves[name])):
                label = f"{name}[{k}]" if curves[name].ndim > 1 else text if not apart else ""
                kind, dots = CURVES[count * (not apart) + k], np.atleast_2d(at[name])[k]
                marks += [Line(x, _with_gaps(row), kind, label), Dots(marked, dots, kind, "", 3.5)]
                values = tr(", ").join(f"{number(u)}: {number(v)}" for u, v in zip(marked, dots))
                curve = tr(", ").join(filter(None, [name, text, label if label != text else ""]))
                lines.append(
                    tr(
                        "{curve}: from {low} to {high}; at {input} = {values}",
                        curve=curve,
                        low=number(row.min()),
                        high=number(row.max()),
                        input=wanted.over,
                        values=values,
                    )
                )
            if yours:
                marks += [
                    Dots(sparse, row, YOURS_CURVE, tr("yours"), 2.5)
                    for row in np.atleast_2d(yours[name])
                ]
    drawn = tuple(
        Panel(
            name + text,
            _over(name, wanted.over, text),
            tuple(marks),
            Axis(wanted.over),
            Axis(),
            COLUMNS // len(panels),
            230,
        )
        for (name, text), marks in panels.items()
    )
    head = (
        tr(
            "{title}: what is wanted of {function}. Dots mark the places that are easily got wrong.",
            title=puzzle.title,
            function=puzzle.name,
        ),
        *filter(None, [complaint]),
    )
    return Picture(head, drawn, "\n".join([*head, *lines]), width=WIDE)


def _over(output: str, over: str, fixed: str) -> str:
    if fixed:
        return tr("{output} over {input}, {fixed}", output=output, input=over, fixed=fixed)
    return tr("{output} over {input}", output=output, input=over)


def _drawable(make, answer):
    """(What `make` makes of an answer, or None; why not): whatever that does, the picture of what is wanted stays."""
    if answer is None:
        return None, ""
    try:
        return make(), ""
    except Exception as error:  # somebody else's code may raise anything
        return None, tr("Yours cannot be drawn: {error}", error=str(error)[:200])


def _outputs(puzzle: Puzzle, function, inputs: dict, rank: int = 1) -> dict[str, np.ndarray]:
    """The outputs of a function by name; ValueError where it returns anything else, or outputs of a lower rank."""
    with np.errstate(all="ignore"):
        found = function(**inputs)
    found = tuple(found.get(name) for name in puzzle.outputs) if isinstance(found, dict) else found
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(puzzle.outputs) or any(
        part is None or np.ndim(part) < rank for part in found
    ):
        raise ValueError(
            problem(
                f"{puzzle.name} returns {', '.join(puzzle.outputs)}",
                "something else",
                "write its body",
            )
        )
    return dict(zip(puzzle.outputs, (np.asarray(part, np.float64) for part in found)))


def _with_gaps(row: np.ndarray) -> np.ndarray:
    """The curve, interrupted where it jumps."""
    steps = np.abs(np.diff(row))
    shown = row.copy()
    shown[1:][steps > JUMP * np.ptp(row)] = np.nan
    return shown


def _reads(puzzle: Puzzle, answer) -> Picture:
    wanted = puzzle.picture
    spec = _made(puzzle, solution_of(puzzle).function)
    yours, complaint = _drawable(lambda: _made(puzzle, answer), answer)
    arrays = {
        name: value
        for name, value in wanted.inputs.items()
        if isinstance(value, np.ndarray) and value.ndim
    }
    rest = tr(", ").join(
        f"{name} = {number(value.item()) if isinstance(value, np.ndarray) else value}"
        for name, value in wanted.inputs.items()
        if name not in arrays
    )
    panels = [
        _cells(
            name,
            value,
            _boxes(_mask(spec, value, name), SPEC, 0.0)
            + _boxes(_mask(yours, value, name), YOURS, 0.14),
        )
        for name, value in arrays.items()
    ]
    chosen = np.zeros(np.shape(spec.output), bool)
    chosen[wanted.index] = True
    panels.append(_cells(wanted.output, spec.output, _boxes(chosen, OUTPUT, 0.0)))
    place = f"{wanted.output}{list(wanted.index) if wanted.index else ''}"
    lines = [
        tr("{output} is made of {inputs}", output=place, inputs=_in_words(spec)),
        *[tr("with {inputs}", inputs=rest)] * bool(rest),
    ]
    lines += (
        [tr("yours is made of {inputs}: dotted", inputs=_in_words(yours))]
        if yours
        else [complaint]
        if complaint
        else []
    )
    values = [
        f"{name} = {np.array2string(np.asarray(value), precision=4, separator=', ')}"
        for name, value in [*arrays.items(), (wanted.output, spec.output)]
    ]
    return Picture(tuple(lines), tuple(panels), "\n".join([*lines, *values]), width=WIDE)


def _made(puzzle: Puzzle, function) -> Made:
    """The output of the picture, and what its chosen element is made of."""
    wanted = puzzle.picture

    def computed(**changed):
        inputs = {
            name: np.copy(value) if isinstance(value, np.ndarray) else value
            for name, value in (wanted.inputs | changed).items()
        }
        return _outputs(puzzle, function, inputs, rank=0)[wanted.output]

    def moves(name: str, place: tuple[int, ...]) -> bool:
        for factor, addend in MOVES:
            moved = wanted.inputs[name].copy()
            moved[place] = factor * moved[place] + addend
            if not np.array_equal(computed(**{name: moved})[wanted.index], still, equal_nan=True):
                return True
        return False

    output = computed()
    still, reads = output[wanted.index], {}
    for name, value in wanted.inputs.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            mask = [moves(name, place) for place in np.ndindex(value.shape)]
            reads[name] = np.reshape(mask, value.shape)
    return Made(output, reads)


def _mask(made: Made | None, value: np.ndarray, name: str) -> np.ndarray:
    """Where the chosen element is made of an input; integers are not moved."""
    return (
        made.reads.get(name, np.zeros(value.shape, bool)) if made else np.zeros(value.shape, bool)
    )


def _in_words(made: Made) -> str:
    read = [
        tr("{input} ({n} of {all})", input=name, n=int(mask.sum()), all=mask.size)
        for name, mask in made.reads.items()
        if mask.any()
    ]
    return enumerated(read) if read else tr("no element of a floating input")


def _flat(values) -> np.ndarray:
    """Any array as rows of cells."""
    values = np.asarray(values)
    return values.reshape(-1, values.shape[-1]) if values.ndim else values.reshape(1, 1)


def _boxes(mask: np.ndarray, kind: int, inset: float) -> list[Box]:
    reach = 0.46 - inset
    return [
        Box(column - reach, row - reach, column + reach, row + reach, "", kind)
        for row, column in np.argwhere(_flat(mask))
    ]


def _cells(name: str, values, boxes: list[Box]) -> Panel:
    values = np.asarray(values)
    cells = _flat(values).astype(np.float64)
    rows, columns = cells.shape
    words = f"{name} {list(values.shape)}" if values.ndim else name
    none = Axis(ticks=())
    return Panel(
        name,
        words,
        (Heat(cells, *scale(cells), digits=True), *boxes),
        none,
        none,
        min(COLUMNS, max(5, columns + 1, ceil(len(words) / 4))),
        ROW * rows + 30,
    )


@legible
def symptom(seen: Symptom, title: str) -> Picture:
    """Return the picture of what is seen of a broken kernel."""
    if seen.kind == "table":
        rows, columns = (tuple(enumerate(map(tr, names))) for names in (seen.rows, seen.columns))
        panel = Panel(
            "table",
            tr("share of wrong elements"),
            (Heat(seen.values, "sequential", 0.0, 1.0, digits=True),),
            Axis(ticks=columns),
            Axis(ticks=rows),
            min(COLUMNS, 8 + 4 * len(columns)),
            ROW * len(rows) + 50,
        )
    elif seen.kind == "map":
        largest = np.max(np.abs(seen.values), initial=0.0, where=np.isfinite(seen.values)) or 1.0
        rows, columns = seen.values.shape
        words = [Note(column, row, "nan") for row, column in np.argwhere(np.isnan(seen.values))]
        panel = Panel(
            "map",
            tr("error of every element"),
            (Heat(seen.values, "diverging", -largest, largest), *words),
            Axis(),
            Axis(),
            min(COLUMNS, max(11, columns)),
            max(120, 18 * rows + 40),
        )
    else:
        truth, ulps = np.maximum(seen.values, ((0.0,), (FEWEST_ULPS,)))
        marks = (
            Dots(truth[truth > 0], ulps[truth > 0], 0, "", 1.5),
            Rule("y", 0.5, tr("½ ulp: rounded once"), 2),
        )
        panel = Panel(
            "ulps",
            tr("error of every element over its size"),
            marks,
            Axis(tr("|truth|"), scale="log"),
            Axis(tr("ulp"), scale="log"),
            COLUMNS,
            260,
        )
    return Picture((title,), (panel,), f"{title}\n{seen}", width=WIDE)
