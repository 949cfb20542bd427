"""Calls about tensors, bool arrays and executors: descriptors on the host, which the device never sees.

Sources: `src/nnopbase/common/api/acl_op_api.cpp` and `src/nnopbase/common/utils/common_types.cpp` of nnopbase;
aclCreateTensor and aclSetAclOpExecutorRepeatable, CANN documentation.
"""

from aclnn_viz.acl.state import HOST_ARRAYS, HostExecutor, HostTensor, State
from aclnn_viz.operators.codes import (
    ACLNN_ERR_INNER, ACLNN_ERR_INNER_NULLPTR, ACLNN_ERR_PARAM_INVALID, ACLNN_ERR_PARAM_NULLPTR, ACLNN_SUCCESS,
)
from aclnn_viz.operators.contract.model import TensorDescriptor, contiguous_strides
from aclnn_viz.words.speech import message


class MetaCalls(State):
    def aclCreateTensor(self, view_dims, dtype, strides, offset, format, storage_dims, address):
        """Dims and strides are copied and not validated; null strides mean a dense view; the address may be null."""
        shape = view_dims or ()
        if strides is None:
            strides = contiguous_strides(shape)
        elif len(strides) < len(shape):
            self.record("aclCreateTensor", message("reads {n} strides from an array of {there}", n=len(shape),
                                                   there=len(strides)))
            strides += (0,) * (len(shape) - len(strides))
        if min(*shape, *strides, offset, 0, 0) < 0:
            self.record("aclCreateTensor", message("dims {shape}, strides {strides} and offset {offset} must not be negative",
                                                   shape=shape, strides=strides, offset=offset))
        descriptor = TensorDescriptor(shape, dtype, strides[:len(shape)], offset, format, storage_dims or ())
        return HostTensor(self, descriptor, address)

    def aclDestroyTensor(self, tensor):
        return self._destroy("aclDestroyTensor", tensor)

    def _destroy(self, call: str, handle) -> int:
        """Null is fine; a second destroy of the same handle goes unnoticed by the library."""
        if handle is not None and self.check_alive(call, handle):
            self.destroy(handle)
        return ACLNN_SUCCESS

    def aclGetViewShape(self, tensor):
        return self._of(tensor, "aclGetViewShape", lambda: tensor.descriptor.shape)

    def aclGetViewStrides(self, tensor):
        return self._of(tensor, "aclGetViewStrides", lambda: tensor.descriptor.strides)

    def aclGetViewOffset(self, tensor):
        return self._of(tensor, "aclGetViewOffset", lambda: tensor.descriptor.offset)

    def aclGetStorageShape(self, tensor):
        return self._of(tensor, "aclGetStorageShape", lambda: tensor.descriptor.storage_shape)

    def aclGetFormat(self, tensor):
        return self._of(tensor, "aclGetFormat", lambda: tensor.descriptor.format)

    def aclGetDataType(self, tensor):
        return self._of(tensor, "aclGetDataType", lambda: tensor.descriptor.dtype)

    def _of(self, handle, call: str, value) -> tuple:
        if handle is None:
            return self.failed(ACLNN_ERR_PARAM_NULLPTR, f"{call}: the handle is a null pointer"), None
        self.check_alive(call, handle)
        return ACLNN_SUCCESS, value()

    def aclSetAclOpExecutorRepeatable(self, executor):
        """Let phase 2 take the executor any number of times; then `aclDestroyAclOpExecutor` must free it."""
        status = self.usable_executor("aclSetAclOpExecutorRepeatable", executor)
        if not status:
            executor.repeatable = True
        return status

    def aclDestroyAclOpExecutor(self, executor):
        status = self.usable_executor("aclDestroyAclOpExecutor", executor)
        if not status:
            self.destroy(executor)
        return status

    def aclSetInputTensorAddr(self, executor, index, tensor, address):
        return self._set_address("aclSetInputTensorAddr", executor, index, tensor, address, (False,))

    def aclSetOutputTensorAddr(self, executor, index, tensor, address):
        return self._set_address("aclSetOutputTensorAddr", executor, index, tensor, address, (True,))

    def aclSetTensorAddr(self, executor, index, tensor, address):
        return self._set_address("aclSetTensorAddr", executor, index, tensor, address, (False, True))

    def _set_address(self, call, executor, index, tensor, address, output) -> int:
        """`index` counts the tensors of phase 1 in its order, null ones too."""
        if tensor is None or address is None:
            return self.failed(ACLNN_ERR_INNER_NULLPTR, f"{call}: tensor or address is a null pointer")
        status = self.usable_executor(call, executor)
        if status:
            return status
        self.check_alive(call, tensor)
        names = [p.name for p in executor.contract.parameters if p.kind == "tensor" and p.output in output]
        if index >= len(names) or names[index] not in executor.addresses:
            return self.failed(ACLNN_ERR_PARAM_INVALID, f"{call}: phase 1 was given no tensor {index}")
        executor.addresses[names[index]] = address
        return ACLNN_SUCCESS

    def usable_executor(self, call: str, executor: HostExecutor | None) -> int:
        """Return 0 for an executor that has not served yet, else a status; that of a spent one is inferred."""
        if executor is None:
            return self.failed(ACLNN_ERR_INNER_NULLPTR, f"{call}: executor is a null pointer")
        if self.check_alive(call, executor):
            return ACLNN_SUCCESS
        return self.failed(ACLNN_ERR_INNER, f"{call}: {executor!r} does not exist any more")


def _array_calls(kind: str) -> dict:
    """The calls of one kind of array, such as BoolArray."""
    def create(self, values):
        return HOST_ARRAYS[kind](self, values or ())

    def destroy(self, array):
        return self._destroy(f"aclDestroy{kind}", array)

    def size(self, array):
        return self._of(array, f"aclGet{kind}Size", lambda: len(array.values))

    return {f"aclCreate{kind}": create, f"aclDestroy{kind}": destroy, f"aclGet{kind}Size": size}


for _kind in HOST_ARRAYS:
    for _name, _call in _array_calls(_kind).items():
        setattr(MetaCalls, _name, _call)
