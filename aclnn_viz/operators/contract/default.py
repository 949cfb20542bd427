"""The contract of an operator that has none of its own: what follows from its declaration, checked in C order.

Which checks the library makes in which order, and what it silently lets pass, is not known of such an operator.
"""

import numpy as np

from aclnn_viz.dtypes import FORMATS, float_format
from aclnn_viz.operators.codes import ACL_INT32, ACL_INT64, ACLNN_ERR_PARAM_INVALID
from aclnn_viz.operators.contract.call import Call, TensorDescriptor
from aclnn_viz.operators.contract.model import Check, Contract, DtypeRow, EarlySuccess
from aclnn_viz.operators.contract.rules import (
    SYSTEM_WORKSPACE, contiguous_copies, executor_pointer, null_pointers, tensor_names, workspace_size_pointer,
)
from aclnn_viz.operators.operator import Operator
from aclnn_viz.operators.patterns import chosen
from aclnn_viz.operators.shapes import formats_of

_DTYPES = {fmt.acl_code: fmt.numpy for fmt in FORMATS} | {ACL_INT32: np.dtype("i4"), ACL_INT64: np.dtype("i8")}


def declared_rows(op: Operator) -> tuple[DtypeRow, ...]:
    """Return a row for each product's formats: the tensor that sets the format, and those that must have the same."""
    same = [name for name in tensor_names(op.c_parameters)
            if op.tensors[name].dtype == "same" and not op.tensors[name].optional]
    return tuple(DtypeRow(dict.fromkeys(same, float_format(name).acl_code), products=products)
                 for products, names in op.formats.items() for name in names.split())


def plain_contract(op: Operator) -> Contract:
    """Return what the declaration of an operator promises, as checks."""
    parameters, rows = op.c_parameters, declared_rows(op)
    source = f"the declaration of {op.aclnn_name}"
    inputs = tensor_names(parameters, output=False)

    def misfit(call: Call) -> str | None:
        return _misfit(op, call)

    def refused(call: Call) -> int | None:
        text = misfit(call)  # which begins with the name of what does not fit
        return text and op.status_of(text.partition(" ")[0])

    def wanted(call: Call) -> list[str]:
        return [name for name in op.outputs if op.asks_for(name, call.arguments)]

    return Contract(
        operator=op, generated=False, dtype_rows=rows,
        steps=(
            workspace_size_pointer(source), executor_pointer(source),
            *null_pointers(tensor_names(parameters, output=False, required=True), source),
            *null_pointers(tuple(p.name for p in parameters if p.kind.endswith("s")), source),
            *(Check(f"{name} null", lambda call, name=name: call[name] is None and op.asks_for(name, call.arguments), 161001,
                    f"{name} is a null pointer", source) for name in op.outputs),
            Check("product", lambda call: not any(row.applies(call) for row in rows), ACLNN_ERR_PARAM_INVALID,
                  "the operator does not support this product", source),
            Check("data types", lambda call: not any(row.matches(call, (op.like,)) for row in rows),
                  ACLNN_ERR_PARAM_INVALID, f"the data type of {op.like} is not supported on this product", source,
                  (op.like,)),
            *(Check("declaration", lambda call, code=code: refused(call) == code, code, misfit, source)
              for code in sorted({op.status_of(name) for name in (*op.attributes, *op.tensors)})),
            EarlySuccess("nothing to compute", lambda call: all(call[name].size == 0 for name in wanted(call)), source),
        ),
        constraints=(),
        workspace_size=lambda call: SYSTEM_WORKSPACE + contiguous_copies(call, inputs),
    )


def _misfit(op: Operator, call: Call) -> str | None:
    """Say in what the tensors and attributes of a call do not fit their declaration, None when they do."""
    try:
        given = {p.name: _stand_in(p.name, call[p.name]) for p in op.parameters}
        bound = op.bind({name: value for name, value in given.items() if value is not None})
        fmt, sizes, _ = op.fitting(bound)
    except (TypeError, ValueError) as refusal:
        return str(refusal)
    for name in op.outputs:
        rule, view = op.tensors[name], call[name]
        if view is None or not op.asks_for(name, call.arguments):
            continue
        shape = chosen(rule.shape, bound).shape(sizes)
        if view.shape != shape:
            return f"{name} must have shape {shape}"
        if view.dtype != (wanted := formats_of(rule.dtype, op.like, fmt, bound)[0][0]).acl_code:
            return f"{name} must be {wanted.vendor_name}"
    return None


def _stand_in(name: str, value):
    """An array without memory in the place of a described tensor."""
    if not isinstance(value, TensorDescriptor):
        return value
    if value.dtype not in _DTYPES:
        raise TypeError(f"the data type of {name} is not supported")
    return np.broadcast_to(np.zeros((), _DTYPES[value.dtype]), value.shape)
