"""`HostAcl`: CANN's C API emulated on the host, so that both phases of an operator's call (checks, then launch) run without
hardware.

Phase 1 checks and prepares by the operator's contract; phase 2 queues a launch, which runs when the stream reaches it.
Hand-written operators make inputs dense and copy results back through the view of the output; generated ones make inputs dense
too, but write each result densely from the start of the view. If the library checks nothing, reads outside an allocation return
poison and writes there are dropped. A launch on memory that is not live device memory stops with ACL_ERROR_RT_AICORE_EXCEPTION
at synchronise, a kernel that asserts with ACL_ERROR_RT_VECTOR_CORE_EXCEPTION.

Sources: "two-phase API", aclCreateTensor and aclSetAclOpExecutorRepeatable, CANN documentation; of nnopbase
`src/nnopbase/common/api/acl_op_api.cpp`, `common/utils/common_types.cpp`, `composite_op/aclnn_engine/op_executor.cpp`,
`individual_op/api/individual_op_api.cpp` and `individual_op/executor/indv_executor_tensor.cpp`; `l0op::Contiguous` and
`l0op::ViewCopy` in ops-math. Inferred: the codes of a stopped launch; the statuses of nonexistent handles, of executors already
used or of another operator, and of unusable streams.
"""

from functools import wraps
from math import prod

import numpy as np

from aclnn_viz.acl.protocol import RUNTIME, Function, Handle, current, offer, operator_with, phases
from aclnn_viz.acl.runtime import ContextCalls, ProcessCalls, TransferCalls
from aclnn_viz.acl.state import (
    HOST_ARRAYS,
    POISON,
    Failed,
    HostExecutor,
    HostScalar,
    HostTensor,
    State,
    byte_range,
)
from aclnn_viz.dtypes import FORMATS, PLAIN
from aclnn_viz.errors import function, whole
from aclnn_viz.operators import operator as operator_of
from aclnn_viz.operators import operators
from aclnn_viz.operators.codes import (
    ACL_ERROR_RT_AICORE_EXCEPTION,
    ACL_ERROR_RT_VECTOR_CORE_EXCEPTION,
    ACL_SUCCESS,
    ACLNN_ERR_INNER,
    ACLNN_ERR_INNER_NULLPTR,
    ACLNN_ERR_PARAM_INVALID,
    ACLNN_ERR_PARAM_NULLPTR,
    ACLNN_ERR_RUNTIME_ERROR,
    DATA_TYPE_SIZES,
)
from aclnn_viz.operators.contract import Contract, contract
from aclnn_viz.operators.contract.model import (
    Call,
    KernelFault,
    TensorDescriptor,
    contiguous_strides,
)
from aclnn_viz.operators.products import CANN, SOC, product_of, soc_of, version_of
from aclnn_viz.words.messages import kept, message


class MetaCalls(State):
    def aclCreateTensor(self, view_dims, dtype, strides, offset, format, storage_dims, address):
        """Dims and strides are copied and not validated; null strides mean a dense view; the address may be null."""
        shape = view_dims or ()
        if strides is None:
            strides = contiguous_strides(shape)
        elif len(strides) < len(shape):
            self.record(
                message(
                    "it reads {n} strides from an array of {there}",
                    n=len(shape),
                    there=len(strides),
                )
            )
            strides += (0,) * (len(shape) - len(strides))
        if min(*shape, *strides, offset, 0, 0) < 0:
            self.record(
                message(
                    "dims {shape}, strides {strides} and offset {offset} must not be negative",
                    shape=shape,
                    strides=strides,
                    offset=offset,
                )
            )
        descriptor = TensorDescriptor(
            shape, dtype, strides[: len(shape)], offset, format, storage_dims or ()
        )
        return HostTensor(self, descriptor, address)

    def aclCreateScalar(self, value, dtype):
        """Copy the number from host memory; null if that is too small for the type."""
        kind = NUMBERS.get(dtype)
        if kind is None or not isinstance(value, np.ndarray) or value.nbytes < kind.itemsize:
            self.fail(
                ACLNN_ERR_PARAM_INVALID,
                "value must point to a number of the type in memory of the host",
            )
        number = np.frombuffer(value.tobytes(), kind, 1)[0]
        return HostScalar(self, number.item() if kind.kind == "i" else float(number))

    def aclSetAclOpExecutorRepeatable(self, executor):
        """Let phase 2 use the executor any number of times; `aclDestroyAclOpExecutor` must then free it."""
        self.need_executor(executor)
        executor.repeatable = True

    def aclDestroyAclOpExecutor(self, executor):
        self.need_executor(executor)
        self.destroy(executor)

    def need_executor(self, executor: HostExecutor | None) -> None:
        """Fail for a null executor, or one that was used up; the second status is inferred, not documented."""
        if executor is None:
            self.fail(ACLNN_ERR_INNER_NULLPTR, "executor is a null pointer")
        if not self.check_alive(executor):
            self.fail(ACLNN_ERR_INNER, f"{executor!r} does not exist any more")


