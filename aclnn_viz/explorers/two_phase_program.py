"""The program that the interactive picture (explorer) of CANN's two-phase call runs: one operator through the C API, with at
most one mistake.

It consists of calls on names, so that a run can be written as Python, call by call.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from aclnn_viz.acl.program import bare_type
from aclnn_viz.acl.protocol import ARRAYS
from aclnn_viz.dtypes import FORMATS, PLAIN
from aclnn_viz.operators import codes
from aclnn_viz.operators.contract import contract
from aclnn_viz.words.messages import message

START, MEMORY, TENSORS, PHASE_1, PHASE_2, STREAM, RELEASE = (
    message("start"),
    message("memory"),
    message("tensors"),
    message("phase 1"),
    message("phase 2"),
    message("stream"),
    message("release"),
)
# functions that return a handle instead of a status
WITHOUT_STATUS = (
    "aclCreateTensor",
    "aclCreateScalar",
    *(f"aclCreate{kind.__name__}" for kind in ARRAYS),
)


class Name(str):
    """A value that an earlier call returned or the program was given; written without quotes."""

    __repr__ = str.__str__


class Constant(int):
    """A number of the C headers, written by its C name."""

    def __new__(cls, name: str):
        made = super().__new__(cls, getattr(codes, name))
        made.name = name
        return made

    def __repr__(self) -> str:
        return f"av.acl.{self.name}"


FLOATS = {f.name: Constant(f.c_name) for f in FORMATS} | {
    name: Constant(f"ACL_{name.upper()}") for name in PLAIN
}
HUGE_FIRST, TO_DEVICE, TO_HOST = map(
    Constant,
    ("ACL_MEM_MALLOC_HUGE_FIRST", "ACL_MEMCPY_HOST_TO_DEVICE", "ACL_MEMCPY_DEVICE_TO_HOST"),
)


@dataclass(frozen=True)
class Layout:
    """A view of a storage, counted in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage: tuple[int, ...]

    def view(self, storage: np.ndarray) -> np.ndarray:
        """Return the view's elements on a flat storage, sharing its memory."""
        strides = [stride * storage.itemsize for stride in self.strides]
        return np.ndarray(
            self.shape, storage.dtype, storage, self.offset * storage.itemsize, strides
        )


@dataclass(frozen=True)
class Tensor:
    """A tensor of the program: its place, its dtype, and whether phase 2 writes it."""

    name: str
    layout: Layout
    dtype: np.dtype
    output: bool

    @property
    def bytes(self) -> int:
        return prod(self.layout.storage) * self.dtype.itemsize


@dataclass(frozen=True)
class Call:
    """One call: `status` is None for a function that returns a handle, `message` is the library's text.

    `misuse` holds the emulator's records during the call, `gives` the names of its results.
    """

    stage: str
    function: str
    arguments: tuple
    gives: tuple[str, ...]
    status: int | None
    message: str | None
    misuse: tuple[str, ...]

    @property
    def code(self) -> str:
        """Return the call as Python."""
        return f"acl.{self.function}({', '.join(map(repr, self.arguments))})"


class Stopped(Exception):
    """A call returned an error status; the program makes no further calls but those that release its objects."""


