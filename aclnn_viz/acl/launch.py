"""One launch of an operator: what it reads and writes on the device, and its work when the stream reaches it.

Hand-written operators make inputs dense and copy results back through the view of the output; generated ones make
inputs dense too, but write each result densely from where the view starts. Sources: `l0op::Contiguous` and
`l0op::ViewCopy` in ops-math; `individual_op/executor/indv_executor_tensor.cpp` of nnopbase.

Where the library checks nothing, reads outside an allocation give poison and writes there are dropped. A launch on what
is no live device memory stops with ACL_ERROR_RT_AICORE_EXCEPTION at synchronise, one whose kernel asserts with
ACL_ERROR_RT_VECTOR_CORE_EXCEPTION; that these are the codes is inferred.
"""

from math import prod

import numpy as np

from aclnn_viz.acl.memory import POISON, byte_range
from aclnn_viz.acl.state import HostExecutor, HostTensor, State
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.operators.codes import (
    ACL_ERROR_RT_AICORE_EXCEPTION, ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, ACL_INT32, ACL_INT64, ACL_SUCCESS,
    DATA_TYPE_SIZES,
)
from aclnn_viz.operators.contract.model import Call, KernelFault, TensorDescriptor, contiguous_strides
from aclnn_viz.words.speech import kept, message

#: What no kernel computes with is still read, as bytes.
NUMPY_DTYPES = {code: np.dtype(f"V{size}") for code, size in DATA_TYPE_SIZES.items()} \
    | {fmt.acl_code: fmt.numpy for fmt in FORMATS} | {ACL_INT32: np.dtype("i4"), ACL_INT64: np.dtype("i8")}
_ALIGNMENT = 32  # bytes, of the address of a tensor


def call_of(state: State, arguments: dict) -> Call:
    """Phase 1's arguments as the contract reads them."""
    plain = {name: value.descriptor if isinstance(value, HostTensor) else getattr(value, "values", value)
             for name, value in arguments.items()}
    return Call(state.product, state.cann, plain)


