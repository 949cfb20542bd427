"""One opened device over any implementation of the C API: initialisation, device, stream, and every call checked.

The order of release is that of the CANN samples backwards. ACL that another library had initialised is neither
finalised nor is its device reset. Source: CANN runtime reference, initialization and device management.
"""

import os
import threading
from contextlib import ExitStack, contextmanager

from aclnn_viz.acl import DeviceUnavailable
from aclnn_viz.codes import (
    ACL_ERROR_COMPILING_STUB_MODE, ACL_ERROR_DRV_FAILURE, ACL_ERROR_RT_DRV_INTERNAL_ERROR,
    ACL_ERROR_RT_INVALID_DEVICEID, ACL_ERROR_RT_NO_DEVICE, ACL_OPT_DETERMINISTIC, ACL_SUCCESS,
)
from aclnn_viz.devices.errors import AclError, DeviceClosedError
from aclnn_viz.devices.process import process_of
from aclnn_viz.errors import problem
from aclnn_viz.products import product_of

_NO_DEVICE = {ACL_ERROR_COMPILING_STUB_MODE, ACL_ERROR_DRV_FAILURE, ACL_ERROR_RT_DRV_INTERNAL_ERROR,
              ACL_ERROR_RT_NO_DEVICE}


class Session:
    """ACL initialised, one device set, one stream; determinism asked for in both stores that CANN versions read.

    Raises DeviceUnavailable when the libraries answer that there is no device, AclError for other failures.
    """

    def __init__(self, acl, device_id: int = 0):
        self.acl = acl
        self._owner = os.getpid(), threading.get_ident()
        self._closed_because = None
        self._cleanup_errors: list[AclError] = []
        self._seen_text = None
        self.stream = None
        self._process = process_of(acl)
        self._process.need_own()  # before the lock, which a thread of the parent may have held
        with self._process.lock, self._reporting_cleanup(), ExitStack() as stack:
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

    def call(self, name: str, *arguments):
        """Make a C call and return its out-value (a tuple of several, None of none); AclError for a status not 0."""
        answer = getattr(self.acl, name)(*arguments)
        status, *out = answer if isinstance(answer, tuple) else (answer,)
        self.check(name, status)
        return (out[0] if len(out) == 1 else tuple(out)) if out else None

    def check(self, name: str, status: int) -> None:
        if status != ACL_SUCCESS:
            raise AclError(name, status, self.recent_message())

    def recent_message(self) -> str | None:
        """The library's text of the last error in this thread; one that is kept from an earlier error is not shown."""
        text = self.acl.aclGetRecentErrMsg()
        if not text or text == self._seen_text:
            return None
        # Some libraries keep the old text and put the new one before it; asking again tells which kind this is.
        new = text.removesuffix(self._seen_text) if self._seen_text else text
        self._seen_text = self.acl.aclGetRecentErrMsg()
        return new.strip() or None

    def handle(self, name: str, *arguments):
        """Make a C call that returns a handle; AclError when it is null."""
        made = getattr(self.acl, name)(*arguments)
        if made is None:
            raise AclError(name, None, self.recent_message())
        return made

    def synchronise(self) -> None:
        """Wait for the queued work. After a failure the stream goes before any memory, for it may still be in use."""
        try:
            self.call("aclrtSynchronizeStream", self.stream)
        except AclError as error:
            self.end(f"work on the device failed: {error}")
            raise

    def drain(self) -> None:
        """Wait for work that a failure left queued; the error that ended the run is the one that counts."""
        if self.stream is not None:
            try:
                self.synchronise()
            except AclError as error:
                self._cleanup_errors.append(error)

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
    def scope(self):
        """An ExitStack for the resources of one run, with `release(name, ...)` to register their C calls.

        Errors of the release are attached to the error that ended the run, or raised when there was none.
        """
        with self._reporting_cleanup(), ExitStack() as stack:
            stack.release = lambda name, *arguments: stack.callback(self._cleanup, name, *arguments)
            yield stack

    @contextmanager
    def _reporting_cleanup(self):
        try:
            yield
        except BaseException as error:
            for later in self._cleanup_errors:
                error.add_note(f"while releasing: {later}")
            self._cleanup_errors.clear()
            raise
        if self._cleanup_errors:
            first, *others = self._cleanup_errors
            self._cleanup_errors = []
            for later in others:
                first.add_note(f"while releasing: {later}")
            raise first

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
        stack, self._stack = self._stack, None
        self._closed_because = self._closed_because or "a closed device"
        with self._process.lock, self._reporting_cleanup():
            stack.close()
