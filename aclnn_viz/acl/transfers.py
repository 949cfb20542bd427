"""Calls about device memory: malloc, free, copy, fill.

`aclrtMemcpy` is synchronous but waits for no stream: what queued work has yet to write is still poison. The direction
of a copy follows from the pointers; `kind` is only looked at.

Sources: "Device memory malloc and free" and "Memory copy and set", CANN runtime reference;
`src/acl/aclrt_impl/memory.cpp` of the CANN runtime. Statuses of wrong frees and of unknown or freed addresses are
inferred: there the driver decides.
"""

import numpy as np

from aclnn_viz.acl.memory import machine_memory, shown
from aclnn_viz.acl.state import State, same_memory
from aclnn_viz.operators.codes import (
    ACL_ERROR_INVALID_PARAM, ACL_ERROR_RT_MEMORY_ALLOCATION, ACL_ERROR_RT_PARAM_INVALID, ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, ACL_SUCCESS,
)
from aclnn_viz.words.speech import message

#: Of each kind: whether the destination and the source lie on the device. The remaining kind means any.
READS, WRITES = message("reads"), message("writes")
_DIRECTIONS = {ACL_MEMCPY_HOST_TO_HOST: (False, False), ACL_MEMCPY_HOST_TO_DEVICE: (True, False),
               ACL_MEMCPY_DEVICE_TO_HOST: (False, True), ACL_MEMCPY_DEVICE_TO_DEVICE: (True, True),
               ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: (True, False), ACL_MEMCPY_INNER_DEVICE_TO_DEVICE: (True, True),
               ACL_MEMCPY_INTER_DEVICE_TO_DEVICE: (True, True)}
_LAST_KIND = ACL_MEMCPY_INTER_DEVICE_TO_DEVICE
_LAST_MEMORY_ATTRIBUTE = 11


