"""Checks of phase 1 (GetWorkspaceSize) that several operators share, and checks derived from declared shapes and dtypes.

An operator without a contract gets checks from its declaration, in C order: the library's real checks, their order and its
silent passes are unknown.
"""

import re
from collections.abc import Callable
from functools import partial
from math import prod
from operator import attrgetter

import numpy as np

from aclnn_viz.dtypes import FORMATS, PLAIN, float_format
from aclnn_viz.errors import invalid
from aclnn_viz.operators.codes import (
    ACL_BF16,
    ACL_FORMAT_NCDHW,
    ACL_FORMAT_NCHW,
    ACL_FORMAT_NCL,
    ACL_FORMAT_ND,
    ACL_FORMAT_NHWC,
    ACLNN_ERR_INNER_FIND_KERNEL_ERROR,
    ACLNN_ERR_PARAM_INVALID,
    ACLNN_ERR_PARAM_NULLPTR,
    DATA_TYPE_SIZES,
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
from aclnn_viz.words.messages import Message, message

SYSTEM_WORKSPACE = 16 * 1024 * 1024  # bytes that each generated operator's tiling requests
GENERATED = (
    "nnopbase individual_op/api/individual_op_api.cpp and individual_op/executor/indv_executor.cpp"
)
HAND_WRITTEN = "ops-math aclnn_kernels/common/op_error_check.h"
UINT32 = 2**32


def tensor_names(
    parameters: tuple[Parameter, ...], output: bool | None = None, required: bool | None = None
) -> tuple:
    """Return the names of tensor parameters, all or only outputs (inputs), required (optional) tensors."""
    return tuple(
        p.name
        for p in parameters
        if p.kind == "tensor" and output in (None, p.output) and required in (None, p.required)
    )


def extent(tensor: TensorDescriptor, axis: int | str) -> int | None:
    """Return the length of an axis (a number or its text), None if the tensor lacks the axis."""
    return tensor.shape[int(axis)] if int(axis) < tensor.rank else None


def _differ(part: Callable, call: Call, name: str, other: str) -> bool:
    return part(call[name]) != part(call[other])


def out_pointers(source: str) -> tuple[Check, Check]:
    """Return the checks that refuse a null workspaceSize pointer, then a null executor pointer."""
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


def by_architecture(*common: int) -> Callable[[Call], tuple[int, ...]]:
    """Return a function of a call: the data types that the library accepts on its product, `common` and by architecture
    bfloat16, even if the product has no kernel.
    """
    lists = dict.fromkeys(READ, common) | dict.fromkeys(WITH_BFLOAT16, (*common, ACL_BF16))
    return lambda call: lists.get(call.product, ())


#: The forms of a check's text: name of the check, condition of failure.
FORMS = (
    (message("{name} is a null pointer"), "{name} null", lambda call, name: call[name] is None),
    ("the data type of {name} is not supported on this product", "{name} dtype", None),
    *(
        (form, f"{{name}} {part} as {{other}}", partial(_differ, attrgetter(part)))
        for part, form in (
            ("dtype", message("{name} must have the data type of {other}")),
            ("shape", message("{name} must have the shape of {other}")),
            ("rank", "{name} must have as many axes as {other}"),
        )
    ),
    (
        message("{name} must have {wanted} axes"),
        "{name} rank",
        lambda call, name, wanted: not _within(call[name].rank, wanted),
    ),
    (
        "axis {axis} of {name} must be as long as axis {place} of {other}",
        "{name} axis {axis} as {other} axis {place}",
        lambda call, axis, name, place, other: (
            extent(call[name], axis) != extent(call[other], place)
        ),
    ),
    (
        message("{name} must be {first} to {last}"),
        "{name}",
        lambda call, name, first, last: not int(first) <= call[name] <= int(last),
    ),
    (
        "{name} must have {count} entries",
        "{name} size",
        lambda call, name, count: len(call[name]) != int(count),
    ),
)


def checks(op: Operator, source: str, *rules, accepted=None, **common) -> tuple:
    """Return the steps of phase 1 that the rules state, in the order of the rules.

    A rule is a step, or a text of one of the FORMS (several parameters may replace one), or (name, text, fails) with the
    parameters to show if the text does not name them. `accepted(call)` are the supported
    data types; `common` holds the fields of all checks.
    """
    steps: list = []
    for rule in rules:
        if not isinstance(rule, str | tuple):
            steps.append(rule)
        elif isinstance(rule, tuple):
            steps.append(_check(op, source, common, *rule))
        else:
            several = re.search(r"\w+(?:, \w+)+", rule)
            for name in several[0].split(", ") if several else [""]:
                text = rule.replace(several[0], name) if several else rule
                steps.append(_check(op, source, common, *_formed(text, accepted)))
    return tuple(steps)


def null_pointers(op: Operator, source: str, *names: str) -> tuple:
    """Return the checks that refuse a null pointer for each of the named parameters, in this order."""
    return checks(op, source, *(f"{name} is a null pointer" for name in names))


def _within(number: int, wanted: str) -> bool:
    """Return whether a number equals the wanted number or lies in a range such as "0 to 8"."""
    low, _, high = wanted.partition(" to ")
    return int(low) <= number <= int(high or low)


def _formed(text: str, accepted) -> tuple:
    """Return the name, text and condition of failure of the check that a text in one of the FORMS states."""
    for form, name, fails in FORMS:
        pattern = re.sub(
            r"{(\w+)}", r"(?P<\1>\\w+)", form.replace("{wanted}", "(?P<wanted>[0-8 to]+)")
        )
        if said := re.fullmatch(pattern, text):
            values = said.groupdict()
            fails = fails or (lambda call, name: call[name].dtype not in accepted(call))
            if " to " in (wanted := values.get("wanted", "")):
                low, high = wanted.split(" to ")
                shown = values | {"wanted": message("{low} to {high}", low=low, high=high)}
            else:
                shown = values
            text = message(form, **shown) if isinstance(form, Message) else text
            return name.format(**values), text, lambda call: fails(call, **values)
    raise invalid("a rule has one of the forms", repr(text), "see FORMS")


def _check(op: Operator, source: str, common: dict, name, text, fails, *about) -> Check:
    null = name.endswith(" null")
    named = dict.fromkeys(re.findall(r"\w+", text or ""))
    about = about or tuple(word for word in named if word in {p.name for p in op.c_parameters})
    return Check(
        **{
            "name": name,
            "fails": fails,
            "status": ACLNN_ERR_PARAM_NULLPTR if null else ACLNN_ERR_PARAM_INVALID,
            "text": text,
            "source": source,
            "about": () if null else about,
        }
        | common
    )


def generated_contract(
    operator: Operator,
    rows: tuple[DtypeRow, ...],
    tiling: tuple[Check, ...],
    constraints: tuple[Constraint, ...],
    **others,
) -> Contract:
    """Return the contract of an operator with a generated C API: the shared steps and the operator's."""
    parameters = operator.c_parameters
    inputs = tensor_names(parameters, output=False)
    return Contract(
        operator=operator,
        generated=True,
        dtype_rows=rows,
        steps=_generated_steps(operator, rows, tiling),
        constraints=(undocumented_dtypes(rows), _strided_outputs(parameters), *constraints),
        **{"workspace_size": lambda call: SYSTEM_WORKSPACE + contiguous_copies(call, inputs)}
        | others,
    )


def _generated_steps(
    operator: Operator, rows: tuple[DtypeRow, ...], tiling: tuple[Check, ...]
) -> tuple[Check | EarlySuccess, ...]:
    """Return the checks that every generated operator makes before its tiling checks."""
    parameters = operator.c_parameters
    required = tensor_names(parameters, required=True)
    outputs = tensor_names(parameters, output=True)
    accepted = (ACL_FORMAT_ND, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC, ACL_FORMAT_NCDHW, ACL_FORMAT_NCL)
    # In the individual_op sources, a lookup shared by all operators refuses the product, with a
    # status of its own. The first version that has this lookup is inferred from the tags.
    first = Version.parse("9.0.0")

    def no_product(call: Call) -> bool:
        return not any(row.applies(call) for row in rows)

    return (
        *null_pointers(
            operator, GENERATED, *tensor_names(parameters, output=False, required=True), *outputs
        ),
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


def _strided_outputs(parameters: tuple[Parameter, ...]) -> Constraint:
    """Return the constraint that generated operators write outputs densely from the view's start, ignoring strides."""
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
    """Return the constraint that the library accepts more products and data types than its documents list."""

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


def unanswered(op: Operator, source: str) -> tuple[Constraint, Constraint]:
    """Return the constraints of an operator with outputMask: the library answers success and computes nothing if the
    mask is null or an input is empty.
    """
    inputs = tensor_names(op.c_parameters, output=False)
    return (
        Constraint(
            "null outputMask",
            "outputMask must be given: with a null outputMask the library answers success before every check and computes nothing",
            "device.run",
            lambda call, arrays: call["outputMask"] is None,
            source,
        ),
        Constraint(
            "outputs of empty inputs",
            "no input may be empty while an output is not: the library answers success "
            "and leaves the output as it was",
            "device.run",
            lambda call, arrays: (
                any(call[name].size == 0 for name in inputs)
                and any(call[name].size for name in op.outputs)
            ),
            source,
        ),
    )


def unchecked_shape(
    name: str, shape: Callable[[Call], tuple | None], text: str, source: str, **scope
) -> Constraint:
    """Return the constraint on a tensor whose shape the library ignores; if `shape(call)` is None, any shape is valid."""

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
    """Return a double attribute as a generated operator stores it, in float."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def byte_size(tensor: TensorDescriptor, dtype: int | None = None) -> int:
    return tensor.size * DATA_TYPE_SIZES.get(tensor.dtype if dtype is None else dtype, 0)


def temporary(size: int) -> int:
    """Return the workspace that one internal tensor of `size` bytes takes (nnopbase memory_allocator.h)."""
    return -(-(size + 32) // 512) * 512


def contiguous_copies(call: Call, names: tuple[str, ...]) -> int:
    """Return the workspace for dense copies of the named tensors that are strided."""
    return sum(
        temporary(byte_size(call[name]))
        for name in names
        if call[name] is not None and not call[name].is_contiguous
    )


def wrapped_product(shape: tuple[int, ...]) -> int:
    """Return the product of extents as the tiling computes it, in uint32_t."""
    return prod(shape) % UINT32


_DTYPES = {fmt.acl_code: fmt.numpy for fmt in FORMATS} | {
    code: np.dtype(name) for name, code in PLAIN.items()
}


def alike(names: tuple[str, ...], *dtypes: int, **scope) -> tuple[DtypeRow, ...]:
    """Return a row for each data type, shared by all tensors."""
    return tuple(DtypeRow(dict.fromkeys(names, dtype), **scope) for dtype in dtypes)


def declared_rows(op: Operator) -> tuple[DtypeRow, ...]:
    """Return a row for each format and the products that take the format: all
    tensors that must have it get its aclDataType.
    """
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
    """Return the promises of an operator's declaration as checks."""
    rows, inputs = declared_rows(op), tensor_names(op.c_parameters, output=False)
    return Contract(
        operator=op,
        generated=False,
        dtype_rows=rows,
        steps=_plain_steps(op, rows),
        constraints=(),
        workspace_size=lambda call: SYSTEM_WORKSPACE + contiguous_copies(call, inputs),
    )


def _plain_steps(op: Operator, rows: tuple[DtypeRow, ...]) -> tuple:
    source = f"the declaration of {op.aclnn_name}"

    def refused(call: Call) -> int | None:
        text = _misfit(op, call)  # its first word is the parameter that misfits
        return text and op.status_of(text.partition(" ")[0])

    def wanted(call: Call) -> list[str]:
        return [name for name in op.outputs if op.asks_for(name, call.arguments)]

    arrays = [
        p.name
        for p in op.c_parameters
        if p.c_type.endswith("*") and p.kind != "tensor" and not p.name.endswith("Optional")
    ]
    codes = sorted({op.status_of(name) for name in (*op.attributes, *op.tensors)})
    return checks(
        op,
        source,
        *out_pointers(source),
        *null_pointers(
            op, source, *tensor_names(op.c_parameters, output=False, required=True), *arrays
        ),
        *(
            (
                f"{name} null",
                message("{name} is a null pointer", name=name),
                lambda call, name=name: name in wanted(call) and call[name] is None,
            )
            for name in op.outputs
        ),
        (
            "product",
            message("the operator does not support this product"),
            lambda call: not any(row.applies(call) for row in rows),
        ),
        (
            "data types",
            f"the data type of {op.like} is not supported on this product",
            lambda call: not any(row.matches(call, (op.like,)) for row in rows),
        ),
        *(
            Check(
                "declaration",
                lambda call, code=code: refused(call) == code,
                code,
                lambda call: _misfit(op, call),
                source,
            )
            for code in codes
        ),
        *_values_of_products(op, source),
        *_elements(op, source),
        EarlySuccess(
            "nothing to compute",
            lambda call: all(call[name].size == 0 for name in wanted(call)),
            source,
        ),
    )


def _elements(op: Operator, source: str) -> list:
    """Return the checks that refuse empty tensors if the declaration does."""
    return [
        Check(
            f"{name} empty",
            lambda call, name=name: call[name].size == 0,
            op.status_of(name),
            message("{name} must have elements", name=name),
            source,
            (name,),
        )
        for name in tensor_names(op.c_parameters)
        if not op.tensors[name].empty
    ]


def _values_of_products(op: Operator, source: str) -> list:
    """Return the checks that refuse attribute values which only other products support."""
    return [
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
    ]


def _misfit(op: Operator, call: Call) -> str | None:
    """Return how the tensors and attributes of a call misfit their declaration, None if they fit."""
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
    """Return an array without memory in place of a described tensor."""
    if not isinstance(value, TensorDescriptor):
        return value
    if value.dtype not in _DTYPES:
        raise TypeError(f"the data type of {name} is not supported")
    return np.broadcast_to(np.zeros((), _DTYPES[value.dtype]), value.shape)
