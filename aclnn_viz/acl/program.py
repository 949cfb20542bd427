"""Run one operator by calls of the C API, from copying inputs to releasing resources; check each status, and delay Ctrl-C
meanwhile.

A program copies arrays to the device, makes tensors over them, calls both phases, copies results back and releases everything.
The emulator and the real libraries run the same code, written over the methods of the C API. Source: two-phase API, CANN
documentation.
"""

from numbers import Real
from sys import intern

import numpy as np

from aclnn_viz.errors import DeviceRefusal, problem
from aclnn_viz.interrupts import Uninterrupted
from aclnn_viz.operators.codes import (
    ACL_DOUBLE,
    ACL_FORMAT_ND,
    ACL_MEM_MALLOC_HUGE_FIRST,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_SUCCESS,
    ADVICE,
    status_name,
)
from aclnn_viz.operators.contract import Contract
from aclnn_viz.operators.contract.calls import DTYPE_CODES, descriptor, span

#: Name of a null pointer and remedy, for pointers that are not handles.
_NULLS = {
    "aclrtGetSocName": (
        "no name of a product",
        "the driver does not name the product: `npu-smi info` must list the "
        "device, and CANN must be newer than it",
    )
}


class AclError(DeviceRefusal, RuntimeError):
    """A C call answered with an error.

    `__notes__` holds errors of the release of resources that followed.

    Attributes
    ----------
    call : str
        The C function.
    code : int or None
        The returned status, None for a null handle.
    name : str
        The name of that code, such as "ACLNN_ERR_PARAM_INVALID".
    message : str or None
        The text of the library, from aclGetRecentErrMsg.
    """

    def __init__(self, call: str, code: int | None, message: str | None = None):
        self.call, self.code, self.message = call, code, message
        if code is None:
            self.name, self.advice = _NULLS.get(
                call, ("null handle", "the library made none: read the device log")
            )
        else:
            self.name = status_name(code)
            self.advice = ADVICE.get(
                code, "look the code up in the CANN documentation and read the device log"
            )
        got = self.name if code is None else f"{code} ({self.name})"
        super().__init__(
            problem(
                f"{call} must succeed", f"{got}{': ' + message if message else ''}", self.advice
            )
        )


class Calls:
    """The checked calls of one thread on an implementation of the C API.

    >>> from aclnn_viz.acl import HostAcl
    >>> Calls(HostAcl()).call("aclrtGetDeviceCount")
    1
    """

    def __init__(self, acl):
        self.acl = acl
        self.stream = None
        self._seen_text = None

    def _function(self, name: str):
        """Return a C function; interning avoids a leak, because Python keeps each name string used in a lookup."""
        return getattr(self.acl, intern(name))

    def call(self, name: str, *arguments):
        """Make a C call and return its out-value (a tuple of several, None for none); raise AclError for a status other than 0."""
        answer = self._function(name)(*arguments)
        status, *out = answer if isinstance(answer, tuple) else (answer,)
        self.check(name, status)
        return (out[0] if len(out) == 1 else tuple(out)) if out else None

    def check(self, name: str, status: int) -> None:
        if status != ACL_SUCCESS:
            raise AclError(name, status, self.recent_message())

    def recent_message(self) -> str | None:
        """Return the library's text of the last error in this thread, without text kept from an earlier error."""
        text = self.acl.aclGetRecentErrMsg()
        if not text or text == self._seen_text:
            return None
        # Some libraries return new text followed by old text; others forget a text that was read.
        # A second call returns the text that they keep.
        new = text.removesuffix(self._seen_text) if self._seen_text else text
        self._seen_text = self.acl.aclGetRecentErrMsg()
        return new.strip() or None

    def handle(self, name: str, *arguments):
        """Make a C call that returns a handle; raise AclError for null."""
        made = self._function(name)(*arguments)
        if made is None:
            raise AclError(name, None, self.recent_message())
        return made

    def synchronise(self) -> None:
        """Wait for the queued work of the stream."""
        self.call("aclrtSynchronizeStream", self.stream)


def report_failures(failures: list[AclError], error: BaseException | None) -> None:
    """Attach errors of a release to the preceding error, or raise the first of them if there is none."""
    first = error or next(iter(failures), None)
    for later in failures:
        if later is not first:
            first.add_note(f"while releasing: {later}")
    if first is not error:
        raise first


