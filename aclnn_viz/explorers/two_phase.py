"""The explorer of the two-phase call: calls and lifetimes, what was noticed, memory, view and result, in words, too."""

from dataclasses import dataclass, replace

import numpy as np

from aclnn_viz.explorers.subject import Subject
from aclnn_viz.explorers.two_phase_data import (
    Data,
    State,
    compute,
    inputs,
    operator_of,
    pytest_case,
)
from aclnn_viz.operators.codes import ACL_MEMCPY_HOST_TO_DEVICE, status_name
from aclnn_viz.pictures.marks import Box, Heat, Note
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.tables import wrapped
from aclnn_viz.words.messages import enumerated, message, ntr, tr

MEANINGS = {
    1: message("the caller"),
    2: message("a resource"),
    3: message("the runtime"),
    5: message("the inside of the library"),
}
#: What lives: its name, the calls that make it, those that end it, and the one that takes what is left.
LANES = (
    (message("context"), ("aclrtSetDevice",), ("aclrtResetDevice",), "aclrtResetDevice"),
    (message("memory"), ("aclrtMalloc",), ("aclrtFree",), "aclrtResetDevice"),
    (
        message("tensors"),
        (
            "aclCreateTensor",
            "aclCreateBoolArray",
            "aclCreateIntArray",
            "aclCreateFloatArray",
            "aclCreateScalar",
        ),
        (
            "aclDestroyTensor",
            "aclDestroyBoolArray",
            "aclDestroyIntArray",
            "aclDestroyFloatArray",
            "aclDestroyScalar",
        ),
        "aclFinalize",
    ),
)
# columns of the panel of calls: status, first lane, width of a lane
STATUS, ALIVE, WIDE = 6.1, 11.9, 0.86
FEWEST = 16  # rows that the panel of calls has room for, at least
WHOLE = 560  # pixels in which the names of both phases can be told apart, and codes are whole
POISON = 0xA5
EARLY = message(
    "Call {k} of {n}, {call}, fails with {status} {name}: phase 1 checks the call before anything runs; {result}."
)
FAILS = message("Call {k} of {n}, {call}, fails with {status} {name}; {result}.")
RECORDED = (
    {"mistake": (), "layout": (), "tensor": ()},
    {"operator": (), "mistake": ("none",)},
    {"soc": (), "cann": ()},
    {"dtype": (), "soc": ()},
    {"rows": range(1, 7), "columns": range(2, 9)},
)
LINE = 42  # columns of a line of words: in small letters they fit also if they are capitals


@dataclass(frozen=True)
class Row:
    """Successive calls of one function with the same status: the first of them, and how many there are."""

    first: int
    count: int
    function: str
    stage: str
    status: int | None
    misuse: tuple[str, ...]
    about: str = ""

    @property
    def text(self) -> str:
        return "  ".join(
            filter(None, (self.function, f"×{self.count}" if self.count > 1 else "", self.about))
        )

    @property
    def code(self) -> str:
        return (
            tr("a handle") if self.status is None else f"{self.status}  {status_name(self.status)}"
        )


def rows(data: Data) -> list[Row]:
    found = []
    for k, call in enumerate(data.calls):
        alike, about = (call.function, call.stage, call.status), _about(call)
        if (
            found
            and (found[-1].function, found[-1].stage, found[-1].status) == alike
            and found[-1].about == about
        ):
            last = found.pop()
            found.append(replace(last, count=last.count + 1, misuse=last.misuse + call.misuse))
        else:
            found.append(Row(k, 1, *alike, call.misuse, about))
    return found


def _about(call) -> str:
    if call.function == "aclrtMemcpy":
        return (
            tr("to the device")
            if call.arguments[-1] == ACL_MEMCPY_HOST_TO_DEVICE
            else tr("to the host")
        )
    return tr("workspace") if (call.function, call.stage) == ("aclrtMalloc", "phase 1") else ""


def panels(data: Data) -> list[Panel]:
    return [calls(data), remarks(data), storage(data), view(data), result(data)]


