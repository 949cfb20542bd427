"""Run operators on a device over any implementation of the C API, emulated or real, and refuse calls that the library would
silently get wrong.

A `Program` makes the other calls. Resources are released in the reverse order of the CANN samples. From the version with
aclFinalizeReference on, CANN counts aclInit against it and aclrtSetDevice against aclrtResetDevice. Before, a process may call
aclInit once and one reset undoes every set, so ACL stays up until the process ends, and the last device resets. ACL that
another library initialised is not finalised, nor is its device reset.

Source: "Initialization and deinitialization" and device management, CANN runtime reference; `acl/acl_rt.h`.
"""

import os
import threading
import warnings
from collections import Counter
from contextlib import ExitStack, contextmanager
from typing import Self
from weakref import WeakKeyDictionary

import numpy as np

from aclnn_viz.acl import DeviceUnavailable
from aclnn_viz.acl.installation import driver_version
from aclnn_viz.acl.program import (
    AclError,
    Calls,
    Program,
    report_failures,
)
from aclnn_viz.errors import DeviceClosedError, DeviceRefusal, NotSupported, problem
from aclnn_viz.interrupts import Uninterrupted
from aclnn_viz.operators import Operator, operator
from aclnn_viz.operators.codes import (
    ACL_ERROR_COMPILING_STUB_MODE,
    ACL_ERROR_DRV_FAILURE,
    ACL_ERROR_REPEAT_INITIALIZE,
    ACL_ERROR_RT_DRV_INTERNAL_ERROR,
    ACL_ERROR_RT_INVALID_DEVICEID,
    ACL_ERROR_RT_NO_DEVICE,
    ACL_OPT_DETERMINISTIC,
)
from aclnn_viz.operators.contract import TensorDescriptor
from aclnn_viz.operators.contract.calls import call_of
from aclnn_viz.operators.products import Product, Version, product_of
from aclnn_viz.storage.output_memory import FILL
from aclnn_viz.tables import as_html
from aclnn_viz.words.messages import Message, kept, meant, message, tr


class RefusedError(DeviceRefusal, ValueError):
    """The library would accept this call silently and answer wrongly; `constraint` names the rule."""

    def __init__(self, aclnn_name: str, constraint, fix: str):
        self.constraint = constraint.name
        super().__init__(
            problem(
                f"{aclnn_name}: {constraint.text}", f"a call against it ({constraint.source})", fix
            )
        )


class UnsupportedError(RefusedError, NotSupported):
    """A peer has no operator for this call, or would crash."""

    def __init__(self, text: str):
        self.constraint = None
        ValueError.__init__(self, text)


class ConstraintWarning(UserWarning):
    """A call violates a documented constraint that nobody enforces."""


class Process:
    """The state of ACL in this process, shared by the kit's devices."""

    def __init__(self, acl):
        self.counted = "aclFinalizeReference" not in acl.unavailable
        self.pid = os.getpid()
        self.initialised = 0  # number of the device's calls of aclInit not yet undone
        # for each device, the number of its aclrtSetDevice calls not yet undone
        self.sets = Counter()
        self.foreign = False
        self.lock = threading.Lock()

    def need_own(self) -> None:
        """Raise DeviceClosedError in a forked child of the process that used ACL."""
        if os.getpid() != self.pid:
            raise DeviceClosedError(
                problem(
                    "ACL must be initialised in the process that uses it",
                    "a forked child of the process that initialised it",
                    "start children with spawn",
                )
            )

    def enter(self, session) -> str | None:
        """Initialise ACL if needed, and return the name of the call that undoes it, or None."""
        if not self.counted and self.initialised:
            return None
        status = session.acl.aclInit(None)
        if status != ACL_ERROR_REPEAT_INITIALIZE:
            session.check("aclInit", status)
        self.foreign = status == ACL_ERROR_REPEAT_INITIALIZE and not self.initialised
        if self.foreign:
            return None
        self.initialised += 1
        return "aclFinalizeReference" if self.counted else None

    def leave(self, device_id: int) -> bool:
        """Count one session less on a device, and return whether its session must now reset the device."""
        self.sets[device_id] -= 1
        return not self.foreign and (self.counted or not self.sets[device_id])


_PROCESSES: WeakKeyDictionary[object, Process] = WeakKeyDictionary()


def process_of(acl) -> Process:
    """Return the state of the process that an implementation of the C API drives, real or emulated."""
    return _PROCESSES.setdefault(acl.process, Process(acl))