class Program:
    """The resources of one program on a device: memory, tensors, array parameters; `release` frees all of them.

    `tensors` holds (address, shape, dtype) of each tensor. Raises AclError if a call fails. In a `with` block Ctrl-C waits
    until `synchronise` or the release, so that every allocation is recorded for release.

    >>> from aclnn_viz.acl import HostAcl
    >>> acl = HostAcl()
    >>> acl.aclInit(None), acl.aclrtSetDevice(0)
    (0, 0)
    >>> with Program(Calls(acl)) as program:
    ...     out = program.tensor(np.zeros(2, np.float32))
    ...     program.queue("aclnnHardswishBackward", [program.tensor(np.float32([1, 1])),
    ...                                              program.tensor(np.float32([0, 9])), out])
    ...     program.synchronise()
    ...     program.fetch(out)
    array([0.5, 1. ], dtype=float32)
    """

    def __init__(self, calls: Calls):
        self.calls = calls
        self.acl = calls.acl
        self.blocks: list[int] = []
        self.tensors: dict = {}
        self.arrays: list = []
        self._block = Uninterrupted()
        self._queued = False

    # Acquiring resources

    def malloc(self, size: int) -> int:
        """Allocate device memory and return its address; an empty tensor gets one byte, because size 0 is an error."""
        self.blocks.append(self.calls.call("aclrtMalloc", max(size, 1), ACL_MEM_MALLOC_HUGE_FIRST))
        return self.blocks[-1]

    def put(self, array: np.ndarray) -> int:
        """Copy the memory from an array's first to its last element to the device; return the address."""
        memory = memory_of(array)
        address = self.malloc(memory.nbytes)
        if memory.nbytes:
            self.calls.call(
                "aclrtMemcpy",
                address,
                memory.nbytes,
                memory,
                memory.nbytes,
                ACL_MEMCPY_HOST_TO_DEVICE,
            )
        return address

    def view(
        self,
        address,
        shape,
        dtype,
        strides=None,
        offset=0,
        storage=None,
        layout: int = ACL_FORMAT_ND,
    ):
        """Make a tensor over device memory, dense unless `strides`, in elements, are given."""
        storage = shape if storage is None else storage
        tensor = self.calls.handle(
            "aclCreateTensor",
            shape,
            DTYPE_CODES[np.dtype(dtype)],
            strides,
            offset,
            layout,
            storage,
            address,
        )
        self.tensors[tensor] = address, shape, np.dtype(dtype)
        return tensor

    def tensor(self, array: np.ndarray, layout: int = ACL_FORMAT_ND):
        """Copy an array to the device and make a tensor over it with the array's strides."""
        seen = descriptor(array, layout)
        return self.view(
            self.put(array),
            list(seen.shape),
            array.dtype,
            list(seen.strides),
            0,
            list(seen.storage_shape),
            layout,
        )

    def array(self, c_type: str, values):
        """Make the value of an array parameter; its C type, such as "aclBoolArray", determines the call."""
        self.arrays.append(
            self.calls.handle(f"aclCreate{c_type.removeprefix('acl')}", list(values))
        )
        return self.arrays[-1]

    def scalar(self, value: float):
        """Make a scalar of the widest type; phase 1 converts it to the kernel's type."""
        self.arrays.append(
            self.calls.handle("aclCreateScalar", np.array(value, np.float64), ACL_DOUBLE)
        )
        return self.arrays[-1]

    def argument(self, c_type: str, value):
        """Turn a value into phase 1's argument of a C type; null and plain numbers are passed unchanged."""
        bare = bare_type(c_type)
        if value is not None and bare == "aclTensor" and isinstance(value, np.ndarray):
            return self.tensor(value)
        if isinstance(value, (tuple, list)) and bare.startswith("acl"):
            return self.array(bare, value)
        return self.scalar(value) if bare == "aclScalar" and isinstance(value, Real) else value

    def arguments(self, operator: Contract, values: dict) -> list:
        """Turn values by the vendor's names into the arguments of phase 1; absent values are null."""
        return [
            self.argument(parameter.c_type, values.get(parameter.name))
            for parameter in operator.parameters
        ]

    # Running

    def queue(self, name: str, arguments: list) -> None:
        """Call both phases of an operator, with the workspace that the first one requests."""
        size, executor = self.calls.call(f"{name}GetWorkspaceSize", *arguments)
        try:
            workspace = self.malloc(size) if size else None
        except BaseException:
            # the skipped phase 2 would have freed the executor
            self.acl.aclDestroyAclOpExecutor(executor)
            raise
        self._queued = True  # a failed launch may leave queued work, too
        self.calls.call(name, workspace, size, executor, self.calls.stream)

    def synchronise(self) -> None:
        """Wait for the queued work; an interrupt is delivered here."""
        try:
            with self._block.interruptible():
                self.calls.synchronise()
        except AclError:
            self._queued = False
            raise
        self._queued = False

    def fetch(self, tensor) -> np.ndarray:
        """Copy a dense tensor from the device to a new array."""
        address, shape, dtype = self.tensors[tensor]
        return self.get(address, shape, dtype)

    def get(self, address: int, shape, dtype, into: np.ndarray | None = None) -> np.ndarray:
        """Copy device memory to a new array, or into a given one."""
        found = np.zeros(shape, dtype) if into is None else into
        if found.nbytes:
            self.calls.call(
                "aclrtMemcpy", found, found.nbytes, address, found.nbytes, ACL_MEMCPY_DEVICE_TO_HOST
            )
        return found

    # Releasing resources

    def release(self) -> list[AclError]:
        """Wait for queued work, destroy tensors and arrays, free the memory, and return the errors.

        After an error the release continues.
        """
        failed = []

        def attempt(function, *arguments):
            try:
                function(*arguments)
            except AclError as error:
                failed.append(error)

        if self._queued:
            self._queued = False
            attempt(self.calls.synchronise)  # queued work still uses the memory that is freed next
        for handle in (*self.tensors, *self.arrays):
            attempt(
                self.calls.call, f"aclDestroy{bare_type(handle.c_type).removeprefix('acl')}", handle
            )
        for address in self.blocks:
            attempt(self.calls.call, "aclrtFree", address)
        self.tensors, self.arrays, self.blocks = {}, [], []
        return failed

    def __enter__(self):
        self._block.__enter__()
        return self

    def __exit__(self, kind, error, trace):
        try:
            report_failures(self.release(), error)
        finally:
            self._block.__exit__()


def bare_type(c_type: str) -> str:
    """Return a C type without const and pointer.

    >>> bare_type("const aclTensor *"), bare_type("double")
    ('aclTensor', 'double')
    """
    return c_type.removeprefix("const ").rstrip(" *")


def memory_of(array: np.ndarray) -> np.ndarray:
    """Return the memory from the first to the last element as one dense array without a copy."""
    if array.flags.c_contiguous:
        return array
    return np.lib.stride_tricks.as_strided(
        array, (span(array),), (array.itemsize,), writeable=False
    )