def _destroyed(self, handle):
    # the library does not notice a second destroy of the same handle
    if handle is not None and self.check_alive(handle):
        self.destroy(handle)


def _got(read):
    def get(self, handle):
        if handle is None:
            self.fail(ACLNN_ERR_PARAM_NULLPTR, "the handle is a null pointer")
        self.check_alive(handle)
        return read(handle)

    return get


def _set_address(*outputs):
    def set_address(self, executor, index, tensor, address):
        # `index` counts the tensors of phase 1 in order, null ones too.
        if tensor is None or address is None:
            self.fail(ACLNN_ERR_INNER_NULLPTR, "tensor or address is a null pointer")
        self.need_executor(executor)
        self.check_alive(tensor)
        names = [
            p.name
            for p in executor.contract.parameters
            if p.kind == "tensor" and p.output in outputs
        ]
        if index >= len(names) or names[index] not in executor.addresses:
            self.fail(ACLNN_ERR_PARAM_INVALID, f"phase 1 was given no tensor {index}")
        executor.addresses[names[index]] = address

    return set_address


#: Handles of several types: functions that differ only in the type share one method.
ALIKE = (
    {f"aclDestroy{kind}": _destroyed for kind in ("Tensor", "Scalar", *HOST_ARRAYS)}
    | {
        f"aclGet{what}": _got(lambda tensor, field=field: getattr(tensor.descriptor, field))
        for what, field in (
            ("ViewShape", "shape"),
            ("ViewStrides", "strides"),
            ("ViewOffset", "offset"),
            ("StorageShape", "storage_shape"),
            ("Format", "format"),
            ("DataType", "dtype"),
        )
    }
    | {
        f"aclCreate{kind}": lambda self, values, made=made: made(self, values or ())
        for kind, made in HOST_ARRAYS.items()
    }
    | {f"aclGet{kind}Size": _got(lambda array: len(array.values)) for kind in HOST_ARRAYS}
    | {
        "aclSetInputTensorAddr": _set_address(False),
        "aclSetOutputTensorAddr": _set_address(True),
        "aclSetTensorAddr": _set_address(False, True),
    }
)
for _name, _call in ALIKE.items():
    setattr(MetaCalls, _name, _call)


NUMBERS = {fmt.acl_code: fmt.numpy for fmt in FORMATS} | {
    code: np.dtype(name) for name, code in PLAIN.items()
}
#: NumPy types of the other data types: bytes only, because no kernel computes with them.
NUMPY_DTYPES = {code: np.dtype(f"V{size}") for code, size in DATA_TYPE_SIZES.items()} | NUMBERS
_ALIGNMENT = 32  # bytes: a tensor's address is a multiple of this


def call_of(state: State, arguments: dict) -> Call:
    """Return phase 1's arguments in the form that the contract reads."""
    plain = {
        name: value.descriptor if isinstance(value, HostTensor) else getattr(value, "values", value)
        for name, value in arguments.items()
    }
    return Call(state.product, state.cann, plain)


