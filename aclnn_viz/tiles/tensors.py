"""Ascend C's tensors and buffers on simulated cores: `GlobalTensor`, `LocalTensor`, `TPipe.InitBuffer`, queues with events
(`TQue`), `TBuf`.

`GlobalTensor` names a part of global memory, `LocalTensor` a part of the Unified Buffer. Indexing is in elements, as in
C++: `x[64]` is the tensor that starts 64 elements further.
"""

from collections import Counter, deque
from enum import Enum
from typing import NamedTuple

import numpy as np

from aclnn_viz.tiles.events import HardEvent, free_id, take
from aclnn_viz.tiles.machine import DOES, current
from aclnn_viz.tiles.memory import MTE2, MTE3, Address, Span, V
from aclnn_viz.tiles.platforms import BLOCK, c_name
from aclnn_viz.words.messages import message


class Tensor:
    """Access of the scalar unit to a tensor, element by element."""

    alone: dict = {}  # arguments with which span() gives one element

    def GetValue(self, index: int):
        """Read one element by the scalar unit, as a number of its format."""
        span = self[index].span("GetValue", False, self.dtype.itemsize, **self.alone)
        current().scalar_read("GetValue", self.memory, span)
        return span.values(self.memory.bytes, self.dtype)[0]

    def SetValue(self, index: int, value):
        """Write one element by the scalar unit: in global memory into its cache; others see it after DataCacheCleanAndInvalid."""
        span = self[index].span("SetValue", True, self.dtype.itemsize, **self.alone)
        place, number = (
            span.values(self.memory.bytes, self.dtype),
            np.asarray(value).astype(self.dtype),
        )

        def run():
            place[0] = number

        current().scalar_write("SetValue", self.memory, span, run)


