"""Emulate the runtime part of CANN's C API: process and options, device, contexts and streams, memory and copies.

A thread works in its current context: the device's primary one after `aclrtSetDevice`, which each thread calls for itself. Work
waits in its stream until a synchronise. `aclrtMemcpy` is synchronous but waits for no stream: results of queued work are still
poison. The pointers determine the direction of a copy; `kind` is only checked.

Sources: "Initialization and deinitialization", "Runtime configuration", "Device management", "Context management", "Stream
management", "Exception handling", "Device memory malloc and free" and "Memory copy and set", CANN runtime reference;
`acl/acl_rt.h`; `src/acl/aclrt_impl/acl.cpp`, `src/acl/aclrt_impl/memory.cpp` and `src/runtime/api/api_c.cc` of the CANN
runtime. Inferred: statuses of destroyed streams and contexts, whose use the reference only forbids, and of wrong frees and
unknown or freed addresses, where the driver decides.
"""

import json
from pathlib import Path

import numpy as np

from aclnn_viz.acl.state import (
    Failed,
    HostContext,
    HostStream,
    State,
    same_memory,
    shown,
)
from aclnn_viz.operators.codes import (
    ACL_CANN_ATTR_BF16,
    ACL_CANN_ATTR_INF_NAN,
    ACL_CANN_ATTR_JIT_COMPILE,
    ACL_ERROR_INVALID_FILE,
    ACL_ERROR_INVALID_PARAM,
    ACL_ERROR_PARSE_FILE,
    ACL_ERROR_REPEAT_FINALIZE,
    ACL_ERROR_REPEAT_INITIALIZE,
    ACL_ERROR_RT_CONTEXT_NULL,
    ACL_ERROR_RT_INVALID_DEVICEID,
    ACL_ERROR_RT_MEMORY_ALLOCATION,
    ACL_ERROR_RT_PARAM_INVALID,
    ACL_ERROR_RT_STREAM_CONTEXT,
    ACL_ERROR_RT_SYSPARAMOPT_NOT_SET,
    ACL_ERROR_UNINITIALIZE,
    ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_HOST_TO_HOST,
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE,
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE,
    ACL_OPT_DETERMINISTIC,
    ACL_OPT_ENABLE_KERNEL_EARLY_START,
    DATA_TYPE_SIZES,
)
from aclnn_viz.operators.products import WITH_BFLOAT16, Version
from aclnn_viz.storage.readers import StoredError, machine_memory, read_file
from aclnn_viz.words.messages import message

_DEVICES = 1
_COUNTED = Version.parse("9.0")  # the first version that counts calls of aclrtSetDevice