class Launch:
    """A queued task; it keeps descriptors and addresses, so that tensors may be destroyed after phase 2."""

    def __init__(self, state: State, executor: HostExecutor, workspace, workspace_size: int):
        self.name = executor.contract.aclnn_name
        self._state = state
        self._contract = executor.contract
        self._outcome = executor.outcome
        self._call = call_of(state, executor.arguments)
        self._addresses = dict(executor.addresses)
        self._workspace = (workspace, workspace_size) if workspace_size else (None, 0)
        self._fault = False
        self._used = []
        # memory regions: (name, first address, address behind the last, written)
        self._regions = []
        for parameter in self._contract.parameters:
            if parameter.name in self._addresses and parameter.name not in self._outcome.untouched:
                self._inspect(parameter.name, parameter.output)
        self._inspect_workspace()

    def touching(self, pointer, count: int, written_only: bool) -> list[str]:
        """Return the names of tensors that the task uses, or only those it writes, in `count` bytes at an address."""
        if not isinstance(pointer, int):
            return []
        return [
            name
            for name, low, high, written in self._regions
            if low < pointer + count and pointer < high and (written or not written_only)
        ]

    def run(self) -> None:
        """Compute and write the outputs; fail with the status that synchronise returns."""
        if self._fault or not all(self._exists(address) for address in self._used):
            self._stop(
                ACL_ERROR_RT_AICORE_EXCEPTION,
                "a tensor or the workspace is not in live device memory",
            )
        workspace, size = self._workspace
        if size:
            # a kernel leaves undefined bytes in its workspace
            self._state.memory.fill(workspace, size, POISON)
        arrays = {
            p.name: self.read(p.name)
            for p in self._contract.parameters
            if p.kind == "tensor" and not p.output and p.name in self._addresses
        }
        for constraint in self._contract.violations(self._call, arrays):
            if constraint.enforced_by == "device.run":
                self._record(kept(constraint.text))
        for name, value in self._outcome.fills.items():
            self._write(
                name, np.full(self._call[name].shape, value, NUMPY_DTYPES[self._call[name].dtype])
            )
        left = [
            p.name
            for p in self._contract.parameters
            if p.output
            and p.name not in self._outcome.fills
            and p.name not in self._outcome.untouched
        ]
        if not any(self._call[name].size for name in left):
            return
        try:
            attributes = {
                name: value
                for name, value in self._call.arguments.items()
                if value is not None and not isinstance(value, TensorDescriptor)
            }
            inputs = self._contract.kernel_inputs(self, self._call, arrays, attributes, left)
            results = self._contract.kernel_outputs(
                self._call, self._state.backward(self._contract.name, inputs)
            )
        except KernelFault as fault:
            self._stop(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, str(fault))
        except ValueError as refusal:
            # the library accepts some values and shapes for which the kit has no formula
            self._record(message("outputs stay as they were; {refusal}", refusal=str(refusal)))
            return
        for name in left:
            # an output may have elements while its view has none
            if results[name].size and not self._exists(self._addresses[name]):
                self._stop(ACL_ERROR_RT_AICORE_EXCEPTION, f"{name} is not in live device memory")
            self._write(name, results[name])

    def read(self, name: str) -> np.ndarray:
        """Return the elements of an input, through its view."""
        view = self._call[name]
        return self._state.memory.gather(self._addresses[name], view, NUMPY_DTYPES[view.dtype])

    def read_dense(self, name: str, count: int, dtype: int) -> np.ndarray:
        """Return the first `count` elements of an input as `dtype`; a kernel may read beyond the input's end."""
        view = self._call[name]
        found = self.read(name).reshape(-1).view(np.uint8)
        size = count * DATA_TYPE_SIZES[dtype]
        if view.is_contiguous and found.size < size and self._exists(self._addresses[name]):
            start = self._addresses[name] + view.offset * DATA_TYPE_SIZES[view.dtype]
            complaint = self._state.memory.complaint(start, 0, size)
            if complaint:
                self._record(
                    message("it reads {name}: {complaint}", name=name, complaint=complaint)
                )
            found = self._state.memory.read(start, size)
        found = np.concatenate([found[:size], np.full(max(size - found.size, 0), POISON, np.uint8)])
        return found.view(NUMPY_DTYPES[dtype])

    def _write(self, name: str, values: np.ndarray) -> None:
        view = self._call[name]
        values = np.asarray(values, dtype=NUMPY_DTYPES[view.dtype])
        if self._contract.generated:
            view = _dense(view, values.shape)
        self._state.memory.scatter(self._addresses[name], view, values)

    def _stop(self, status: int, why: str):
        raise Failed(status, f"{self.name}: the kernel stopped; {why}")

    def _record(self, what: str) -> None:
        self._state.record(what, self.name)

    def _inspect(self, name: str, output: bool) -> None:
        """Record the bytes that a tensor covers, and misuse that the library would miss."""
        view, address = self._call[name], self._addresses[name]
        if output and self._contract.generated:
            view = _dense(view, view.shape)
        if view.dtype not in NUMPY_DTYPES or min(view.shape, default=0) < 0 or _counts_beyond(view):
            self._fault = True
        elif view.size:
            itemsize = DATA_TYPE_SIZES[view.dtype]
            low, high = byte_range(view, itemsize)
            complaint = self._state.memory.complaint(address, low, high)
            if complaint:
                text = {"name": name, "complaint": complaint}
                self._record(
                    message("it writes {name}: {complaint}", **text)
                    if output
                    else message("it reads {name}: {complaint}", **text)
                )
            elif address % _ALIGNMENT:
                self._record(
                    message(
                        "{name} starts at {address}, which is not aligned to 32 bytes",
                        name=name,
                        address=f"{address:#x}",
                    )
                )
            # a larger view than the device's memory must overlap itself
            if view.size * itemsize > self._state.memory.capacity:
                self._record(
                    message(
                        "{name} has {n} bytes, more than the device",
                        name=name,
                        n=view.size * itemsize,
                    )
                )
                self._fault = True
            self._used.append(address)
            if isinstance(address, int):
                self._regions.append((name, address + low, address + high, output))

    def _exists(self, address) -> bool:
        block = self._state.memory.find(address)
        return block is not None and not block.freed

    def _inspect_workspace(self) -> None:
        workspace, size = self._workspace
        required = self._outcome.workspace_size
        if size < required:
            self._record(
                message(
                    "workspaceSize is {size}, and phase 1 asked for {required}",
                    size=size,
                    required=required,
                )
            )
        if size:
            complaint = self._state.memory.complaint(workspace, 0, size)
            if complaint:
                self._record(
                    message("it writes {name}: {complaint}", name="workspace", complaint=complaint)
                )
            if isinstance(workspace, int):
                self._regions.append(("workspace", workspace, workspace + size, True))
            self._used.append(workspace)