_NO_DEVICE = {
    ACL_ERROR_COMPILING_STUB_MODE,
    ACL_ERROR_DRV_FAILURE,
    ACL_ERROR_RT_DRV_INTERNAL_ERROR,
    ACL_ERROR_RT_NO_DEVICE,
}


class Session(Calls):
    """ACL initialised, one device set, one stream; determinism set in both stores that CANN versions read.

    Raises DeviceUnavailable if the libraries report no device, AclError for other failures.
    """

    def __init__(self, acl, device_id: int = 0):
        super().__init__(acl)
        self._owner = os.getpid(), threading.get_ident()
        self._closed_because = None
        self._cleanup_errors: list[AclError] = []
        self._process = process_of(acl)
        # test the process first: a thread of the parent may hold the lock
        self._process.need_own()
        with Uninterrupted(), self._process.lock, self._reporting_cleanup(), ExitStack() as stack:
            self._start(stack, device_id)
            self._stack = stack.pop_all()

    def _start(self, stack: ExitStack, device_id: int) -> None:
        try:
            undo = self._process.enter(self)
            if undo:
                stack.callback(self._finalise, undo)
            # drop the text of earlier calls by other code
            self._seen_text = self.acl.aclGetRecentErrMsg()
            self.call("aclrtSetDevice", device_id)
        except AclError as error:
            self._explain(error)
            raise
        self._process.sets[device_id] += 1
        stack.callback(self._leave, device_id)
        # The CANN version determines which store an operator reads; some versions lack one.
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
        """Raise DeviceUnavailable if a failed start means that no device exists, or note the number of devices."""
        if error.code == ACL_ERROR_RT_INVALID_DEVICEID:
            status, count = self.acl.aclrtGetDeviceCount()
            if not status and count:
                error.add_note(
                    f"this machine has {count} device{'s' * (count > 1)}, numbered from 0"
                )
                return
        elif error.code not in _NO_DEVICE:
            return
        raise DeviceUnavailable(
            problem(
                "an Atlas device must answer",
                f"{error.code} ({error.name}) from {error.call} of {self.acl!r}",
                f"{error.advice}; `npu-smi info` must list the device",
            )
        ) from error

    def _finalise(self, undo: str) -> None:
        self._process.initialised -= 1
        self._cleanup(undo)

    def _leave(self, device_id: int) -> None:
        if self._process.leave(device_id):
            self._cleanup("aclrtResetDevice", device_id)

    def synchronise(self) -> None:
        """Wait for the queued work. After a failure, destroy the stream before freeing memory that it may still use."""
        try:
            super().synchronise()
        except AclError as error:
            self.end(f"work on the device failed: {error}")
            raise

    def end(self, why: str) -> None:
        """Destroy the stream and end the session; close releases the rest."""
        self._closed_because = why
        self._destroy_stream("aclrtDestroyStreamForce")

    def _destroy_stream(self, how: str = "aclrtDestroyStream") -> None:
        if self.stream is not None:
            stream, self.stream = self.stream, None
            self._cleanup("aclrtDestroyStream" if how in self.acl.unavailable else how, stream)

    def _cleanup(self, name: str, *arguments) -> None:
        """Release something; record an error instead of raising it, so that the rest is released and the first error shown."""
        try:
            self.call(name, *arguments)
        except AclError as error:
            self._cleanup_errors.append(error)

    @contextmanager
    def program(self):
        """Open a Program for one run; also report errors from destroying a failed stream."""
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
            report_failures(failures, error)

    @property
    def closed(self) -> bool:
        """Whether the session was closed or ended by an error."""
        return self._closed_because is not None

    def need_open(self) -> None:
        """Raise DeviceClosedError unless this process and thread may use the device."""
        if self._closed_because:
            raise DeviceClosedError(
                problem("the device must be open", self._closed_because, "open it again")
            )
        if os.getpid() != self._owner[0]:
            raise DeviceClosedError(
                problem(
                    "a device belongs to the process that opened it",
                    "a forked child",
                    "open the device in the child, or start children with spawn",
                )
            )
        self._need_thread()

    def _need_thread(self) -> None:
        if threading.get_ident() != self._owner[1]:
            raise DeviceClosedError(
                problem(
                    "a device belongs to the thread that opened it",
                    "another thread",
                    "open a device in each thread",
                )
            )

    def close(self) -> None:
        """Release stream, device and ACL, each even if another fails; closing again does nothing.

        Raises DeviceClosedError in a thread that did not open the device, and leaves it open.
        """
        if self._stack is None:
            return
        if os.getpid() != self._owner[0]:
            # after a fork, the handles belong to the parent
            self._stack.pop_all()
        else:
            self._need_thread()
        with Uninterrupted():
            stack, self._stack = self._stack, None
            self._closed_because = self._closed_because or "a closed device"
            with self._process.lock, self._reporting_cleanup():
                stack.close()


