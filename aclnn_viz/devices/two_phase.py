"""One operator call on a session: tensors up, the two phases, synchronise, outputs down.

Written once over the methods of the C API, so that the emulator and the real libraries run the same code.
Source: two-phase API, CANN documentation.
"""

import warnings

import numpy as np

from aclnn_viz.codes import (
    ACL_FORMAT_NCHW, ACL_FORMAT_ND, ACL_INT32, ACL_INT64, ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
)
from aclnn_viz.devices.errors import ConstraintWarning, RefusedError
from aclnn_viz.devices.session import Session
from aclnn_viz.devices.workarounds import WORKAROUNDS
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.operators import Operator
from aclnn_viz.operators.contract import Call, TensorDescriptor, contiguous_strides, contract

_DTYPE_CODES = {np.dtype(np.int64): ACL_INT64, np.dtype(np.int32): ACL_INT32} | {
    fmt.numpy: fmt.acl_code for fmt in FORMATS}
UNWRITTEN = 0xFF  # a nan in every format: an output that the kernel does not write shows


def run(session: Session, op: Operator, inputs: dict, workarounds: bool = False,
        predicted: frozenset[str] = frozenset()) -> dict[str, np.ndarray]:
    """Run `op` with inputs by the vendor's names and return its outputs by the vendor's names.

    Raises what `op.backward` raises for bad input, RefusedError where the library would go wrong in silence (unless a
    workaround is asked for and known), AclError where it reports an error, FunctionUnavailable where it lacks the
    operator; warns with ConstraintWarning of documented constraints that nobody enforces, and of those in `predicted`,
    whose consequences an emulated device computes.
    """
    bound = op.bind(inputs)
    predicted = frozenset() if workarounds else predicted  # what is worked around does not go wrong
    try:
        return _run(session, op, bound, predicted)
    except RefusedError as refused:
        workaround = WORKAROUNDS.get((op.name, refused.constraint))
        if not (workarounds and workaround and workaround.holds(bound)):
            raise
    given, finish = workaround.apply(bound)
    return finish(_run(session, op, given, predicted))


def _run(session, op, bound, predicted) -> dict[str, np.ndarray]:
    wanted = results = op.arrange_backward(**bound).results
    if any(bound[name] != value for name, value in op.all_outputs.items()):  # the library wants every output tensor
        results = op.arrange_backward(**bound | op.all_outputs).results
    outputs = {name: np.empty(result.documented_shape, result.format.numpy) for name, result in results.items()}
    promise = contract(op.name)
    takes_views = all(constraint.name != "strided input" for constraint in promise.constraints)
    tensors = {name: _viewable(value, takes_views)
               for name, value in bound.items() if isinstance(value, np.ndarray)} | outputs
    described = {name: _describe(op, name, array) for name, array in tensors.items()}
    _refuse(session, op, promise, bound | described, tensors, predicted)

    with session.scope() as scope:
        addresses = {name: _upload(session, scope, array, output=name in outputs) for name, array in tensors.items()}
        arguments = []
        for parameter in promise.parameters:
            value = bound.get(parameter.name)
            if parameter.name in tensors:
                value = _tensor(session, scope, described[parameter.name], addresses[parameter.name])
            elif parameter.kind == "bool array":
                value = session.handle("aclCreateBoolArray", list(value))
                scope.release("aclDestroyBoolArray", value)
            arguments.append(value)
        size, executor = session.call(f"{op.aclnn_name}GetWorkspaceSize", *arguments)
        try:
            workspace = _allocate(session, scope, size) if size else None
        except BaseException:
            session.acl.aclDestroyAclOpExecutor(executor)
            raise
        try:
            session.call(op.aclnn_name, workspace, size, executor, session.stream)
            session.synchronise()
        except BaseException:
            session.drain()  # a failed launch or Ctrl-C may leave work queued, and it uses the memory that goes now
            raise
        for name in wanted:
            _download(session, outputs[name], addresses[name])
    return {name: outputs[name] for name in wanted}


def _refuse(session, op, promise, values, arrays, predicted) -> None:
    call = Call(session.product, session.acl.cann, {p.name: values.get(p.name) for p in promise.parameters})
    for constraint in promise.violations(call, arrays):
        if constraint.enforced_by == "device.run" and constraint.name not in predicted:
            raise RefusedError(promise.aclnn_name, constraint, _fix(op, constraint, values))
        if constraint.enforced_by != "library":
            warnings.warn(f"{promise.aclnn_name}: {constraint.text}", ConstraintWarning, stacklevel=5)


def _fix(op, constraint, values) -> str:
    fix = "change the inputs, or run on the host to see the formula"
    workaround = WORKAROUNDS.get((op.name, constraint.name))
    if workaround and workaround.holds(values):
        fix += f", or open the device with workarounds=True: {workaround.text}"
    return fix


def _viewable(array: np.ndarray, takes_views: bool) -> np.ndarray:
    """Return the array itself when the device can read it: dense, or with whole, non-negative strides; else a copy.

    A view that skips most of its memory is copied too: what lies between would cross to the device for nothing.
    """
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.flags.c_contiguous:
        return array
    whole = takes_views and all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides)
    return array if whole and _span(array) <= 4 * array.size else np.ascontiguousarray(array)


def _span(array: np.ndarray) -> int:
    """The elements between the first and the last of a view, both included."""
    if not array.size:
        return 0
    return 1 + sum((n - 1) * stride // array.itemsize for n, stride in zip(array.shape, array.strides))


def _describe(op: Operator, name: str, array: np.ndarray) -> TensorDescriptor:
    strides, storage = contiguous_strides(array.shape), array.shape
    if not array.flags.c_contiguous:
        strides, storage = tuple(stride // array.itemsize for stride in array.strides), (_span(array),)
    layout = ACL_FORMAT_NCHW if array.ndim == 4 and op.name == "grid_sampler_2d" else ACL_FORMAT_ND
    return TensorDescriptor(array.shape, _DTYPE_CODES[array.dtype], strides, 0, layout, storage)


def _allocate(session, scope, size: int) -> int:
    address = session.call("aclrtMalloc", max(size, 1), ACL_MEM_MALLOC_HUGE_FIRST)  # size 0 is an error
    scope.release("aclrtFree", address)
    return address


def _upload(session, scope, array: np.ndarray, output: bool) -> int:
    """Allocate device memory for a tensor and fill it with its values, or with UNWRITTEN."""
    size = array.nbytes if array.flags.c_contiguous else _span(array) * array.itemsize
    address = _allocate(session, scope, size)
    if size and output:
        session.call("aclrtMemset", address, size, UNWRITTEN, size)
    elif size:
        block = array if array.flags.c_contiguous else _memory(array)
        session.call("aclrtMemcpy", address, size, block, size, ACL_MEMCPY_HOST_TO_DEVICE)
    return address


def _memory(array: np.ndarray) -> np.ndarray:
    """All that lies between the first and the last element of a view, as one dense array over the same memory."""
    return np.lib.stride_tricks.as_strided(array, (_span(array),), (array.itemsize,), writeable=False)


def _download(session, array: np.ndarray, address: int) -> None:
    if array.size:
        session.call("aclrtMemcpy", array, array.nbytes, address, array.nbytes, ACL_MEMCPY_DEVICE_TO_HOST)


def _tensor(session, scope, view: TensorDescriptor, address: int):
    tensor = session.handle("aclCreateTensor", list(view.shape), view.dtype, list(view.strides), view.offset,
                            view.format, list(view.storage_shape), address)
    scope.release("aclDestroyTensor", tensor)
    return tensor