def _counts_beyond(view: TensorDescriptor) -> bool:
    """Return whether the lengths of an empty view exceed any memory."""
    return prod(n or 1 for n in view.shape) * DATA_TYPE_SIZES[view.dtype] >= 1 << 62


def _dense(view: TensorDescriptor, shape: tuple[int, ...]) -> TensorDescriptor:
    return TensorDescriptor(
        shape, view.dtype, contiguous_strides(shape), view.offset, view.format, view.storage_shape
    )


class OperatorCalls(MetaCalls, ContextCalls):
    def prepare(self, operator: Contract, arguments: tuple) -> tuple:
        """Do phase 1: check like the vendor's library, and return (workspace size, executor)."""
        given = {p.name: value for p, value in zip(operator.parameters, arguments)}
        for value in given.values():
            if isinstance(value, Handle) and not self.check_alive(value):
                self.fail(ACLNN_ERR_INNER_NULLPTR, f"{value!r} does not exist")
        outcome = operator.evaluate(call_of(self, given))
        if outcome.message:
            self.thread.error = outcome.message
        if outcome.status:
            raise Failed(outcome.status)
        return outcome.workspace_size, HostExecutor(self, operator, given, outcome)

    def execute(self, operator: Contract, workspace, workspace_size: int, executor, stream) -> None:
        """Do phase 2: queue the work. Unless repeatable, the executor is used up, even on failure."""
        if executor is not None:
            self.need_executor(executor)
            executor.serve()
            if executor.contract is not operator:
                self.record(
                    message(
                        "{handle} was made for {name}",
                        handle=repr(executor),
                        name=executor.contract.aclnn_name,
                    )
                )
                self.fail(ACLNN_ERR_INNER, f"{executor!r} is not usable")
        status, why = operator.evaluate_launch(
            workspace=workspace is not None,
            workspace_size=workspace_size,
            executor=executor is not None,
            required=executor.outcome.workspace_size if executor else 0,
        )
        if status:
            raise Failed(status, why)
        if executor is not None:
            self._queue(executor, workspace, workspace_size, stream)

    def _queue(self, executor: HostExecutor, workspace, workspace_size: int, stream) -> None:
        outcome = executor.outcome
        for value in executor.arguments.values():
            if isinstance(value, Handle) and not value.alive:
                self.record(
                    message("{handle} was destroyed between the phases", handle=repr(value))
                )
        if not outcome.runs:
            self._record_idle(executor)
            return
        try:
            self.need_stream(stream)
        except Failed as failed:
            raise Failed(ACLNN_ERR_RUNTIME_ERROR, failed.text) from None
        if outcome.launch_status:
            self.fail(outcome.launch_status, "the kernel could not be launched")
        self.default_stream_or(stream).queue.append(
            Launch(self, executor, workspace, workspace_size)
        )

    def _record_idle(self, executor: HostExecutor) -> None:
        """Record why phase 2 has nothing to do although the caller expected results."""
        operator, call = executor.contract, call_of(self, executor.arguments)
        if any(
            call[p.name] is None for p in operator.parameters if p.kind == "tensor" and p.required
        ):
            self.record(message("phase 1 was given null pointers, and nothing is computed"))
            return
        for constraint in operator.violations(call):
            if constraint.enforced_by == "device.run":
                self.record(kept(constraint.text))


