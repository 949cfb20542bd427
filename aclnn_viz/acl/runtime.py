"""The emulated calls of the runtime: the process and its options; device, contexts and streams; memory and copies.

A thread works in its current context: the device's primary one after `aclrtSetDevice`, which each thread calls for
itself. Work waits in its stream until somebody synchronises. `aclrtMemcpy` is synchronous but waits for no stream: what queued
work has yet to write is still poison. The direction of a copy follows from the pointers; `kind` is only looked at.

Sources: "Initialization and deinitialization", "Runtime configuration", "Device management", "Context management", "Stream
management", "Exception handling", "Device memory malloc and free" and "Memory copy and set", CANN runtime reference;
`acl/acl_rt.h`; `src/acl/aclrt_impl/acl.cpp`, `src/acl/aclrt_impl/memory.cpp` and `src/runtime/api/api_c.cc` of the CANN runtime.
Inferred: statuses of destroyed streams and contexts, whose use the reference only forbids, and of wrong frees and unknown or freed
addresses, where the driver decides.
"""

import json
from pathlib import Path

import numpy as np

from aclnn_viz.acl.state import HostContext, HostStream, State, machine_memory, same_memory, shown
from aclnn_viz.operators.codes import (
    ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_JIT_COMPILE, ACL_ERROR_INVALID_FILE,
    ACL_ERROR_INVALID_PARAM, ACL_ERROR_PARSE_FILE, ACL_ERROR_REPEAT_FINALIZE, ACL_ERROR_REPEAT_INITIALIZE,
    ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_INVALID_DEVICEID, ACL_ERROR_RT_MEMORY_ALLOCATION,
    ACL_ERROR_RT_PARAM_INVALID, ACL_ERROR_RT_STREAM_CONTEXT, ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, ACL_ERROR_UNINITIALIZE,
    ACL_MEMCPY_DEVICE_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE,
    ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE, ACL_OPT_DETERMINISTIC, ACL_OPT_ENABLE_KERNEL_EARLY_START, ACL_SUCCESS,
    DATA_TYPE_SIZES,
)
from aclnn_viz.operators.products import WITH_BFLOAT16, Version
from aclnn_viz.storage.reading import StoredError, read_file
from aclnn_viz.words.messages import message

_DEVICES = 1
_COUNTED = Version.parse("9.0")  # the first version whose reference counts aclrtSetDevice