class ContextCalls(State):
    def aclrtGetSocName(self):
        return self.soc

    def aclrtGetDeviceCount(self):
        return _DEVICES

    def aclrtSetDevice(self, device_id):
        self._need_device(device_id)
        if self.primary is None:
            self.primary = HostContext(self, primary=True)
        self.primary.sets[self.thread.key] += 1
        self.thread.context = self.primary

    def aclrtResetDevice(self, device_id):
        """Undo one aclrtSetDevice of this thread; the last one of the process frees all that the device holds.

        Before CANN 9.0 one reset undoes any number of sets.
        """
        self._need_device(device_id)
        key = self.thread.key
        if self.primary is None or not self.primary.sets[key]:
            self.record(message("this thread did not set the device"))
            return
        sets = self.primary.sets
        if self.cann < _COUNTED:
            sets.clear()
        else:
            sets[key] -= 1
        if not sets[key]:
            self.thread.context = None
        if not sets.total():
            self.release_device()

    def aclrtResetDeviceForce(self, device_id):
        self._need_device(device_id)
        self.release_device()

    def aclrtGetDevice(self):
        self.need_context()
        return 0

    def aclrtSynchronizeDevice(self):
        self.need_context()
        self.synchronise(*self.streams())

    def aclrtCreateContext(self, device_id):
        self._need_device(device_id)
        self.thread.context = HostContext(self, primary=False)
        return self.thread.context

    def aclrtDestroyContext(self, context):
        self._need_known(context)
        if context.primary:
            self.fail(ACL_ERROR_RT_PARAM_INVALID, "this is the device's primary context")
        for stream in self.streams():
            if stream.context is context:
                self.record_queued(stream)
                stream.queue.clear()
                if stream is not context.default_stream:
                    self.record(message("{handle} was not destroyed", handle=repr(stream)))
                self.destroy(stream)
        self.destroy(context)

    def aclrtSetCurrentContext(self, context):
        self._need_known(context)
        self.thread.context = context

    def aclrtGetCurrentContext(self):
        self.need_context()
        return self.context

    def aclrtCreateStream(self):
        self.need_context()
        return HostStream(self, self.context)

    def aclrtDestroyStream(self, stream):
        """Run queued work, then destroy the stream; the reference requires a synchronise before."""
        self._need_stream_of_its_own(stream)
        self.record_queued(stream)
        self.run(stream)
        self.destroy(stream)

    def aclrtDestroyStreamForce(self, stream):
        """Drop queued work and destroy the stream."""
        self._need_stream_of_its_own(stream)
        stream.queue.clear()
        self.destroy(stream)

    def aclrtSynchronizeStream(self, stream):
        """Run the stream's work and report faults of its kernels. Null is the context's default stream."""
        self.need_stream(stream)
        self.synchronise(self.default_stream_or(stream))

    def aclrtSynchronizeStreamWithTimeout(self, stream, timeout):
        """Synchronise; `timeout` is in milliseconds, -1 for none. The emulator's work always ends in time."""
        if timeout < -1:
            self.fail(ACL_ERROR_RT_PARAM_INVALID, f"timeout {timeout} must be -1 or more")
        self.need_stream(stream)
        self.synchronise(self.default_stream_or(stream))

    def need_stream(self, stream) -> None:
        """Fail if the calling thread may not use the stream."""
        self.need_context()
        if stream is None:
            return
        if not isinstance(stream, HostStream):
            self.record(message("{value} is no stream", value=shown(stream)))
            self.fail(ACL_ERROR_RT_STREAM_CONTEXT, f"{shown(stream)} is no stream")
        if not self.check_alive(stream):
            self.fail(ACL_ERROR_RT_STREAM_CONTEXT, f"{stream!r} does not exist")
        if stream.context is not self.context:
            self.fail(
                ACL_ERROR_RT_STREAM_CONTEXT,
                f"{stream!r} belongs to another context than the current one",
            )

    def _need_stream_of_its_own(self, stream) -> None:
        if stream is None:
            self.fail(ACL_ERROR_INVALID_PARAM, "stream is a null pointer")
        self.need_stream(stream)

    def _need_device(self, device_id: int) -> None:
        if not self.initialised:
            self.fail(ACL_ERROR_UNINITIALIZE, "aclInit has not been called")
        if not 0 <= device_id < _DEVICES:
            self.fail(
                ACL_ERROR_RT_INVALID_DEVICEID,
                f"there is no device {device_id}; the machine has {_DEVICES}",
            )

    def _need_known(self, context) -> None:
        if context is None:
            self.fail(ACL_ERROR_INVALID_PARAM, "context is a null pointer")
        if not isinstance(context, HostContext):
            self.record(message("{value} is no context", value=shown(context)))
        elif self.check_alive(context):
            return
        self.fail(ACL_ERROR_RT_CONTEXT_NULL, f"{shown(context)} does not exist")


_LONGEST_CONFIG = 1 << 20
_API_VERSION = (1, 15, 0)  # version of the ACL interface; CANN has another version