def _backward(name: str, inputs: dict) -> dict:
    return operator_of(name).backward(**inputs)


class HostAcl(ProcessCalls, TransferCalls, OperatorCalls):
    """CANN's C API for one process, on an emulated product with one CANN version and `memory` bytes.

    The methods carry the C names and take the C arguments in C order without the out-pointers; they return the status followed
    by the out-values. They raise only TypeError, for arguments that C would not compile. `misuse` lists, in sentences, errors
    that the vendor's library misses. `backward(name, inputs)` computes the outputs of an operator when a stream is
    synchronised; by default it is `Operator.backward`. Raises ValueError for an unknown SoC or version.

    >>> acl = HostAcl(soc="Ascend910B2", cann="9.1")
    >>> acl.aclInit(None), acl.aclrtSetDevice(0), acl.aclrtGetSocName()
    (0, 0, 'Ascend910B2')
    >>> status, address = acl.aclrtMalloc(64, 0)
    >>> acl.aclrtFree(address), acl.aclrtFree(address)
    (0, 107000)
    >>> acl.misuse
    ['aclrtFree: memory freed twice (64 bytes at 0x12c000000000)']
    """

    unavailable: dict[str, str] = {}  # reason for each function that an installation lacks

    def __init__(
        self, soc: str = SOC, cann: str = CANN, *, memory: int = 64 << 30, backward=_backward
    ):
        super().__init__(soc_of(soc), product_of(soc), version_of(cann), whole("memory", memory))
        self.backward = function("backward", backward)
        self.process = self  # the key by which the process state is stored

    def __getattr__(self, name: str):
        """Add the two phases of an operator that was opened from a folder later."""
        late = operator_with(name)
        if late is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        _offer(phases(late), _phase_methods(late))
        return getattr(self, name)


def _phase_methods(operator: Contract):
    """Return the methods of an operator's two phases."""

    def prepare(self, *arguments):
        return self.prepare(current(operator), arguments)

    def execute(self, *arguments):
        return self.execute(current(operator), *arguments)

    return prepare, execute


def _answering(function: Function, method):
    """Return a method with C's result: a status and the out-values.

    The library is safe to call from several threads; here one lock makes it so.
    """
    states, many, nothing = (
        function.return_type in ("aclError", "aclnnStatus"),
        len(function.outputs) > 1,
        function.nothing,
    )

    @wraps(method)
    def answer(self, *arguments):
        with self.lock:
            before, self.called = self.called, function.name
            try:
                found = method(self, *arguments)
            except Failed as failed:
                if failed.text is not None:
                    self.thread.error = failed.text
                return (
                    None if not states else (failed.status, *nothing) if nothing else failed.status
                )
            finally:
                self.called = before
        return (
            found
            if not states
            else (ACL_SUCCESS, *found)
            if many
            else (ACL_SUCCESS, found)
            if nothing
            else ACL_SUCCESS
        )

    return answer


def _offer(functions: tuple[Function, ...], methods) -> None:
    """Add functions of the C API to the class; they check their arguments before taking the lock."""
    for prototype, method in zip(functions, methods):
        setattr(HostAcl, prototype.name, _answering(prototype, method))
    offer(functions)(HostAcl)


_offer(RUNTIME, [getattr(HostAcl, function.name) for function in RUNTIME])
for _operator in operators():
    _offer(phases(contract(_operator)), _phase_methods(contract(_operator)))
