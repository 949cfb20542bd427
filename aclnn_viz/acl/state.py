"""What one emulated process holds: handles, contexts and streams, one device, per-thread state, recorded misuse."""

import threading
from collections import Counter, deque
from collections.abc import Iterator

import numpy as np

from aclnn_viz.acl.conversion import ARRAYS, Context, Executor, Handle, Stream, Tensor
from aclnn_viz.acl.memory import DeviceMemory
from aclnn_viz.operators.codes import ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_SUCCESS
from aclnn_viz.operators.contract.model import TensorDescriptor
from aclnn_viz.operators.products import Product, Version
from aclnn_viz.words.speech import message


class HostHandle(Handle):
    """What all handles of the emulator know: who made them, and whether they were destroyed.

    A subclass sets its own attributes first: an interrupt must not leave a registered handle without them.
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


class HostArray(HostHandle):
    """An array of plain values; there is one subclass for each kind."""

    def __init__(self, owner, values: tuple):
        self.values = values
        super().__init__(owner)


HOST_ARRAYS = {kind.__name__: type(f"Host{kind.__name__}", (HostArray, kind), {}) for kind in ARRAYS}


class HostContext(HostHandle, Context):
    """A context of the device; the primary one is made by `aclrtSetDevice` and shared by all threads."""

    def __init__(self, owner, primary: bool):
        self.primary = primary
        self.options: dict[int, int] = {}
        self.sets = Counter()  # of aclrtSetDevice, by thread
        self.default_stream = HostStream(owner, self)
        super().__init__(owner)


class HostStream(HostHandle, Stream):
    def __init__(self, owner, context: HostContext):
        self.context = context
        self.queue = deque()
        super().__init__(owner)


class HostExecutor(HostHandle, Executor):
    """What phase 1 prepared: the operator, its arguments, its answer, and where each tensor lies."""

    def __init__(self, owner, contract, arguments: dict, outcome):
        self.contract = contract
        self.arguments = arguments
        self.outcome = outcome
        self.addresses = {name: value.address for name, value in arguments.items() if isinstance(value, HostTensor)}
        self.repeatable = False
        super().__init__(owner)

    def serve(self) -> None:
        """Phase 2 takes the executor, and frees it unless it is repeatable."""
        if not self.repeatable:
            self.owner.destroy(self)
            self.end = message("has served before; phase 1 makes a new one")


class _Thread(threading.local):
    """What the runtime keeps per thread; `key` identifies it for good, unlike a thread number."""

    def __init__(self):
        self.key = object()
        self.context = None
        self.error = None


class State:
    """The state that the C API's calls share, and what they all need of it."""

    def __init__(self, soc: str, product: Product, cann: Version, memory: int):
        self.soc, self.product, self.cann = soc, product, cann
        self.misuse: list[str] = []
        self.lock = threading.RLock()
        self.thread = _Thread()
        self.memory = DeviceMemory(product, memory)
        self.handles: dict[HostHandle, None] = {}  # those alive, in the order of their creation
        self._handle_count = 0
        self.primary: HostContext | None = None
        self.initialised = 0
        self.finalised = False
        self.config: str | None = None
        self.options: dict[int, int] = {}

    def register(self, handle: HostHandle) -> int:
        """Keep a new handle and return its number."""
        self.handles[handle] = None
        self._handle_count += 1
        return self._handle_count

    def record(self, call: str, what: str) -> None:
        """Record what the vendor's library would not have noticed."""
        self.misuse.append(message("{call}: {what}", call=call, what=what))

    def failed(self, status: int, text: str) -> int:
        """Set the text that `aclGetRecentErrMsg` returns in this thread, and return the status."""
        self.thread.error = text
        return status

    @property
    def context(self) -> HostContext | None:
        """The current context of the calling thread."""
        context = self.thread.context
        return context if context is not None and context.alive else None

    def ready(self, call: str) -> int:
        """Return 0 when the calling thread has a context, else the status that says not."""
        if self.context is None:
            return self.failed(ACL_ERROR_RT_CONTEXT_NULL, f"{call}: this thread has no context; call aclrtSetDevice")
        return ACL_SUCCESS

    def destroy(self, handle: HostHandle) -> None:
        handle.alive = False
        self.handles.pop(handle, None)

    def check_alive(self, call: str, handle: HostHandle) -> bool:
        """Record a handle that was destroyed or that another process made; tell whether it may be used."""
        if getattr(handle, "owner", None) is not self:
            self.record(call, message("{handle} belongs to another process", handle=repr(handle)))
        elif not handle.alive:
            self.record(call, message("{handle} {end}", handle=repr(handle), end=handle.end))
        else:
            return True
        return False

    def streams(self) -> list[HostStream]:
        return [handle for handle in self.handles if isinstance(handle, HostStream)]

    def tasks(self) -> Iterator:
        """All queued work of the process."""
        for stream in self.streams():
            yield from stream.queue

    def run(self, stream: HostStream) -> int:
        """Run what a stream has queued, and return the first status that is not 0."""
        first = ACL_SUCCESS
        while stream.queue:
            task = stream.queue.popleft()
            try:
                status = task.run()
            except MemoryError:  # of this machine; the device may have had more
                status = self.failed(ACL_ERROR_RT_MEMORY_ALLOCATION, f"{task.name}: the emulating machine has no memory")
            first = first or status
        return first

    def record_queued(self, call: str, stream: HostStream) -> None:
        for task in stream.queue:
            self.record(call, message("{task} is still queued; synchronise before", task=task.name))

    def release_device(self, call: str) -> None:
        """Take back what the device holds, and record what the program had left there."""
        for stream in self.streams():
            self.record_queued(call, stream)
            stream.queue.clear()
        for block in self.memory.live:
            self.record(call, message("device memory not freed ({block})", block=str(block)))
            self.memory.free(block)
        contexts = [handle for handle in self.handles if isinstance(handle, HostContext)]
        default_streams = {context.default_stream for context in contexts}
        for handle in self.streams() + contexts:
            if handle not in default_streams and handle is not self.primary:
                self.record(call, message("{handle} not destroyed", handle=repr(handle)))
            self.destroy(handle)
        self.primary = None

    def release_host(self, call: str) -> None:
        """Record the descriptors and executors that the program never gave back."""
        for handle in list(self.handles):
            self.record(call, message("{handle} not destroyed", handle=repr(handle)))
            self.destroy(handle)

    def default_stream_or(self, stream) -> HostStream:
        return self.context.default_stream if stream is None else stream


def same_memory(array: np.ndarray) -> np.ndarray:
    """The bytes of a dense array, sharing its memory."""
    return array.reshape(-1).view(np.uint8)
