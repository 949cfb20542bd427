"""Rules that the contracts of several operators share, and the contract that follows from a declaration alone.

An operator without a contract of its own has what follows from its declaration, checked in C order: which checks the
library makes in which order, and what it silently lets pass, is not known of it.
"""

from collections.abc import Callable
from math import prod

import numpy as np

from aclnn_viz.dtypes import FORMATS, PLAIN, float_format
from aclnn_viz.operators.codes import (
    ACLNN_ERR_INNER_FIND_KERNEL_ERROR,
    ACLNN_ERR_INNER_TILING_ERROR,
    ACLNN_ERR_PARAM_INVALID,
    ACLNN_ERR_PARAM_NULLPTR,
    ACL_BF16,
    ACL_FORMAT_NCDHW,
    ACL_FORMAT_NCHW,
    ACL_FORMAT_NCL,
    ACL_FORMAT_ND,
    ACL_FORMAT_NHWC,
    DATA_TYPE_SIZES,
    data_type_name,
)
from aclnn_viz.operators.contract.model import (
    Call,
    Check,
    Constraint,
    Contract,
    DtypeRow,
    EarlySuccess,
    TensorDescriptor,
)
from aclnn_viz.operators.operator import Operator
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.patterns import chosen
from aclnn_viz.operators.products import READ, WITH_BFLOAT16, Version
from aclnn_viz.operators.shapes import formats_of
from aclnn_viz.words.messages import message

SYSTEM_WORKSPACE = 16 * 1024 * 1024  # bytes that the tiling of a generated operator always asks for
GENERATED = (
    "nnopbase individual_op/api/individual_op_api.cpp and individual_op/executor/indv_executor.cpp"
)
HAND_WRITTEN = "ops-math aclnn_kernels/common/op_error_check.h"
UINT32 = 2**32


def tensor_names(
    parameters: tuple[Parameter, ...], output: bool | None = None, required: bool | None = None
) -> tuple:
    """Return the names of the tensors among the parameters, all or only outputs (inputs), required (optional) ones."""
    return tuple(
        p.name
        for p in parameters
        if p.kind == "tensor" and output in (None, p.output) and required in (None, p.required)
    )


def extent(tensor: TensorDescriptor, axis: int) -> int | None:
    """Return the length of an axis, None when the tensor has no such axis."""
    return tensor.shape[axis] if axis < tensor.rank else None


def null_pointers(names: tuple[str, ...], source: str) -> tuple[Check, ...]:
    """Refuse null pointers one after the other."""
    return tuple(
        Check(
            f"{name} null",
            lambda call, name=name: call[name] is None,
            ACLNN_ERR_PARAM_NULLPTR,
            message("{name} is a null pointer", name=name),
            source,
        )
        for name in names
    )


def out_pointers(source: str) -> tuple[Check, Check]:
    """Refuse null pointers in the place of workspaceSize, then of executor."""
    return (
        Check(
            "workspaceSize null",
            lambda call: not call.workspace_pointer,
            ACLNN_ERR_PARAM_NULLPTR,
            "workspaceSize is a null pointer",
            source,
        ),
        Check(
            "executor null",
            lambda call: not call.executor_pointer,
            ACLNN_ERR_PARAM_NULLPTR,
            "executor is a null pointer",
            source,
        ),
    )


def dtype_in(name: str, accepted: Callable[[Call], tuple[int, ...]], source: str) -> Check:
    return Check(
        f"{name} dtype",
        lambda call: call[name].dtype not in accepted(call),
        ACLNN_ERR_PARAM_INVALID,
        f"the data type of {name} is not supported on this product",
        source,
        (name,),
    )


def by_architecture(*common: int) -> Callable[[Call], tuple[int, ...]]:
    """The list of a library that knows architectures only: also products for which there is no kernel are accepted."""
    lists = dict.fromkeys(READ, common) | dict.fromkeys(WITH_BFLOAT16, (*common, ACL_BF16))
    return lambda call: lists.get(call.product, ())


