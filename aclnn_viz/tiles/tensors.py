"""Tensors of a tile program: `GlobalTensor` names a part of global memory, `LocalTensor` a part of the Unified Buffer.

Indexing is in elements, as in C++: `x[64]` is the tensor that starts 64 elements further.
"""

import numpy as np

from aclnn_viz.tiles.core import DOES, current
from aclnn_viz.tiles.formats import c_name
from aclnn_viz.tiles.memory import Span
from aclnn_viz.tiles.platforms import BLOCK
from aclnn_viz.words.speech import message


class GlobalTensor:
    """A tensor in global memory. C++: `GlobalTensor<T>`; here the type is the argument."""

    def __init__(self, dtype):
        self.dtype, self.memory, self.start, self.size = np.dtype(dtype), None, 0, None

    def SetGlobalBuffer(self, address, size: int | None = None):
        """Let the tensor begin at an address, a kernel argument; `size` elements are for checks alone."""
        self.memory, self.start, self.size = address, 0, size

    def __getitem__(self, offset: int) -> "GlobalTensor":
        part = GlobalTensor(self.dtype)
        part.memory, part.start = self.memory, self.start + int(offset) * self.dtype.itemsize
        part.size = None if self.size is None else self.size - int(offset)
        return part

    def __repr__(self):
        return f"GlobalTensor<{c_name(self.dtype)}> in {getattr(self.memory, 'name', None)} at byte {self.start}"

    def span(self, name: str, writing: bool, length: int, shape=(), strides=()) -> Span:
        """Return the bytes that an instruction reaches from the tensor's start on, checked against its memory."""
        core = current()
        if self.memory is None:
            told = message("{name} reaches for a GlobalTensor without SetGlobalBuffer", name=name)
            core.stop("beyond global memory", told, writing)
        span = Span(self.start, length, shape, strides)
        if self.start < 0 or span.end > self.memory.size:
            held = self.memory.array.dtype
            told = message("{name} reaches for bytes {start} to {end} of {tensor}, which has {size}", name=name, start=self.start,
                           end=span.end, tensor=self.memory.name, size=self.memory.size)
            if held != self.dtype and self.memory.name != "workspace":
                told = message("{what} (it holds {held}, this GlobalTensor is of {dtype})", what=told, held=c_name(held),
                               dtype=c_name(self.dtype))
            core.stop("beyond global memory", told, writing)
        if self.size is not None and span.end - self.start > self.size * self.dtype.itemsize:
            core.hazard("beyond tensor", message("{name} reaches {n} elements far into a GlobalTensor of {size}", name=name,
                                                 n=(span.end - self.start) // self.dtype.itemsize, size=self.size), writing)
        return span

    def GetValue(self, index: int):
        """Read one element by the scalar unit, as a number of its format."""
        part = self[index]
        span = part.span("GetValue", False, self.dtype.itemsize)
        current().scalar_read("GetValue", self.memory, span)
        return span.values(self.memory.bytes, self.dtype)[0]

    def SetValue(self, index: int, value):
        """Write one element by the scalar unit. Its cache is modelled as written through: a chip is less kind."""
        part = self[index]
        span = part.span("SetValue", True, self.dtype.itemsize)
        _store(span, self, value)


class LocalTensor:
    """A tensor in the Unified Buffer of a core; `block` is what TPipe gave it, a queue's block or a TBuf."""

    def __init__(self, block, start: int, end: int, dtype):
        self.block, self.start, self.end, self.dtype = block, start, end, np.dtype(dtype)
        self.turn = block.turn
        self.memory = current().ub

    def __getitem__(self, offset: int) -> "LocalTensor":
        return LocalTensor(self.block, self.start + int(offset) * self.dtype.itemsize, self.end, self.dtype)

    def __repr__(self):
        return f"LocalTensor<{c_name(self.dtype)}> in {self.block.name} at byte {self.start}"

    def GetSize(self) -> int:
        """The number of elements."""
        return (self.end - self.start) // self.dtype.itemsize

    def ReinterpretCast(self, dtype) -> "LocalTensor":
        """The same bytes as a tensor of another type."""
        return LocalTensor(self.block, self.start, self.end, dtype)

    def span(self, name: str, writing: bool, length: int, shape=(), strides=(), offset: int = 0,
             align: int = BLOCK) -> Span:
        """Return the bytes that an instruction reaches, checked against block, alignment and the Unified Buffer."""
        core = current()
        self.block.check_use(core, name, writing, self.turn)
        if self.start % align:
            core.hazard("misaligned", message(
                "{name} {does} from byte {start} on, {past} past a multiple of {align}", name=name, does=DOES[writing],
                start=self.start, past=self.start % align, align=align), writing)
        span = Span(self.start + offset, length, shape, strides)
        if span.start < 0 or span.end > core.ub.size:
            core.stop("beyond unified buffer", message("{name} reaches byte {end} of {size}", name=name, end=span.end,
                                                       size=core.ub.size), writing)
        if span.start < self.block.start:
            before = self.block.start - span.start
            core.hazard("beyond tensor", message("{name} {does} from {before} bytes before {block} on", name=name,
                                                 does=DOES[writing], before=before, block=self.block.name), writing)
        if span.end > self.end:
            core.hazard("beyond tensor", message(
                "{name} {does} up to byte {end} of a tensor of {size} bytes in {block}", name=name, does=DOES[writing],
                end=span.end - self.start, size=self.end - self.start, block=self.block.name), writing)
        return span

    def operand(self, core, name: str, writing: bool, count: int) -> tuple[Span, np.ndarray]:
        """Return where the first elements lie, and the elements; tiles ask for the same ones again and again."""
        key = self.block, self.start, self.end, self.dtype, count
        found = core.ub.operands.get(key)
        if found is not None:
            self.block.check_use(core, name, writing, self.turn)
            return found
        span = self.span(name, writing, count * self.dtype.itemsize)
        found = span, span.values(core.ub.bytes, self.dtype)
        if self.start % BLOCK == 0 and self.block.start <= self.start and span.end <= self.end:
            core.ub.operands[key] = found  # in which nothing was wrong
        return found

    def GetValue(self, index: int):
        """Read one element by the scalar unit, as a number of its format."""
        part = self[index]
        span = part.span("GetValue", False, self.dtype.itemsize, align=1)
        current().scalar_read("GetValue", self.memory, span)
        return span.values(self.memory.bytes, self.dtype)[0]

    def SetValue(self, index: int, value):
        """Write one element by the scalar unit."""
        span = self[index].span("SetValue", True, self.dtype.itemsize, align=1)
        _store(span, self, value)


def _store(span: Span, tensor, value):
    place, number = span.values(tensor.memory.bytes, tensor.dtype), np.asarray(value).astype(tensor.dtype)

    def run():
        place[0] = number
    current().scalar_write("SetValue", tensor.memory, span, run)