def calls(data: Data) -> Panel:
    """Every call with its status; beside them how long the context, memory, tensors, executor and queued work live."""
    found = rows(data)
    marks, failing = [], data.failing
    for k, row in enumerate(found):
        here = failing is not None and row.first <= failing < row.first + row.count
        if here:
            marks.append(Box(0.02, k - 0.47, ALIVE - 0.15, k + 0.47, "", 1, filled=0.25))
        elif row.misuse:
            marks.append(Box(0.02, k - 0.47, ALIVE - 0.15, k + 0.47, "", 3))
        sign = "✗" if row.status else "!" if row.misuse else ""
        marks += [
            Note(0.25, k, sign, "center"),
            Note(0.5, k, row.text, "left"),
            Note(STATUS, k, row.code, "left"),
            Note(ALIVE - 0.15, k, "", "left"),
        ]  # where the status must end
    for lane, (name, start, end, left) in enumerate(lifetimes(found)):
        at = ALIVE + lane * WIDE
        # names are wider than lanes
        marks.append(Note(at + 0.45 * WIDE, -1 - 0.75 * (lane % 2), tr(name), "center"))
        if start is not None:
            stop = len(found) - 1 if end is None else end
            marks.append(
                Box(
                    at + 0.2 * WIDE,
                    start - 0.35,
                    at + 0.7 * WIDE,
                    stop + 0.35,
                    "",
                    lane,
                    filled=0.25,
                )
            )
            if left:
                marks.append(Note(at + 0.45 * WIDE, stop, tr("left"), "center"))
    marks += [Note(0.5, -1, tr("call"), "left"), Note(STATUS, -1, tr("status"), "left")]
    title = tr(
        "Calls on the emulated {soc}, CANN {cann} (✗ fails, ! only the emulator notices), and what they keep alive",
        soc=data.state.soc,
        cann=data.state.cann,
    )
    return Panel(
        "calls",
        title,
        tuple(marks),
        Axis("", 0, ALIVE + 5 * WIDE, ticks=()),
        Axis("", max(len(found), FEWEST) - 0.4, -2.2, ticks=()),
        14,
        312,
        least=WHOLE,
    )


def lifetimes(found: list[Row]) -> list[tuple[str, int | None, int | None, bool]]:
    """(name, first row, last row, left over) of what the calls keep alive; the rows are None for what was never made.

    What the program does not give back lives until the device is reset or the process ends.
    """
    lives = []
    for name, starts, ends, last in LANES:
        born = [k for k, row in enumerate(found) if row.function in starts and not row.status]
        died = [k for k, row in enumerate(found) if row.function in ends and not row.status]
        left = sum(found[k].count for k in born) > sum(found[k].count for k in died)
        end = (
            [k for k, row in enumerate(found) if row.function == last and not row.status]
            if left
            else died
        )
        lives.append(
            (
                name,
                born[0] if born else None,
                end[-1] if born and end else None,
                left and bool(born),
            )
        )
    planned = [
        k
        for k, row in enumerate(found)
        if row.function.endswith("GetWorkspaceSize") and not row.status
    ]
    run = [
        k
        for k, row in enumerate(found)
        if row.stage == "phase 2" and row.function.startswith("aclnn")
    ]
    lives.append(
        (
            message("executor"),
            planned[0] if planned else None,
            run[0] if planned and run else None,
            False,
        )
    )
    queued = [k for k in run if not found[k].status]
    done = [k for k, row in enumerate(found) if row.function == "aclrtSynchronizeStream"]
    lives.append(
        (
            message("work"),
            queued[0] if queued else None,
            done[0] if queued and done else None,
            False,
        )
    )
    return lives


def remarks(data: Data) -> Panel:
    """What the library says, what only the emulator notices, and whether the result is right."""
    lines = []
    for title, texts in noticed(data):
        lines += [title, *(f"   {part}" for text in texts for part in wrapped(text, LINE)), ""]
    most = 24
    if len(lines) > most:
        lines = [*lines[: most - 1], tr("   …  (the whole list stands in the picture in words)")]
    marks = tuple(Note(0.1, k, text, "left") for k, text in enumerate(lines) if text)
    return Panel(
        "words",
        tr("What is noticed, and by whom"),
        marks,
        Axis("", 0, 10, ticks=()),
        Axis("", most - 0.4, -0.6, ticks=()),
        6,
        306,
    )