class GlobalTensor(Tensor):
    """A tensor in global memory. C++: `GlobalTensor<T>`; here the type is the argument."""

    def __init__(self, dtype):
        self.dtype, self.memory, self.start, self.size = np.dtype(dtype), None, 0, None

    def SetGlobalBuffer(self, address, size: int | None = None):
        """Set the tensor's start to an address, a kernel argument; `size` elements only serve checks."""
        self.memory, self.start = address if isinstance(address, Address) else (address, 0)
        self.size = size

    def __getitem__(self, offset: int) -> "GlobalTensor":
        part = GlobalTensor(self.dtype)
        part.memory, part.start = self.memory, self.start + int(offset) * self.dtype.itemsize
        part.size = None if self.size is None else self.size - int(offset)
        return part

    def __repr__(self):
        return f"GlobalTensor<{c_name(self.dtype)}> in {getattr(self.memory, 'name', None)} at byte {self.start}"

    def span(self, name: str, writing: bool, length: int, shape=(), strides=()) -> Span:
        """Return the bytes that an instruction accesses from the tensor's start on, checked against its memory."""
        core = current()
        if self.memory is None:
            core.stop(
                "beyond global memory",
                message("{name} reaches for a GlobalTensor without SetGlobalBuffer", name=name),
                writing,
            )
        span = Span(self.start, length, shape, strides)
        past = span.end > self.memory.size + self.memory.padded * self.memory.room
        if self.start < 0 or past:
            held = self.memory.array.dtype
            what = message(
                "{name} reaches for bytes {start} to {end} of {tensor}, which has {size}",
                name=name,
                start=self.start,
                end=span.end,
                tensor=self.memory.name,
                size=self.memory.size,
            )
            if held != self.dtype and self.memory.name != "workspace":
                what = message(
                    "{what} (it holds {held}, this GlobalTensor is of {dtype})",
                    what=what,
                    held=c_name(held),
                    dtype=c_name(self.dtype),
                )
            if self.start < 0 or span.end > self.memory.size + self.memory.room:
                core.stop("beyond global memory", what, writing)
            core.hazard("beyond global memory" if writing else "read past the end", what, writing)
        elif self.size is not None and span.end - self.start > self.size * self.dtype.itemsize:
            rounded = -(-self.size * self.dtype.itemsize // BLOCK) * BLOCK
            core.hazard(
                "read past the end"
                if not writing and span.end - self.start <= rounded
                else "beyond tensor",
                message(
                    "{name} reaches {n} elements far into a GlobalTensor of {size}",
                    name=name,
                    n=(span.end - self.start) // self.dtype.itemsize,
                    size=self.size,
                ),
                writing,
            )
        core.formats[self.memory, span] = self.dtype
        return span


class LocalTensor(Tensor):
    """A tensor in the Unified Buffer of a core; `block` is its queue's block or TBuf from TPipe."""

    alone = {"align": 1}

    def __init__(self, block, start: int, end: int, dtype):
        self.block, self.start, self.end, self.dtype = block, start, end, np.dtype(dtype)
        self.turn = block.turn
        self.memory = current().ub

    def __getitem__(self, offset: int) -> "LocalTensor":
        return LocalTensor(
            self.block, self.start + int(offset) * self.dtype.itemsize, self.end, self.dtype
        )

    def __repr__(self):
        return f"LocalTensor<{c_name(self.dtype)}> in {self.block.name} at byte {self.start}"

    def GetSize(self) -> int:
        """Return the number of elements."""
        return (self.end - self.start) // self.dtype.itemsize

    def ReinterpretCast(self, dtype) -> "LocalTensor":
        """Return the same bytes as a tensor of another type."""
        return LocalTensor(self.block, self.start, self.end, dtype)

    def span(
        self,
        name: str,
        writing: bool,
        length: int,
        shape=(),
        strides=(),
        offset: int = 0,
        align: int = BLOCK,
    ) -> Span:
        """Return the bytes that an instruction accesses, checked against block, alignment and the Unified Buffer."""
        core = current()
        self.block.check_use(core, name, writing, self.turn)
        if self.start % align:
            core.hazard(
                "misaligned",
                message(
                    "{name} {does} from byte {start} on, {past} past a multiple of {align}",
                    name=name,
                    does=DOES[writing],
                    start=self.start,
                    past=self.start % align,
                    align=align,
                ),
                writing,
            )
        span = Span(self.start + offset, length, shape, strides)
        if span.start < 0 or span.end > core.ub.size:
            core.stop(
                "beyond unified buffer",
                message(
                    "{name} reaches byte {end} of {size}",
                    name=name,
                    end=span.end,
                    size=core.ub.size,
                ),
                writing,
            )
        self._need_inside(core, name, writing, span)
        core.formats[self.memory, span] = self.dtype
        return span

    def _need_inside(self, core, name: str, writing: bool, span: Span):
        """Record a hazard if bytes lie before the block, or behind the end of the tensor."""
        if span.start < self.block.start:
            core.hazard(
                "beyond tensor",
                message(
                    "{name} {does} from {before} bytes before {block} on",
                    name=name,
                    does=DOES[writing],
                    before=self.block.start - span.start,
                    block=self.block.name,
                ),
                writing,
            )
        if span.end > self.end:
            core.hazard(
                "beyond tensor",
                message(
                    "{name} {does} up to byte {end} of a tensor of {size} bytes in {block}",
                    name=name,
                    does=DOES[writing],
                    end=span.end - self.start,
                    size=self.end - self.start,
                    block=self.block.name,
                ),
                writing,
            )

    def part(
        self, name: str, writing: bool, length: int, *form, **options
    ) -> tuple[Span, np.ndarray]:
        """Return a span, checked as in `span`, and its elements."""
        span = self.span(name, writing, length, *form, **options)
        return span, span.values(self.memory.bytes, self.dtype)

    def operand(self, core, name: str, writing: bool, count: int) -> tuple[Span, np.ndarray]:
        """Return the span of the first `count` elements, and the elements, from a cache: tiles repeat the request."""
        key = self.block, self.start, self.end, self.dtype, count
        operand = core.ub.operands.get(key)
        if operand is not None:
            self.block.check_use(core, name, writing, self.turn)
            core.formats[self.memory, operand[0]] = self.dtype
            return operand
        span, _ = operand = self.part(name, writing, count * self.dtype.itemsize)
        if self.start % BLOCK == 0 and self.block.start <= self.start and span.end <= self.end:
            core.ub.operands[key] = (
                operand  # the next use skips the checks that this operand passed
            )
        return operand


class TPosition(Enum):
    """The use of a buffer; all three positions lie in the Unified Buffer, and differ in the pipes that fill and empty them."""

    def __init__(self, filler: int, emptier: int):
        self.filler, self.emptier = filler, emptier
        self.filled, self.freed = HardEvent((filler, emptier)), HardEvent((emptier, filler))

    VECIN = (MTE2, V)
    VECCALC = (V, V)
    VECOUT = (V, MTE3)


VECIN, VECCALC, VECOUT = TPosition
FREE, OCCUPIED, ENQUE, DEQUE = (
    message("free"),
    message("allocated"),
    message("enqueued"),
    message("dequeued"),
)
OF, THAT_IS = (
    message("{call} is given a tensor of {block}"),
    message("{call} is given a tensor that is {state}"),
)


class Block:
    """A part of the Unified Buffer and its state; `turn` counts its allocations.

    `label` is the program's name for its queue or buffer, "" if none was found.
    """

    def __init__(self, name: str, label: str, start: int, length: int, state: str = FREE):
        self.name, self.label, self.start, self.length = name, label, start, length
        self.state, self.turn = state, 0
        # the clock at EnQue or FreeTensor, and the (event, id) of its flag
        self.clock, self.event = [0] * 4, None

    def tensor(self, dtype) -> LocalTensor:
        return LocalTensor(self, self.start, self.start + self.length, dtype)

    def check_use(self, core, name: str, writing: bool, turn: int):
        if self.state == FREE or turn != self.turn:
            core.hazard(
                "used after FreeTensor",
                message("{name} uses {block} after FreeTensor", name=name, block=self.name),
                writing,
            )
        elif self.state == ENQUE:
            core.hazard(
                "used after EnQue",
                message(
                    "{name} uses {block} after EnQue and before DeQue", name=name, block=self.name
                ),
                writing,
            )


WITHOUT = message("Get is called for a TBuf without InitBuffer")


def _placed(kind: str, start: int, length: int) -> Block:
    """Return a part of the Unified Buffer that the program uses without a queue."""
    name = message("{kind} of line {line}", kind=kind, line=current().where()[1])
    return Block(name, "", start, length, DEQUE)


class _Unmade(Block):
    """The result of Get on a TBuf without InitBuffer; its first use ends the program."""

    def check_use(self, core, name: str, writing: bool, turn: int):
        core.stop("not initialised", WITHOUT, writing)


def _variable(value, frame) -> str:
    """Return the name of a value in a program's frame: an attribute of a local object, else a local variable."""
    owners = [
        vars(owner)
        for owner in frame.f_locals.values()
        if hasattr(owner, "__dict__") and owner is not value
    ]
    return next(
        (
            name
            for names in (*owners, frame.f_locals)
            for name, held in names.items()
            if held is value
        ),
        "",
    )


class TPipe:
    """The owner of the Unified Buffer of a core; each kernel has one."""

    def __init__(self):
        self.core = current()
        self.core.pipes.append(self)
        self.core.ids.clear()  # all event ids are free for a new TPipe
        self.top, self.buffers, self.queues = 0, [], []

    def InitBuffer(self, buffer, *numbers: int):
        """Give a TQue `num` blocks of `len` bytes, or a TBuf one block; lengths are rounded up to 32 bytes."""
        num, length = numbers if isinstance(buffer, TQue) else (1, *numbers)
        stop = self.core.hazard if self.core.machine.unchecked else self.core.stop
        if length <= 0 or num <= 0:
            stop(
                "buffer of no bytes",
                message(
                    "InitBuffer is asked for {n} blocks of {length} bytes", n=num, length=length
                ),
                True,
            )
        length = -(-length // BLOCK) * BLOCK
        if len(self.buffers) + num > self.core.platform.arch.buffers:
            self.core.stop(
                "too many buffers",
                message(
                    "InitBuffer makes {n} buffers of a TPipe that holds {most}",
                    n=len(self.buffers) + num,
                    most=self.core.platform.arch.buffers,
                ),
            )
        where = self.core.where()
        name = message("{kind} of line {line}", kind=type(buffer).__name__, line=where[1])
        label = _variable(buffer, self.core.frame()) if self.core.at is None else ""
        blocks = [Block(name, label, self.top + k * length, length) for k in range(num)]
        self.buffers += blocks  # before a stop, too: its reader lists the buffers
        if self.top + num * length > self.core.ub.size:
            sizes = Counter((block.name, block.length) for block in self.buffers[:-num])
            taken = " + ".join(f"{n} x {size}" for (_, size), n in sizes.items()) or "0"
            stop(
                "unified buffer full",
                message(
                    "InitBuffer asks for {n} x {length} bytes, and {taken} are taken: {end} in all, but the buffer has {size}",
                    n=num,
                    length=length,
                    taken=taken,
                    end=self.top + num * length,
                    size=self.core.ub.size,
                ),
                True,
            )
        self.top += num * length
        buffer.blocks, buffer.pipe = blocks, self
        if isinstance(buffer, TQue):
            self.queues.append(buffer)

    def Stack(self, dtype) -> LocalTensor:
        """Return as a tensor the memory that InitBuffer has not taken (PopStackBuffer)."""
        return _placed("PopStackBuffer", self.top, self.core.ub.size - self.top).tensor(dtype)

    def AllocEventID(self, event: HardEvent) -> int:
        """Take an id until ReleaseEventID. C++: `AllocEventID<HardEvent::V_S>()`."""
        return take(self.core, event, "AllocEventID", "ReleaseEventID")

    def ReleaseEventID(self, event: HardEvent, event_id: int):
        """Release an id from AllocEventID. C++: `ReleaseEventID<HardEvent::V_S>(id)`."""
        holder = self.core.ids.get((event, event_id))
        if holder is None or holder.call != "AllocEventID":
            self.core.hazard(
                "event id not allocated",
                message(
                    "ReleaseEventID gives back id {id} of {event}, which AllocEventID did not give",
                    id=event_id,
                    event=event.name,
                ),
                True,
            )
        else:
            del self.core.ids[event, event_id]

    def FetchEventID(self, event: HardEvent) -> int:
        """Return a free id, and leave it free, for a flag that is set and awaited at once."""
        number = free_id(self.core, event, "FetchEventID")
        self.core.fetched.add((event, number))
        return number

    def Reset(self):
        """Wait for all instructions, and forget all buffers, so that InitBuffer can allocate the memory again."""
        self.core.barrier()
        for queue in self.queues:
            queue.blocks = None
        self.top, self.buffers, self.queues = 0, [], []

    def move(self, start: int):
        """Let the next InitBuffer begin at a byte, as a pool of the TPipe does."""
        self.top = start

    def check_newest(self, name: str) -> None:
        if self is not self.core.pipes[-1]:
            self.core.hazard(
                "second pipe",
                message(
                    "{name} is called for a buffer of an earlier one of {n} TPipes",
                    name=name,
                    n=len(self.core.pipes),
                ),
            )

    def held(self) -> list[str]:
        """Return the names of the queues with a block that is not free."""
        return [
            queue.blocks[0].name
            for queue in self.queues
            if any(block.state != FREE for block in queue.blocks)
        ]


def GetTPipePtr() -> TPipe:
    """Return the TPipe of this core."""
    core = current()
    if not core.pipes:
        core.stop("not initialised", message("GetTPipePtr is called before a TPipe is made"))
    return core.pipes[-1]


class TQue:
    """A queue of tensors between two pipes. C++: `TQue<TPosition::VECIN, 1>`; here position and depth are arguments."""

    def __init__(self, position: TPosition, depth: int):
        self.position, self.depth, self.blocks, self.pipe = position, depth, None, None
        self.waiting: deque[Block] = deque()
        self.next = 0

    def _ready(self, name: str):
        core = current()
        if self.blocks is None:
            core.stop(
                "not initialised",
                message("{name} is called for a queue without InitBuffer", name=name),
            )
        self.pipe.check_newest(name)
        return core

    def AllocTensor(self, dtype) -> LocalTensor:
        """Return a tensor in a free block; filling it waits until the block's last user is done."""
        core = self._ready("AllocTensor")
        block = next(
            (
                block
                for block in self.blocks[self.next :] + self.blocks[: self.next]
                if block.state == FREE
            ),
            None,
        )
        if block is None:
            core.stop(
                "queue not freed",
                message(
                    "AllocTensor finds all {n} blocks of {queue} in use",
                    n=len(self.blocks),
                    queue=self.blocks[0].name,
                ),
                True,
            )
        self.next = (self.blocks.index(block) + 1) % len(self.blocks)
        if not core.skipped():
            core.wait(self.position.filler, block.clock)
        core.ids.pop(block.event, None)
        block.state, block.turn = OCCUPIED, block.turn + 1
        core.ub.forget(block.start, block.start + block.length)
        return block.tensor(dtype)

    def EnQue(self, tensor: LocalTensor):
        """Pass a filled tensor to the pipe that uses it."""
        core = self._ready("EnQue")
        block = tensor.block
        if block not in self.blocks:
            core.stop("another queue", message(OF, call="EnQue", block=block.name))
        if block.state not in (OCCUPIED, DEQUE):
            core.stop("queue order", message(THAT_IS, call="EnQue", state=block.state))
        if len(self.waiting) >= (self.depth or len(self.blocks)):
            core.hazard(
                "queue depth",
                message(
                    "EnQue puts tensor {n} into a queue of depth {depth}",
                    n=len(self.waiting) + 1,
                    depth=self.depth,
                ),
            )
        block.state, block.clock = ENQUE, core.snapshot(self.position.filler)
        block.event = self.position.filled, take(core, self.position.filled, "EnQue", "DeQue")
        self.waiting.append(block)

    def DeQue(self, dtype) -> LocalTensor:
        """Return the oldest enqueued tensor; the pipe that uses it waits until it is filled.

        In a queue of depth 0 tensors stay in place: pass the tensor, as in C++ `DeQue(tensor)`.
        """
        core = self._ready("DeQue")
        if isinstance(dtype, LocalTensor):
            if self.depth or dtype.block not in self.waiting:
                core.stop("queue order", message(THAT_IS, call="DeQue", state=dtype.block.state))
            self.waiting.remove(dtype.block)
            self.waiting.appendleft(dtype.block)
            dtype = dtype.dtype
        if not self.waiting:
            core.stop("queue empty", message("DeQue finds nothing in the queue"))
        block = self.waiting.popleft()
        if not core.skipped():
            core.wait(self.position.emptier, block.clock)
        core.ids.pop(block.event, None)
        block.state = DEQUE
        return block.tensor(dtype)

    def FreeTensor(self, tensor: LocalTensor):
        """Free a block; the next tensor in it waits until its user is done."""
        core = self._ready("FreeTensor")
        block = tensor.block
        if block not in self.blocks:
            core.stop("another queue", message(OF, call="FreeTensor", block=block.name))
        if block.state == FREE or tensor.turn != block.turn:
            core.hazard(
                "freed twice",
                message("FreeTensor is given a tensor of {block} that is free", block=block.name),
                True,
            )
            return
        if block.state == ENQUE:
            core.stop("queue order", message(THAT_IS, call="FreeTensor", state=ENQUE))
        block.state, block.clock = FREE, core.snapshot(self.position.emptier)
        block.event = (
            self.position.freed,
            take(core, self.position.freed, "FreeTensor", "AllocTensor"),
        )

    def FreeAllEvent(self):
        """Wait until the users of all free blocks are done, and release their ids."""
        core = self._ready("FreeAllEvent")
        for block in self.blocks:
            if block.state == FREE and block.event in core.ids:
                core.wait(self.position.filler, block.clock)
                del core.ids[block.event]


class _Bound(NamedTuple):
    """A TPosition that a program fills like one position and empties like another."""

    filler: int
    emptier: int
    filled: HardEvent
    freed: HardEvent


def TQueBind(src: TPosition, dst: TPosition, depth: int) -> TQue:
    """Return a queue filled as `src` is and emptied as `dst` is, for copies through the Unified Buffer. C++: `TQueBind<src,
    dst, depth>`.
    """
    into, out = src.filler, dst.emptier
    return TQue(
        src if src is dst else _Bound(into, out, HardEvent((into, out)), HardEvent((out, into))),
        depth,
    )


class TBuf:
    """A plain buffer: no queue, no events, never freed. C++: `TBuf<TPosition::VECCALC>`."""

    def __init__(self, position: TPosition = TPosition.VECCALC):
        self.position, self.blocks, self.pipe = position, None, None

    def Get(self, dtype) -> LocalTensor:
        """Return the buffer as a tensor with its present content, at first undefined."""
        return self.GetWithOffset(dtype, None, 0)

    def GetWithOffset(self, dtype, size: int | None, bufOffset: int) -> LocalTensor:
        """Return `size` elements of the buffer from byte `bufOffset` on, a multiple of 32. C++: `GetWithOffset<T>(size, bufOffset)`."""
        if self.blocks is None:
            current().hazard("buffer without bytes", WITHOUT)
            return _Unmade(WITHOUT, "", 0, 0).tensor(dtype)
        self.pipe.check_newest("Get")
        block = self.blocks[0]
        block.state, start = DEQUE, block.start + int(bufOffset)
        end = (
            block.start + block.length
            if size is None
            else start + int(size) * np.dtype(dtype).itemsize
        )
        if end > block.start + block.length:
            current().hazard(
                "beyond tensor",
                message(
                    "GetWithOffset takes up to byte {end} of {block}, which has {size}",
                    end=end - block.start,
                    block=block.name,
                    size=block.length,
                ),
            )
        return LocalTensor(block, start, end, dtype)


def static(dtype, address: int, size: int) -> LocalTensor:
    """Return a tensor at a byte of the Unified Buffer, in a program without TPipe. C++: `LocalTensor<T>(position, address,
    size)`.
    """
    length = int(size) * np.dtype(dtype).itemsize
    return _placed("LocalTensor", int(address), length).tensor(dtype)


class LocalMemAllocator:
    """Allocates the Unified Buffer tensor by tensor, in a program without TPipe. C++: `LocalMemAllocator<Hardware::UB>`."""

    def __init__(self):
        self.top = 0

    def Alloc(self, dtype, tileSize: int) -> LocalTensor:
        """Return the next `tileSize` elements, from a multiple of 32 bytes on. C++: `Alloc<T>(tileSize)`."""
        core, size = current(), int(tileSize) * np.dtype(dtype).itemsize
        length = -(-size // BLOCK) * BLOCK
        if core.pipes:
            core.hazard("second pipe", message("LocalMemAllocator is used beside a TPipe"))
        if self.top + length > core.ub.size:
            core.stop(
                "unified buffer full",
                message(
                    "Alloc asks for {n} bytes, and {taken} are taken: {end} in all, but the buffer has {size}",
                    n=length,
                    taken=self.top,
                    end=self.top + length,
                    size=core.ub.size,
                ),
                True,
            )
        block = _placed("Alloc", self.top, length)
        self.top += length
        return LocalTensor(block, block.start, block.start + size, dtype)

    def GetCurAddr(self) -> int:
        """Return the first free byte."""
        return self.top
