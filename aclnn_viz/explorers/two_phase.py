"""Interactive picture (explorer) of CANN's two-phase call: the effect of each call, and the reports of a mistake.

The program is a list of calls for stepping; beside it are the objects that they keep alive: host memory, device memory,
handles, the plan of phase 1 and the work that phase 2 queues. The mistake is a line at a wrong place: drag it to the right
place, and back. The lesson: phase 1 plans, phase 2 queues, and the result exists after synchronise; nobody notices an
unchecked mistake.
"""

from dataclasses import dataclass, replace
from itertools import groupby
from math import prod

import numpy as np

from aclnn_viz.explorers.arrays import XP, sweep
from aclnn_viz.explorers.fields import TABLES
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.explorers.two_phase_data import State, inputs, operator_of, ran
from aclnn_viz.operators.codes import ACL_MEMCPY_HOST_TO_DEVICE, status_name
from aclnn_viz.pictures.marks import Arrows, Blocks, Box, Grip, Heat, Note, Spots, row_spots
from aclnn_viz.pictures.panels import UNIT, Axis, Panel, bare
from aclnn_viz.pictures.roles import GUIDE, MOVED, READ, WRONG
from aclnn_viz.pictures.text import choose, told
from aclnn_viz.words.messages import enumerated, message, ntr, tr

MEANINGS = {
    1: message("the caller"),
    2: message("a resource"),
    3: message("the runtime"),
    5: message("the inside of the library"),
}
POISON, ROW = 0xA5, 23  # byte that fills new memory; height of a row in pixels
PHASES = "phase 1", "phase 2"
# mistakes: a line comes too early, or is missing
EARLY = "early", "freed", "destroyed", "finalize"
LEFT_OUT = "no init", "no device", "skip", "no workspace"
PLACES = message("host side"), message("device"), message("handles")
ROWS = message("workspace"), message("plan"), message("queue")  # below those of the tensors
HOST, DEVICE, HANDLES, PLAN, QUEUE = range(5)
WIDE = 0.8  # of a column of places


@dataclass(frozen=True)
class Row:
    """Successive calls of one function with the same status."""

    calls: tuple

    @property
    def call(self):
        return self.calls[0]

    @property
    def name(self):
        return f"{self.call.function}  {_about(self.call)}".strip()

    @property
    def misuse(self):
        return [text for call in self.calls for text in call.misuse]


def rows(calls):
    alike = groupby(calls, lambda one: (one.function, one.stage, one.status, _about(one)))
    return [Row(tuple(group)) for _, group in alike]


def _to_device(call):
    return call.arguments[-1] == ACL_MEMCPY_HOST_TO_DEVICE


def _about(call):
    if call.function == "aclrtMemcpy":
        return told(_to_device(call), "to the host", "to the device")
    return tr("workspace") if (call.function, call.stage) == ("aclrtMalloc", "phase 1") else ""


@dataclass(eq=False)
class Life:
    """An object between the call that makes it and the call that frees it, as the picture draws it.

    `shelf`, a column, and `row` are its place. `born`, `filled` and `died` are the calls that make, fill and free it. `share` is its
    part of the width.
    """

    shelf: int
    row: int
    born: int
    died: float = np.inf
    filled: float = np.inf
    share: float = 1.0


def lives(data):
    """Return the objects that the calls create and free, by name; a reset of the device frees its objects."""
    names = [*(tensor.name for tensor in data.tensors), "workspace"]
    found = {
        f'host["{tensor.name}"]': Life(HOST, k, -1, filled=np.inf if tensor.output else -1)
        for k, tensor in enumerate(data.tensors)
    }
    for at, row in enumerate(rows(data.calls)):
        for call in row.calls:
            given, done = str((*call.arguments, None)[0]), call.function == "aclrtSynchronizeStream"
            if call.status and not done:
                continue
            for name in call.gives:
                if (own := name.removesuffix("_address")) in names:
                    empty = call.function == "aclrtMalloc"
                    share = _share(data, names.index(own), call) if empty else 1.0
                    shelf, filled = (DEVICE, np.inf) if empty else (HANDLES, at)
                    found[name] = Life(shelf, names.index(own), at, np.inf, filled, share)
            if call.function == "aclrtMemcpy":
                found[given].filled = at
            if call.function in ("aclrtFree", "aclDestroyTensor"):
                found[given].died = at
            if call.function.endswith("GetWorkspaceSize"):
                found["executor"] = Life(PLAN, len(names), at, np.inf, at)
            elif call.stage == "phase 2":
                found["executor"].died = at
                found["queue"] = Life(QUEUE, len(names) + 1, at, np.inf, at)
            if done and "queue" in found:
                found["queue"].died = at
                for tensor in data.tensors if not call.status else ():
                    if tensor.output:
                        found[f"{tensor.name}_address"].filled = at
            if call.function == "aclrtResetDevice":
                for life in found.values():
                    life.died = min(life.died, at) if life.shelf == DEVICE else life.died
    return found