def noticed(data: Data) -> list[tuple[str, list[str]]]:
    failing = data.failing
    if failing is None:
        library = [tr("nothing: every status is 0")]
    else:
        call = data.calls[failing]
        digit = str(call.status)[0]
        library = [
            tr(
                "{call} returns {status}, {name}",
                call=call.function,
                status=call.status,
                name=status_name(call.status),
            ),
            f"“{call.message}”",
            tr(
                "First digit {digit}: {who} is to blame.", digit=digit, who=tr(MEANINGS[int(digit)])
            ),
        ]
    return [
        (tr("THE LIBRARY"), library),
        (
            tr("ONLY THE EMULATOR (acl.misuse)"),
            [*map(tr, data.misuse)] or [tr("nothing: the program keeps the rules")],
        ),
        (tr("THE RESULT"), [verdict(data)]),
    ]


def verdict(data: Data) -> str:
    if not data.right:
        return tr("no output was copied back")
    wrong = [name for name, right in data.right.items() if not right]
    if not wrong:
        return tr("right: {outputs}", outputs=enumerated(data.right))
    if data.name not in wrong:
        return tr("wrong: {outputs}", outputs=enumerated(wrong))
    off, fresh = _wrong(data), int(_poison(data).sum())
    text = {
        "wrong": int(off.sum()),
        "all": off.size,
        "fresh": fresh,
        "output": data.name
        + "".join(tr(", and {output}", output=name) for name in wrong if name != data.name),
    }
    if fresh:
        return tr(
            "wrong: {wrong} of {all} elements of {output}; {fresh} were never written, and show what was in the memory "
            "before",
            **text,
        )
    return tr("wrong: {wrong} of {all} elements of {output}", **text)


def _wrong(data: Data) -> np.ndarray:
    same = data.fetched == data.expected
    return ~(
        same
        | (np.isnan(data.fetched.astype(np.float64)) & np.isnan(data.expected.astype(np.float64)))
    )


def _poison(data: Data) -> np.ndarray:
    """Which elements still hold what the emulator fills fresh memory with."""
    size = data.fetched.dtype.itemsize
    return (
        np.ascontiguousarray(data.fetched).view(np.uint8).reshape(*data.fetched.shape, size)
        == POISON
    ).all(axis=-1)


def places(data: Data) -> np.ndarray:
    """Where the elements of the drawn view lie: positions in the storage, of the view's last two axes."""
    layout = data.chosen.layout
    (rows, columns), (down, across) = layout.shape[-2:], layout.strides[-2:]
    return layout.offset + down * np.arange(rows)[:, None] + across * np.arange(columns)


