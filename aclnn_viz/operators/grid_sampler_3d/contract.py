"""State what aclnnGridSampler3DBackward's phase 1 (GetWorkspaceSize) checks, in which order, with which status codes, for the
emulated C API.

Sources: ops-cv image/grid_sampler3_d_grad/op_host/op_api/aclnn_grid_sampler3d_backward.cpp; its documentation.
"""

import numpy as np

from aclnn_viz.operators.codes import (
    ACL_DOUBLE,
    ACL_FLOAT,
    ACL_FLOAT16,
    ACL_FORMAT_NDHWC,
)
from aclnn_viz.operators.contract.model import Constraint, Contract, EarlySuccess
from aclnn_viz.operators.contract.rules import (
    HAND_WRITTEN,
    by_architecture,
    checks,
    contiguous_copies,
    declared_rows,
    out_pointers,
    tensor_names,
    unanswered,
)

from .declaration import OPERATOR

SOURCE = "ops-cv image/grid_sampler3_d_grad/op_host/op_api/aclnn_grid_sampler3d_backward.cpp"
INPUTS, OUTPUTS = tensor_names(OPERATOR.c_parameters, output=False), OPERATOR.outputs


def channels_last(call) -> bool:
    return call["input"].format == ACL_FORMAT_NDHWC


def axis(call, k: int) -> int:
    """Return the call's index of axis k of (N, C, D, H, W)."""
    return (0, 4, 1, 2, 3)[k] if channels_last(call) else k


def differs(name: str, k: int, other: str, m: int, text: str) -> tuple:
    """Return the check that axis k of input or gradOutput, counted in (N, C, D, H, W), has another tensor's length."""
    return (
        f"{name} {text}",
        f"{name} must have {text} of {other}",
        lambda call: (
            call[name].shape[axis(call, k)]
            != call[other].shape[m if other == "grid" else axis(call, m)]
        ),
    )


def moved(arrays: dict, names: tuple, source: int, target: int) -> dict:
    return arrays | {
        name: np.moveaxis(arrays[name], source, target) for name in names if name in arrays
    }


def kernel_inputs(launch, call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    return (
        moved(arrays, ("input", "gradOutput"), -1, 1) if channels_last(call) else arrays
    ) | attributes


STEPS = checks(
    OPERATOR,
    SOURCE,
    *out_pointers(HAND_WRITTEN),
    EarlySuccess("null outputMask", lambda call: call["outputMask"] is None, SOURCE),
    "gradOutput, input, grid, inputGrad, gridGrad is a null pointer",
    "gradOutput, grid, inputGrad, gridGrad must have the data type of input",
    "the data type of input is not supported on this product",
    "paddingMode must be 0 to 2",
    "interpolationMode must be 0 to 1",
    "input, grid, gradOutput must have 5 axes",
    "axis 0 of grid, gradOutput must be as long as axis 0 of input",
    differs("gradOutput", 1, "input", 1, "the channels"),
    *(differs("gradOutput", k, "grid", k - 1, f"the {'DHW'[k - 2]}") for k in (2, 3, 4)),
    (
        "grid last axis",
        "the last axis of grid must be 3",
        lambda call: call["grid"].shape[4] != 3,
    ),
    "inputGrad must have the shape of input",
    "gridGrad must have the shape of grid",
    "outputMask must have 2 entries",
    EarlySuccess("empty", lambda call: any(call[name].size == 0 for name in INPUTS), SOURCE),
    EarlySuccess("outputMask both false", lambda call: not any(call["outputMask"]), SOURCE),
    accepted=by_architecture(ACL_FLOAT, ACL_FLOAT16, ACL_DOUBLE),
)
CONSTRAINTS = (
    *unanswered(OPERATOR, SOURCE),
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
    # inferred, not read in the vendor's sources
    workspace_size=lambda call: contiguous_copies(call, (*INPUTS, *OUTPUTS)),
    kernel_inputs=kernel_inputs,
    kernel_outputs=lambda call, results: (
        moved(results, ("inputGrad",), 1, -1) if channels_last(call) else results
    ),
)