class Launch:
    """A queued task; it keeps descriptors and addresses, so that tensors may be destroyed once phase 2 returned."""

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
        self._regions = []  # (name, first address, address behind the last, written)
        for parameter in self._contract.parameters:
            if parameter.name in self._addresses and parameter.name not in self._outcome.untouched:
                self._inspect(parameter.name, parameter.output)
        self._inspect_workspace()

    def touching(self, pointer, count: int, written_only: bool) -> list[str]:
        """Return the names of what the task uses (or only writes) within `count` bytes at a device address."""
        if not isinstance(pointer, int):
            return []
        return [name for name, low, high, written in self._regions
                if low < pointer + count and pointer < high and (written or not written_only)]

    def run(self) -> int:
        """Compute, write the outputs, and return the status that synchronise shows."""
        if self._fault or not all(self._exists(address) for address in self._used):
            return self._stopped(ACL_ERROR_RT_AICORE_EXCEPTION, "a tensor or the workspace is not in live device memory")
        workspace, size = self._workspace
        if size:
            self._state.memory.fill(workspace, size, POISON)  # nothing in it survives a kernel
        arrays = {p.name: self.read(p.name) for p in self._contract.parameters
                  if p.kind == "tensor" and not p.output and p.name in self._addresses}
        for constraint in self._contract.violations(self._call, arrays):
            if constraint.enforced_by == "device.run":
                self._state.record(self.name, kept(constraint.text))
        for name, value in self._outcome.fills.items():
            self._write(name, np.full(self._call[name].shape, value, NUMPY_DTYPES[self._call[name].dtype]))
        left = [p.name for p in self._contract.parameters
                if p.output and p.name not in self._outcome.fills and p.name not in self._outcome.untouched]
        if not any(self._call[name].size for name in left):
            return ACL_SUCCESS
        try:
            attributes = {name: value for name, value in self._call.arguments.items()
                          if value is not None and not isinstance(value, TensorDescriptor)}
            inputs = self._contract.kernel_inputs(self, self._call, arrays, attributes, left)
            results = self._contract.kernel_outputs(self._call, self._state.backward(self._contract.name, inputs))
        except KernelFault as fault:
            return self._stopped(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, str(fault))
        except ValueError as refusal:  # values or shapes that the library lets pass and no formula covers
            self._state.record(self.name, message("outputs stay as they were; {refusal}", refusal=str(refusal)))
            return ACL_SUCCESS
        for name in left:
            if results[name].size and not self._exists(self._addresses[name]):  # written although its view is empty
                return self._stopped(ACL_ERROR_RT_AICORE_EXCEPTION, f"{name} is not in live device memory")
            self._write(name, results[name])
        return ACL_SUCCESS

    def read(self, name: str) -> np.ndarray:
        """Return the elements of an input, through its view."""
        view = self._call[name]
        return self._state.memory.gather(self._addresses[name], view, NUMPY_DTYPES[view.dtype])

    def read_dense(self, name: str, count: int, dtype: int) -> np.ndarray:
        """Return what a kernel finds that takes an input for `count` dense elements of `dtype`."""
        view = self._call[name]
        found = self.read(name).reshape(-1).view(np.uint8)
        size = count * DATA_TYPE_SIZES[dtype]
        if view.is_contiguous and found.size < size and self._exists(self._addresses[name]):
            start = self._addresses[name] + view.offset * DATA_TYPE_SIZES[view.dtype]
            complaint = self._state.memory.complaint(start, 0, size)
            if complaint:
                self._state.record(self.name, message("reads {name}: {complaint}", name=name, complaint=complaint))
            found = self._state.memory.read(start, size)
        found = np.concatenate([found[:size], np.full(max(size - found.size, 0), POISON, np.uint8)])
        return found.view(NUMPY_DTYPES[dtype])

    def _write(self, name: str, values: np.ndarray) -> None:
        view = self._call[name]
        values = np.asarray(values, dtype=NUMPY_DTYPES[view.dtype])
        if self._contract.generated:
            view = _dense(view, values.shape)
        self._state.memory.scatter(self._addresses[name], view, values)

    def _stopped(self, status: int, why: str) -> int:
        return self._state.failed(status, f"{self.name}: the kernel stopped; {why}")

    def _inspect(self, name: str, output: bool) -> None:
        """Note which bytes a tensor covers, and record what the library would not have noticed."""
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
                told = {"name": name, "complaint": complaint}
                self._state.record(self.name, message("writes {name}: {complaint}", **told) if output else
                                   message("reads {name}: {complaint}", **told))
            elif address % _ALIGNMENT:
                self._state.record(self.name, message("{name} starts at {address}, which is not aligned to 32 bytes", name=name,
                                                        address=f"{address:#x}"))
            if view.size * itemsize > self._state.memory.capacity:  # only a view that overlaps itself gets here
                self._state.record(self.name, message("{name} has {n} bytes, more than the device", name=name,
                                                        n=view.size * itemsize))
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
            self._state.record(self.name, message("workspaceSize is {size}, and phase 1 asked for {required}", size=size,
                                                    required=required))
        if size:
            complaint = self._state.memory.complaint(workspace, 0, size)
            if complaint:
                self._state.record(self.name, message("writes {name}: {complaint}", name="workspace", complaint=complaint))
            if isinstance(workspace, int):
                self._regions.append(("workspace", workspace, workspace + size, True))
            self._used.append(workspace)


def _counts_beyond(view: TensorDescriptor) -> bool:
    """Whether the lengths of an empty view are more than any memory could hold."""
    return prod(n or 1 for n in view.shape) * DATA_TYPE_SIZES[view.dtype] >= 1 << 62


def _dense(view: TensorDescriptor, shape: tuple[int, ...]) -> TensorDescriptor:
    return TensorDescriptor(shape, view.dtype, contiguous_strides(shape), view.offset, view.format, view.storage_shape)
