"""Hazards: what is wrong with a tile program although it may print the right numbers, each kind with a sentence.

Names such as ErrorSync1 are those of the checker in the vendor's CPU debugging (asc-tools, docs/02_npu_check.md).
"""

import linecache
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """What one kind of hazard means, what mends it, and the vendor's names for it when reading and when writing."""

    meaning: str
    fix: str
    on_read: str = ""
    on_write: str = ""


KINDS = {
    "unwritten": Kind("reads bytes that nobody wrote", "write them first: memory is never zero by itself",
                      "ErrorRead2"),
    "padding": Kind("uses the padding lanes of a copy as data",
                    "count only the lanes that were copied, or give them a value with "
                    "DataCopyPadExtParams(True, 0, lanes, value)", "ErrorRead2"),
    "beyond tensor": Kind("reaches beyond the tensor", "mend the offset, the count, or the length given to InitBuffer",
                          "ErrorRead3", "ErrorWrite2"),
    "beyond unified buffer": Kind("reaches beyond the Unified Buffer", "mend the offset or the count",
                                  "ErrorRead3", "ErrorWrite2"),
    "beyond global memory": Kind("reaches beyond a tensor in global memory", "shorten the last tile",
                                 "ErrorRead3", "ErrorWrite2"),
    "misaligned": Kind("starts at an address of the Unified Buffer that is no multiple of 32 bytes",
                       "round offsets and lengths up to 32 bytes", "ErrorRead4", "ErrorWrite4"),
    "shortened copy": Kind("moves whole blocks of 32 bytes and silently leaves out the rest",
                           "use DataCopyPad, or copy a multiple of 32 bytes"),
    "copy parameters": Kind("has a parameter that it does not take", "keep each in its range and in its unit"),
    "missing wait": Kind("does not wait for another pipe", "hand the tensor over with EnQue and DeQue, or set and wait "
                         "for a flag between the two", "ErrorSync2", "ErrorSync1"),
    "missing barrier": Kind("does not wait for an earlier instruction of its own pipe", "put a PipeBarrier between",
                            "ErrorSync2", "ErrorSync1"),
    "missing scalar wait": Kind("does not wait between the scalar unit and another pipe",
                                "set and wait for a flag between the two", "ErrorSync2", "ErrorSync1"),
    "used after FreeTensor": Kind("uses a tensor that was freed", "free it after its last use",
                                  "ErrorRead1", "ErrorWrite1"),
    "used after EnQue": Kind("uses a tensor between EnQue and DeQue", "take the tensor that DeQue returns",
                             "ErrorRead1", "ErrorWrite1"),
    "queue not freed": Kind("leaves no block free: AllocTensor would wait for ever",
                            "call FreeTensor for each tensor that was dequeued", "ErrorLeak", "ErrorLeak"),
    "never freed": Kind("ends with a block that was not freed", "call FreeTensor once for each AllocTensor",
                        "ErrorLeak", "ErrorLeak"),
    "freed twice": Kind("frees a block that is free", "call FreeTensor once for each AllocTensor", "ErrorFree",
                        "ErrorFree"),
    "not initialised": Kind("uses a queue or buffer that no InitBuffer gave memory", "call InitBuffer first",
                            "ErrorBuffer0", "ErrorBuffer0"),
    "another queue": Kind("puts a tensor into a queue that it does not come from", "use the queue that allocated it",
                          "ErrorBuffer1", "ErrorBuffer1"),
    "queue order": Kind("breaks the order AllocTensor, EnQue, DeQue, FreeTensor", "follow that order for each block",
                        "ErrorBuffer2", "ErrorBuffer2"),
    "queue empty": Kind("takes from an empty queue: DeQue would wait for ever", "EnQue before DeQue"),
    "queue depth": Kind("puts more tensors into a queue than its depth", "DeQue before the next EnQue"),
    "ninth buffer": Kind("holds more buffers of one position than there are events",
                         "free a tensor first, or use fewer queues"),
    "too many buffers": Kind("asks for more buffers than a TPipe can hold", "use fewer, larger buffers"),
    "buffer of no bytes": Kind("asks for a buffer without bytes", "treat a tile length of zero apart"),
    "unified buffer full": Kind("asks for more than the Unified Buffer holds", "use shorter tiles or fewer buffers"),
    "second pipe": Kind("uses a buffer of one TPipe after another was made, which hands out the same bytes",
                        "make one TPipe a kernel, or be done with its buffers before the next"),
    "flag set twice": Kind("sets a flag that is still set", "wait for it before setting it again", "ErrorSync4",
                           "ErrorSync4"),
    "flag unpaired": Kind("leaves a flag without its partner", "pair each SetFlag with one WaitFlag of the same event "
                          "and id", "ErrorSync3", "ErrorSync3"),
    "event": Kind("names an event or pipe that a vector core does not have",
                  "use one of the HardEvents and ids 0 to 7"),
    "race between cores": Kind("meets another core in global memory with no SyncAll between",
                               "let each core own what it writes, add with SetAtomicAdd, or put SyncAll between"),
    "dirty atomics": Kind("adds onto global memory that nobody cleared", "write zeros first, then SyncAll"),
    "atomic mode left on": Kind("ends while SetAtomicAdd is still on", "call SetAtomicNone after the last atomic copy"),
    "repeat beyond 255": Kind("has a repeat or stride that does not fit 8 bits, and is taken modulo 256",
                              "split the call, or use the form with a count"),
    "mask": Kind("has a mask that does not fit one repeat", "use 1 to 64 lanes of 32 bits, 1 to 128 of 16 bits"),
    "format": Kind("is not offered for these formats on this product", "cast to float, compute, cast back"),
    "overlap": Kind("has operands that overlap without being the same", "use another buffer"),
    "alignment of a comparison": Kind("compares lanes that do not fill 256 bytes, the rest of which is left out",
                                      "round the count up to 256 bytes, and let every lane hold a value"),
    "input overwritten": Kind("writes to an input", "write to an output or the workspace"),
    "deadlock": Kind("waits for ever", "let every core call SyncAll the same number of times"),
    "output not written": Kind("leaves elements of an output unwritten", "let the tiles cover the whole tensor"),
}


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

    def __str__(self) -> str:
        name = f"{self.kind} ({self.vendor})" if self.vendor else self.kind
        return f"{name}, core {self.core}, line {self.line}: {self.text}"


class Stop(BaseException):
    """Ends the program of a core that cannot go on; nothing in a program should catch it."""


class Hazards:
    """The hazards of a run in the order in which they showed, one for each kind and line."""

    def __init__(self):
        self._found: dict[tuple, Hazard] = {}

    def add(self, kind: str, what: str, core: int, where: tuple[str, int], writing: bool = False):
        """Note that `what` showed a hazard: "<what> <meaning>; <fix>"."""
        file, line = where
        key = kind, file, line
        if key in self._found:
            old = self._found[key]
            self._found[key] = Hazard(kind, old.text, old.core, line, file, old.vendor, old.times + 1)
            return
        known = KINDS[kind]
        vendor = known.on_write if writing else known.on_read
        self._found[key] = Hazard(kind, f"{what}; {known.fix}", core, line, file, vendor)

    def __iter__(self):
        return iter(self._found.values())

    def __len__(self):
        return len(self._found)