def run(session: Session, op: Operator, inputs: dict, predicts: bool) -> dict[str, np.ndarray]:
    """Run `op` with inputs by the vendor's names and return its outputs by the vendor's names.

    Raises what `op.backward` raises for bad input, RefusedError for calls that the library would silently get wrong, AclError
    for errors that it reports, FunctionUnavailable if it lacks the operator. Warns with ConstraintWarning of violated
    constraints that nobody enforces, and, on an emulated device that `predicts`, of those whose consequences it computes.
    """
    bound = op.bind(inputs)
    wanted = op.arrange_backward(**bound).results
    promise, call, tensors, described, outputs = call_of(
        op, bound, session.product, session.acl.cann
    )
    for text in _objections(promise, call, tensors, predicts):
        warnings.warn(text, ConstraintWarning, stacklevel=3)

    with session.program() as program:
        addresses = {
            name: _unwritten(program, array) if name in outputs else program.put(array)
            for name, array in tensors.items()
        }
        given = bound | {
            name: _tensor(program, view, tensors[name].dtype, addresses[name])
            for name, view in described.items()
        }
        program.queue(op.aclnn_name, program.arguments(promise, given))
        program.synchronise()
        return {
            name: program.get(addresses[name], array.shape, array.dtype, array)
            for name, array in outputs.items()
            if name in wanted
        }


def answer(
    op: Operator, inputs: dict, product: Product, cann: Version, predicts: bool = False
) -> tuple[Message, ...]:
    """Return the violated documented constraints that nobody enforces, without running the call.

    Raises and returns what `Device.run` on the host raises and warns of: RefusedError, AclError.

    >>> import aclnn_viz as av
    >>> from aclnn_viz.operators.products import A2
    >>> answer(av.operator("rms_norm"), av.case("rms_norm").inputs, A2, Version.parse("9.1"))
    ()
    """
    promise, call, tensors, *_ = call_of(op, op.bind(inputs), product, cann)
    objections = _objections(promise, call, tensors, predicts)
    outcome, name = promise.evaluate(call), promise.aclnn_name
    if outcome.status:
        raise AclError(f"{name}GetWorkspaceSize", outcome.status, outcome.message)
    if outcome.launch_status:
        raise AclError(name, outcome.launch_status, f"{name}: the kernel could not be launched")
    return objections


def _objections(promise, call, arrays, predicts) -> tuple[Message, ...]:
    """Return violated constraints that nobody enforces; raise RefusedError if the library would silently answer wrongly."""
    found = []
    for constraint in promise.violations(call, arrays):
        if constraint.enforced_by == "device.run" and not (predicts and constraint.predicted):
            raise RefusedError(promise.aclnn_name, constraint, _fix(constraint))
        if constraint.enforced_by != "library":
            found.append(
                message("{call}: {what}", call=promise.aclnn_name, what=kept(constraint.text))
            )
    return tuple(found)


def _fix(constraint) -> str:
    fix = "change the inputs, or run on the host to see the formula"
    return f"{fix}, or {constraint.workaround}" if constraint.workaround else fix


def _unwritten(program: Program, array: np.ndarray) -> int:
    """Allocate device memory for an output, fill every byte with FILL, and return the address."""
    address = program.malloc(array.nbytes)
    if array.nbytes:
        program.calls.call("aclrtMemset", address, array.nbytes, FILL.get(), array.nbytes)
    return address


def _tensor(program: Program, view: TensorDescriptor, dtype: np.dtype, address: int):
    return program.view(
        address,
        list(view.shape),
        dtype,
        list(view.strides),
        view.offset,
        list(view.storage_shape),
        view.format,
    )


STATES = meant("open", "that is open"), message("closed")


