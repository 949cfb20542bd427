"""One operator call on a session: what the library would get wrong is refused, the rest is a `Program`."""

import warnings

import numpy as np

from aclnn_viz.acl.program import Program, descriptor, span
from aclnn_viz.devices.errors import ConstraintWarning, RefusedError
from aclnn_viz.devices.session import Session
from aclnn_viz.operators import Operator
from aclnn_viz.operators.contract import Call, TensorDescriptor, contract
from aclnn_viz.operators.products import Product, Version
from aclnn_viz.words.speech import kept, message

UNWRITTEN = 0xFF  # a nan in every format: an output that the kernel does not write shows


def run(session: Session, op: Operator, inputs: dict, workarounds: bool = False,
        predicts: bool = False) -> dict[str, np.ndarray]:
    """Run `op` with inputs by the vendor's names and return its outputs by the vendor's names.

    Raises what `op.backward` raises for bad input, RefusedError where the library would go wrong in silence (unless a
    workaround is asked for and known), AclError where it reports an error, FunctionUnavailable where it lacks the
    operator; warns with ConstraintWarning of documented constraints that nobody enforces, and of those whose consequences
    an emulated device computes that `predicts`.
    """
    bound = op.bind(inputs)
    predicts = predicts and not workarounds  # what is worked around does not go wrong
    try:
        return _run(session, op, bound, predicts)
    except RefusedError as refused:
        workaround = refused.workaround
        if not (workarounds and workaround and workaround.holds(bound)):
            raise
    given, finish = workaround.apply(bound)
    return finish(_run(session, op, given, predicts))


def refusal(op: Operator, inputs: dict, product: Product, cann: Version) -> str:
    """Return why a product with a CANN version does not compute these inputs as documented, or an empty text.

    >>> import aclnn_viz as av
    >>> from aclnn_viz.operators.products import A2
    >>> refusal(av.operator("rms_norm"), av.case("rms_norm").inputs, A2, Version.parse("9.1"))
    ''
    """
    bound, promise = op.bind(inputs), contract(op.name)
    tensors, _ = _tensors(op, bound, promise)
    described = {name: descriptor(array, op.layout(name)) for name, array in tensors.items()}
    call = Call(product, cann, {p.name: (bound | described).get(p.name) for p in promise.parameters})
    outcome = promise.evaluate(call)
    if outcome.status or outcome.launch_status:
        return outcome.message or f"status {outcome.status or outcome.launch_status}"
    silent = (one.text for one in promise.violations(call, bound | tensors) if one.enforced_by == "device.run")
    return next(silent, "")


def _tensors(op, bound, promise) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """All tensors of a call by name, as the device reads them, and of these the outputs."""
    results = op.arrange_backward(**bound).results
    if any(bound[name] != value for name, value in op.all_outputs.items()):  # the library wants every output tensor
        results = op.arrange_backward(**bound | op.all_outputs).results
    outputs = {name: np.empty(result.documented_shape, result.format.numpy) for name, result in results.items()}
    takes_views = all(constraint.name != "strided input" for constraint in promise.constraints)
    tensors = {name: _viewable(value, takes_views)
               for name, value in bound.items() if isinstance(value, np.ndarray)}
    return tensors | outputs, outputs


def _run(session, op, bound, predicts) -> dict[str, np.ndarray]:
    wanted, promise = op.arrange_backward(**bound).results, contract(op.name)
    tensors, outputs = _tensors(op, bound, promise)
    described = {name: descriptor(array, op.layout(name)) for name, array in tensors.items()}
    _refuse(session, op, promise, bound | described, tensors, predicts)

    with session.program() as program:
        addresses = {name: _unwritten(program, array) if name in outputs else program.put(array)
                     for name, array in tensors.items()}
        given = bound | {name: _tensor(program, view, tensors[name].dtype, addresses[name])
                         for name, view in described.items()}
        program.queue(op.aclnn_name, program.arguments(promise, given))
        program.synchronise()
        return {name: program.get(addresses[name], array.shape, array.dtype, array)
                for name, array in outputs.items() if name in wanted}


def _refuse(session, op, promise, values, arrays, predicts) -> None:
    call = Call(session.product, session.acl.cann, {p.name: values.get(p.name) for p in promise.parameters})
    for constraint in promise.violations(call, arrays):
        if constraint.enforced_by == "device.run" and not (predicts and constraint.predicted):
            raise RefusedError(promise.aclnn_name, constraint, _fix(constraint, values))
        if constraint.enforced_by != "library":
            told = message("{call}: {what}", call=promise.aclnn_name, what=kept(constraint.text))
            warnings.warn(told, ConstraintWarning, stacklevel=5)


def _fix(constraint, values) -> str:
    fix = "change the inputs, or run on the host to see the formula"
    if constraint.workaround and constraint.workaround.holds(values):
        fix += f", or open the device with workarounds=True: {constraint.workaround.text}"
    return fix


def _viewable(array: np.ndarray, takes_views: bool) -> np.ndarray:
    """Return the array itself when the device can read it: dense, or with whole, non-negative strides; else a copy.

    A view that skips most of its memory is copied too: what lies between would cross to the device for nothing.
    """
    if array.flags.c_contiguous:
        return array
    whole = takes_views and all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides)
    return array if whole and span(array) <= 4 * array.size else np.ascontiguousarray(array)


def _unwritten(program: Program, array: np.ndarray) -> int:
    """Allocate device memory for an output and fill it with UNWRITTEN."""
    address = program.malloc(array.nbytes)
    if array.nbytes:
        program.calls.call("aclrtMemset", address, array.nbytes, UNWRITTEN, array.nbytes)
    return address


def _tensor(program: Program, view: TensorDescriptor, dtype: np.dtype, address: int):
    return program.view(address, list(view.shape), dtype, list(view.strides), view.offset, list(view.storage_shape),
                        view.format)
