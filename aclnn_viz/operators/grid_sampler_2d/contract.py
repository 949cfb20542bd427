"""State what aclnnGridSampler2DBackward's phase 1 (GetWorkspaceSize) checks, in which order, with which status codes, for the
emulated C API.

Sources: ops-cv image/grid_sampler2_d_grad/op_host/op_api/aclnn_grid_sampler2d_backward.cpp, tag by tag;
aclnnGridSampler2DBackward, CANN documentation.
"""

from math import prod

from aclnn_viz.operators.codes import (
    ACL_DOUBLE,
    ACL_FLOAT,
    ACL_FLOAT16,
    ACL_FORMAT_NHWC,
)
from aclnn_viz.operators.contract.model import Call, Constraint, Contract, EarlySuccess
from aclnn_viz.operators.contract.rules import (
    HAND_WRITTEN,
    alike,
    by_architecture,
    byte_size,
    checks,
    contiguous_copies,
    declared_rows,
    extent,
    out_pointers,
    temporary,
    tensor_names,
    unanswered,
    undocumented_dtypes,
)
from aclnn_viz.operators.products import INFERENCE, INFERENCE_A2, TRAINING, WITH_ARCH35, Version

from .declaration import OPERATOR

SOURCE = "ops-cv image/grid_sampler2_d_grad/op_host/op_api/aclnn_grid_sampler2d_backward.cpp"
BICUBIC = Version.parse("9.1.0-beta.2.pre")  # the first tag that accepts interpolationMode 2
# the first tag in which only a null mask bypasses the checks
MASK_CHECKED = Version.parse("9.1.0-beta.1")

NAMES = tensor_names(OPERATOR.c_parameters)
INPUTS = tensor_names(OPERATOR.c_parameters, output=False)
DTYPE_ROWS = (
    *declared_rows(OPERATOR),
    *alike(NAMES, ACL_DOUBLE, documented=False, products=(TRAINING,)),
    *alike(
        NAMES,
        ACL_FLOAT,
        ACL_FLOAT16,
        ACL_DOUBLE,
        documented=False,
        products=(INFERENCE, INFERENCE_A2),
    ),
)


def wanted(call: Call) -> tuple[bool, bool]:
    """Return the mask; missing entries of a short mask count as false (the old library reads beyond its end)."""
    return (*call["outputMask"], False, False)[:2]


def masked_out(call: Call) -> tuple[str, ...]:
    return tuple(name for name, want in zip(("inputGrad", "gridGrad"), wanted(call)) if not want)


def empty_inputs(call: Call) -> bool:
    return any(call[name].size == 0 for name in INPUTS)


def workspace_size(call: Call) -> int:
    """Return the size of the tensors that the API creates internally; the list of these tensors is inferred."""
    size = contiguous_copies(call, NAMES)
    dtype = call["input"].dtype
    # For a tensor tagged NHWC the library uses the last axis, although every shape check reads NCHW.
    channels = call["input"].shape[3 if call["input"].format == ACL_FORMAT_NHWC else 1]
    if dtype != ACL_DOUBLE and call.product not in (TRAINING, *WITH_ARCH35) and channels <= 2048:
        size += sum(
            temporary(byte_size(call[name])) for name in ("gradOutput", "input", "inputGrad")
        )
        if dtype != ACL_FLOAT:
            size += temporary(byte_size(call["inputGrad"], ACL_FLOAT))
    elif call.product is TRAINING and dtype == ACL_FLOAT16:
        size += sum(temporary(byte_size(call[name], ACL_FLOAT)) for name in NAMES)
    return size


NULL_MASK, UNWRITTEN = unanswered(OPERATOR, SOURCE)
CONSTRAINTS = (
    undocumented_dtypes(DTYPE_ROWS),
    NULL_MASK,
    Constraint(
        "short outputMask",
        "outputMask must have two entries: the library reads both without a size check",
        "device.run",
        lambda call, arrays: call["outputMask"] is not None and len(call["outputMask"]) < 2,
        SOURCE,
        until=MASK_CHECKED,
    ),
    Constraint(
        "outputMask both false",
        "outputMask asks for no output, so nothing is computed",
        "nobody",
        lambda call, arrays: call["outputMask"] is not None and not any(wanted(call)),
        SOURCE,
    ),
    UNWRITTEN,
    Constraint(
        "32-bit strides",
        "C * H_out * W_out and C * H * W must stay below 2^31: the kernel keeps strides in int32",
        "device.run",
        lambda call, arrays: any(
            prod(call[name].shape[1:]) >= 2**31 for name in ("gradOutput", "input")
        ),
        "ops-cv image/grid_sampler2_d_grad/op_kernel/grid_sampler2_d_grad.h",
    ),
    Constraint(
        "NHWC tag",
        "format NHWC only changes where the kernel runs; shapes are read as NCHW all the same",
        "nobody",
        lambda call, arrays: call["input"].format == ACL_FORMAT_NHWC,
        SOURCE,
    ),
)


def kernel_inputs(launch, call: Call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    """Return the inputs as old libraries read them: outputMask has two entries, whatever its length in the call."""
    return (
        arrays
        | attributes
        | {"outputMask": tuple(name in outputs for name in ("inputGrad", "gridGrad"))}
    )


CONTRACT = Contract(
    operator=OPERATOR,
    generated=False,
    dtype_rows=DTYPE_ROWS,
    steps=checks(
        OPERATOR,
        SOURCE,
        *out_pointers(HAND_WRITTEN),
        EarlySuccess("null outputMask", lambda call: call["outputMask"] is None, SOURCE),
        EarlySuccess(
            "outputMask both false, before the checks",
            lambda call: not any(wanted(call)),
            SOURCE,
            until=MASK_CHECKED,
        ),
        "gradOutput, input, grid, inputGrad, gridGrad is a null pointer",
        "gradOutput, grid, inputGrad, gridGrad must have the data type of input",
        "the data type of input is not supported on this product",
        *checks(OPERATOR, SOURCE, "interpolationMode must be 0 to 1", until=BICUBIC),
        *checks(OPERATOR, SOURCE, "interpolationMode must be 0 to 2", since=BICUBIC),
        "paddingMode must be 0 to 2",
        "input, grid, gradOutput must have 4 axes",
        "axis 0 of grid, gradOutput must be as long as axis 0 of input",
        "axis 1 of gradOutput must be as long as axis 1 of input",
        (
            "input size",
            "the last two axes of input must not be 0",
            lambda call: 0 in call["input"].shape[2:],
        ),
        "axis 1 of grid must be as long as axis 2 of gradOutput",
        "axis 2 of grid must be as long as axis 3 of gradOutput",
        (
            "grid last axis",
            "the last axis of grid must be 2",
            lambda call: extent(call["grid"], 3) != 2,
        ),
        "inputGrad must have the shape of input",
        "gridGrad must have the shape of grid",
        *checks(OPERATOR, SOURCE, "outputMask must have 2 entries", since=MASK_CHECKED),
        EarlySuccess("empty", empty_inputs, SOURCE),
        EarlySuccess("outputMask both false", lambda call: not any(wanted(call)), SOURCE),
        accepted=by_architecture(ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE),
    ),
    constraints=CONSTRAINTS,
    workspace_size=workspace_size,
    untouched=masked_out,
    kernel_inputs=kernel_inputs,
)
