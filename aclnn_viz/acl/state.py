"""The state of one emulated CANN process, which the emulated calls share: device memory, handles, contexts and streams,
recorded misuse.

Device memory has its own address space, in which no address is reused. Fresh memory is poison, and so are bytes beyond an
allocation: a read there returns poison, a write is dropped. Freed blocks stay known, so that later uses of them can be named.

Sources: "Device memory malloc and free", CANN runtime reference (64-byte alignment, contents not initialised, rounding and
padding of the size).
"""

import threading
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator
from math import prod

import numpy as np

from aclnn_viz.acl.protocol import ARRAYS, Context, Executor, Handle, Scalar, Stream, Tensor
from aclnn_viz.operators.codes import (
    ACL_ERROR_RT_CONTEXT_NULL,
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    ACL_SUCCESS,
)
from aclnn_viz.operators.contract.model import TensorDescriptor
from aclnn_viz.operators.products import Product, Version
from aclnn_viz.words.messages import message

POISON = 0xA5
_FIRST_ADDRESS = 0x12C0_0000_0000
_GUARD = 4096  # gap between blocks, so that a small overrun never reaches a neighbour


class Block:
    """One allocation; the host allocates its bytes on first access."""

    def __init__(self, start: int, size: int):
        self.start = start
        self.size = size
        self.freed = False
        self._bytes = self._data = None

    def reserve(self) -> None:
        """Allocate the bytes on the host; raise MemoryError if it has too little memory."""
        self._bytes = np.empty(self.size, np.uint8)

    @property
    def data(self) -> np.ndarray:
        if self._data is None:
            if self._bytes is None:
                self.reserve()
            self._bytes.fill(POISON)
            self._data = self._bytes
        return self._data

    def release(self) -> None:
        self.freed = True
        self._data = self._bytes = None

    def __str__(self) -> str:
        return message("{n} bytes at {address}", n=self.size, address=f"{self.start:#x}")


class DeviceMemory:
    """The memory of one device, of `capacity` bytes."""

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
        """Return a new block, or None when the device has too little memory left."""
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
        """Forget all blocks; their addresses are not reused."""
        self._blocks, self._starts = [], []

    def free(self, block: Block) -> None:
        self.used -= self._product.allocation_size(block.size)
        block.release()

    def find(self, address) -> Block | None:
        """Return the last block that begins at or before an address; None for other numbers than device addresses."""
        if not isinstance(address, int) or not _FIRST_ADDRESS <= address < self._next:
            return None
        before = bisect_right(self._starts, address)
        # there may be none: a reset of the device forgets the earlier blocks
        return self._blocks[before - 1] if before else None

    def complaint(self, address, low: int, high: int) -> str | None:
        """Return the error in touching bytes [low, high) counted from `address`, or None."""
        block = self.find(address)
        if block is None:
            return message("{value} is no device address", value=shown(address))
        if block.freed:
            return message("memory already freed ({block})", block=str(block))
        low, high = address + low - block.start, address + high - block.start
        beyond = max(high - block.size, 0) + max(-low, 0)
        return (
            message("{n} bytes outside the allocation of {block}", n=beyond, block=str(block))
            if beyond
            else None
        )

    def read(self, address: int, count: int) -> np.ndarray:
        """Return `count` bytes from an address in a live block, not to be changed; bytes beyond its end are poison."""
        block = self.find(address)
        inside = block.data[address - block.start :][:count]
        return (
            np.pad(inside, (0, count - inside.size), constant_values=POISON)
            if inside.size < count
            else inside
        )

    def write(self, address: int, values: np.ndarray) -> None:
        """Store bytes at an address in a live block; bytes beyond the block's end are dropped."""
        block = self.find(address)
        inside = block.data[address - block.start :][: values.size]
        inside[...] = values[: inside.size]

    def fill(self, address: int, count: int, value: int) -> None:
        """Store one byte `count` times, like `write`."""
        block = self.find(address)
        block.data[address - block.start :][:count] = value

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
        """Return the view over the block's own bytes if it lies inside, else None."""
        if 0 in view.shape:
            return np.empty(view.shape, dtype)
        if self.complaint(address, *byte_range(view, dtype.itemsize)):
            return None
        block = self.find(address)
        start = address - block.start + view.offset * dtype.itemsize
        strides = [s * dtype.itemsize if n > 1 else 0 for n, s in zip(view.shape, view.strides)]
        return np.ndarray(view.shape, dtype, block.data, start, strides)

    def _scattered(self, address: int, view: TensorDescriptor, dtype: np.dtype):
        """Return the block's bytes, the offset of every byte of every element, and the mask of offsets inside the block."""
        block = self.find(address)
        data = block.data
        low, high = byte_range(view, dtype.itemsize)
        # offsets would overflow int64, so all bytes count as outside the block
        if max(abs(low), abs(high)) >= 1 << 62:
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
    """Return a pointer as text for complaints.

    >>> shown(64), shown(None)
    ('0x40', 'null')
    """
    if isinstance(pointer, np.ndarray):
        return "host memory"
    return (
        f"{pointer:#x}"
        if isinstance(pointer, int)
        else "null"
        if pointer is None
        else repr(pointer)
    )


