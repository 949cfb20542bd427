"""Panels of one core in the interactive picture (explorer) of Ascend C kernels: the use of a second buffer, and the effect of
a missing wait.

Tiles lie on tapes in global memory. MTE2 copies them to slots of the Unified Buffer, V works there, MTE3 copies them back; a
tile keeps its hue in tape, slot, timeline and output. Below are the pipes in time, for dragging; beside them the running
lines. The lesson: V works on one tile while the next arrives. A wait makes that safe, and a missing wait gives no message.
"""

import linecache
from functools import lru_cache
from itertools import groupby
from types import SimpleNamespace

import numpy as np
from numpy import inf, nan

from aclnn_viz.explorers.arrays import element, first, point
from aclnn_viz.explorers.tiles_data import pipe_name
from aclnn_viz.pictures.marks import Arrows, Blocks, Box, Grip, Note, Rule, Spots, row_spots
from aclnn_viz.pictures.panels import UNIT, Axis, Panel, bare, ticks
from aclnn_viz.pictures.roles import GUIDE, INK, MOVED, READ, WRONG
from aclnn_viz.pictures.text import choose, told, written
from aclnn_viz.tiles.memory import MTE2, MTE3, S, V
from aclnn_viz.words.messages import enumerated, message, tr

ORDER = {
    MTE2: message("MTE2 loads"),
    V: message("V computes"),
    MTE3: message("MTE3 stores"),
    S: message("S, scalars"),
}
TAPES, SLOTS, LINES = 4, 16, 24  # most drawn tensors, slots and lines
LETTERS = 48  # most letters of a line of the program
LETTER = 0.012  # width of a letter of a slot's name, as a share of the panel's width
GAIN = 1.02  # time with one buffer over time with two, from which the caption says that two help
ROOM = 0.15  # most delay that a reader can give the copy, as a share of the run's time
MARGIN = 0.2  # of the scale of time beyond the longer run, as a share of the run's time
WIDE = 0.965  # end of the axis, as a share of that scale: just beyond the run with the most delay
HALF = 0.3  # half of a bar's height, as a share of a row
ROUND = 0.05  # room beside the chain for a finger, as a share of the panel's width
BRIEF = 0.01  # shorter waits, as a share of a run's time, are not drawn


class Scene:
    """A core at a moment: times of its instructions, the running one on each pipe, and its errors."""

    def __init__(self, xp, data):
        core, state = data.core, data.state
        self.xp, self.data, self.core, self.room = xp, data, core, ROOM * core.span
        self.span = max(core.span, data.other.span if data.other else 0.0) + MARGIN * core.span
        self.late = state.late * self.room
        self.start, self.end = (xp.maximum(a, b + self.late) for a, b in (core.start, core.end))
        self.early = 0
        if data.unguarded:
            self.early = self.count(self.start[core.readers] < self.end[core.copy])
        self.wrong = xp.astype(element(xp, core.wrong, self.early), xp.float64)
        self.done = xp.max(self.end) if core.jobs else 0.0
        self.now = xp.minimum(state.at * self.span, self.done)
        self.running = (self.start <= self.now) & (self.now < self.end)
        self.high = float(max(core.tile.max(initial=1), 1))
        self.names = [f"{k + 1}" for k in core.tile]
        self.work = {pipe: self._work(np.flatnonzero(core.pipes == pipe)) for pipe in ORDER}

    @property
    def idle(self):
        start, end = self.waits
        return self.xp.sum(self.xp.maximum(end - start, 0.0)) if start.size else 0.0

    @property
    def waits(self):
        """Return starts and ends of V's idle times between its tiles, also before it reads the late copy of a later one."""
        own = self.work[V][0]
        tile = self.core.tile[own]
        late = np.isin(own[1:], self.core.readers[:1]) * tile[1:]
        turns = np.flatnonzero(np.diff(tile) | late)
        return self.end[own[turns]], self.start[own[turns + 1]]

    def count(self, there):
        return self.xp.astype(self.xp.sum(self.xp.where(there, 1.0, 0.0)), self.xp.int64)

    def _work(self, own):
        """Return the instructions `own` of a pipe, and the number of the running one
        among them, from 1 on; 0 if none runs.
        """
        if not own.size:
            return own, 0
        begun = self.count(self.start[own] <= self.now)
        last = element(self.xp, self.end[own], self.xp.maximum(begun - 1, 0))
        return own, self.xp.where((begun > 0) & (self.now < last), begun, 0)

    def working(self, pipe, values, nothing=nan):
        """Return the element of `values` for the running instruction of a pipe."""
        own, at = self.work[pipe]
        return element(self.xp, np.array([nothing, *np.asarray(values)[own]]), at)

    def blocks(self, corners, k, there=None, sound=False):
        """Return a cell for each of the instructions `k`, coloured by its tile;
        where `there` is false, the cell is hidden.
        """
        x0, *others = corners
        wrong = np.zeros(len(k)) if sound else self.wrong[k]
        x0 = x0 if there is None else self.xp.where(there, x0, nan)
        return Blocks(
            x0,
            *others,
            self.core.tile[k].astype(float),
            wrong,
            self.high,
            tuple(self.names[one] for one in k),
        )

    def frames(self, corners, kind=GUIDE):
        none = np.zeros(corners[0].size)
        return Blocks(*corners, none + nan, none, self.high, (), kind)

    def time(self, value, digits=".2f"):
        if self.data.times:
            return tr("{time} µs", time=written(value, digits))
        return tr("{time} steps", time=written(value, ".1f"))