def options(operator: Operator, names: str, source: str) -> tuple[Check, ...]:
    """Refuse values that the declaration does not list."""

    def check(p: Parameter) -> Check:
        return Check(
            p.name,
            lambda call: call[p.name] not in p.values,
            ACLNN_ERR_PARAM_INVALID,
            message(
                "{name} must be {first} to {last}",
                name=p.name,
                first=p.values[0],
                last=p.values[-1],
            ),
            source,
            (p.name,),
        )

    return tuple(check(p) for name in names.split() for p in operator.parameters if p.name == name)


def mask_entries(operator: Operator, name: str, source: str) -> Check:
    """Refuse a mask that has not one entry for each output that it asks for."""
    count = operator.attributes[name].length
    return Check(
        f"{name} size",
        lambda call: len(call[name]) != count,
        ACLNN_ERR_PARAM_INVALID,
        f"{name} must have {count} entries",
        source,
        (name,),
    )


def same_dtype(name: str, other: str, source: str) -> Check:
    return Check(
        f"{name} dtype as {other}",
        lambda call: call[name].dtype != call[other].dtype,
        ACLNN_ERR_PARAM_INVALID,
        message("{name} must have the data type of {other}", name=name, other=other),
        source,
        (name, other),
    )


def same_shape(name: str, other: str, source: str) -> Check:
    return Check(
        f"{name} shape as {other}",
        lambda call: call[name].shape != call[other].shape,
        ACLNN_ERR_PARAM_INVALID,
        message("{name} must have the shape of {other}", name=name, other=other),
        source,
        (name, other),
    )


def rank_in(
    name: str, low: int, high: int, source: str, status: int = ACLNN_ERR_PARAM_INVALID, **scope
) -> Check:
    wanted = f"{low}" if low == high else message("{low} to {high}", low=low, high=high)
    return Check(
        f"{name} rank",
        lambda call: not low <= call[name].rank <= high,
        status,
        message("{name} must have {wanted} axes", name=name, wanted=wanted),
        source,
        (name,),
        **scope,
    )


def same_extent(
    name: str,
    axis: int,
    other: str,
    other_axis: int,
    source: str,
    status: int = ACLNN_ERR_PARAM_INVALID,
) -> Check:
    return Check(
        f"{name} axis {axis} as {other} axis {other_axis}",
        lambda call: extent(call[name], axis) != extent(call[other], other_axis),
        status,
        f"axis {axis} of {name} must be as long as axis {other_axis} of {other}",
        source,
        (name, other),
    )


def generated_contract(
    operator: Operator,
    rows: tuple[DtypeRow, ...],
    tiling: tuple[Check, ...],
    constraints: tuple[Constraint, ...],
    **others,
) -> Contract:
    """Return the contract of an operator whose C API the vendor's generator made: what all of these have, and its own."""
    parameters = operator.c_parameters
    inputs = tensor_names(parameters, output=False)
    return Contract(
        operator=operator,
        generated=True,
        dtype_rows=rows,
        steps=_generated_steps(parameters, rows, tiling),
        constraints=(undocumented_dtypes(rows), _strided_outputs(parameters), *constraints),
        **{"workspace_size": lambda call: SYSTEM_WORKSPACE + contiguous_copies(call, inputs)}
        | others,
    )