def byte_range(view: TensorDescriptor, itemsize: int) -> tuple[int, int]:
    """Return the first byte and the end of the bytes that a non-empty view touches, counted from its address.

    >>> byte_range(TensorDescriptor((2, 3), 0, (10, -1), 4, 2, (20,)), 4)
    (8, 60)
    """
    spans = [(n - 1) * stride for n, stride in zip(view.shape, view.strides)]
    low = view.offset + sum(min(span, 0) for span in spans)
    high = view.offset + sum(max(span, 0) for span in spans) + 1
    return low * itemsize, high * itemsize


class HostHandle(Handle):
    """The base class of the emulator's handles: their owner, and whether they were destroyed.

    A subclass sets its attributes first: after an interrupt no registered handle may lack them.
    """

    end = message("was destroyed before")

    def __init__(self, owner: "State"):
        self.owner = owner
        self.alive = True
        self.number = owner.register(self)


class HostTensor(HostHandle, Tensor):
    def __init__(self, owner, descriptor: TensorDescriptor, address):
        self.descriptor = descriptor
        self.address = address
        super().__init__(owner)


class HostValues(HostHandle):
    """Plain values, an array or one number in its given type; each kind is a subclass."""

    def __init__(self, owner, values):
        self.values = values
        super().__init__(owner)


HOST_ARRAYS = {
    kind.__name__: type(f"Host{kind.__name__}", (HostValues, kind), {}) for kind in ARRAYS
}
HostScalar = type("HostScalar", (HostValues, Scalar), {})


class HostContext(HostHandle, Context):
    """A context of the device; `aclrtSetDevice` makes the primary one, which all threads share."""

    def __init__(self, owner, primary: bool):
        self.primary = primary
        self.options: dict[int, int] = {}
        self.sets = Counter()  # calls of aclrtSetDevice by thread
        self.default_stream = HostStream(owner, self)
        super().__init__(owner)


class HostStream(HostHandle, Stream):
    def __init__(self, owner, context: HostContext):
        self.context = context
        self.queue = deque()
        super().__init__(owner)


class HostExecutor(HostHandle, Executor):
    """The result of phase 1: the operator, its arguments, the contract's outcome, and the address of each tensor."""

    def __init__(self, owner, contract, arguments: dict, outcome):
        self.contract = contract
        self.arguments = arguments
        self.outcome = outcome
        self.addresses = {
            name: value.address
            for name, value in arguments.items()
            if isinstance(value, HostTensor)
        }
        self.repeatable = False
        super().__init__(owner)

    def serve(self) -> None:
        """Use the executor in phase 2, and free it unless it is repeatable."""
        if not self.repeatable:
            self.owner.destroy(self)
            self.end = message("has been used before; phase 1 must make a new one")


class Failed(Exception):
    """A call fails with a status; `text` is what `aclGetRecentErrMsg` then returns, None if the library sets none."""

    def __init__(self, status: int, text: str | None = None):
        super().__init__(status, text)
        self.status, self.text = status, text


class _Thread(threading.local):
    """The runtime's state of one thread; `key` is unique, unlike a thread number."""

    def __init__(self):
        self.key = object()
        self.context = None
        self.error = None


