"""Hazards, mistakes of an Ascend C kernel that may still print the right numbers: a sentence and a remedy for each kind.

Names such as ErrorSync1 are those of the checker in the vendor's CPU debugging (asc-tools, docs/02_npu_check.md).
"""

import linecache
from dataclasses import dataclass, replace

from aclnn_viz.words.messages import Message, meant, message, tr


@dataclass(frozen=True)
class Kind:
    """One kind of hazard: its fix, and the vendor's name for a hazard in reading, and in writing if that differs."""

    fix: str
    on_read: str = ""
    on_write: str = ""
    warns: bool = False  # whether a device would continue, with right or wrong numbers


KINDS = {
    message("unwritten"): Kind(
        message("write them first: memory is never zero by itself"), "ErrorRead2"
    ),
    message("padding"): Kind(
        message(
            "count only the lanes that were copied, or give them a value with DataCopyPadExtParams(True, 0, lanes, value)"
        ),
        "ErrorRead2",
    ),
    message("beyond tensor"): Kind(
        message("correct the offset, the count, or the length given to InitBuffer"),
        "ErrorRead3",
        "ErrorWrite2",
    ),
    message("beyond unified buffer"): Kind(
        message("correct the offset or the count"), "ErrorRead3", "ErrorWrite2"
    ),
    message("beyond global memory"): Kind(
        message("shorten the last tile"), "ErrorRead3", "ErrorWrite2"
    ),
    message("read past the end"): Kind(
        message("shorten the last tile, or say which padding the tensor has"), warns=True
    ),
    message("queue position"): Kind(
        message("name a position of the Unified Buffer: VECIN, VECCALC or VECOUT"), warns=True
    ),
    message("buffer without bytes"): Kind(
        message("leave the buffer out, or call InitBuffer before"), warns=True
    ),
    message("misaligned"): Kind(
        message("round offsets and lengths up to 32 bytes"), "ErrorRead4", "ErrorWrite4"
    ),
    message("shortened copy"): Kind(message("use DataCopyPad, or copy a multiple of 32 bytes")),
    message("copy parameters"): Kind(message("keep each parameter in its range and in its unit")),
    message("missing wait"): Kind(
        message(
            "hand the tensor over with EnQue and DeQue, or set and wait for a flag between the two"
        ),
        "ErrorSync2",
        "ErrorSync1",
    ),
    message("missing barrier"): Kind(
        message("put a PipeBarrier between"), "ErrorSync2", "ErrorSync1"
    ),
    message("missing scalar wait"): Kind(
        message("set and wait for a flag between the two"), "ErrorSync2", "ErrorSync1"
    ),
    message("used after FreeTensor"): Kind(
        message("free the tensor after its last use"), "ErrorRead1", "ErrorWrite1"
    ),
    message("used after EnQue"): Kind(
        message("take the tensor that DeQue returns"), "ErrorRead1", "ErrorWrite1"
    ),
    message("queue not freed"): Kind(
        message("call FreeTensor for each tensor that was dequeued"), "ErrorLeak"
    ),
    message("never freed"): Kind(message("call FreeTensor once for each AllocTensor"), "ErrorLeak"),
    message("freed twice"): Kind(message("call FreeTensor once for each AllocTensor"), "ErrorFree"),
    message("not initialised"): Kind(message("call InitBuffer first"), "ErrorBuffer0"),
    message("another queue"): Kind(
        message("use the queue that allocated the tensor"), "ErrorBuffer1"
    ),
    message("queue order"): Kind(
        message("allocate, enqueue, dequeue and free each block in this order"), "ErrorBuffer2"
    ),
    message("queue empty"): Kind(message("EnQue before DeQue")),
    message("queue depth"): Kind(message("DeQue before the next EnQue")),
    message("no event id"): Kind(
        message("use fewer queues or blocks, or FreeAllEvent of a queue that is done")
    ),
    message("event id in use"): Kind(
        message("take an id from AllocEventID, or from FetchEventID just before the flag is set"),
        "ErrorSync4",
    ),
    message("event id not allocated"): Kind(
        message("in a program with queues, take ids from AllocEventID or FetchEventID of the TPipe")
    ),
    message("event id not released"): Kind(message("call ReleaseEventID after the last use")),
    message("too many buffers"): Kind(message("use fewer, larger buffers")),
    message("buffer of no bytes"): Kind(message("handle a tile of length zero separately")),
    message("unified buffer full"): Kind(message("use shorter tiles or fewer buffers")),
    message("second pipe"): Kind(
        message("make one TPipe in a kernel, or finish with its buffers before the next TPipe")
    ),
    message("flag set twice"): Kind(
        message("wait for the flag before the flag is set again"), "ErrorSync4"
    ),
    message("flag unpaired"): Kind(
        message("pair each SetFlag with one WaitFlag of the same event and id"), "ErrorSync3"
    ),
    message("event"): Kind(message("use one of the HardEvents, and an id from 0 to 7")),
    message("race between cores"): Kind(
        message(
            "let each core own the memory that it writes, or add with SetAtomicAdd, or put SyncAll between the writes"
        )
    ),
    message("dirty atomics"): Kind(message("write zeros first, then SyncAll")),
    message("atomic mode left on"): Kind(message("call SetAtomicNone after the last atomic copy")),
    message("repeat beyond 255"): Kind(message("split the call, or use the form with a count")),
    message("mask"): Kind(message("use 1 to 64 lanes of 32 bits, 1 to 128 of 16 bits")),
    meant("format", "a format that is not offered"): Kind(
        message("cast to float, compute, cast back")
    ),
    message("overlap"): Kind(message("use another buffer")),
    message("alignment of a comparison"): Kind(
        message("round the count up to 256 bytes, and let every lane hold a value")
    ),
    message("block stride"): Kind(
        message("use a block stride of 1, or the repeat stride for a running sum")
    ),
    message("integer overflow"): Kind(
        message("compute in a wider format, or keep the numbers smaller")
    ),
    message("data cache"): Kind(
        message(
            "call DataCacheCleanAndInvalid after scalar writes, and before scalar reads of what others wrote"
        )
    ),
    message("shared cache line"): Kind(
        message(
            "let each line of 64 bytes have one writer: give each core whole lines, or collect the values in the Unified "
            "Buffer and copy them"
        )
    ),
    message("input overwritten"): Kind(message("write to an output or the workspace")),
    message("deadlock"): Kind(
        message(
            "let every core call SyncAll the same number of times, and set each flag that another waits for"
        )
    ),
    message("output not written"): Kind(message("let the tiles cover the whole tensor")),
    message("program ended"): Kind(
        message("correct the pointer or the loop after the last call that this message names")
    ),
}
MEANT = {kind: kind for kind in KINDS}  # message of each kind, by its plain text


