"""Flags between pipes and their event ids (`SetFlag`, `WaitFlag`), on simulated cores, with a record of the holder of each id.

An event (source pipe, destination pipe) has few ids, 0 to 7 on Atlas A2. A queue takes the lowest free one at EnQue until
DeQue, and at FreeTensor until the block's next AllocTensor; `AllocEventID` takes one until `ReleaseEventID`; `FetchEventID`
returns a free id without taking it. A program without queues chooses ids from 0 to 5.

Source: asc-devkit, docs/zh/api/SIMD-API, SetFlag-WaitFlag(ISASI), TPipe/AllocEventID, TPipe/FetchEventID, TQue简介;
impl/basic_api/kernel_tquebind_impl.h.
"""

from enum import Enum
from typing import NamedTuple

from aclnn_viz.tiles.machine import current
from aclnn_viz.tiles.memory import MTE2, MTE3, S, V
from aclnn_viz.words.messages import message

OWN = 6  # ids for a program without queues; the last two belong to the system


class HardEvent(Enum):
    """The events of a vector core, named SOURCE_DESTINATION by their pipes; V_V is the event of a queue in VECCALC."""

    def __init__(self, source: int, destination: int):
        self.source, self.destination = source, destination

    S_V, S_MTE2, S_MTE3 = (S, V), (S, MTE2), (S, MTE3)
    V_S, V_V, V_MTE2, V_MTE3 = (V, S), (V, V), (V, MTE2), (V, MTE3)
    MTE2_S, MTE2_V, MTE2_MTE3 = (MTE2, S), (MTE2, V), (MTE2, MTE3)
    MTE3_S, MTE3_V, MTE3_MTE2 = (MTE3, S), (MTE3, V), (MTE3, MTE2)


class Holder(NamedTuple):
    """The holder of an id: the call, its line, and the call that releases it."""

    call: str
    line: int
    until: str


def free_id(core, event: HardEvent, call: str) -> int:
    """Return the lowest free id of an event; stop the core if none is free."""
    for number in range(core.platform.arch.events):
        if (event, number) not in core.ids:
            return number
    held = sorted({holder.line for (other, _), holder in core.ids.items() if other is event})
    core.stop(
        "no event id",
        message(
            "{call} needs an id of {event}, all {n} of which are held by lines {lines}",
            call=call,
            event=event.name,
            n=core.platform.arch.events,
            lines=", ".join(map(str, held)),
        ),
        True,
    )


def take(core, event: HardEvent, call: str, until: str) -> int:
    """Take the lowest free id of an event, as AllocEventID does for queues and programs."""
    number = free_id(core, event, call)
    if (event, number) in core.flags:
        core.hazard(
            "event id in use",
            message(
                "{call} takes id {id} of {event}, which SetFlag in line {line} has set",
                call=call,
                id=number,
                event=event.name,
                line=core.flags[event, number][1],
            ),
            True,
        )
    core.ids[event, number] = Holder(call, core.where()[1], until)
    return number


def _checked(core, call: str, event: HardEvent, number: int):
    """Record a hazard, or stop the core, if a program may not set or await this id now."""
    if not 0 <= number < core.platform.arch.events:
        core.stop(
            "event",
            message(
                "id {id} is none of the {n} of an event", id=number, n=core.platform.arch.events
            ),
        )
    names = {"call": call, "id": number, "event": event.name}
    holder, queues = core.ids.get((event, number)), bool(core.pipes and core.pipes[-1].queues)
    if holder is None and queues and (event, number) not in core.fetched:
        core.hazard(
            "event id not allocated",
            message(
                "{call} uses id {id} of {event}, which neither AllocEventID nor FetchEventID gave",
                **names,
            ),
            True,
        )
    elif holder is None and not queues and number >= OWN:
        core.hazard(
            "event",
            message(
                "{call} uses id {id} of {event}, which is the system's",
                **names,
            ),
        )
    elif holder is not None and holder.call != "AllocEventID":
        core.hazard(
            "event id in use",
            message(
                "{call} uses id {id} of {event}, which {holder} in line {line} holds until {until}",
                **names,
                holder=holder.call,
                line=holder.line,
                until=holder.until,
            ),
            True,
        )


def SetFlag(event: HardEvent, event_id: int):
    """Set a flag when all earlier instructions on the event's source pipe are finished. C++: `SetFlag<HardEvent::V_MTE3>(id)`."""
    core = current()
    _checked(core, "SetFlag", event, event_id)
    if (event, event_id) in core.flags:
        core.hazard(
            "flag set twice",
            message(
                "SetFlag of {event} sets id {id}, which nobody has waited for since line {line}",
                event=event.name,
                id=event_id,
                line=core.flags[event, event_id][1],
            ),
            True,
        )
    core.flags[event, event_id] = core.snapshot(event.source), core.where()[1]


def WaitFlag(event: HardEvent, event_id: int):
    """Let the event's destination pipe wait for a flag, and clear it."""
    core = current()
    _checked(core, "WaitFlag", event, event_id)
    clock, _ = core.flags.pop((event, event_id), (None, 0))
    if clock is None:
        core.stop(
            "flag unpaired",
            message(
                "WaitFlag waits for id {id} of {event}, which nobody has set: it would wait for ever",
                id=event_id,
                event=event.name,
            ),
        )
    if not core.skipped(True):
        core.wait(event.destination, clock)