class State:
    """The state shared by the calls of the C API, and their common functions."""

    def __init__(self, soc: str, product: Product, cann: Version, memory: int):
        self.soc, self.product, self.cann = soc, product, cann
        self.misuse: list[str] = []
        self.lock = threading.RLock()
        self.called = ""  # the C function being executed
        self.thread = _Thread()
        self.memory = DeviceMemory(product, memory)
        self.handles: dict[HostHandle, None] = {}  # live handles, in order of creation
        self._handle_count = 0
        self.primary: HostContext | None = None
        self.initialised = 0
        self.finalised = False
        self.config: str | None = None
        self.options: dict[int, int] = {}

    def register(self, handle: HostHandle) -> int:
        """Register a new handle and return its number."""
        self.handles[handle] = None
        self._handle_count += 1
        return self._handle_count

    def record(self, what: str, call: str = "") -> None:
        """Record misuse that the vendor's library would miss, by the current C function unless another is named."""
        self.misuse.append(message("{call}: {what}", call=call or self.called, what=what))

    def fail(self, status: int, why: str):
        """Make the current C function fail."""
        raise Failed(status, f"{self.called}: {why}")

    @property
    def context(self) -> HostContext | None:
        """The current context of the calling thread."""
        context = self.thread.context
        return context if context is not None and context.alive else None

    def need_context(self) -> None:
        if self.context is None:
            self.fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread has no context; call aclrtSetDevice")

    def destroy(self, handle: HostHandle) -> None:
        handle.alive = False
        self.handles.pop(handle, None)

    def check_alive(self, handle: HostHandle) -> bool:
        """Record a handle that was destroyed or belongs to another process; return whether it may be used."""
        if getattr(handle, "owner", None) is not self:
            self.record(message("{handle} belongs to another process", handle=repr(handle)))
        elif not handle.alive:
            self.record(message("{handle} {end}", handle=repr(handle), end=handle.end))
        else:
            return True
        return False

    def streams(self) -> list[HostStream]:
        return [handle for handle in self.handles if isinstance(handle, HostStream)]

    def tasks(self) -> Iterator:
        """Yield all queued work of the process."""
        for stream in self.streams():
            yield from stream.queue

    def run(self, stream: HostStream) -> int:
        """Run the queued work of a stream, and return the first status other than 0."""
        first = ACL_SUCCESS
        while stream.queue:
            task = stream.queue.popleft()
            try:
                task.run()
                continue
            except Failed as error:
                failed = error
            except MemoryError:  # this machine is out of memory; a real device may have enough
                failed = Failed(
                    ACL_ERROR_RT_MEMORY_ALLOCATION,
                    f"{task.name}: the emulating machine has no memory",
                )
            self.thread.error, first = failed.text, first or failed.status
        return first

    def synchronise(self, *streams: HostStream) -> None:
        """Run the queued work of streams; a kernel's fault is raised here."""
        for failed in [status for status in map(self.run, streams) if status][-1:]:
            raise Failed(failed)

    def record_queued(self, stream: HostStream) -> None:
        for task in stream.queue:
            self.record(message("{task} is still queued; synchronise before", task=task.name))

    def release_device(self) -> None:
        """Free all memory and objects of the device, and record those that the program left."""
        for stream in self.streams():
            self.record_queued(stream)
            stream.queue.clear()
        for block in self.memory.live:
            self.record(message("device memory was not freed ({block})", block=str(block)))
            self.memory.free(block)
        contexts = [handle for handle in self.handles if isinstance(handle, HostContext)]
        default_streams = {context.default_stream for context in contexts}
        for handle in self.streams() + contexts:
            if handle not in default_streams and handle is not self.primary:
                self.record(message("{handle} was not destroyed", handle=repr(handle)))
            self.destroy(handle)
        self.primary = None

    def release_host(self) -> None:
        """Record the descriptors and executors that the program never destroyed."""
        for handle in list(self.handles):
            self.record(message("{handle} was not destroyed", handle=repr(handle)))
            self.destroy(handle)

    def default_stream_or(self, stream) -> HostStream:
        return self.context.default_stream if stream is None else stream


def same_memory(array: np.ndarray) -> np.ndarray:
    """Return the bytes of a dense array without a copy."""
    return array.reshape(-1).view(np.uint8)