def _corners(k, many, y):
    """Return the corners (4, n), as x0, y0, x1, y1, of the cells `k` of rows that hold `many` side by side."""
    k, y = np.asarray(k, float), np.asarray(y, float) + 0.0 * np.asarray(k)
    return np.array([(k + 0.05) / many, y + 0.1, (k + 1.0) / many, y + 1.0])


@lru_cache(16)
def laid(core):
    """Return the layout: corners (4, n) of copied parts and of slots; rows with their names."""
    ins, outs = (
        [*dict.fromkeys(one[0] for one, at in zip(core.parts, core.pipes) if one and at == pipe)]
        for pipe in (MTE2, MTE3)
    )
    ins, shelf = ins[:TAPES], len(ins[:TAPES]) + 1.5
    outs = [name for name in outs if name not in ins][:TAPES]
    row = {name: float(k) for k, name in enumerate(ins)}
    row |= {name: shelf + 3.8 + k for k, name in enumerate(outs)}
    most = max((one[1] + 1 for one in core.parts if one), default=1)
    parts = np.array([(one[1], row.get(one[0], nan)) if one else (0, nan) for one in core.parts])
    many = min(max(len(core.slots), 1), SLOTS)
    into, out = {k: slot for slot, k, _ in core.held}, dict(core.read)
    via = [(into if at == MTE2 else out).get(k, SLOTS) for k, at in enumerate(core.pipes)]
    parts = _corners(*parts.reshape(-1, 2).T[:1], most, parts.reshape(-1, 2).T[1])
    parts[0, np.isnan(parts[1]) | (np.array(via) >= SLOTS)] = nan
    ways = ("MTE2 ↓", len(ins)), ("", shelf), ("V", shelf + 1.8), ("MTE3 ↓", shelf + 2.8)
    return SimpleNamespace(
        parts=parts,
        slot=lambda k: _corners(k, many, shelf),
        via=via,
        shown=range(min(len(core.slots), SLOTS)),
        shelf=shelf,
        rows=[(y + 0.5, name) for name, y in (*row.items(), *ways)],
        lanes=(len(ins), shelf + 2.8),
        bottom=shelf + 3.9 + len(outs),
    )


def machine(scene):
    """Return the panel of a core at a moment: tensors cut into parts, slots,
    the vector unit V, and copies on their way.
    """
    core, place = scene.core, laid(scene.core)
    marks = []
    for pipe in (MTE2, MTE3):
        own = np.flatnonzero(core.pipes == pipe)
        corners, leaves = place.parts[:, own], pipe == MTE3
        if own.size:
            done = scene.end[own] <= scene.now if leaves else None
            marks += [scene.frames(corners)] if leaves else []
            marks += [scene.blocks(corners, own, done, sound=not leaves)]
            marks.append(
                Spots(
                    *corners,
                    [
                        tr("{tensor}, part {k}: {n} bytes", tensor=name, k=k + 1, n=n)
                        for name, k, n in (core.parts[one] for one in own)
                    ],
                )
            )
    marks += [*_shelf(scene, place), *_copies(scene, place), *_vector(scene, place)]
    return Panel(
        "machine",
        tr(
            "Memory of core {core} at this moment, emulated: global memory, Unified Buffer, and back",
            core=scene.data.state.core,
        ),
        marks,
        bare(-0.002, 1.006),
        Axis("", place.bottom, 0.0, ticks=[(y, name or tr("slots")) for y, name in place.rows]),
        13,
        int(min(27 * place.bottom, 274)),
        below="timeline",
    )