class ContextCalls(State):
    def aclrtGetSocName(self):
        return self.soc

    def aclrtGetDeviceCount(self):
        return ACL_SUCCESS, _DEVICES

    def aclrtSetDevice(self, device_id):
        status = self._device("aclrtSetDevice", device_id)
        if status:
            return status
        if self.primary is None:
            self.primary = HostContext(self, primary=True)
        self.primary.sets[self.thread.key] += 1
        self.thread.context = self.primary
        return ACL_SUCCESS

    def aclrtResetDevice(self, device_id):
        """Undo one aclrtSetDevice of this thread; the last one of the process takes back all that the device holds.

        Before CANN 9.0 one reset undoes any number of sets.
        """
        status = self._device("aclrtResetDevice", device_id)
        if status:
            return status
        key = self.thread.key
        if self.primary is None or not self.primary.sets[key]:
            self.record("aclrtResetDevice", message("this thread did not set the device"))
            return ACL_SUCCESS
        sets = self.primary.sets
        if self.cann < _COUNTED:
            sets.clear()
        else:
            sets[key] -= 1
        if not sets[key]:
            self.thread.context = None
        if not sets.total():
            self.release_device("aclrtResetDevice")
        return ACL_SUCCESS

    def aclrtResetDeviceForce(self, device_id):
        status = self._device("aclrtResetDeviceForce", device_id)
        if not status:
            self.release_device("aclrtResetDeviceForce")
        return status

    def aclrtGetDevice(self):
        status = self.ready("aclrtGetDevice")
        return (status, None) if status else (ACL_SUCCESS, 0)

    def aclrtSynchronizeDevice(self):
        status = self.ready("aclrtSynchronizeDevice")
        for stream in self.streams() if not status else ():
            status = self.run(stream) or status
        return status

    def aclrtCreateContext(self, device_id):
        status = self._device("aclrtCreateContext", device_id)
        if status:
            return status, None
        self.thread.context = HostContext(self, primary=False)
        return ACL_SUCCESS, self.thread.context

    def aclrtDestroyContext(self, context):
        status = self._context("aclrtDestroyContext", context)
        if status:
            return status
        if context.primary:
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, "aclrtDestroyContext: this is the device's primary context")
        for stream in self.streams():
            if stream.context is context:
                self.record_queued("aclrtDestroyContext", stream)
                stream.queue.clear()
                if stream is not context.default_stream:
                    self.record("aclrtDestroyContext", message("{handle} not destroyed", handle=repr(stream)))
                self.destroy(stream)
        self.destroy(context)
        return ACL_SUCCESS

    def aclrtSetCurrentContext(self, context):
        status = self._context("aclrtSetCurrentContext", context)
        if not status:
            self.thread.context = context
        return status

    def aclrtGetCurrentContext(self):
        status = self.ready("aclrtGetCurrentContext")
        return (status, None) if status else (ACL_SUCCESS, self.context)

    def aclrtCreateStream(self):
        status = self.ready("aclrtCreateStream")
        return (status, None) if status else (ACL_SUCCESS, HostStream(self, self.context))

    def aclrtDestroyStream(self, stream):
        """Work that is still queued runs first; the reference asks for a synchronise before."""
        status = self._destructible("aclrtDestroyStream", stream)
        if status:
            return status
        self.record_queued("aclrtDestroyStream", stream)
        self.run(stream)
        self.destroy(stream)
        return ACL_SUCCESS

    def aclrtDestroyStreamForce(self, stream):
        """Work that is still queued is dropped."""
        status = self._destructible("aclrtDestroyStreamForce", stream)
        if not status:
            stream.queue.clear()
            self.destroy(stream)
        return status

    def aclrtSynchronizeStream(self, stream):
        """Run the stream's work; a fault of a kernel shows here. Null is the context's default stream."""
        status = self.usable_stream("aclrtSynchronizeStream", stream)
        return status or self.run(self.default_stream_or(stream))

    def aclrtSynchronizeStreamWithTimeout(self, stream, timeout):
        """`timeout` in milliseconds; -1 waits for ever. The emulator's work always ends in time."""
        if timeout < -1:
            text = f"aclrtSynchronizeStreamWithTimeout: timeout {timeout} must be -1 or more"
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, text)
        status = self.usable_stream("aclrtSynchronizeStreamWithTimeout", stream)
        return status or self.run(self.default_stream_or(stream))

    def usable_stream(self, call: str, stream) -> int:
        """Return 0 when the calling thread may use the stream, else the status that says not."""
        status = self.ready(call)
        if status or stream is None:
            return status
        if not isinstance(stream, HostStream):
            self.record(call, message("{value} is no stream", value=shown(stream)))
            return self.failed(ACL_ERROR_RT_STREAM_CONTEXT, f"{call}: {shown(stream)} is no stream")
        if not self.check_alive(call, stream):
            return self.failed(ACL_ERROR_RT_STREAM_CONTEXT, f"{call}: {stream!r} does not exist")
        if stream.context is not self.context:
            text = f"{call}: {stream!r} belongs to another context than the current one"
            return self.failed(ACL_ERROR_RT_STREAM_CONTEXT, text)
        return ACL_SUCCESS

    def _destructible(self, call: str, stream) -> int:
        if stream is None:
            return self.failed(ACL_ERROR_INVALID_PARAM, f"{call}: stream is a null pointer")
        return self.usable_stream(call, stream)

    def _device(self, call: str, device_id: int) -> int:
        if not self.initialised:
            return self.failed(ACL_ERROR_UNINITIALIZE, f"{call}: aclInit has not been called")
        if not 0 <= device_id < _DEVICES:
            text = f"{call}: there is no device {device_id}; the machine has {_DEVICES}"
            return self.failed(ACL_ERROR_RT_INVALID_DEVICEID, text)
        return ACL_SUCCESS

    def _context(self, call: str, context) -> int:
        if context is None:
            return self.failed(ACL_ERROR_INVALID_PARAM, f"{call}: context is a null pointer")
        if not isinstance(context, HostContext):
            self.record(call, message("{value} is no context", value=shown(context)))
        elif self.check_alive(call, context):
            return ACL_SUCCESS
        return self.failed(ACL_ERROR_RT_CONTEXT_NULL, f"{call}: {shown(context)} does not exist")


_LONGEST_CONFIG = 1 << 20
_API_VERSION = (1, 15, 0)  # of the ACL interface, which CANN counts apart from its own version