class ProcessCalls(State):
    def aclInit(self, config_path):
        config = ""
        if config_path is not None:
            try:
                config = read_file(Path(config_path), _LONGEST_CONFIG).decode()
                json.loads(config or "{}")
            except (OSError, UnicodeDecodeError, StoredError):
                self.fail(ACL_ERROR_INVALID_FILE, f"cannot read {config_path}")
            except (ValueError, RecursionError):
                self.fail(ACL_ERROR_PARSE_FILE, f"{config_path} is not valid JSON")
        if self.initialised:
            self.initialised += 1
            # unlike others, this error has no text in the library
            raise Failed(ACL_ERROR_REPEAT_INITIALIZE)
        if self.config is not None and config != self.config:
            self.fail(ACL_ERROR_INVALID_PARAM, "the configuration differs from the first one")
        self.config = config
        self.initialised, self.finalised = 1, False

    def aclFinalize(self):
        """Undo all calls of aclInit; before the first aclInit this succeeds."""
        if self.finalised:
            self.fail(ACL_ERROR_REPEAT_FINALIZE, "already finalised")
        if not self.initialised:
            self.record(message("aclInit has not been called"))
        self._finalise()

    def aclFinalizeReference(self):
        if self.initialised < 1:
            self.fail(ACL_ERROR_REPEAT_FINALIZE, "not initialised")
        if self.initialised == 1:
            self._finalise()
        else:
            self.initialised -= 1
        return self.initialised

    def _finalise(self) -> None:
        self.release_device()
        self.release_host()
        self.memory.clear()
        self.initialised, self.finalised = 0, True

    def aclGetRecentErrMsg(self):
        """Return and clear the text of the last failure in this thread; null if there is none."""
        text, self.thread.error = self.thread.error, None
        return text

    def aclDataTypeSize(self, dtype):
        return DATA_TYPE_SIZES.get(dtype, 0)

    def aclGetCannAttribute(self, attribute):
        modern = self.product in WITH_BFLOAT16
        values = {
            ACL_CANN_ATTR_INF_NAN: self.product.overflow_modes[0] == "inf_nan",
            ACL_CANN_ATTR_BF16: modern,
            ACL_CANN_ATTR_JIT_COMPILE: not modern,
        }
        if attribute not in values:
            self.fail(ACL_ERROR_INVALID_PARAM, f"no attribute {attribute}")
        return int(values[attribute])

    def aclrtGetVersion(self):
        return _API_VERSION

    def aclnnInit(self, config_path):
        pass

    def aclnnFinalize(self):
        pass

    # The process and each context store run-time options; CANN's version decides which store an
    # operator reads.

    def aclrtSetSysParamOpt(self, option, value):
        known = ACL_OPT_DETERMINISTIC <= option <= ACL_OPT_ENABLE_KERNEL_EARLY_START
        if not known or not 0 <= value < (4 if option == ACL_OPT_DETERMINISTIC else 2):
            self.fail(ACL_ERROR_RT_PARAM_INVALID, f"option {option} cannot be {value}")
        self.options[option] = value

    def aclrtGetSysParamOpt(self, option):
        if not ACL_OPT_DETERMINISTIC <= option <= ACL_OPT_ENABLE_KERNEL_EARLY_START:
            self.fail(ACL_ERROR_RT_PARAM_INVALID, f"no option {option}")
        return self.options.get(option, 0)

    def aclrtCtxSetSysParamOpt(self, option, value):
        """Set an option of the current context; its value is not checked, unlike in aclrtSetSysParamOpt."""
        self._options_of_context(option)[option] = value

    def aclrtCtxGetSysParamOpt(self, option):
        known = self._options_of_context(option)
        if option not in known:
            self.fail(
                ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, f"option {option} was never set in this context"
            )
        return known[option]

    def _options_of_context(self, option) -> dict[int, int]:
        self.need_context()
        if not ACL_OPT_DETERMINISTIC <= option < ACL_OPT_ENABLE_KERNEL_EARLY_START:
            self.fail(ACL_ERROR_RT_PARAM_INVALID, f"no option {option} in a context")
        return self.context.options


#: For each kind of copy: whether destination and source are on the device; the missing kind
#: allows any.
READS, WRITES = message("it reads"), message("it writes")
_DIRECTIONS = {
    ACL_MEMCPY_HOST_TO_HOST: (False, False),
    ACL_MEMCPY_HOST_TO_DEVICE: (True, False),
    ACL_MEMCPY_DEVICE_TO_HOST: (False, True),
    ACL_MEMCPY_DEVICE_TO_DEVICE: (True, True),
    ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: (True, False),
    ACL_MEMCPY_INNER_DEVICE_TO_DEVICE: (True, True),
    ACL_MEMCPY_INTER_DEVICE_TO_DEVICE: (True, True),
}
_LAST_KIND = ACL_MEMCPY_INTER_DEVICE_TO_DEVICE
_LAST_MEMORY_ATTRIBUTE = 11


