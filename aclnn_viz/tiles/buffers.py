"""The Unified Buffer handed out: `TPipe.InitBuffer`, queues with their events (`TQue`) and plain buffers (`TBuf`)."""

from collections import deque
from enum import Enum

from aclnn_viz.tiles.core import current
from aclnn_viz.tiles.memory import MTE2, MTE3, V
from aclnn_viz.tiles.platforms import BLOCK
from aclnn_viz.tiles.tensors import LocalTensor
from aclnn_viz.words.speech import message


class TPosition(Enum):
    """What a buffer is for; all three lie in the Unified Buffer, and differ in the pipes that fill and empty them."""

    def __init__(self, filler: int, emptier: int):
        self.filler, self.emptier = filler, emptier

    VECIN = (MTE2, V)
    VECCALC = (V, V)
    VECOUT = (V, MTE3)


VECIN, VECCALC, VECOUT = TPosition
FREE, OCCUPIED, ENQUE, DEQUE = message("free"), message("allocated"), message("enqueued"), message("dequeued")
OF, THAT_IS = message("{call} is given a tensor of {block}"), message("{call} is given a tensor that is {state}")


class Block:
    """A part of the Unified Buffer and its life; `turn` counts how often it was handed out.

    `label` is what the program calls its queue or buffer, "" where no name was found.
    """

    def __init__(self, name: str, label: str, start: int, length: int, state: str = FREE):
        self.name, self.label, self.start, self.length = name, label, start, length
        self.state, self.turn = state, 0
        self.clock = [0] * 4  # what EnQue or FreeTensor saw

    def check_use(self, core, name: str, writing: bool, turn: int):
        if self.state == FREE or turn != self.turn:
            told = message("{name} uses {block} after FreeTensor", name=name, block=self.name)
            core.hazard("used after FreeTensor", told, writing)
        elif self.state == ENQUE:
            told = message("{name} uses {block} after EnQue and before DeQue", name=name, block=self.name)
            core.hazard("used after EnQue", told, writing)


def _variable(value, frame) -> str:
    """What a frame calls a value: by an attribute of one of its objects, else by a variable."""
    owners = [vars(owner) for owner in frame.f_locals.values() if hasattr(owner, "__dict__") and owner is not value]
    return next((name for names in (*owners, frame.f_locals) for name, held in names.items() if held is value), "")


