"""Calls about the device, contexts and streams.

A thread works in its current context: the device's primary one after `aclrtSetDevice`, which each thread calls for
itself. Work waits in its stream until somebody synchronises.

Sources: "Device management", "Context management" and "Stream management", CANN runtime reference; `acl/acl_rt.h`.
Statuses of destroyed streams and contexts are inferred: the reference only forbids their use.
"""

from aclnn_viz.acl.memory import shown
from aclnn_viz.acl.state import HostContext, HostStream, State
from aclnn_viz.operators.codes import (
    ACL_ERROR_INVALID_PARAM, ACL_ERROR_RT_CONTEXT_NULL, ACL_ERROR_RT_INVALID_DEVICEID, ACL_ERROR_RT_PARAM_INVALID,
    ACL_ERROR_RT_STREAM_CONTEXT, ACL_ERROR_UNINITIALIZE, ACL_SUCCESS,
)
from aclnn_viz.operators.products import Version
from aclnn_viz.words.speech import message

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
