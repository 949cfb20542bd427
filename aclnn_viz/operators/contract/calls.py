"""Turn a device's inputs into a call of phase 1 (GetWorkspaceSize), to explain why a product refuses them."""

import numpy as np

from aclnn_viz.dtypes import FORMATS, PLAIN
from aclnn_viz.operators import Operator
from aclnn_viz.operators.codes import ACL_FORMAT_ND
from aclnn_viz.operators.contract import (
    Call,
    Contract,
    TensorDescriptor,
    contiguous_strides,
    contract,
)
from aclnn_viz.operators.products import Product, Version

#: The aclDataType of an array's dtype.
DTYPE_CODES = {np.dtype(name): code for name, code in PLAIN.items()} | {
    fmt.numpy: fmt.acl_code for fmt in FORMATS
}


def refusal(op: Operator, inputs: dict, product: Product, cann: Version) -> str:
    """Return why a product with a CANN version does not compute these inputs as documented, or an empty text.

    >>> import aclnn_viz as av
    >>> from aclnn_viz.operators.products import A2
    >>> refusal(av.operator("rms_norm"), av.case("rms_norm").inputs, A2, Version.parse("9.1"))
    ''
    """
    promise, call, tensors, *_ = call_of(op, op.bind(inputs), product, cann)
    outcome = promise.evaluate(call)
    if outcome.status or outcome.launch_status:
        return outcome.reason or f"status {outcome.status or outcome.launch_status}"
    silent = (
        one.text for one in promise.violations(call, tensors) if one.enforced_by == "device.run"
    )
    return next(silent, "")


def call_of(op, bound, product, cann) -> tuple[Contract, Call, dict, dict, dict]:
    """Return the operator's contract, the phase 1 call, all tensors as the device reads them, their descriptors and the
    outputs among them.
    """
    promise = contract(op.name)
    results = op.arrange_backward(**bound).results
    # the library requires every output tensor
    if any(bound[name] != value for name, value in op.all_outputs.items()):
        results = op.arrange_backward(**bound | op.all_outputs).results
    outputs = {
        name: np.empty(result.documented_shape, result.format.numpy)
        for name, result in results.items()
    }
    takes_views = all(constraint.name != "strided input" for constraint in promise.constraints)
    tensors = {
        name: viewable(value, takes_views)
        for name, value in bound.items()
        if isinstance(value, np.ndarray)
    }
    tensors |= outputs
    described = {name: descriptor(array, op.layout(name)) for name, array in tensors.items()}
    given = bound | described
    return (
        promise,
        Call(product, cann, {p.name: given.get(p.name) for p in promise.parameters}),
        tensors,
        described,
        outputs,
    )


def viewable(array: np.ndarray, takes_views: bool) -> np.ndarray:
    """Return the array itself when the device can read it: dense, or with whole, non-negative strides; else a copy.

    A view that skips most of its memory is copied too, so that the gaps are not sent to the device.
    """
    if array.flags.c_contiguous:
        return array
    whole = takes_views and all(
        stride >= 0 and stride % array.itemsize == 0 for stride in array.strides
    )
    return array if whole and span(array) <= 4 * array.size else np.ascontiguousarray(array)


def descriptor(array: np.ndarray, layout: int = ACL_FORMAT_ND) -> TensorDescriptor:
    """Return the descriptor of a tensor over an array: shape, strides in elements, and spanned storage."""
    strides, storage = contiguous_strides(array.shape), array.shape
    if not array.flags.c_contiguous:
        strides, storage = (
            tuple(stride // array.itemsize for stride in array.strides),
            (span(array),),
        )
    return TensorDescriptor(array.shape, DTYPE_CODES[array.dtype], strides, 0, layout, storage)


def span(array: np.ndarray) -> int:
    """Return the number of elements from the first to the last of an array, gaps included.

    >>> span(np.zeros((3, 4))[:, ::2])
    11
    """
    if not array.size:
        return 0
    return 1 + sum(
        (n - 1) * stride // array.itemsize for n, stride in zip(array.shape, array.strides)
    )