class TPipe:
    """The owner of the Unified Buffer of a core; one in each kernel."""

    def __init__(self):
        self.core = current()
        self.core.pipes.append(self)
        self.top, self.buffers, self.queues = 0, [], []

    def InitBuffer(self, buffer, *numbers: int):
        """Give a TQue `num` blocks of `len` bytes, or a TBuf one block; lengths are rounded up to 32 bytes."""
        num, length = numbers if isinstance(buffer, TQue) else (1, *numbers)
        if length <= 0 or num <= 0:
            self.core.stop("buffer of no bytes", message("InitBuffer is asked for {n} blocks of {length} bytes", n=num,
                                                         length=length), True)
        length = -(-length // BLOCK) * BLOCK
        if len(self.buffers) + num > self.core.platform.arch.buffers:
            self.core.stop("too many buffers", message("InitBuffer makes {n} buffers of a TPipe that holds {most}",
                                                       n=len(self.buffers) + num, most=self.core.platform.arch.buffers))
        if self.top + num * length > self.core.ub.size:
            taken = " + ".join(f"{n} x {size}" for n, size in self._sizes()) or "0"
            self.core.stop("unified buffer full", message(
                "InitBuffer asks for {n} x {length} bytes beside {taken}: {end} of {size}", n=num, length=length, taken=taken,
                end=self.top + num * length, size=self.core.ub.size), True)
        where = self.core.where()
        name = message("{kind} of line {line}", kind=type(buffer).__name__, line=where[1])
        label = _variable(buffer, self.core.frame())
        blocks = [Block(name, label, self.top + k * length, length) for k in range(num)]
        self.top += num * length
        self.buffers += blocks
        buffer.blocks, buffer.pipe = blocks, self
        if isinstance(buffer, TQue):
            self.queues.append(buffer)

    def _sizes(self):
        found = {}
        for block in self.buffers:
            number, _ = found.get((block.name, block.length), (0, 0))
            found[block.name, block.length] = number + 1, block.length
        return found.values()

    def alive(self, position: TPosition) -> int:
        return sum(block.state != FREE for queue in self.queues if queue.position is position for block in queue.blocks)

    def check_newest(self, name: str) -> None:
        if self is not self.core.pipes[-1]:
            self.core.hazard("second pipe", message(
                "{name} is called for a buffer of an earlier one of {n} TPipes", name=name, n=len(self.core.pipes)))

    def held(self) -> list[str]:
        """The queues that still hold a tensor."""
        return [queue.blocks[0].name for queue in self.queues if any(block.state != FREE for block in queue.blocks)]


class TQue:
    """A queue of tensors between two pipes. C++: `TQue<TPosition::VECIN, 1>`; here position and depth are arguments."""

    def __init__(self, position: TPosition, depth: int):
        self.position, self.depth, self.blocks, self.pipe = position, depth, None, None
        self.waiting: deque[Block] = deque()
        self.next = 0

    def _ready(self, name: str):
        core = current()
        if self.blocks is None:
            core.stop("not initialised", message("{name} is called for a queue without InitBuffer", name=name))
        self.pipe.check_newest(name)
        return core

    def AllocTensor(self, dtype) -> LocalTensor:
        """Hand out a free block; what fills it waits until the block's last user is done."""
        core = self._ready("AllocTensor")
        block = next((block for block in self.blocks[self.next:] + self.blocks[:self.next] if block.state == FREE), None)
        if block is None:
            core.stop("queue not freed", message("AllocTensor finds all {n} blocks of {queue} in use", n=len(self.blocks),
                                                queue=self.blocks[0].name), True)
        limit = core.platform.arch.queue_buffers
        if self.pipe.alive(self.position) >= limit:
            core.stop("ninth buffer", message("AllocTensor takes buffer {n} of position {position}", n=limit + 1,
                                              position=self.position.name))
        self.next = (self.blocks.index(block) + 1) % len(self.blocks)
        if not core.skipped():
            core.wait(self.position.filler, block.clock)
        block.state, block.turn = OCCUPIED, block.turn + 1
        core.ub.forget(block.start, block.start + block.length)
        return LocalTensor(block, block.start, block.start + block.length, dtype)

    def EnQue(self, tensor: LocalTensor):
        """Hand a filled tensor to the pipe that uses it."""
        core = self._ready("EnQue")
        block = tensor.block
        if block not in self.blocks:
            core.stop("another queue", message(OF, call="EnQue", block=block.name))
        if block.state not in (OCCUPIED, DEQUE):
            core.stop("queue order", message(THAT_IS, call="EnQue", state=block.state))
        if len(self.waiting) >= self.depth:
            core.hazard("queue depth", message("EnQue puts tensor {n} into a queue of depth {depth}", n=len(self.waiting) + 1,
                                                depth=self.depth))
        block.state, block.clock = ENQUE, core.snapshot(self.position.filler)
        self.waiting.append(block)

    def DeQue(self, dtype) -> LocalTensor:
        """Take the oldest enqueued tensor; the pipe that uses it waits until it is filled."""
        core = self._ready("DeQue")
        if not self.waiting:
            core.stop("queue empty", message("DeQue finds nothing in the queue"))
        block = self.waiting.popleft()
        if not core.skipped():
            core.wait(self.position.emptier, block.clock)
        block.state = DEQUE
        return LocalTensor(block, block.start, block.start + block.length, dtype)

    def FreeTensor(self, tensor: LocalTensor):
        """Give a block back; the next tensor in it waits until its user is done."""
        core = self._ready("FreeTensor")
        block = tensor.block
        if block not in self.blocks:
            core.stop("another queue", message(OF, call="FreeTensor", block=block.name))
        if block.state == FREE or tensor.turn != block.turn:
            core.hazard("freed twice", message("FreeTensor is given a tensor of {block} that is free", block=block.name), True)
            return
        if block.state == ENQUE:
            core.stop("queue order", message(THAT_IS, call="FreeTensor", state=ENQUE))
        block.state, block.clock = FREE, core.snapshot(self.position.emptier)


class TBuf:
    """A plain buffer: no queue, no events, never freed. C++: `TBuf<TPosition::VECCALC>`."""

    def __init__(self, position: TPosition = TPosition.VECCALC):
        self.position, self.blocks, self.pipe = position, None, None

    def Get(self, dtype) -> LocalTensor:
        """The buffer as a tensor; it holds what it held, anything at first."""
        if self.blocks is None:
            current().stop("not initialised", message("Get is called for a TBuf without InitBuffer"))
        self.pipe.check_newest("Get")
        block = self.blocks[0]
        block.state = DEQUE
        return LocalTensor(block, block.start, block.start + block.length, dtype)