class TransferCalls(State):
    def aclrtMalloc(self, size, policy):
        """Allocate memory with undefined contents: every byte is 0xA5."""
        if size == 0:
            self.fail(ACL_ERROR_INVALID_PARAM, "size must be greater than 0")
        self.need_context()
        block = self.memory.allocate(size)
        if block is None:
            self.fail(
                ACL_ERROR_RT_MEMORY_ALLOCATION,
                f"no room for {size} bytes, {self.memory.used} of {self.memory.capacity} are in use",
            )
        try:
            if self.memory.used > machine_memory():
                raise MemoryError
            block.reserve()
        except (MemoryError, ValueError):  # NumPy raises ValueError for impossible sizes
            self.memory.free(block)
            self.fail(
                ACL_ERROR_RT_MEMORY_ALLOCATION,
                f"the emulating machine has no room for {size} bytes, though the device would have",
            )
        return block.start

    def aclrtFree(self, address):
        """Free memory without waiting for queued work that uses it."""
        if address is None:
            self.fail(ACL_ERROR_INVALID_PARAM, "address is a null pointer")
        self.need_context()
        block = self.memory.find(address)
        if block is None or block.start != address:
            wrong = message("{value} did not come from aclrtMalloc", value=shown(address))
        elif block.freed:
            wrong = message("memory freed twice ({block})", block=str(block))
        else:
            self._record_use(address, block.size, writes=True, verb=message("it frees"))
            self.memory.free(block)
            return
        self.record(wrong)
        self.fail(ACL_ERROR_RT_PARAM_INVALID, wrong)

    def aclrtMemcpy(self, dst, dest_max, src, count, kind):
        if count == 0:
            return
        if dst is None or src is None:
            self.fail(ACL_ERROR_INVALID_PARAM, "dst or src is a null pointer")
        if not 0 <= kind <= _LAST_KIND:
            self.fail(ACL_ERROR_INVALID_PARAM, f"there is no kind {kind}")
        self._need_memory(count, dest_max, dst, src)
        on_device = isinstance(dst, int), isinstance(src, int)
        if on_device != _DIRECTIONS.get(kind, on_device):
            self.record(message("kind {kind} is not the direction of the pointers", kind=kind))
        available = min(self._available(dst, count, WRITES), self._available(src, count, READS))
        self._record_use(src, available, writes=False, verb=READS)
        self._record_use(dst, available, writes=True, verb=WRITES)
        values = self.memory.read(src, available) if on_device[1] else same_memory(src)[:available]
        if on_device[0]:
            self.memory.write(dst, values)
        else:
            same_memory(dst)[:available] = values

    def aclrtMemset(self, address, max_count, value, count):
        if address is None:
            self.fail(ACL_ERROR_INVALID_PARAM, "address is a null pointer")
        self._need_memory(count, max_count, address)
        if not count:
            return
        available = self._available(address, count, WRITES)
        self._record_use(address, available, writes=True, verb=WRITES)
        if isinstance(address, int):
            self.memory.fill(address, available, value % 256)
        else:
            same_memory(address)[:available] = value % 256

    def aclrtGetMemInfo(self, attribute):
        """Return the same answer for every kind of memory, because the emulated device has only one."""
        self.need_context()
        if not 0 <= attribute <= _LAST_MEMORY_ATTRIBUTE:
            self.fail(ACL_ERROR_RT_PARAM_INVALID, f"there is no attribute {attribute}")
        return self.memory.capacity - self.memory.used, self.memory.capacity

    def _need_memory(self, count: int, limit: int, *pointers) -> None:
        """Fail if `count` exceeds the limit, or a pointer is neither a host array nor allocated device memory."""
        self.need_context()
        if count > limit:
            self.fail(ACL_ERROR_RT_PARAM_INVALID, f"{count} bytes do not fit into {limit}")
        for pointer in pointers:
            block = self.memory.find(pointer)
            if isinstance(pointer, np.ndarray) or block is not None and not block.freed:
                continue
            nothing = message(
                "{value} is neither device memory nor a host array", value=shown(pointer)
            )
            wrong = (
                message("memory already freed ({block})", block=str(block)) if block else nothing
            )
            self.record(wrong)
            self.fail(ACL_ERROR_RT_PARAM_INVALID, wrong)

    def _available(self, pointer, count: int, verb: str) -> int:
        """Record bytes outside the memory of a pointer, and return the number inside."""
        if isinstance(pointer, np.ndarray):
            if count > pointer.nbytes:
                self.record(
                    message(
                        "{verb} {n} bytes outside a host array of {size}",
                        verb=verb,
                        n=count - pointer.nbytes,
                        size=pointer.nbytes,
                    )
                )
            return min(count, pointer.nbytes)
        complaint = self.memory.complaint(pointer, 0, count)
        if complaint:
            self.record(message("{verb} {complaint}", verb=verb, complaint=complaint))
        block = self.memory.find(pointer)
        return max(min(count, block.start + block.size - pointer), 0)

    def _record_use(self, pointer, count: int, *, writes: bool, verb: str) -> None:
        """Record a read of bytes that a queued task writes, or a write to bytes that a queued task uses."""
        for task in self.tasks():
            for name in task.touching(pointer, count, written_only=not writes):
                self.record(
                    message(
                        "{verb} the memory of {name} while {task} is still queued; synchronise before",
                        verb=verb,
                        name=name,
                        task=task.name,
                    )
                )
