"""The explorer of tile programs: who owns what, the Unified Buffer, the pipes step by step, and the hazards, in words, too."""

import linecache
from itertools import groupby

import numpy as np

from aclnn_viz.explorers import lift, tiles_stated, tiles_time
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.explorers.tiles_data import (
    MACHINE,
    Data,
    Owned,
    State,
    compute,
    inputs,
    operator_of,
    pipe_name,
)
from aclnn_viz.explorers.tiles_time import KINDS_OF_PIPES, kib
from aclnn_viz.pictures.marks import Box, Dots, Heat, Note
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.tables import columns as wide
from aclnn_viz.tables import wrapped
from aclnn_viz.words.messages import enumerated, message, tr

CELLS, ROWS = 200, 13  # of the panel of owners, at most
WIDE = 470  # pixels of its cells
LINES, LETTERS = 12, 104  # of the panel of the program
HAZARD = 1  # the kind of marks on what is wrong
NOTHING = Axis("", 0, 1, ticks=())
RECORDED = (
    {"step": range(64), "core": range(4)},
    {"fault": (), "schedule": ()},
    {"program": (), "time": ()},
    {"buffers": (), "unified_buffer": ()},
    {"cores": range(1, 9)},
    {"dtype": (), "soc": ()},
)
NO_HAZARD = message(
    "None: every access is ordered, every byte that is read was written, every wait has its partner."
)
ORDERS = {"eager": message("as issued"), "late": message("as late as the waits allow")}


def panels(data: Data) -> list[Panel]:
    return [
        owners(data),
        program(data),
        tiles_time.unified_buffer(data),
        moved(data),
        hazards(data),
        *(tiles_stated.panels(data) if data.times else [tiles_time.pipes(data)]),
    ]


