"""The contract of aclnnGridSampler3DBackward.

Sources: ops-cv image/grid_sampler3_d_grad/op_host/op_api/aclnn_grid_sampler3d_backward.cpp; its documentation.
"""

import numpy as np

from aclnn_viz.operators.codes import (
    ACLNN_ERR_PARAM_INVALID as INVALID,
    ACL_DOUBLE,
    ACL_FLOAT,
    ACL_FLOAT16,
    ACL_FORMAT_NDHWC,
)
from aclnn_viz.operators.contract.model import Check, Constraint, Contract, EarlySuccess
from aclnn_viz.operators.contract.rules import (
    HAND_WRITTEN,
    by_architecture,
    contiguous_copies,
    declared_rows,
    dtype_in,
    mask_entries,
    null_pointers,
    options,
    rank_in,
    same_dtype,
    same_extent,
    same_shape,
    tensor_names,
    out_pointers,
)

from .declaration import OPERATOR

SOURCE = "ops-cv image/grid_sampler3_d_grad/op_host/op_api/aclnn_grid_sampler3d_backward.cpp"
INPUTS, OUTPUTS = tensor_names(OPERATOR.c_parameters, output=False), OPERATOR.outputs


supported = by_architecture(ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE)


def channels_last(call) -> bool:
    return call["input"].format == ACL_FORMAT_NDHWC


def axis(call, k: int) -> int:
    """Axis k of (N, C, D, H, W) in the layout of the call."""
    return (0, 4, 1, 2, 3)[k] if channels_last(call) else k


def differs(name: str, k: int, other: str, m: int, text: str) -> Check:
    """Compare axis k of input or gradOutput, counted in (N, C, D, H, W), with another's, or with axis m of grid."""
    return Check(
        f"{name} {text}",
        lambda call: (
            call[name].shape[axis(call, k)]
            != call[other].shape[m if other == "grid" else axis(call, m)]
        ),
        INVALID,
        f"{name} must have {text} of {other}",
        SOURCE,
        (name, other),
    )


def moved(arrays: dict, names: tuple, source: int, target: int) -> dict:
    return arrays | {
        name: np.moveaxis(arrays[name], source, target) for name in names if name in arrays
    }


def kernel_inputs(launch, call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    return (
        moved(arrays, ("input", "gradOutput"), -1, 1) if channels_last(call) else arrays
    ) | attributes


STEPS = (
    *out_pointers(HAND_WRITTEN),
    EarlySuccess("null outputMask", lambda call: call["outputMask"] is None, SOURCE),
    *null_pointers((*INPUTS, *OUTPUTS), SOURCE),
    *(same_dtype(name, "input", SOURCE) for name in ("gradOutput", "grid", *OUTPUTS)),
    dtype_in("input", supported, SOURCE),
    *options(OPERATOR, "paddingMode interpolationMode", SOURCE),
    *(rank_in(name, 5, 5, SOURCE) for name in ("input", "grid", "gradOutput")),
    same_extent("grid", 0, "input", 0, SOURCE),
    same_extent("gradOutput", 0, "input", 0, SOURCE),
    differs("gradOutput", 1, "input", 1, "the channels"),
    *(differs("gradOutput", k, "grid", k - 1, f"the {'DHW'[k - 2]}") for k in (2, 3, 4)),
    Check(
        "grid last axis",
        lambda call: call["grid"].shape[4] != 3,
        INVALID,
        "the last axis of grid must be 3",
        SOURCE,
        ("grid",),
    ),
    same_shape("inputGrad", "input", SOURCE),
    same_shape("gridGrad", "grid", SOURCE),
    mask_entries(OPERATOR, "outputMask", SOURCE),
    EarlySuccess("empty", lambda call: any(call[name].size == 0 for name in INPUTS), SOURCE),
    EarlySuccess("outputMask both false", lambda call: not any(call["outputMask"]), SOURCE),
)
CONSTRAINTS = (
    Constraint(
        "null outputMask",
        "outputMask must be given: with a null one the library answers success before every "
        "check and computes nothing",
        "device.run",
        lambda call, arrays: call["outputMask"] is None,
        SOURCE,
    ),
    Constraint(
        "outputs of empty inputs",
        "no input may be empty while an output is not: the library answers success and "
        "leaves the output as it was",
        "device.run",
        lambda call, arrays: (
            any(call[name].size == 0 for name in INPUTS)
            and any(call[name].size for name in OUTPUTS)
        ),
        SOURCE,
    ),
    Constraint(
        "double in NDHWC",
        "DOUBLE is not supported in format NDHWC",
        "device.run",
        lambda call, arrays: channels_last(call) and call["input"].dtype == ACL_DOUBLE,
        "aclnnGridSampler3DBackward, CANN documentation",
    ),
)
CONTRACT = Contract(
    operator=OPERATOR,
    generated=False,
    dtype_rows=declared_rows(OPERATOR),
    steps=STEPS,
    constraints=CONSTRAINTS,
    workspace_size=lambda call: contiguous_copies(call, (*INPUTS, *OUTPUTS)),  # inferred
    kernel_inputs=kernel_inputs,
    kernel_outputs=lambda call, results: (
        moved(results, ("inputGrad",), 1, -1) if channels_last(call) else results
    ),
)