def _share(data, column, call):
    """Return the size that a call allocates as a share, at most 1, of what the tensor or the workspace needs."""
    needed = [*(tensor.bytes for tensor in data.tensors), data.workspace][column]
    size = call.arguments[0]
    return min(size / needed, 1.0) if isinstance(size, int) and needed else 1.0


def gathered(state, *_):
    """Return the run of a state's program, and the run to compare with: without the mistake if the state has it, else
    with it.
    """
    return {"run": ran(state), "other": ran(state, not state.mended)}


def data(xp, state, run, other):
    return replace(run, state=state, other=other, xp=xp)


def compute(state, backward=None):
    """Return the data of a state; the emulator runs the program, whatever `backward` is."""
    return data(XP, state, **gathered(state))


def _at(data):
    """Return the chosen row, which may move: at first that of the mistake, mended or not, or of synchronise."""
    listed = rows(data.calls)
    wrong = [row.call.status or row.misuse for row in listed]
    waits = [row.call.function == "aclrtSynchronizeStream" for row in listed]
    first = next((k for each in (wrong, waits) for k, one in enumerate(each) if one), 0)
    if data.state.mended and (moved := _moved(data)):
        first = moved[1]
    call = data.state.call
    return data.xp.where(call < 0, first, data.xp.minimum(call, len(listed) - 1))


def panels(data):
    return [program(data), memory(data), storage(data)]


def program(data):
    """Return every call with its status, the two phases, errors and the chosen call."""
    listed, at = rows(data.calls), _at(data) + 0.0
    stages = [row.call.stage for row in listed]
    low = max(len(listed), len(rows(data.other.calls))) + 0.6  # the same with and without mistake
    marks = [Note(0.92, -1.0, tr("status"), "right")]
    for name in filter(stages.__contains__, PHASES):
        first, last = stages.index(name), stages.index(name) + stages.count(name) - 1
        marks.append(Box(0.0, first - 0.5, 1.0, last + 0.5, kind=GUIDE, filled=0.12))
        marks.append(Note(0.78, first, tr(name), "right"))
    for k, row in enumerate(listed):
        status = row.call.status
        sign = "✗ " if status or row.misuse else ""
        if sign:
            marks.append(Box(0.006, k - 0.36, 0.994, k + 0.36, kind=WRONG, filled=0.2))
        text = sign + row.name + f"  ×{len(row.calls)}" * (len(row.calls) > 1)
        marks += [
            Note(0.03, k, text, "left", 0.58 if stages[k] in PHASES else 0.78),
            Note(0.92, k, tr("handle") if status is None else str(status), "right"),
        ]
    marks += [
        row_spots([*map(_said, listed)], [(("call", k),) for k in range(len(listed))]),
        *_line(data),
        Box(0.0, at - 0.5, 1.0, at + 0.5, kind=READ),
    ]
    return Panel(
        "calls",
        told(
            _moved(data) is not None,
            "Calls on the emulated {soc}, CANN {cann}",
            "Calls on the emulated {soc}, CANN {cann}. Drag the square: its call moves.",
            soc=data.state.soc,
            cann=data.state.cann,
        ),
        marks,
        UNIT,
        bare(low, -1.6),
        11,
        int(ROW * low),
    )


def _said(row):
    call = row.call
    status = f"→ {call.status} {status_name(call.status)}" if call.status else ""
    return "\n".join(filter(None, [call.code, status, call.message, *map(tr, row.misuse)]))


def _moved(data):
    """Return the line of the mistake, its right place and its wrong one; a missing line is below the program."""
    names = [[row.name for row in rows(calls)] for calls in (data.calls, data.other.calls)]
    right, wrong = names if data.state.mended else names[::-1]
    first = next((k for k, pair in enumerate(zip(right, wrong)) if pair[0] != pair[1]), None)
    if first is None or data.state.mistake not in EARLY + LEFT_OUT:
        return None
    if data.state.mistake in LEFT_OUT:
        return right[first], first, len(names[0])
    return wrong[first], len(right) - 1 - right[::-1].index(wrong[first]), first