class ProcessCalls(State):
    def aclInit(self, config_path):
        config = ""
        if config_path is not None:
            try:
                config = read_file(Path(config_path), _LONGEST_CONFIG).decode()
                json.loads(config or "{}")
            except (OSError, UnicodeDecodeError, StoredError):
                return self.failed(ACL_ERROR_INVALID_FILE, f"aclInit: cannot read {config_path}")
            except (ValueError, RecursionError):
                return self.failed(ACL_ERROR_PARSE_FILE, f"aclInit: {config_path} is not valid JSON")
        if self.initialised:
            self.initialised += 1
            return ACL_ERROR_REPEAT_INITIALIZE  # the library sets no text for it
        if self.config is not None and config != self.config:
            return self.failed(ACL_ERROR_INVALID_PARAM, "aclInit: the configuration differs from the first one")
        self.config = config
        self.initialised, self.finalised = 1, False
        return ACL_SUCCESS

    def aclFinalize(self):
        """One call undoes all calls of aclInit; before the first aclInit it succeeds."""
        if self.finalised:
            return self.failed(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: already finalised")
        if not self.initialised:
            self.record("aclFinalize", message("aclInit has not been called"))
        self._finalise("aclFinalize")
        return ACL_SUCCESS

    def aclFinalizeReference(self):
        if self.initialised < 1:
            return self.failed(ACL_ERROR_REPEAT_FINALIZE, "aclFinalizeReference: not initialised"), None
        if self.initialised == 1:
            self._finalise("aclFinalizeReference")
        else:
            self.initialised -= 1
        return ACL_SUCCESS, self.initialised

    def _finalise(self, call: str) -> None:
        self.release_device(call)
        self.release_host(call)
        self.memory.clear()
        self.initialised, self.finalised = 0, True

    def aclGetRecentErrMsg(self):
        """The text of the last failure in this thread, which the call clears; null when there is none."""
        text, self.thread.error = self.thread.error, None
        return text

    def aclDataTypeSize(self, dtype):
        return DATA_TYPE_SIZES.get(dtype, 0)

    def aclGetCannAttribute(self, attribute):
        modern = self.product in WITH_BFLOAT16
        values = {ACL_CANN_ATTR_INF_NAN: self.product.overflow_modes[0] == "inf_nan", ACL_CANN_ATTR_BF16: modern,
                  ACL_CANN_ATTR_JIT_COMPILE: not modern}
        if attribute not in values:
            return self.failed(ACL_ERROR_INVALID_PARAM, f"aclGetCannAttribute: no attribute {attribute}"), None
        return ACL_SUCCESS, int(values[attribute])

    def aclrtGetVersion(self):
        return ACL_SUCCESS, *_API_VERSION

    def aclnnInit(self, config_path):
        return ACL_SUCCESS

    def aclnnFinalize(self):
        return ACL_SUCCESS

    # The process and each context keep run-time options apart; which store an operator reads depends on CANN's version.

    def aclrtSetSysParamOpt(self, option, value):
        known = ACL_OPT_DETERMINISTIC <= option <= ACL_OPT_ENABLE_KERNEL_EARLY_START
        if not known or not 0 <= value < (4 if option == ACL_OPT_DETERMINISTIC else 2):
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, f"aclrtSetSysParamOpt: option {option} cannot be {value}")
        self.options[option] = value
        return ACL_SUCCESS

    def aclrtGetSysParamOpt(self, option):
        if not ACL_OPT_DETERMINISTIC <= option <= ACL_OPT_ENABLE_KERNEL_EARLY_START:
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, f"aclrtGetSysParamOpt: no option {option}"), None
        return ACL_SUCCESS, self.options.get(option, 0)

    def aclrtCtxSetSysParamOpt(self, option, value):
        """The value is not checked, unlike that of the process."""
        status = self.ready("aclrtCtxSetSysParamOpt")
        if status:
            return status
        if not ACL_OPT_DETERMINISTIC <= option < ACL_OPT_ENABLE_KERNEL_EARLY_START:
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, f"aclrtCtxSetSysParamOpt: no option {option} in a context")
        self.context.options[option] = value
        return ACL_SUCCESS

    def aclrtCtxGetSysParamOpt(self, option):
        status = self.ready("aclrtCtxGetSysParamOpt")
        if status:
            return status, None
        if not ACL_OPT_DETERMINISTIC <= option < ACL_OPT_ENABLE_KERNEL_EARLY_START:
            text = f"aclrtCtxGetSysParamOpt: no option {option} in a context"
            return self.failed(ACL_ERROR_RT_PARAM_INVALID, text), None
        if option not in self.context.options:
            text = f"aclrtCtxGetSysParamOpt: option {option} was never set in this context"
            return self.failed(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, text), None
        return ACL_SUCCESS, self.context.options[option]


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
        available = min(self._available("aclrtMemcpy", dst, count, WRITES), self._available("aclrtMemcpy", src, count, READS))
        self._record_use("aclrtMemcpy", src, available, writes=False, verb=READS)
        self._record_use("aclrtMemcpy", dst, available, writes=True, verb=WRITES)
        values = self.memory.read(src, available) if on_device[1] else same_memory(src)[:available]
        if on_device[0]:
            self.memory.write(dst, values)
        else:
            same_memory(dst)[:available] = values
        return ACL_SUCCESS

    def aclrtMemset(self, address, max_count, value, count):
        if address is None:
            return self.failed(ACL_ERROR_INVALID_PARAM, "aclrtMemset: address is a null pointer")
        status = self.ready("aclrtMemset") or self._within("aclrtMemset", max_count, count)
        status = status or self._known("aclrtMemset", address)
        if status or not count:
            return status
        available = self._available("aclrtMemset", address, count, WRITES)
        self._record_use("aclrtMemset", address, available, writes=True, verb=WRITES)
        if isinstance(address, int):
            self.memory.fill(address, available, value % 256)
        else:
            same_memory(address)[:available] = value % 256
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

    def _available(self, call: str, pointer, count: int, verb: str) -> int:
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
