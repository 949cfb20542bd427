"""One opened device over any implementation of the C API: initialisation, device, stream, and every call checked.

The order of release is that of the CANN samples backwards. ACL that another library had initialised is neither
finalised nor is its device reset. Source: CANN runtime reference, initialization and device management.
"""

import os
import threading
from contextlib import ExitStack, contextmanager

from aclnn_viz.acl import DeviceUnavailable
from aclnn_viz.acl.calls import Calls, Uninterrupted, tell
from aclnn_viz.acl.program import Program
from aclnn_viz.devices.errors import AclError, DeviceClosedError
from aclnn_viz.devices.process import process_of
from aclnn_viz.errors import problem
from aclnn_viz.operators.codes import (
    ACL_ERROR_COMPILING_STUB_MODE, ACL_ERROR_DRV_FAILURE, ACL_ERROR_RT_DRV_INTERNAL_ERROR,
    ACL_ERROR_RT_INVALID_DEVICEID, ACL_ERROR_RT_NO_DEVICE, ACL_OPT_DETERMINISTIC,
)
from aclnn_viz.operators.products import product_of

_NO_DEVICE = {ACL_ERROR_COMPILING_STUB_MODE, ACL_ERROR_DRV_FAILURE, ACL_ERROR_RT_DRV_INTERNAL_ERROR,
              ACL_ERROR_RT_NO_DEVICE}


class Session(Calls):
    """ACL initialised, one device set, one stream; determinism asked for in both stores that CANN versions read.

    Raises DeviceUnavailable when the libraries answer that there is no device, AclError for other failures.
    """

    def __init__(self, acl, device_id: int = 0):
        super().__init__(acl)
        self._owner = os.getpid(), threading.get_ident()
        self._closed_because = None
        self._cleanup_errors: list[AclError] = []
        self._process = process_of(acl)
        self._process.need_own()  # before the lock, which a thread of the parent may have held
        with Uninterrupted(), self._process.lock, self._reporting_cleanup(), ExitStack() as stack:
            self._start(stack, device_id)
            self._stack = stack.pop_all()

    def _start(self, stack: ExitStack, device_id: int) -> None:
        try:
            undo = self._process.enter(self)
            if undo:
                stack.callback(self._finalise, undo)
            self._seen_text = self.acl.aclGetRecentErrMsg()  # of calls that were not ours
            self.call("aclrtSetDevice", device_id)
        except AclError as error:
            self._explain(error)
            raise
        self._process.sets[device_id] += 1
        stack.callback(self._leave, device_id)
        # Which of the two stores an operator reads depends on the CANN version, and some versions lack one.
        for name in ("aclrtSetSysParamOpt", "aclrtCtxSetSysParamOpt"):
            if name not in self.acl.unavailable:
                self.call(name, ACL_OPT_DETERMINISTIC, 1)
        self.soc = self.acl.aclrtGetSocName()
        if self.soc is None:
            raise AclError("aclrtGetSocName", None, self.recent_message())
        self.product = product_of(self.soc)
        self.stream = self.call("aclrtCreateStream")
        stack.callback(self._destroy_stream)

    def _explain(self, error: AclError) -> None:
        """Raise DeviceUnavailable for a failed start that means that there is none, or note how many there are."""
        if error.code == ACL_ERROR_RT_INVALID_DEVICEID:
            status, count = self.acl.aclrtGetDeviceCount()
            if not status and count:
                error.add_note(f"this machine has {count} device{'s' * (count > 1)}, numbered from 0")
                return
        elif error.code not in _NO_DEVICE:
            return
        raise DeviceUnavailable(problem(
            "an Atlas device must answer", f"{error.code} ({error.name}) from {error.call} of {self.acl!r}",
            f"{error.advice}; `npu-smi info` must list the device")) from error

    def _finalise(self, undo: str) -> None:
        self._process.initialised -= 1
        self._cleanup(undo)

    def _leave(self, device_id: int) -> None:
        if self._process.leave(device_id):
            self._cleanup("aclrtResetDevice", device_id)

    def synchronise(self) -> None:
        """Wait for the queued work. After a failure the stream goes before any memory, for it may still be in use."""
        try:
            super().synchronise()
        except AclError as error:
            self.end(f"work on the device failed: {error}")
            raise

    def end(self, why: str) -> None:
        """Destroy the stream now; the session is dead, and close releases the rest."""
        self._closed_because = why
        self._destroy_stream("aclrtDestroyStreamForce")

    def _destroy_stream(self, how: str = "aclrtDestroyStream") -> None:
        if self.stream is not None:
            stream, self.stream = self.stream, None
            self._cleanup("aclrtDestroyStream" if how in self.acl.unavailable else how, stream)

    def _cleanup(self, name: str, *arguments) -> None:
        """Release something; an error is kept, not raised: the rest is released too, and no first error hidden."""
        try:
            self.call(name, *arguments)
        except AclError as error:
            self._cleanup_errors.append(error)

    @contextmanager
    def program(self):
        """A Program for one run; errors while a failed stream was destroyed are told, too."""
        with self._reporting_cleanup(), Program(self) as program:
            yield program

    @contextmanager
    def _reporting_cleanup(self):
        error = None
        try:
            yield
        except BaseException as raised:
            error = raised
            raise
        finally:
            failures, self._cleanup_errors = self._cleanup_errors, []
            tell(failures, error)

    @property
    def closed(self) -> bool:
        """Whether nothing can run any more: closed, or dead of an error."""
        return self._closed_because is not None

    def need_open(self) -> None:
        """Raise DeviceClosedError unless this process and thread may use the device."""
        if self._closed_because:
            raise DeviceClosedError(problem("the device must be open", self._closed_because, "open it again"))
        if os.getpid() != self._owner[0]:
            raise DeviceClosedError(problem("a device belongs to the process that opened it", "a forked child",
                                            "open the device in the child, or start children with spawn"))
        self._need_thread()

    def _need_thread(self) -> None:
        if threading.get_ident() != self._owner[1]:
            raise DeviceClosedError(problem("a device belongs to the thread that opened it", "another thread",
                                            "open a device in each thread"))

    def close(self) -> None:
        """Release stream, device and ACL, each whatever happens to the others; closing again does nothing.

        Raises DeviceClosedError in another thread than the one that opened the device, and leaves it open.
        """
        if self._stack is None:
            return
        if os.getpid() != self._owner[0]:
            self._stack.pop_all()  # the parent's handles: releasing them here would take them from the parent
        else:
            self._need_thread()
        with Uninterrupted():
            stack, self._stack = self._stack, None
            self._closed_because = self._closed_because or "a closed device"
            with self._process.lock, self._reporting_cleanup():
                stack.close()