def _line(data):
    """Yield the line of the mistake, for dragging to its right place and back."""
    if not (moved := _moved(data)):
        return
    line, home, astray = moved
    way = home - astray
    label = tr("the line {line}: drag it to where it belongs, or away", line=line)
    if not data.state.mended:
        if data.state.mistake in LEFT_OUT:
            yield Note(0.05, astray, tr("left out: {line}", line=line), "left", 0.9)
        yield Arrows(*np.array([[0.97], [astray], [0.0], [way]]), MOVED)
    unit = -astray / way, 1.0 / way, 1
    yield Grip(0.97, home if data.state.mended else astray, ("mended",), (unit,), label, MOVED)


def memory(data):
    """Return the panel of what exists when the chosen call has returned: a row for each tensor, a column for each place.

    A blue frame is around what this call makes, fills or frees.
    """
    xp, at, found, listed = data.xp, _at(data), lives(data), rows(data.calls)
    names, order = [*(tensor.name for tensor in data.tensors), *map(tr, ROWS)], [*found.values()]
    born, died, filled, share, y, shelf = (
        np.array([float(getattr(life, name)) for life in order])
        for name in ("born", "died", "filled", "share", "row", "shelf")
    )
    across = shelf >= PLAN
    x, wide = np.where(across, HOST, shelf), np.where(across, HANDLES + WIDE, WIDE * share)
    wrong = np.array([data.right.get(names[life.row]) is False for life in order]) & (shelf == HOST)
    none = np.zeros(len(order))
    says = {
        PLAN: tr("{n} bytes of workspace", n=f"{data.workspace or 0:,}"),
        QUEUE: operator_of(data.state).aclnn_name,
    }

    def blocks(there, beyond, values, stripes, words, kind):
        high, broad = 0.38 + beyond, beyond / 2
        corners = x - broad, y + 0.5 - high, x + wide + broad, y + 0.5 + high
        there = xp.where(there, corners[0], np.nan)
        return Blocks(there, *corners[1:], values, stripes, len(names) - 1.0, words, kind)

    exists, full, dies = (born <= at) & (at < died), filled <= at, died == at
    gone = tuple(choose(one, "", tr("gone")) for one in dies)
    empty = tuple(choose(one, tr("empty"), "") for one in full)
    words = tuple("✗" if bad else says.get(at, "") for at, bad in zip(shelf, wrong))
    marks = [
        blocks((born == at) | (filled == at) | dies, 0.09, none + np.nan, none, gone, READ),
        blocks(exists, 0.0, none + np.nan, none, empty, GUIDE),
        blocks(exists & full, 0.0, y, wrong + 0.0, words, WRONG),
        *(Note(k + WIDE / 2, -0.5, tr(place)) for k, place in enumerate(PLACES)),
        Spots(x, y, x + wide, y + 1.0, [_lifetime(*one, listed) for one in found.items()]),
    ]
    ticks = [(k + 0.5, name) for k, name in enumerate(names)]
    return Panel(
        "memory",
        tr("What exists when this call has returned"),
        marks,
        bare(-0.1, HANDLES + 1.0),
        Axis("", len(names) + 0.1, -1.0, ticks=ticks),
        9,
        24 * len(names) + 24,
        near=True,
    )


def _lifetime(name, life, listed):
    last = listed[int(life.died)].call.function if life.died < len(listed) else tr("the end")
    first = listed[life.born].call.function if life.born >= 0 else tr("the start")
    return tr("{name}: from {first} to {last}", name=name, first=first, last=last)


def caption(data):
    """Return the caption: the effect of the chosen call, and reports of a mistake."""
    said = [_sentence(data, row) for row in rows(data.calls)]
    if data.state.mended and (moved := _moved(data)):
        said[moved[1]] = tr("[b:This call is where it belongs.] {said}", said=said[moved[1]])
    return choose(_at(data), *said)