def _shelf(scene, place):
    """Yield the slots with their present tiles and names."""
    xp, core = scene.xp, scene.core
    frames = place.slot(np.arange(len(place.shown)))
    slot, k, after = core.held[core.held[:, 0] < SLOTS].T
    there = (scene.end[k] <= scene.now) & (scene.now < xp.where(after < 0, inf, scene.end[after]))
    texts, labels = [], []
    for number in place.shown:
        own, block = k[slot == number], core.slots[number]
        which = scene.count(scene.end[own] <= scene.now) if own.size else 0
        left = [
            tr("tile {k}, from {name}", k=scene.names[one], name=core.jobs[one].name) for one in own
        ]
        name = tr(block.label or block.name)
        what = choose(which, tr("nothing yet"), *left)
        texts.append(tr("{name}, {n} bytes: {what}", name=name, n=block.length, what=what))
        touched = [*own, *core.read[core.read[:, 1] == number, 0]]
        copied = any(core.pipes[one] in (MTE2, MTE3) for one in touched)
        labels.append(name.removesuffix("Que") if copied else tr("V alone"))
    yield from (
        scene.frames(frames),
        scene.blocks(place.slot(slot), k, there),
        Spots(*frames, texts),
    )
    for name, group in groupby(place.shown, lambda number: labels[number]):
        first, *_, last = (*group,) * 2
        left, right = frames[0, first], frames[2, last]
        if len(name) * LETTER < right - left:
            yield Note((left + right) / 2, place.shelf - 0.2, name)


def _vector(scene, place):
    """Yield the box of the vector unit with its present tile, and arrows from its sources and to its results."""
    xp, core, top = scene.xp, scene.core, place.shelf + 1.8
    own, at = scene.work[V]
    says = [tr("{name}, tile {k}", name=core.jobs[k].name, k=scene.names[k]) for k in own]
    corners = [np.full(1, end) for end in (0.28, top, 0.72, top + 1.0)]
    wrong = element(xp, xp.concat([np.zeros(1), scene.wrong[own]]), at)
    yield Note(0.5, top + 0.5, choose(xp.minimum(at, 1), tr("V is idle"), ""))
    yield Blocks(
        xp.where(at > 0, corners[0], nan),
        *corners[1:],
        point(scene.working(V, core.tile)),
        point(wrong),
        scene.high,
        (choose(at, "", *says),),
        WRONG,
    )
    for pairs, kind, middle in ((core.read, READ, 0.42), (core.held[:, 1::-1], INK, 0.58)):
        k, slot = pairs[(core.pipes[pairs[:, 0]] == V) & (pairs[:, 1] < SLOTS)].T
        x0, _, x1, y = place.slot(slot)
        x, up, sign = (x0 + x1) / 2, top - y, 1 if kind == READ else -1
        there = xp.where(scene.running[k], x if sign > 0 else middle + 0.0 * x, nan)
        if k.size:
            yield Arrows(there, y if sign > 0 else y + up, sign * (middle - x), sign * up, kind)


def _copies(scene, place):
    """Yield copies on their way, each in the lane of its pipe, from the place of its part to that of its slot or back."""
    own = np.flatnonzero(np.isin(scene.core.pipes, (MTE2, MTE3)))
    if not own.size:
        return
    share = (scene.now - scene.start[own]) / (scene.end[own] - scene.start[own])
    leaves = scene.core.pipes[own] == MTE3
    ends = place.parts[:, own], place.slot(np.array(place.via)[own])
    a, b = (np.where(leaves, *each) for each in (ends[::-1], ends))
    x0, _, x1, _ = a + (b - a) * share * share * (3.0 - 2.0 * share)
    y = np.where(leaves, *place.lanes[::-1]) + 0.05 + 0.35 * share
    yield scene.blocks((x0, y, x1, y + 0.6), own, scene.running[own])