class Program:
    """Runs the operator on an implementation of the C API and records every call in `calls`."""

    def __init__(
        self, acl, op, tensors: list[Tensor], main: str, attributes: dict, host: dict, mistake: str
    ):
        self.acl, self.op, self.main, self.mistake = acl, op, main, mistake
        self.tensors, self.attributes = tensors, attributes
        self.host = host
        self.values = {f'host["{name}"]': array for name, array in host.items()}
        self.calls: list[Call] = []
        self.stops = mistake != "ignored"

    def run(self) -> list[Call]:
        try:
            self._start()
            self._upload()
            self._both_phases()
        except Stopped:
            pass
        self.stops = False
        self._release()
        return self.calls

    def call(self, stage: str, function: str, *arguments, gives=()) -> None:
        given = [
            self.values.get(value) if isinstance(value, Name) else value for value in arguments
        ]
        known = len(self.acl.misuse)
        answer = getattr(self.acl, function)(*given)
        answer = answer if isinstance(answer, tuple) else (answer,)
        status, results = (None, answer) if function in WITHOUT_STATUS else (answer[0], answer[1:])
        self.values |= zip(gives, results)
        message, misuse = (
            self.acl.aclGetRecentErrMsg() if status else None,
            tuple(self.acl.misuse[known:]),
        )
        self.calls.append(Call(stage, function, arguments, tuple(gives), status, message, misuse))
        if status and self.stops:
            raise Stopped

    def _start(self):
        if self.mistake != "no init":
            self.call(START, "aclInit", None)
        if self.mistake != "no device":
            self.call(START, "aclrtSetDevice", 0)
        self.call(START, "aclrtCreateStream", gives=("stream",))

    def _upload(self):
        for tensor in self.tensors:
            short = tensor.output and self.mistake == "overrun"
            size = max(tensor.bytes // 2 if short else tensor.bytes, 1)
            self.call(MEMORY, "aclrtMalloc", size, HUGE_FIRST, gives=(f"{tensor.name}_address",))
        self._copy(False, TO_DEVICE)
        for tensor in self.tensors:
            self._create(tensor)
        for name, value in self.attributes.items():
            if self._array(name) == "Scalar" and value is not None:
                self.call(
                    TENSORS,
                    "aclCreateScalar",
                    Name(f'host["{name}"]'),
                    Constant("ACL_DOUBLE"),
                    gives=(name,),
                )
            elif isinstance(value, tuple):
                self.call(TENSORS, f"aclCreate{self._array(name)}", list(value), gives=(name,))

    def _array(self, name: str) -> str:
        """Return the kind of an attribute's handle, such as BoolArray or Scalar; "" for a plain value."""
        c_type = next((p.c_type for p in self.op.c_parameters if p.name == name), "")
        return bare_type(c_type).removeprefix("acl") if "acl" in c_type else ""

    def _create(self, tensor):
        layout, shape, code = tensor.layout, list(tensor.layout.shape), FLOATS[tensor.dtype.name]
        strides, storage = list(layout.strides), list(layout.storage)
        if tensor.name == self.main and self.mistake in ("shape", "ignored"):
            shape[-2] += 1
        if tensor.name == self.main and self.mistake == "dtype":
            code = FLOATS["float16" if tensor.dtype.name != "float16" else "float32"]
        form = Constant(f"ACL_FORMAT_{self.op.tensors[tensor.name].layout}")
        self.call(
            TENSORS,
            "aclCreateTensor",
            shape,
            code,
            strides,
            layout.offset,
            form,
            storage,
            _address(tensor),
            gives=(tensor.name,),
        )

    def _both_phases(self):
        name = self.op.aclnn_name
        self.values |= {"size": 0, "executor": None, "workspace": None}
        if self.mistake != "skip":
            self.call(
                PHASE_1, f"{name}GetWorkspaceSize", *self._arguments(), gives=("size", "executor")
            )
        size = Name("size")
        if self.values["size"] and self.mistake == "small":
            size = self.values["size"] // 2
        if self.values["size"] and self.mistake != "no workspace":
            self.call(PHASE_1, "aclrtMalloc", size, HUGE_FIRST, gives=("workspace",))
        if self.mistake == "destroyed":
            self.call(TENSORS, "aclDestroyTensor", Name(self.main))
        executor = Name("executor") if self.mistake != "skip" else None
        workspace = Name("workspace") if self.values["workspace"] else None
        size = size if self.values["size"] else 0
        for _ in range(2 if self.mistake == "reused" else 1):
            self.call(PHASE_2, name, workspace, size, executor, Name("stream"))
        if self.mistake == "freed":
            self.call(MEMORY, "aclrtFree", Name(f"{self.main}_address"))
        if self.mistake == "early":
            self._copy(True, TO_HOST)
        self.call(STREAM, "aclrtSynchronizeStream", Name("stream"))
        if self.mistake != "early":
            self._copy(True, TO_HOST)

    def _arguments(self):
        nothing = self.main if self.mistake == "null" else None
        for parameter in contract(self.op.name).parameters:
            value = self.attributes.get(parameter.name)
            made = (
                any(tensor.name == parameter.name for tensor in self.tensors)
                or value is not None
                and self._array(parameter.name)
            )
            yield (
                Name(parameter.name)
                if made and parameter.name != nothing
                else None
                if made
                else value
            )

    def _copy(self, output: bool, way: Constant):
        for tensor in self.tensors:
            if tensor.output == output:
                ends = _address(tensor), Name(f'host["{tensor.name}"]')
                target, source = ends if way is TO_DEVICE else ends[::-1]
                size = tensor.bytes
                self.call(MEMORY, "aclrtMemcpy", target, size, source, size, way)

    def _release(self):
        """Wait for queued work, then release objects in reverse order."""
        done = [(call.function, call.status) for call in self.calls]
        if (self.op.aclnn_name, 0) in done and "aclrtSynchronizeStream" not in dict(done):
            self.call(RELEASE, "aclrtSynchronizeStream", Name("stream"))
        gone = {"destroyed": (self.main,), "leak": (self.main,)}.get(self.mistake, ())
        kept = (f"{self.main}_address",) if self.mistake in ("freed", "memory") else ()
        names = [tensor.name for tensor in self.tensors]
        handles = [("aclDestroyTensor", Name(name)) for name in names if name not in gone]
        handles += [
            (f"aclDestroy{self._array(name)}", Name(name))
            for name in self.attributes
            if self._array(name)
        ]
        memory = [f"{name}_address" for name in names] + ["workspace"]
        handles += [("aclrtFree", Name(name)) for name in memory if name not in kept]
        handles.append(("aclrtDestroyStream", Name("stream")))
        lines = [one for one in handles if self.values.get(one[1])]
        lines.append(("aclrtResetDevice", 0))
        lines.insert(0 if self.mistake == "finalize" else len(lines), ("aclFinalize",))
        for line in lines:
            self.call(RELEASE, *line)


def _address(tensor) -> Name:
    return Name(f"{tensor.name}_address")