def _sentence(data, row):
    call, names = row.call, {"call": row.call.function, "verdict": verdict(data)}
    if call.status:
        names |= {
            "status": call.status,
            "name": status_name(call.status),
            "who": tr(MEANINGS[int(str(call.status)[0])]),
            "said": call.message.removeprefix(f"{call.function}: "),
        }
        return tr(
            "[11:{call} returns {status}, {name}:] [b:{who} is to blame.] The library says: {said}.",
            **names,
        )
    if row.misuse:
        return tr(
            "[11:{call} returns 0, though the call is wrong:] {text}. [b:Only the emulator notices.]",
            text=tr(row.misuse[0].values["what"]),
            **names,
        )
    stages = {
        "start": message("First the library, the device and a stream, on which work is queued."),
        "memory": message(
            "Allocate memory of the device for every tensor, and copy the inputs there."
        ),
        "tensors": message("A handle says how a tensor lies in its memory: shape, strides, dtype."),
        "phase 1": message("The caller allocates as much workspace as phase 1 asked for."),
        "phase 2": message("[b:Phase 2 only queues:] it returns before anything is computed."),
        "stream": message(
            "[b:Synchronise waits:] now the outputs lie in the memory of the device."
        ),
        "release": message("Handles are destroyed, and memory is freed. {verdict}"),
    }
    text = stages[call.stage]
    if call.function.endswith("GetWorkspaceSize"):
        text = message(
            "[b:Phase 1 plans:] it checks everything, computes nothing, and asks for {n} bytes."
        )
    if call.function == "aclrtMemcpy" and not _to_device(call):
        text = message("The output is copied back. {verdict}")
    return tr(text, n=f"{data.workspace or 0:,}", **names)


def plays(data):
    last = len(rows(data.calls)) - 1
    return sweep(tr("step through the calls"), "call", 6.0, (0, last), steps=last)


def verdict(data):
    if not data.right:
        return tr("No output was copied back.")
    wrong = [name for name, right in data.right.items() if not right]
    if not wrong:
        return tr("All outputs are right.")
    if data.name not in wrong:
        return tr("Wrong: {outputs}.", outputs=enumerated(wrong))
    off, size = _wrong(data), data.fetched.dtype.itemsize
    raw = np.ascontiguousarray(data.fetched).view(np.uint8).reshape(*data.fetched.shape, size)
    # the emulator fills fresh memory with this byte
    fresh = int((raw == POISON).all(axis=-1).sum())
    also = "".join(tr(", and {output}", output=name) for name in wrong if name != data.name)
    return told(
        fresh > 0,
        "{wrong} of {all} elements of {output} are wrong.",
        "{wrong} of {all} elements of {output} are wrong: {fresh} were never written, and show what was in the memory before.",
        wrong=int(off.sum()),
        all=off.size,
        fresh=fresh,
        output=data.name + also,
    )


def _wrong(data):
    got, right = (each.astype(np.float64) for each in (data.fetched, data.expected))
    return ~((data.fetched == data.expected) | (np.isnan(got) & np.isnan(right)))


def storage(data):
    """Return the storage, row by row; cells of the view show the number of their element."""
    layout, (rows, columns) = data.chosen.layout, data.chosen.layout.shape[-2:]
    cells = np.full(prod(layout.storage), np.nan)
    layout.view(cells)[...] = np.arange(float(rows * columns)).reshape(rows, columns)
    cells = cells.reshape(-1, *layout.storage[-2:])[0]
    title = tr(
        "Storage of {tensor}: which element of the view lies where; strides {strides}, offset {offset}",
        tensor=data.chosen.name,
        strides=list(layout.strides[-2:]),
        offset=layout.offset,
    )
    return Panel(
        "storage",
        title,
        (Heat(cells, "sequential", 0, rows * columns - 1, digits=True),),
        Axis(""),
        Axis(tr("position"), ticks=[(k, str(k * cells.shape[1])) for k in range(len(cells))]),
        20,
        158,
        more=True,
    )


def headline(data):
    failing, names = data.failing, {"n": len(data.calls), "verdict": verdict(data)}
    if failing is None:
        lines = [tr("All {n} calls return 0. {verdict}", **names)]
    else:
        call = data.calls[failing]
        names |= {
            "k": failing + 1,
            "call": call.function,
            "status": call.status,
            "name": status_name(call.status),
        }
        lines = [tr("Call {k} of {n}, {call}, fails with {status} {name}. {verdict}", **names)]
    if data.misuse:
        lines.append(
            ntr(
                "The emulator has one complaint that no status code reports: the library does not notice.",
                "The emulator has {n} complaints that no status code reports: the library does not notice.",
                len(data.misuse),
            )
        )
    return [
        *lines,
        told(
            data.workspace is None,
            "Phase 1 asks for a workspace of {n} bytes, from shapes, strides and product.",
            "Phase 1 gave no plan, so there is nothing for phase 2 to run.",
            n=f"{data.workspace or 0:,}",
        ),
    ]


def around(data):
    """Return the lines before and after the panels in words: every call, and every report."""
    calls = ["  " + _said(row).replace("\n", "; ") for row in rows(data.calls)]
    return [*headline(data), *notices(data)], ["", *calls]


def notices(data):
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
        around,
        notices=notices,
        caption=caption,
        plays=plays,
        live=(gathered, data),
        recorded=TABLES["two_phase"]["pages"],
    )