def owners(data: Data, most: int = ROWS) -> Panel:
    """The outputs one below the other in at most so many rows, each element in the colour of its core; tails and wrong numbers have marks."""
    parts = data.work.owned
    columns = min(max(part.core.shape[1] for part in parts), CELLS)
    total, found, ticks, texts = sum(len(part.core) for part in parts), [], [], []
    rows = min(total, most + 1 - len(parts))
    for part in parts:
        down, across = _picked(part, rows * len(part.core) // total, columns)
        ticks.append((len(found) + (len(down) - 1) / 2, part.name))
        small = [
            array[np.ix_(down, across)].astype(float)
            for array in (part.core, part.tile, part.tail, part.wrong)
        ]
        found += [
            np.stack([np.where(row < 0, np.nan, row) for row in each]) for each in zip(*small)
        ]
        texts += _names(
            part,
            *(array[np.ix_(down, across)] for array in (part.core, part.tile, part.cores)),
            columns,
        )
        found.append(np.full((4, columns), np.nan))
        texts.append([""] * columns)
    core, tile, tail, wrong = np.stack(found[:-1], axis=1)
    shade = core + 0.3 * (tile % 2)  # neighbouring tiles of a core differ
    marks = [
        Heat(shade, "sequential", 0, max(data.work.run.cores, 1), words=tuple(sum(texts[:-1], [])))
    ]
    for mask, kind, label, size in (
        (tail == 1, 3, tr("tail: no whole 32 bytes"), 2.0),
        (wrong == 1, HAZARD, tr("wrong number"), 1.8),
    ):
        if mask.any():
            y, x = np.nonzero(mask)
            marks.append(Dots(x.astype(float), y + 0.3, kind, label, size))  # below the words
    title = (
        tr(
            "Which core (its colour) and tile writes what, as core:tile, {n} of {all} rows",
            n=rows,
            all=total,
        )
        if rows < total
        else tr("Which core (its colour) and tile writes what, as core:tile")
    )
    return Panel(
        "owners",
        title,
        tuple(marks),
        Axis("", -0.5, columns - 0.5, ticks=()),
        Axis("", len(core) - 0.5, -0.5, ticks=tuple(ticks)),
        8,
        180,
    )


def _picked(part: Owned, most: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns of an output that are drawn: no more rows than can be seen, and columns for the whole width."""
    rows, wide = part.core.shape
    across = (
        np.linspace(0, wide - 1, columns).round()
        if wide > columns
        else np.arange(columns) * wide // columns
    )
    return np.linspace(0, rows - 1, max(most, 1)).round().astype(int), across.astype(int)


def _names(part: Owned, core, tile, cores, columns: int) -> list[list[str]]:
    """The words in the cells of an output: core and tile once in the longest run of each that has room for them."""
    longest = {}
    for row, (c, t, n) in enumerate(zip(core.tolist(), tile.tolist(), cores.tolist())):
        at = 0
        for (owner, number, many), run in groupby(zip(c, t, n)):
            length = len(list(run))
            name = (
                "" if owner < 0 else tr("Σ {n} cores", n=many) if many > 1 else f"{owner}:{number}"
            )
            if length > longest.get(name, (0, 0, 0))[0]:
                longest[name] = length, row, at + length // 2
            at += length
    texts = [[""] * columns for _ in range(len(core))]
    for name, (length, row, at) in longest.items():
        if length * WIDE / columns > 6 * wide(name) + 3:
            texts[row][at] = name
    return texts


def program(data: Data) -> Panel:
    """The lines of the program that are at work in this step, by pipe, and those of hazards."""
    working = [job for job in data.jobs if job.step == data.step]
    own = data.work.program.kernel.__code__.co_filename
    # of a program that extends another
    file = next((at.file for at in (*working, *data.hazards) if at.file), own)
    active = {job.line: pipe_name(job.pipe) for job in working if job.file == file}
    hazards = [hazard.line for hazard in data.hazards if hazard.line and hazard.file == file]
    marks, numbers, lines = [], [], linecache.getlines(file)
    for k, line in enumerate(_shown([*active, *hazards[:2]], len(lines))):
        if line is None:
            marks.append(Note(0.3, k, "⋮", "center"))
            continue
        if line in active:
            marks.append(
                Box(0.05, k - 0.47, 99.9, k + 0.47, "", KINDS_OF_PIPES[active[line]], filled=0.25)
            )
        elif line in hazards:
            marks.append(Box(0.05, k - 0.47, 99.9, k + 0.47, "", HAZARD))
        text = lines[line - 1].rstrip("\n").removeprefix("    ")
        indent = len(text) - len(text.lstrip())
        text = (
            text.strip()
            if len(text.strip()) <= LETTERS - indent
            else f"{text.strip()[: LETTERS - indent - 1]}…"
        )
        signs = " ".join(filter(None, ("✗" if line in hazards else "", active.get(line))))
        marks.append(
            Note(0.5 + 0.8 * indent, k, text, "left", (88 if signs else 99) - 0.8 * indent)
        )
        marks += [Note(99.5, k, signs, "right")] if signs else []
        numbers.append((k, str(line)))
    at = tr(", ").join(
        tr("{pipe} line {line}", pipe=pipe, line=line) for line, pipe in active.items()
    )
    title = tr(
        "The program in step {step} of core {core}: {work}",
        step=data.step,
        core=data.state.core,
        work=at or tr("this core is not at work"),
    )
    return Panel(
        "program",
        title if wide(title) < 100 else f"{_within(title, 99)}…",
        tuple(marks),
        Axis("", 0, 100, ticks=()),
        Axis("", LINES - 0.4, -0.6, ticks=tuple(numbers)),
        12,
        180,
    )


def _within(text: str, width: int) -> str:
    """As much of a text as has so many columns."""
    return next(
        text[:end] for end in range(min(len(text), width), -1, -1) if wide(text[:end]) <= width
    )


def _shown(wanted: list[int], last: int) -> list[int | None]:
    """Line numbers around the wanted ones that fill the panel; None stands between lines that do not follow."""
    wanted = sorted(set(wanted or [1]))[: LINES // 2]
    shown, around = wanted, 0
    while around < LINES:
        around += 1
        more = sorted(
            {
                line
                for at in wanted
                for line in range(max(at - around, 1), min(at + around, last) + 1)
            }
        )
        if len(_gapped(more)) > LINES:
            break
        shown = more
    return _gapped(shown)


def _gapped(lines: list[int]) -> list[int | None]:
    found = []
    for line in lines:
        found += ([None] if found and line > found[-1] + 1 else []) + [line]
    return found


def moved(data: Data) -> Panel:
    """Bytes that copies move, beside those of all elements that are copied, each once."""
    run, least = data.work.run, data.work.least
    most = max(run.gm_bytes, least, 1)
    rows = ((tr("moved"), run.gm_bytes, 0), (tr("each once"), least, 2))
    marks = [
        Box(0, row - 0.35, size / most, row + 0.35, "", kind, filled=0.25)
        for row, (_, size, kind) in enumerate(rows)
    ]
    ticks = tuple((row, f"{name} {kib(size)}") for row, (name, size, _) in enumerate(rows))
    title = (
        tr("Bytes: {times} × the least", times=f"{run.gm_bytes / least:.2f}")
        if least
        else tr("Bytes: beside the least")
    )
    return Panel(
        "moved",
        title,
        tuple(marks),
        Axis("", 0, 1.02, ticks=()),
        Axis("", 1.5, -0.5, ticks=ticks),
        4,
        72,
    )


def hazards(data: Data) -> Panel:
    """The first hazard, and how many more there are."""
    lines = wrapped(f"✗ {data.hazards[0]}", 68) if data.hazards else wrapped(tr(NO_HAZARD), 50)
    lines = [*lines[:4], lines[4] + " …"] if len(lines) > 5 else lines
    title = (
        tr("Hazards: the first of {n}", n=len(data.hazards))
        if len(data.hazards) > 1
        else tr("Hazards")
    )
    return Panel(
        "words",
        title,
        tuple(Note(0.01, k, text, "left") for k, text in enumerate(lines)),
        NOTHING,
        Axis("", 4.6, -0.6, ticks=()),
        8,
        72,
    )


def headline(data: Data) -> list[str]:
    run, work = data.work.run, data.work
    most = max((int(part.tile.max()) + 1 for part in work.owned), default=0)
    lines = [
        tr(
            "{program} on {n} of {all} cores: up to {tiles} tiles a core, {steps} steps, {taken} of the {size} of a Unified "
            "Buffer.",
            program=data.state.program,
            n=run.cores,
            all=data.state.cores,
            tiles=most,
            steps=work.steps,
            taken=kib(run.ub_bytes),
            size=kib(run.platform.GetCoreMemSize()),
        )
    ]
    wrong = [
        tr(
            "{n} of {all} numbers of {output}",
            n=f"{int(part.wrong.sum()):,}",
            all=f"{part.wrong.size:,}",
            output=part.name,
        )
        for part in work.owned
        if part.wrong.any()
    ]
    kinds = list(dict.fromkeys(hazard.kind for hazard in data.hazards))
    found = tr("Hazards: {kinds}", kinds=enumerated(map(tr, kinds))) if kinds else tr("No hazard")
    numbers = (
        tr("wrong are {numbers}", numbers=enumerated(wrong))
        if wrong
        else tr("all numbers are right")
    )
    lines.append(
        tr(
            "{hazards}; {numbers} when instructions take effect {how}.",
            hazards=found,
            numbers=numbers,
            how=_landing(data),
        )
    )
    if data.times:
        lines.append(data.times.sentence)
    if data.fault:
        lines.append(
            tr(
                "The fault: {story}. {seen}",
                story=tr(data.fault.story),
                seen=_seen(data, kinds, wrong),
            )
        )
    return lines


def _landing(data: Data) -> str:
    schedule = data.state.schedule
    order = (
        tr(ORDERS[schedule])
        if schedule in ORDERS
        else tr("in the order drawn by seed {seed}", seed=schedule)
    )
    if not data.work.overtaken:
        return order
    return tr(
        "{order} ({n} of {all} instructions overtaken)",
        order=order,
        n=data.work.overtaken,
        all=len(data.work.run.trace),
    )


def _seen(data: Data, kinds, wrong) -> str:
    fault = data.fault
    if fault.shows in kinds or wrong:
        return tr("It shows as: {what}.", what=tr(fault.shows))
    case = ", ".join(f"{name}={value!r}" for name, value in fault.case.items()) or tr(
        "the shape of its case"
    )
    return tr(
        "It does not show here ({what}): it does with {case} on {n} cores.",
        what=tr(fault.shows),
        case=case,
        n=fault.cores,
    )


def describe(data: Data) -> str:
    """The text twin: what the panels show, all hazards, and the instructions of the core with their lines and what they waited for."""
    lines = [
        tr(
            "  {hazard} ({n} times)\n    {source}",
            hazard=hazard,
            n=hazard.times,
            source=hazard.source,
        )
        for hazard in data.hazards
    ]
    return "\n".join(
        [
            *headline(data),
            *notices(data),
            *in_words(
                panel
                for panel in panels(data)
                if panel.name not in ("program", "words", *tiles_stated.SAID)
            ),
            "",
            *lines,
            *tiles_stated.describe(data),
            *tiles_time.describe(data),
        ]
    )


def notices(data: Data) -> list[str]:
    return [tr(tiles_stated.NOTICES[data.times is not None], soc=data.work.run.platform.soc)]


TEST = '''"""The tile program {name} in one state of its explorer: the same hazards, the same wrong numbers."""

import aclnn_viz as av
from aclnn_viz.accuracy.envelopes import envelope, explain
from aclnn_viz.explorers.tiles_data import State, how, inputs, program_of

STATE = State({arguments})
PROGRAM = program_of(STATE)  # put yours in its place


def test_the_program_in_this_state():
    op, given = av.operator({operator!r}), inputs(STATE)
    run = av.tiles.launch(PROGRAM, schedule={schedule!r}, **how(STATE), **given)
    truth, bounds = op.truth(**given), envelope(op, PROGRAM.plan, **given)
    wrong = {{name: explain(run.outputs[name], truth[name], bounds[name]).not_explained for name in truth}}
    assert sorted({{hazard.kind for hazard in run.hazards}}) == {kinds!r}
    assert wrong == {wrong!r}
'''


def pytest_case(subject, state: State) -> str:
    """Return a test module that runs the program of this state and expects the same of it."""
    # another explorer's may look at something else
    state = State(**{name: getattr(state, name) for name in MACHINE})
    work = compute(state).work
    return TEST.format(
        name=state.program,
        arguments=lift.arguments(state),
        operator=work.program.operator,
        schedule=state.schedule,
        kinds=sorted({hazard.kind for hazard in work.run.hazards}),
        wrong={part.name: int(part.wrong.sum()) for part in work.owned},
    )


def subject():
    return Subject(
        "tiles",
        operator_of,
        State,
        inputs,
        compute,
        panels,
        headline,
        describe,
        pytest_case,
        notices=notices,
        recorded=RECORDED,
    )