@dataclass(frozen=True)
class Hazard:
    """One hazard: its kind, a sentence, the core, the file and line of the program, and the vendor's name or "".

    `times` counts how often the same line showed it on all cores.
    """

    kind: str
    text: str
    core: int
    line: int
    file: str
    vendor: str = ""
    times: int = 1

    @property
    def source(self) -> str:
        """Return the line of the program, without its indentation."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def sentence(self) -> Message:
        """Return the hazard with its place, as a message."""
        return message(
            SENTENCES[bool(self.vendor)],
            kind=self.kind,
            vendor=self.vendor,
            core=self.core,
            line=self.line,
            text=self.text,
        )

    def __str__(self) -> str:
        return tr(self.sentence)


SENTENCES = (
    message("{kind}, core {core}, line {line}: {text}"),
    message("{kind} ({vendor}), core {core}, line {line}: {text}"),
)


class Stop(BaseException):
    """Ends the program of a core that cannot continue; programs must not catch it."""


class Hazards:
    """The hazards of a run in order of occurrence, one per kind and line."""

    def __init__(self):
        self._found: dict[tuple, Hazard] = {}

    def add(
        self, kind: str, what: Message, core: int, where: tuple[str, int], writing: bool = False
    ):
        """Record a hazard with the text "<what>; <fix>"; a hazard of the same kind in the same line is only counted."""
        file, line = where
        kind = MEANT[kind]
        key = kind, file, line
        if old := self._found.get(key):
            self._found[key] = replace(old, times=old.times + 1)
            return
        known = KINDS[kind]
        vendor = writing and known.on_write or known.on_read
        text = message("{what}; {fix}", what=what, fix=known.fix)
        self._found[key] = Hazard(kind, text, core, line, file, vendor)

    def __iter__(self):
        return (one for one in self._found.values() if not KINDS[one.kind].warns)

    @property
    def warnings(self) -> tuple[Hazard, ...]:
        """Return the warnings, which a device ignores, apart from hazards."""
        return tuple(one for one in self._found.values() if KINDS[one.kind].warns)
