"""Device memory: an address space of its own, in which no address is ever handed out twice.

Fresh memory is poison, and so is whatever lies behind an allocation: a read there gives poison, a write is dropped.
Freed blocks stay known, so that every later use of them can be named.

Sources: "Device memory malloc and free", CANN runtime reference (64-byte alignment, contents not initialised, rounding
and padding of the size).
"""

import os
from bisect import bisect_right
from math import prod

import numpy as np

from aclnn_viz.operators.contract.model import TensorDescriptor
from aclnn_viz.operators.products import Product
from aclnn_viz.words.speech import message

POISON = 0xA5
_FIRST_ADDRESS = 0x12C0_0000_0000
_GUARD = 4096  # between blocks, so that a small overrun never touches a neighbour


def machine_memory() -> int:
    """The bytes of memory of the machine that emulates, without limit where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


class Block:
    """One allocation; its bytes exist on the host from the first access on."""

    def __init__(self, start: int, size: int):
        self.start = start
        self.size = size
        self.freed = False
        self._room = self._data = None

    def reserve(self) -> None:
        """Take the room for the bytes from the host; MemoryError when it has none."""
        self._room = np.empty(self.size, np.uint8)

    @property
    def data(self) -> np.ndarray:
        if self._data is None:
            if self._room is None:
                self.reserve()
            self._room.fill(POISON)
            self._data = self._room
        return self._data

    def release(self) -> None:
        self.freed = True
        self._data = self._room = None

    def __str__(self) -> str:
        return message("{n} bytes at {address}", n=self.size, address=f"{self.start:#x}")


class DeviceMemory:
    """The memory of one device, `capacity` bytes of it."""

    def __init__(self, product: Product, capacity: int):
        self.capacity = capacity
        self.used = 0
        self._product = product
        self._next = _FIRST_ADDRESS
        self._blocks: list[Block] = []
        self._starts: list[int] = []

    @property
    def live(self) -> list[Block]:
        return [block for block in self._blocks if not block.freed]

    def allocate(self, size: int) -> Block | None:
        """Return a new block, or None when the device has no room for it."""
        charge = self._product.allocation_size(size)
        if self.used + charge > self.capacity:
            return None
        self.used += charge
        block = Block(self._next, size)
        self._blocks.append(block)
        self._starts.append(block.start)
        self._next += -(-size // 64) * 64 + _GUARD
        return block

    def clear(self) -> None:
        """Forget all blocks, but not their addresses: none of them comes back."""
        self._blocks, self._starts = [], []

    def free(self, block: Block) -> None:
        self.used -= self._product.allocation_size(block.size)
        block.release()

    def find(self, address) -> Block | None:
        """Return the block that an address lies in or behind; None for what is no device address."""
        if not isinstance(address, int) or not _FIRST_ADDRESS <= address < self._next:
            return None
        before = bisect_right(self._starts, address)
        return self._blocks[before - 1] if before else None  # those of an earlier life are forgotten

    def complaint(self, address, low: int, high: int) -> str | None:
        """Say what is wrong with touching bytes [low, high) counted from `address`; None when nothing is."""
        block = self.find(address)
        if block is None:
            return message("{value} is no device address", value=shown(address))
        if block.freed:
            return message("memory already freed ({block})", block=str(block))
        low, high = address + low - block.start, address + high - block.start
        beyond = max(high - block.size, 0) + max(-low, 0)
        return message("{n} bytes outside the allocation of {block}", n=beyond, block=str(block)) if beyond else None

    def read(self, address: int, count: int) -> np.ndarray:
        """Return `count` bytes from an address in a live block, not to be changed; poison behind its end."""
        block = self.find(address)
        inside = block.data[address - block.start:][:count]
        return np.pad(inside, (0, count - inside.size), constant_values=POISON) if inside.size < count else inside

    def write(self, address: int, values: np.ndarray) -> None:
        """Store bytes at an address in a live block, and drop those behind its end."""
        block = self.find(address)
        inside = block.data[address - block.start:][:values.size]
        inside[...] = values[:inside.size]

    def fill(self, address: int, count: int, value: int) -> None:
        """Store one byte `count` times, as `write` would."""
        block = self.find(address)
        block.data[address - block.start:][:count] = value

    def gather(self, address: int, view: TensorDescriptor, dtype: np.dtype) -> np.ndarray:
        """Return a copy of the elements of a view on a live block, poison where it leaves the block."""
        inside = self._inside(address, view, dtype)
        if inside is not None:
            return inside.copy()
        found = np.full((prod(view.shape), dtype.itemsize), POISON, np.uint8)
        data, offsets, live = self._scattered(address, view, dtype)
        found[live] = data[offsets[live]]
        return found.view(dtype).reshape(view.shape)

    def scatter(self, address: int, view: TensorDescriptor, values: np.ndarray) -> None:
        """Store an array through a view on a live block, and drop what falls outside the block."""
        inside = self._inside(address, view, values.dtype)
        if inside is not None:
            inside[...] = values
            return
        flat = np.ascontiguousarray(values).reshape(-1, 1).view(np.uint8)
        data, offsets, live = self._scattered(address, view, values.dtype)
        data[offsets[live]] = flat[live]

    def _inside(self, address: int, view: TensorDescriptor, dtype: np.dtype) -> np.ndarray | None:
        """The view over the block's own bytes, when it lies wholly inside them."""
        if 0 in view.shape:
            return np.empty(view.shape, dtype)
        if self.complaint(address, *byte_range(view, dtype.itemsize)):
            return None
        block = self.find(address)
        start = address - block.start + view.offset * dtype.itemsize
        strides = [s * dtype.itemsize if n > 1 else 0 for n, s in zip(view.shape, view.strides)]
        return np.ndarray(view.shape, dtype, block.data, start, strides)

    def _scattered(self, address: int, view: TensorDescriptor, dtype: np.dtype):
        """The block's bytes, the offset in it of every byte of every element, and which of these lie inside."""
        block = self.find(address)
        data = block.data
        low, high = byte_range(view, dtype.itemsize)
        if max(abs(low), abs(high)) >= 1 << 62:  # offsets would leave int64, and no byte of such a view is sure
            data, low = data[:0], 0
        elements = np.zeros(view.shape, np.int64)
        if data.size:
            elements += address - block.start + view.offset * dtype.itemsize
            for axis, (n, stride) in enumerate(zip(view.shape, view.strides)):
                steps = np.arange(n, dtype=np.int64) * (stride * dtype.itemsize if n > 1 else 0)
                elements += steps.reshape([-1] + [1] * (view.rank - axis - 1))
        offsets = elements.reshape(-1, 1) + np.arange(dtype.itemsize)
        return data, offsets, (offsets >= 0) & (offsets < data.size)


def shown(pointer) -> str:
    """Return a pointer as a complaint names it.

    >>> shown(64), shown(None)
    ('0x40', 'null')
    """
    if isinstance(pointer, np.ndarray):
        return "host memory"
    return f"{pointer:#x}" if isinstance(pointer, int) else "null" if pointer is None else repr(pointer)


def byte_range(view: TensorDescriptor, itemsize: int) -> tuple[int, int]:
    """Return the first byte and the one behind the last that a non-empty view touches, counted from its address.

    >>> byte_range(TensorDescriptor((2, 3), 0, (10, -1), 4, 2, (20,)), 4)
    (8, 60)
    """
    spans = [(n - 1) * stride for n, stride in zip(view.shape, view.strides)]
    low = view.offset + sum(min(span, 0) for span in spans)
    high = view.offset + sum(max(span, 0) for span in spans) + 1
    return low * itemsize, high * itemsize