def _generated_steps(
    parameters: tuple[Parameter, ...], rows: tuple[DtypeRow, ...], tiling: tuple[Check, ...]
) -> tuple[Check | EarlySuccess, ...]:
    """Put the checks that every generated operator makes before its own tiling checks."""
    required = tensor_names(parameters, required=True)
    outputs = tensor_names(parameters, output=True)
    accepted = (ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC, ACL_FORMAT_NCDHW, ACL_FORMAT_NCL)
    # The unified lookup with its own status came with the individual_op sources; the version is inferred from the tags.
    first = Version.parse("9.0.0")

    def no_product(call: Call) -> bool:
        return not any(row.applies(call) for row in rows)

    return (
        *null_pointers(tensor_names(parameters, output=False, required=True), GENERATED),
        *null_pointers(outputs, GENERATED),
        *reversed(out_pointers(GENERATED)),
        Check(
            "product",
            no_product,
            ACLNN_ERR_PARAM_INVALID,
            message("the operator does not support this product"),
            GENERATED,
            since=first,
            inferred=True,
        ),
        Check(
            "product",
            no_product,
            ACLNN_ERR_INNER_FIND_KERNEL_ERROR,
            message("no kernel found for this product"),
            GENERATED,
            until=first,
            inferred=True,
        ),
        Check(
            "format",
            lambda call: any(call[name].format not in accepted for name in required),
            ACLNN_ERR_PARAM_INVALID,
            message("a tensor has a format that is not accepted as ND"),
            GENERATED,
            required,
        ),
        Check(
            "dtypes",
            lambda call: not any(row.matches(call, required) for row in rows),
            ACLNN_ERR_PARAM_INVALID,
            message("the data types are no supported combination"),
            GENERATED,
            required,
        ),
        EarlySuccess(
            "all outputs empty",
            lambda call: all(call[name].size == 0 for name in outputs),
            GENERATED,
        ),
        *tiling,
    )


def tiling_check(
    name: str,
    fails: Callable[[Call], bool],
    text: str | None,
    source: str,
    about: tuple[str, ...] = (),
    **scope,
) -> Check:
    return Check(name, fails, ACLNN_ERR_INNER_TILING_ERROR, text, source, about, **scope)


def _strided_outputs(parameters: tuple[Parameter, ...]) -> Constraint:
    """Generated operators write their outputs densely from the start of the view, whatever its strides."""
    outputs = tensor_names(parameters, output=True)
    return Constraint(
        "strided output",
        "outputs must be contiguous: the library ignores the strides of an output and "
        "writes it densely from the start of the view",
        "device.run",
        lambda call, arrays: any(not call[name].is_contiguous for name in outputs if call[name]),
        GENERATED,
    )


def undocumented_dtypes(rows: tuple[DtypeRow, ...]) -> Constraint:
    """The library accepts more combinations of product and data types than its documents list."""

    def violated(call: Call, arrays) -> bool:
        matching = [row for row in rows if row.matches(call)]
        return bool(matching) and not any(row.documented for row in matching)

    return Constraint(
        "undocumented data types",
        "the documents do not list these data types for this product, "
        "although the library takes them",
        "nobody",
        violated,
        "operator registry, CANN 8.1",
    )


def unchecked_dtype(name: str, accepted: tuple[int, ...], source: str, **scope) -> Constraint:
    names = " or ".join(data_type_name(dtype) for dtype in accepted)
    return Constraint(
        f"{name} dtype",
        f"{name} must be {names}; the library does not compare the data type of an optional input",
        "device.run",
        lambda call, arrays: call[name] is not None and call[name].dtype not in accepted,
        source,
        **scope,
    )


def unchecked_shape(
    name: str, shape: Callable[[Call], tuple | None], text: str, source: str, **scope
) -> Constraint:
    """A tensor whose shape the library never looks at; `shape(call)` None means that any will do."""

    def violated(call: Call, arrays) -> bool:
        wanted = shape(call)
        return wanted is not None and call[name] is not None and call[name].shape != wanted

    return Constraint(
        f"{name} shape",
        f"{text}; the library does not check it",
        "device.run",
        violated,
        source,
        **scope,
    )