class Closing:
    """A device without resources of this machine; once closed, it only refuses to run."""

    name: str
    closed = False

    def need_open(self) -> None:
        """Raise DeviceClosedError if it is closed."""
        if self.closed:
            raise DeviceClosedError(
                problem("the device must be open", f"a closed {self.name}", "open it again")
            )

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_):
        self.close()


class Device:
    """An opened device; use it in a `with` block, or close it in the thread that opened it.

    Attributes
    ----------
    name : str
        A description, including stand-ins for CANN's libraries and custom operators.
    soc, cann : str
        The emulated or real SoC, and the CANN version.
    acl : HostAcl or CannAcl
        The C API that drives the device.
    closed : bool
        Whether it was closed or ended by an error.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> case = av.case("rms_norm", shape=(2, 8))
    >>> with av.open_device("host") as device:
    ...     sorted(device.run("rms_norm", **case.inputs))
    ['dgammaOut', 'dxOut']
    """

    def __init__(
        self,
        name: str,
        acl,
        device_id: int = 0,
        *,
        predicts: bool = False,
    ):
        self.name = name
        self.device_id = device_id
        self._session = Session(acl, device_id)
        self._predicts = predicts

    @property
    def acl(self):
        """The C API that drives the device."""
        return self._session.acl

    @property
    def soc(self) -> str:
        return self._session.soc

    @property
    def cann(self) -> str:
        return str(self.acl.cann)

    @property
    def closed(self) -> bool:
        """Whether the device was closed or ended by an error."""
        return self._session.closed

    def run(self, op, /, **inputs) -> dict:
        """Run an operator through both phases and return its outputs as `op.backward` does.

        Parameters
        ----------
        op : Operator or str
            An operator, or its name.
        **inputs : array or value
            The parameters of `op.backward`, in the same shapes and dtypes.

        Returns
        -------
        dict of str to numpy.ndarray
            The outputs by the vendor's names.

        Raises
        ------
        TypeError, ValueError
            As `op.backward` does.
        RefusedError
            A ValueError, for calls that the library would silently get wrong.
        AclError
            For errors that the library reports.
        FunctionUnavailable
            For an operator that the installation lacks.
        DeviceClosedError
            If the device is closed, or belongs to another thread.

        Warns
        -----
        ConstraintWarning
            For violated constraints that nobody enforces.

        Examples
        --------
        >>> import aclnn_viz as av
        >>> with av.open_device("host") as device:
        ...     device.run("hardswish", **av.case("hardswish", shape=(2,)).inputs)["out"].shape
        (2,)
        """
        self._session.need_open()
        return run(self._session, operator(op), inputs, self._predicts)

    def about(self) -> dict:
        """Return the details of the device that a replay must name.

        Returns
        -------
        dict of str to object
            SoC, CANN, runtime, driver and custom operators; None if unknown.

        Examples
        --------
        >>> import aclnn_viz as av
        >>> with av.open_device("host") as device:
        ...     device.about()["soc"]
        'Ascend910B2'
        """
        status, *runtime = (
            (1,) if "aclrtGetVersion" in self.acl.unavailable else self.acl.aclrtGetVersion()
        )
        return {
            "soc": self.soc,
            "cann": self.cann,
            "runtime": ".".join(map(str, runtime)) if status == 0 else None,
            "driver": driver_version(),
            "custom": [str(name) for name in getattr(self.acl, "custom_operators", ())],
            "deterministic": True,
        }

    def close(self) -> None:
        """Release everything, in the thread that opened the device; closing again does nothing.

        Raises
        ------
        DeviceClosedError
            In a thread that did not open the device.

        Examples
        --------
        >>> import aclnn_viz as av
        >>> device = av.open_device("host")
        >>> device.close()
        >>> device.closed
        True
        """
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind, error, trace):
        try:
            self.close()
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"while closing: {failure}")

    def _repr_html_(self) -> str:
        rows = [
            (tr("product"), f"{product_of(self.soc).name} ({self.soc})"),
            ("CANN", self.cann),
            (tr("state"), tr(STATES[self.closed])),
        ]
        misuse = getattr(self.acl, "misuse", [])
        if misuse:
            rows.append((tr("misuse"), tr("{n}, first: {what}", n=len(misuse), what=misuse[0])))
        kind = (
            message("emulated on the host, not hardware")
            if self.name.startswith("host")
            else self.name
        )
        return as_html(tr("Device {name!r}: {kind}", name=self.name, kind=kind), (), rows)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"Device({self.name!r}, soc={self.soc!r}, cann={self.cann!r}{state})"