def storage(data: Data) -> Panel:
    """The storage, row by row; cells of the view hold the number of their element."""
    layout, at = data.chosen.layout, places(data)
    wide = layout.storage[-1]
    cells = np.full(layout.storage[-2:], np.nan)
    cells.reshape(-1)[at.reshape(-1)] = np.arange(at.size)
    ticks = tuple((k, str(k * wide)) for k in range(cells.shape[0]))
    across = tuple((k, f"+{k}") for k in range(0, wide, 2 if wide > 10 else 1))
    marks = (
        Heat(cells, "sequential", 0, at.size - 1, digits=True),
        *(
            Box(k % wide - 0.5, k // wide - 0.5, k % wide + 0.5, k // wide + 0.5)
            for k in np.unique(at).tolist()
        ),
    )
    return Panel(
        "storage",
        tr("Storage of {tensor}: which element of the view lies where", tensor=data.chosen.name),
        marks,
        Axis("", -0.5, wide - 0.5, ticks=across),
        Axis(tr("position"), cells.shape[0] - 0.5, -0.5, ticks=ticks),
        8,
        158,
    )


def view(data: Data) -> Panel:
    """The view that the kernel is given, with the numbers of its elements."""
    layout = data.chosen.layout
    cells = np.arange(np.prod(layout.shape[-2:]), dtype=np.float64).reshape(layout.shape[-2:])
    return Panel(
        "view",
        tr(
            "The view: strides {strides}, offset {offset}",
            strides=list(layout.strides[-2:]),
            offset=layout.offset,
        ),
        (Heat(cells, "sequential", 0, cells.size - 1, digits=True),),
        *_cells(cells),
        5,
        158,
    )


def result(data: Data) -> Panel:
    """The main output as it was copied back; wrong elements are outlined."""
    if data.fetched is None:
        note, nothing = Note(0.5, 0.5, tr("nothing was copied back")), Axis("", 0, 1, ticks=())
        return Panel(
            "result",
            tr("{output}: not fetched", output=data.name),
            (note,),
            nothing,
            nothing,
            7,
            158,
        )
    got, wrong = (
        part.reshape(part.shape[-2:]) for part in (data.fetched.astype(np.float64), _wrong(data))
    )
    usual = np.where(wrong, np.nan, got)
    marks = (
        Heat(
            got,
            *scale(usual if np.isfinite(usual).any() else data.expected.astype(np.float64)),
            digits=True,
        ),
        *(
            Box(c - 0.46, r - 0.46, c + 0.46, r + 0.46, "", 1)
            for r, c in np.argwhere(wrong).tolist()
        ),
    )
    title = (
        tr("{output}: right", output=data.name)
        if not wrong.any()
        else tr(
            "{output}: {wrong} of {all} wrong (outlined)",
            output=data.name,
            wrong=int(wrong.sum()),
            all=wrong.size,
        )
    )
    return Panel("result", title, marks, *_cells(got), 7, 158)


def _cells(cells: np.ndarray) -> tuple[Axis, Axis]:
    across, down = (tuple((k, str(k)) for k in range(n)) for n in cells.shape[::-1])
    return (
        Axis("", -0.5, cells.shape[1] - 0.5, ticks=across),
        Axis("", cells.shape[0] - 0.5, -0.5, ticks=down),
    )


def headline(data: Data) -> list[str]:
    failing, lines = data.failing, []
    result = (
        tr("the result is {verdict}", verdict=verdict(data))
        if data.right
        else tr("no result is copied back")
    )
    if failing is None:
        lines.append(tr("All {n} calls return 0, and {result}.", n=len(data.calls), result=result))
    else:
        call = data.calls[failing]
        said = EARLY if call.function.endswith("GetWorkspaceSize") else FAILS
        lines.append(
            tr(
                said,
                k=failing + 1,
                n=len(data.calls),
                call=call.function,
                status=call.status,
                name=status_name(call.status),
                result=result,
            )
        )
    if data.misuse:
        lines.append(
            ntr(
                "The emulator has one complaint that no status code reports: the library does not notice.",
                "The emulator has {n} complaints that no status code reports: the library does not notice.",
                len(data.misuse),
            )
        )
    elif failing is None:
        lines.append(tr("The emulator has no complaint either."))
    lines.append(_workspace(data))
    return lines


def _workspace(data: Data) -> str:
    if data.workspace is None:
        return tr("Phase 1 gave no plan, so there is nothing for phase 2 to run.")
    if not data.workspace:
        if data.state.mistake == "small":
            return tr("Phase 1 asks for no workspace (so there is none to halve).")
        if data.state.mistake == "no workspace":
            return tr("Phase 1 asks for no workspace (so null is right).")
        return tr("Phase 1 asks for no workspace.")
    return tr(
        "Phase 1 asks for a workspace of {n} bytes, from shapes, strides and product.",
        n=f"{data.workspace:,}",
    )


def describe(data: Data) -> str:
    """The text twin: what the panels show, and everything that was noticed, without breaks of lines."""
    noted = [
        tr("{title}: {texts}", title=title.capitalize(), texts=tr("; ").join(texts))
        for title, texts in noticed(data)
    ]
    return "\n".join(
        [
            *headline(data),
            *notices(data),
            "",
            *noted,
            *in_words(panel for panel in panels(data) if panel.name != "words"),
        ]
    )


def notices(data: Data) -> list[str]:
    return [
        tr(
            "emulated: {soc}, CANN {cann}; nothing here was measured on hardware",
            soc=data.state.soc,
            cann=data.state.cann,
        )
    ]


def subject():
    return Subject(
        "two_phase",
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