def narrowed(value: float) -> float:
    """Return a double attribute as a generated operator keeps it, in float."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def byte_size(tensor: TensorDescriptor, dtype: int | None = None) -> int:
    return tensor.size * DATA_TYPE_SIZES.get(tensor.dtype if dtype is None else dtype, 0)


def temporary(size: int) -> int:
    """Return the workspace that one internal tensor of `size` bytes takes (nnopbase memory_allocator.h)."""
    return -(-(size + 32) // 512) * 512


def contiguous_copies(call: Call, names: tuple[str, ...]) -> int:
    """Return the workspace for dense copies of the strided tensors among those named."""
    return sum(
        temporary(byte_size(call[name]))
        for name in names
        if call[name] is not None and not call[name].is_contiguous
    )


def wrapped_product(shape: tuple[int, ...]) -> int:
    """Multiply extents as the tiling does, in uint32_t."""
    return prod(shape) % UINT32


_DTYPES = {fmt.acl_code: fmt.numpy for fmt in FORMATS} | {
    code: np.dtype(name) for name, code in PLAIN.items()
}


def alike(names: tuple[str, ...], *dtypes: int, **scope) -> tuple[DtypeRow, ...]:
    """Return a row for each data type, which all tensors have."""
    return tuple(DtypeRow(dict.fromkeys(names, dtype), **scope) for dtype in dtypes)


def declared_rows(op: Operator) -> tuple[DtypeRow, ...]:
    """Return a row for each product's formats: the tensor that sets the format, and those that must have the same."""
    same = [
        name
        for name in tensor_names(op.c_parameters)
        if op.tensors[name].dtype == "same" and not op.tensors[name].optional
    ]
    return tuple(
        DtypeRow(dict.fromkeys(same, float_format(name).acl_code), products=products)
        for products, names in op.formats.items()
        for name in names.split()
    )


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
        operator=op,
        generated=False,
        dtype_rows=rows,
        steps=(
            *out_pointers(source),
            *null_pointers(tensor_names(parameters, output=False, required=True), source),
            *null_pointers(
                tuple(
                    p.name
                    for p in parameters
                    if p.c_type.endswith("*")
                    and p.kind != "tensor"
                    and not p.name.endswith("Optional")
                ),
                source,
            ),
            *(
                Check(
                    f"{name} null",
                    lambda call, name=name: (
                        call[name] is None and op.asks_for(name, call.arguments)
                    ),
                    161001,
                    message("{name} is a null pointer", name=name),
                    source,
                )
                for name in op.outputs
            ),
            Check(
                "product",
                lambda call: not any(row.applies(call) for row in rows),
                ACLNN_ERR_PARAM_INVALID,
                message("the operator does not support this product"),
                source,
            ),
            Check(
                "data types",
                lambda call: not any(row.matches(call, (op.like,)) for row in rows),
                ACLNN_ERR_PARAM_INVALID,
                f"the data type of {op.like} is not supported on this product",
                source,
                (op.like,),
            ),
            *(
                Check(
                    "declaration",
                    lambda call, code=code: refused(call) == code,
                    code,
                    misfit,
                    source,
                )
                for code in sorted({op.status_of(name) for name in (*op.attributes, *op.tensors)})
            ),
            *(
                Check(
                    f"{name} only",
                    lambda call, name=name, values=values: call[name] not in (None, *values),
                    op.status_of(name),
                    message(
                        "{name} must be {values} on this product",
                        name=name,
                        values=" or ".join(map(str, values)),
                    ),
                    source,
                    (name,),
                    products=products,
                )
                for name, attribute in op.attributes.items()
                for products, values in attribute.only.items()
            ),
            *(
                Check(
                    f"{name} empty",
                    lambda call, name=name: call[name].size == 0,
                    op.status_of(name),
                    message("{name} must have elements", name=name),
                    source,
                    (name,),
                )
                for name in tensor_names(parameters)
                if not op.tensors[name].empty
            ),
            EarlySuccess(
                "nothing to compute",
                lambda call: all(call[name].size == 0 for name in wanted(call)),
                source,
            ),
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
        pattern = chosen(rule.shape, bound)
        shape = pattern.shape(
            sizes | (pattern.narrowed(bound[op.kept[name]].shape) if name in op.kept else {})
        )
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