class TransferCalls(State):
    def aclrtMalloc(self, size, policy):
        """The contents of fresh memory are not initialised: every byte is 0xA5."""
        if size == 0:
            return self.failed(ACL_ERROR_INVALID_PARAM, "aclrtMalloc: size must be greater than 0"), None
        status = self.ready("aclrtMalloc")
        if status:
            return status, None
        block = self.memory.allocate(size)
        if block is None:
            text = f"aclrtMalloc: no room for {size} bytes, {self.memory.used} of {self.memory.capacity} are in use"
            return self.failed(ACL_ERROR_RT_MEMORY_ALLOCATION, text), None
        try:
            if self.memory.used > machine_memory():
                raise MemoryError
            block.reserve()
        except (MemoryError, ValueError):  # ValueError: more than NumPy counts
            self.memory.free(block)
            text = f"aclrtMalloc: the emulating machine has no room for {size} bytes, though the device would have"
            return self.failed(ACL_ERROR_RT_MEMORY_ALLOCATION, text), None
        return ACL_SUCCESS, block.start

    def aclrtFree(self, address):
        """Does not wait for work that is still queued on the memory."""
        if address is None:
            return self.failed(ACL_ERROR_INVALID_PARAM, "aclrtFree: address is a null pointer")
        status = self.ready("aclrtFree")
        if status:
            return status
        block = self.memory.find(address)
        if block is None or block.start != address:
            wrong = message("{value} did not come from aclrtMalloc", value=shown(address))
        elif block.freed:
            wrong = message("memory freed twice ({block})", block=str(block))
        else:
            self._record_use("aclrtFree", address, block.size, writes=True, verb=message("frees"))
            self.memory.free(block)
            return ACL_SUCCESS
        self.record("aclrtFree", wrong)
        return self.failed(ACL_ERROR_RT_PARAM_INVALID, f"aclrtFree: {wrong}")

    def aclrtMemcpy(self, dst, dest_max, src, count, kind):
        if count == 0:
            return ACL_SUCCESS
        if dst is None or src is None:
            return self.failed(ACL_ERROR_INVALID_PARAM, "aclrtMemcpy: dst or src is a null pointer")
        if not 0 <= kind <= _LAST_KIND:
            return self.failed(ACL_ERROR_INVALID_PARAM, f"aclrtMemcpy: there is no kind {kind}")
        status = self.ready("aclrtMemcpy") or self._within("aclrtMemcpy", dest_max, count)
        status = status or self._known("aclrtMemcpy", dst) or self._known("aclrtMemcpy", src)
        if status:
            return status
        on_device = isinstance(dst, int), isinstance(src, int)
        if on_device != _DIRECTIONS.get(kind, on_device):
            self.record("aclrtMemcpy", message("kind {kind} is not the direction of the pointers", kind=kind))
        room = min(self._room("aclrtMemcpy", dst, count, WRITES), self._room("aclrtMemcpy", src, count, READS))
        self._record_use("aclrtMemcpy", src, room, writes=False, verb=READS)
        self._record_use("aclrtMemcpy", dst, room, writes=True, verb=WRITES)
        values = self.memory.read(src, room) if on_device[1] else same_memory(src)[:room]
        if on_device[0]:
            self.memory.write(dst, values)
        else:
            same_memory(dst)[:room] = values
        return ACL_SUCCESS

    def aclrtMemset(self, address, max_count, value, count):
        if address is None:
            return self.failed(ACL_ERROR_INVALID_PARAM, "aclrtMemset: address is a null pointer")
        status = self.ready("aclrtMemset") or self._within("aclrtMemset", max_count, count)
        status = status or self._known("aclrtMemset", address)
        if status or not count:
            return status
        room = self._room("aclrtMemset", address, count, WRITES)
        self._record_use("aclrtMemset", address, room, writes=True, verb=WRITES)
        if isinstance(address, int):
            self.memory.fill(address, room, value % 256)
        else:
            same_memory(address)[:room] = value % 256
        return ACL_SUCCESS

    def aclrtGetMemInfo(self, attribute):
        """The same answer for every kind of memory: the emulated device has one."""
        status = self.ready("aclrtGetMemInfo")
        if not status and not 0 <= attribute <= _LAST_MEMORY_ATTRIBUTE:
            status = self.failed(ACL_ERROR_RT_PARAM_INVALID, f"aclrtGetMemInfo: there is no attribute {attribute}")
        if status:
            return status, None, None
        return ACL_SUCCESS, self.memory.capacity - self.memory.used, self.memory.capacity

    def _within(self, call: str, limit: int, count: int) -> int:
        if count > limit:
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, f"{call}: {count} bytes do not fit into {limit}")
        return ACL_SUCCESS

    def _known(self, call: str, pointer) -> int:
        """Return 0 for host arrays and for device memory that is allocated."""
        block = self.memory.find(pointer)
        if isinstance(pointer, np.ndarray) or block is not None and not block.freed:
            return ACL_SUCCESS
        nothing = message("{value} is neither device memory nor a host array", value=shown(pointer))
        wrong = message("memory already freed ({block})", block=str(block)) if block else nothing
        self.record(call, wrong)
        return self.failed(ACL_ERROR_RT_PARAM_INVALID, f"{call}: {wrong}")

    def _room(self, call: str, pointer, count: int, verb: str) -> int:
        """Record bytes that lie outside the memory pointed to, and return how many lie inside."""
        if isinstance(pointer, np.ndarray):
            if count > pointer.nbytes:
                self.record(call, message("{verb} {n} bytes outside a host array of {size}", verb=verb,
                                          n=count - pointer.nbytes, size=pointer.nbytes))
            return min(count, pointer.nbytes)
        complaint = self.memory.complaint(pointer, 0, count)
        if complaint:
            self.record(call, message("{verb} {complaint}", verb=verb, complaint=complaint))
        block = self.memory.find(pointer)
        return max(min(count, block.start + block.size - pointer), 0)

    def _record_use(self, call: str, pointer, count: int, *, writes: bool, verb: str) -> None:
        """Record what collides with queued work: a read of what it writes, a write to what it touches."""
        for task in self.tasks():
            for name in task.touching(pointer, count, written_only=not writes):
                self.record(call, message("{verb} {name} of {task}, which is still queued; synchronise before", verb=verb,
                                          name=name, task=task.name))
