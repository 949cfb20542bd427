"""Hazards: what is wrong with a tile program although it may print the right numbers, each kind with a sentence.

Names such as ErrorSync1 are those of the checker in the vendor's CPU debugging (asc-tools, docs/02_npu_check.md).
"""

import linecache
from dataclasses import dataclass

from aclnn_viz.words.messages import Message, meant, message, tr


@dataclass(frozen=True)
class Kind:
    """What one kind of hazard means, what mends it, and the vendor's names for it when reading and when writing."""

    meaning: str
    fix: str
    on_read: str = ""
    on_write: str = ""


KINDS = {
    message("unwritten"): Kind(
        message("reads bytes that nobody wrote"), message("write them first: memory is never zero by itself"), "ErrorRead2"),
    message("padding"): Kind(
        message("uses the padding lanes of a copy as data"),
        message("count only the lanes that were copied, or give them a value with "
                "DataCopyPadExtParams(True, 0, lanes, value)"), "ErrorRead2"),
    message("beyond tensor"): Kind(
        message("reaches beyond the tensor"),
        message("mend the offset, the count, or the length given to InitBuffer"), "ErrorRead3", "ErrorWrite2"),
    message("beyond unified buffer"): Kind(
        message("reaches beyond the Unified Buffer"), message("mend the offset or the count"), "ErrorRead3", "ErrorWrite2"),
    message("beyond global memory"): Kind(
        message("reaches beyond a tensor in global memory"), message("shorten the last tile"), "ErrorRead3", "ErrorWrite2"),
    message("misaligned"): Kind(
        message("starts at an address of the Unified Buffer that is no multiple of 32 bytes"),
        message("round offsets and lengths up to 32 bytes"), "ErrorRead4", "ErrorWrite4"),
    message("shortened copy"): Kind(
        message("moves whole blocks of 32 bytes and silently leaves out the rest"),
        message("use DataCopyPad, or copy a multiple of 32 bytes")),
    message("copy parameters"): Kind(
        message("has a parameter that it does not take"), message("keep each in its range and in its unit")),
    message("missing wait"): Kind(
        message("does not wait for another pipe"),
        message("hand the tensor over with EnQue and DeQue, or set and wait for a flag between the "
                "two"), "ErrorSync2", "ErrorSync1"),
    message("missing barrier"): Kind(
        message("does not wait for an earlier instruction of its own pipe"),
        message("put a PipeBarrier between"), "ErrorSync2", "ErrorSync1"),
    message("missing scalar wait"): Kind(
        message("does not wait between the scalar unit and another pipe"),
        message("set and wait for a flag between the two"), "ErrorSync2", "ErrorSync1"),
    message("used after FreeTensor"): Kind(
        message("uses a tensor that was freed"), message("free it after its last use"), "ErrorRead1", "ErrorWrite1"),
    message("used after EnQue"): Kind(
        message("uses a tensor between EnQue and DeQue"),
        message("take the tensor that DeQue returns"), "ErrorRead1", "ErrorWrite1"),
    message("queue not freed"): Kind(
        message("leaves no block free: AllocTensor would wait for ever"),
        message("call FreeTensor for each tensor that was dequeued"), "ErrorLeak", "ErrorLeak"),
    message("never freed"): Kind(
        message("ends with a block that was not freed"),
        message("call FreeTensor once for each AllocTensor"), "ErrorLeak", "ErrorLeak"),
    message("freed twice"): Kind(
        message("frees a block that is free"), message("call FreeTensor once for each AllocTensor"), "ErrorFree", "ErrorFree"),
    message("not initialised"): Kind(
        message("uses a queue or buffer that no InitBuffer gave memory"),
        message("call InitBuffer first"), "ErrorBuffer0", "ErrorBuffer0"),
    message("another queue"): Kind(
        message("puts a tensor into a queue that it does not come from"),
        message("use the queue that allocated it"), "ErrorBuffer1", "ErrorBuffer1"),
    message("queue order"): Kind(
        message("breaks the order AllocTensor, EnQue, DeQue, FreeTensor"),
        message("follow that order for each block"), "ErrorBuffer2", "ErrorBuffer2"),
    message("queue empty"): Kind(message("takes from an empty queue: DeQue would wait for ever"), message("EnQue before DeQue")),
    message("queue depth"): Kind(
        message("puts more tensors into a queue than its depth"), message("DeQue before the next EnQue")),
    message("no event id"): Kind(
        message("finds no free event id: queues hold one from EnQue to DeQue, and one for each block that waits after FreeTensor"),
        message("use fewer queues or blocks, or FreeAllEvent of a queue that is done")),
    message("event id in use"): Kind(
        message("meets another's flag: a flag of one event and id that is set twice is undefined, and a core may hang"),
        message("take an id from AllocEventID, or from FetchEventID just before the flag is set"), "ErrorSync4", "ErrorSync4"),
    message("event id not allocated"): Kind(
        message("uses an id that a queue may hold, too"),
        message("in a program with queues, take ids from AllocEventID or FetchEventID of the TPipe")),
    message("event id not released"): Kind(
        message("ends with an id that AllocEventID took"), message("call ReleaseEventID after the last use")),
    message("too many buffers"): Kind(
        message("asks for more buffers than a TPipe can hold"), message("use fewer, larger buffers")),
    message("buffer of no bytes"): Kind(message("asks for a buffer without bytes"), message("treat a tile length of zero apart")),
    message("unified buffer full"): Kind(
        message("asks for more than the Unified Buffer holds"), message("use shorter tiles or fewer buffers")),
    message("second pipe"): Kind(
        message("uses a buffer of one TPipe after another was made, which hands out the same bytes"),
        message("make one TPipe a kernel, or be done with its buffers before the next")),
    message("flag set twice"): Kind(
        message("sets a flag that is still set"), message("wait for it before setting it again"), "ErrorSync4", "ErrorSync4"),
    message("flag unpaired"): Kind(
        message("leaves a flag without its partner"),
        message("pair each SetFlag with one WaitFlag of the same event and id"), "ErrorSync3", "ErrorSync3"),
    message("event"): Kind(
        message("names an event or pipe that a vector core does not have"), message("use one of the HardEvents and ids 0 to 7")),
    message("race between cores"): Kind(
        message("meets another core in global memory with no SyncAll between"),
        message("let each core own what it writes, add with SetAtomicAdd, or put SyncAll between")),
    message("dirty atomics"): Kind(
        message("adds onto global memory that nobody cleared"), message("write zeros first, then SyncAll")),
    message("atomic mode left on"): Kind(
        message("ends while SetAtomicAdd is still on"), message("call SetAtomicNone after the last atomic copy")),
    message("repeat beyond 255"): Kind(
        message("has a repeat or stride that does not fit 8 bits, and is taken modulo 256"),
        message("split the call, or use the form with a count")),
    message("mask"): Kind(
        message("has a mask that does not fit one repeat"), message("use 1 to 64 lanes of 32 bits, 1 to 128 of 16 bits")),
    meant("format", "a format that is not offered"): Kind(
        message("is not offered for these formats on this product"), message("cast to float, compute, cast back")),
    message("overlap"): Kind(message("has operands that overlap without being the same"), message("use another buffer")),
    message("alignment of a comparison"): Kind(
        message("compares lanes that do not fill 256 bytes, the rest of which is left out"),
        message("round the count up to 256 bytes, and let every lane hold a value")),
    message("block stride"): Kind(
        message("has a block stride of 0 for its result, which is undefined"), message("use 1, or the repeat stride for a running sum")),
    message("integer overflow"): Kind(
        message("wraps around"), message("compute in a wider format, or keep the numbers smaller")),
    message("data cache"): Kind(
        message("passes by a scalar unit's cache, which is kept apart from global memory"),
        message("call DataCacheCleanAndInvalid after scalar writes, and before scalar reads of what others wrote")),
    message("input overwritten"): Kind(message("writes to an input"), message("write to an output or the workspace")),
    message("deadlock"): Kind(message("waits for ever"), message("let every core call SyncAll the same number of times")),
    message("output not written"): Kind(
        message("leaves elements of an output unwritten"), message("let the tiles cover the whole tensor")),
    message("program ended"): Kind(
        message("ends the program, or never ends"), message("mend the pointer or the loop behind the last call that is named")),
}
MEANT = {kind: kind for kind in KINDS}  # a plain text as the message that says it


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
        """The line of the program, without its indentation."""
        return linecache.getline(self.file, self.line).strip()

    @property
    def sentence(self) -> Message:
        """The hazard with its place, as a message that is kept."""
        return message(SENTENCES[bool(self.vendor)], kind=self.kind, vendor=self.vendor, core=self.core, line=self.line, text=self.text)

    def __str__(self) -> str:
        return tr(self.sentence)


SENTENCES = (message("{kind}, core {core}, line {line}: {text}"), message("{kind} ({vendor}), core {core}, line {line}: {text}"))


class Stop(BaseException):
    """Ends the program of a core that cannot go on; nothing in a program should catch it."""


class Hazards:
    """The hazards of a run in the order in which they showed, one for each kind and line."""

    def __init__(self):
        self._found: dict[tuple, Hazard] = {}

    def add(self, kind: str, what: Message, core: int, where: tuple[str, int], writing: bool = False):
        """Note that `what` showed a hazard: "<what> <meaning>; <fix>"."""
        file, line = where
        kind = MEANT[kind]
        key = kind, file, line
        if key in self._found:
            old = self._found[key]
            self._found[key] = Hazard(kind, old.text, old.core, line, file, old.vendor, old.times + 1)
            return
        known = KINDS[kind]
        vendor = known.on_write if writing else known.on_read
        text = message("{what}; {fix}", what=what, fix=known.fix)
        self._found[key] = Hazard(kind, text, core, line, file, vendor)

    def __iter__(self):
        return iter(self._found.values())

    def __len__(self):
        return len(self._found)