def source(scene):
    """Return the program's lines that this core runs; running lines have the hue of their tile."""
    core, hazards = scene.core, scene.data.hazards
    file = next((one.file for one in (*core.jobs, *hazards) if one.file), "")
    lines = sorted({one.line for one in (*core.jobs, *hazards) if one.file == file and one.line})
    guilty = [hazard.line for hazard in hazards if hazard.line in lines][:2]
    first = max(0, min((lines.index(guilty[0]) if guilty else 0) - LINES // 2, len(lines) - LINES))
    lines = lines[first:][:LINES]
    at = np.array(
        [
            lines.index(job.line) if job.line in lines and job.file == file else nan
            for job in core.jobs
        ]
    )
    marks, rows = [], len(lines) or 1
    for pipe in ORDER:
        row, tile = (point(scene.working(pipe, each)) for each in (at, core.tile))
        left = row * 0.0
        marks += [
            Blocks(left, row - 0.5, left + 0.025, row + 0.5, tile, np.zeros(1), scene.high),
            scene.frames((left + 0.03, row - 0.48, left + 0.995, row + 0.48), READ),
        ]
    texts = [linecache.getline(file, line).strip() for line in lines]
    for k, text in enumerate(texts):
        shown = text if len(text) <= LETTERS else text[:LETTERS].rpartition(",")[0] + ","
        marks.append(Note(0.045, k, "✗ " * (lines[k] in guilty) + shown, "left", 0.95))
    marks.append(row_spots(texts))
    return Panel(
        "source",
        tr("Lines of the program at work"),
        marks,
        UNIT,
        Axis("", rows - 0.4, -0.5, ticks=[(k, str(line)) for k, line in enumerate(lines)]),
        7,
        17 * rows,
        rows=2,
    )


def timeline(scene):
    """Return the pipes in time, for dragging, with the wait as a chain; below them the run with the other number of buffers."""
    core, span, other = scene.core, scene.span, scene.data.other
    used = [pipe for pipe in ORDER if pipe != S or (core.pipes == S).any()]
    rows = [(k, tr(ORDER[pipe])) for k, pipe in enumerate(used)]
    bottom, now = len(used) - 0.2, scene.now / span
    marks = [Rule("x", now, "", MOVED)]  # the blocks lie on it: it cuts no number
    if core.jobs:
        marks += _run(scene, used)
        marks += _ended(scene, scene.done, bottom - 2.1, bottom - 0.5, bottom - 1.3)
    else:
        marks.append(Note(0.5, 1.0, why_idle(scene.data)))
    if other and core.jobs:
        low = bottom + 0.2 + 0.45 * np.array([[*ORDER].index(pipe) for pipe in other.pipes])
        start, end = (np.maximum(*each) / span for each in (other.start, other.end))
        tile = other.tile.astype(float)
        marks.append(
            Blocks(
                start, low, end, low + 0.36, tile, 0 * start, tile.max(initial=1), (), WRONG, 0.55
            )
        )
        top, bottom = bottom + 0.1, bottom + 0.2 + 0.45 * len(used)
        marks += _ended(scene, other.span, top, bottom, top - 0.12)
        lane = told(
            scene.data.state.buffers == 2,
            "two\nbuffers:\n{n} tiles",
            "one\nbuffer:\n{n} tiles",
            n=len({*other.tile}),
        )
        rows.append(((top + bottom) / 2, lane))
    moment = tr("moment: {time}", time=scene.time(scene.now))
    marks += [
        Grip(now, -1.3, ("at",), ((0.0, 1.0, 0),), moment, MOVED, look="move"),
        *_chain(scene),  # whose square lies before the head where both are at one moment
    ]
    return Panel(
        "timeline",
        told(
            scene.data.unguarded,
            "V waits {idle} in all. Drag the head, or the square where a copy ends; click the chain.",
            "V still waits {idle} for other copies. Drag the square where this copy ends; click the chain.",
            idle=scene.time(scene.idle),
        ),
        marks,
        Axis(
            tr("µs, from published rates, not measured")
            if scene.data.times
            else tr("steps: an order, no cycles"),
            0.0,
            WIDE,
            ticks=[(at / span, text) for at, text in ticks(Axis(), 0.0, span)],
        ),
        Axis("", bottom, -1.6, ticks=rows),
        13,
        int(42 * (bottom + 1.65)) + 34,
        pick=("at",),
    )


def _ended(scene, end, top, low, beside):
    """Return a line at the end of a run, with its time."""
    at = end / scene.span
    return (
        Box(at, top, at, low, kind=INK),
        Note(at + 0.008, beside, scene.time(end), "left", -0.016),
    )


def _run(scene, used):
    """Yield the instructions in time, and V's idle times with their lengths, which a second buffer would fill."""
    start, end = scene.waits
    gaps = end - start
    there = scene.xp.where(gaps > BRIEF * scene.span, start, nan) / scene.span
    row, none = np.full(start.size, float(used.index(V))), np.zeros(start.size)
    ends = there, row - HALF, end / scene.span, row + HALF
    words = tuple(tr("waits {time}", time=scene.time(gaps[k])) for k in range(start.size))
    yield Blocks(*ends, none + nan, none, 1.0, words, READ)
    row = np.array([used.index(pipe) for pipe in scene.core.pipes], float)
    corners = scene.start / scene.span, row - HALF, scene.end / scene.span, row + HALF
    yield scene.blocks(corners, np.arange(row.size))
    yield Spots(*corners, *_said(scene))
    yield Spots(*ends, words)


def _said(scene):
    """Return the texts that the pointer shows on instructions; a click on a copy makes that copy late."""
    texts, sets = [], []
    for k, (job, takes) in enumerate(zip(scene.core.jobs, scene.core.takes)):
        takes = takes + scene.late if k == scene.core.copy else takes
        texts.append(
            tr(
                "{pipe}, tile {k}: {name} in line {line}, {time}",
                pipe=pipe_name(job.pipe),
                name=job.name,
                line=job.line,
                k=scene.names[k],
                time=scene.time(takes, ".3f"),
            )
        )
        sets.append((("tile", int(scene.core.tile[k])),) if job.pipe == MTE2 else ())
    return texts, sets


def _chain(scene):
    """Yield the handle that drags the end of the late copy, and the wait for
    that copy as a chain, broken if nothing waits.
    """
    core, span, wait = scene.core, scene.span, scene.data.state.wait
    if not core.readers:
        return
    end, begins = scene.end[core.copy] / span, scene.start[core.readers[0]] / span
    links = np.array([0.0, 0.5, 1.0] if wait else [0.0, 0.3, 0.6, 0.9])
    # the parts of a broken one hang apart
    x, y = end + (begins - end) * (links if wait else links.round()), 0.3 + 0.34 * links
    yield scene.frames((x - 0.013, y - 0.06, x + 0.013, y + 0.06), READ if wait else WRONG)
    yield Note(
        scene.xp.max(x) + 0.025,
        0.5,
        told(wait, "✗ broken", "chain"),
        "left",
    )
    yield Note(end + 0.025, -0.62, tr("copy ends"), "left")
    top = np.full(1, 0.2)
    # as large as a finger needs, below the handle
    yield Spots(
        scene.xp.minimum(x[:1], x[-1:]) - ROUND,
        top,
        scene.xp.maximum(x[:1], x[-1:]) + ROUND,
        1.0 - top,
        (
            told(
                wait,
                "the wait is missing: V does not wait for this copy; click to mend it",
                "the wait: V begins when this copy has landed; click to break it",
            ),
        ),
        ((("wait", not wait),),),
    )
    unit = -max(core.end[0][core.copy], core.end[1][core.copy]) / scene.room, span / scene.room, 0
    yield Grip(
        end,
        -0.62,
        ("late", "at"),  # the head goes with it
        (unit, (0.0, 1.0, 0)),
        tr(
            "end of the copy of tile {k}, {time} late",
            k=scene.names[core.copy],
            time=scene.time(scene.late),
        ),
        MOVED,
    )


def why_idle(data):
    """Return the reason why a core has no instructions, in words."""
    core = data.state.core
    return told(
        core < data.work.run.cores,
        "core {core} gets nothing to do",
        "core {core} stops before its first instruction",
        core=core,
    )


def _sentences(data, core):
    """Return the sentences that may describe a moment."""
    one = data.state.buffers == 1 and data.other is not None
    gain = core.span / data.other.span if data.other else 0.0
    helps = gain > GAIN if one else gain < 1.0 / GAIN
    return [
        message(
            "The [7:copy] of tile {k} lands late, and V waits for it. [b:Slow, but right.] Break the [5:chain] to see what happens without the wait."
        ),
        message("Done after {time}. With two buffers the program takes {other}.")
        if one
        else message("Done after {time}. With one buffer the program takes {other}.")
        if data.other
        else message("Done after {time}."),
        message("V works on tile {v} while more of the same tile arrives."),
        message("V works on tile {v} while tile {a} arrives. [b:That is the second buffer.]")
        if helps and not one
        else message(
            "V works on tile {v} while tile {a} arrives: [b:its slot was free again, one buffer is enough.]"
        ),
        message("V works on tile {v}. All tiles have come."),
        message(
            "V works on tile {v}. [b:No tile can arrive:] the only slot of each queue ({slots}) is taken. A second buffer would let the next tile in."
        )
        if helps and one
        else message("V works on tile {v}. [b:The next copy waits for this work,] not for a slot.")
        if not helps
        else message(
            "V works on tile {v}. [b:No tile can arrive:] no slot of the queues ({slots}) is free."
        ),
        message("Tile {a} arrives. [b:It is the first:] V has no other tile to work on meanwhile."),
        message(
            "Tile {a} arrives. [b:The vector unit V has nothing to do:] it [5:waits] for the copy, in all {idle} of {time}. With two buffers the program takes {other}."
        )
        if helps and one
        else message(
            "Tile {a} arrives, and V [5:waits] for it, in all {idle} of {time}. [b:Two buffers do not help here:] with them the program takes {other}."
        )
        if one
        else message(
            "Tile {a} arrives. [b:The vector unit V has nothing to do:] it [5:waits] for the copy, in all {idle} of {time}."
        ),
        message("Tile {z} is copied out. [b:Neither V nor the copy in has work.]"),
        message("At this moment no pipe works."),
        message(
            "The wait for tile {k} is missing, but its copy lands in time. [b:The result is right by luck.] Drag the [7:end of the copy] to the right."
        ),
        message(
            "V does not wait: it works on tile {k} [11:before its copy has landed,] on what lay in the slot before. [b:Nothing stops.]"
        ),
    ]


def caption(scene):
    """Return the caption: the pipes' work at this moment, and its meaning."""
    data, core, xp, now = scene.data, scene.core, scene.xp, scene.now
    if not core.jobs:
        return why_idle(data)
    if data.hazards:
        return tr("[11:✗ {hazard}] The stripes show where.", hazard=data.hazards[0])
    comes, works, goes = (scene.working(pipe, core.tile + 1, 0) for pipe in (MTE2, V, MTE3))
    names = {key: written(tile, "d") for key, tile in (("a", comes), ("v", works), ("z", goes))}
    queues = {core.slots[slot].label: 0 for slot, k, _ in core.held if core.pipes[k] == MTE2}
    names |= {
        "slots": enumerated(one[:-3] for one in queues if one.endswith("Que")),
        "k": scene.names[core.copy],
        "time": scene.time(scene.done),
        "idle": scene.time(scene.idle),
        "other": scene.time(data.other.span if data.other else core.span),
    }
    options = [tr(text, **names) for text in _sentences(data, core)]
    options[3] = tr("{what} {then}", what=options[3], then=options[1])
    for each in core.off:
        options.append(
            tr(
                "Without the wait V reads tile {k} before its [7:copy] ends: [11:{n} numbers of {outputs} are wrong,] [b:and nothing says so.]",
                k=names["k"],
                n=f"{sum(each.values()):,}",
                outputs=tr(", ").join(name for name, n in each.items() if n),
            )
        )
    if data.unguarded:
        which = first(
            xp,
            scene.early == 0,
            (scene.start[core.readers[0]] <= now)
            & (now < scene.end[core.copy])
            & (works == core.tile[core.copy] + 1),
        )
        return choose(which, *options[10:12], choose(scene.early, *options[12:]))
    which = first(
        xp,
        scene.late * len(core.readers) > 0.0,
        now >= scene.done,
        (comes > 0) & (comes == works),
        (comes > 0) & (works > 0),
        (works > 0) & (scene.count(scene.end[scene.work[MTE2][0]] > now) == 0),
        works > 0,
        comes == 1,
        comes > 0,
        goes > 0,
    )
    return choose(which, *options)
