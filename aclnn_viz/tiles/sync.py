"""Order in a core and between cores: flags, barriers, SyncAll, and the switch to atomic sums."""

from enum import Enum

import numpy as np

from aclnn_viz.tiles.core import current
from aclnn_viz.tiles.formats import c_name
from aclnn_viz.tiles.memory import MTE2, MTE3, PIPE_NAMES, S, V
from aclnn_viz.words.speech import message

PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3, PIPE_ALL = S, V, MTE2, MTE3, None


class HardEvent(Enum):
    """The events of a vector core, source_destination."""

    def __init__(self, source: int, destination: int):
        self.source, self.destination = source, destination

    S_V, S_MTE2, S_MTE3 = (S, V), (S, MTE2), (S, MTE3)
    V_S, V_MTE2, V_MTE3 = (V, S), (V, MTE2), (V, MTE3)
    MTE2_S, MTE2_V, MTE2_MTE3 = (MTE2, S), (MTE2, V), (MTE2, MTE3)
    MTE3_S, MTE3_V, MTE3_MTE2 = (MTE3, S), (MTE3, V), (MTE3, MTE2)


def SetFlag(event: HardEvent, event_id: int):
    """Set a flag when all so far on the event's source pipe is finished. C++: `SetFlag<HardEvent::V_MTE3>(id)`."""
    core = current()
    _need_id(core, event_id)
    if (event, event_id) in core.flags:
        core.hazard("flag set twice", message("SetFlag of {event} sets id {id}, which nobody has waited for", event=event.name,
                                              id=event_id), True)
    core.flags[event, event_id] = core.snapshot(event.source)


def WaitFlag(event: HardEvent, event_id: int):
    """Let the event's destination pipe wait for a flag, and clear it."""
    core = current()
    _need_id(core, event_id)
    clock = core.flags.pop((event, event_id), None)
    if clock is None:
        core.stop("flag unpaired", message("WaitFlag waits for id {id} of {event}, which nobody has set: it would wait for ever",
                                           id=event_id, event=event.name))
    if not core.skipped():
        core.wait(event.destination, clock)


def _need_id(core, event_id: int):
    if not 0 <= event_id < core.platform.arch.events:
        core.stop("event", message("id {id} is none of the {n} of an event", id=event_id, n=core.platform.arch.events))


def PipeBarrier(pipe: int | None):
    """Let all so far on a pipe, or on all (PIPE_ALL), finish before what follows. C++: `PipeBarrier<PIPE_V>()`."""
    core = current()
    if pipe == S:
        core.stop("event", message("PipeBarrier does not take {pipe}, which is in order by itself", pipe=PIPE_NAMES[S]))
    if not core.skipped():
        core.barrier(pipe)


def SyncAll():
    """Wait until every core has come here and finished all before; that includes the own pipes (inferred)."""
    core = current()
    if not core.skipped():
        core.barrier()
        core.machine.meet(core)


def SetAtomicAdd(dtype):
    """Let copies to global memory add to what is there, until SetAtomicNone. C++: `SetAtomicAdd<float>()`."""
    core = current()
    if c_name(dtype) not in core.platform.arch.formats["SetAtomicAdd"]:
        core.stop("format", message("SetAtomicAdd is called for {dtype}", dtype=c_name(dtype)))
    core.atomic = np.dtype(dtype)


def SetAtomicNone():
    """Let copies to global memory overwrite again."""
    current().atomic = None


def GetBlockIdx() -> int:
    """The number of this core, from 0."""
    return current().index


def GetBlockNum() -> int:
    """The number of cores of the launch."""
    return len(current().machine.cores)
