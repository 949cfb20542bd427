"""State what aclnnGroupNormSwishGrad's phase 1 (GetWorkspaceSize) checks, in which order, with which status codes, for the emulated C API.

Sources: ops-nn norm/group_norm_swish_grad/op_host/group_norm_swish_grad_tiling.cpp and group_norm_swish_grad_def.cpp,
op_kernel/group_norm_swish_grad.h; aclnnGroupNormSwishGrad, CANN documentation.
"""

from math import prod

import numpy as np

from aclnn_viz.operators.codes import (
    ACL_BF16,
    ACL_FLOAT,
    ACL_FLOAT16,
    ACLNN_ERR_RUNTIME_ERROR,
    ACLNN_SUCCESS,
)
from aclnn_viz.operators.contract.model import Call, Check, Constraint
from aclnn_viz.operators.contract.rules import (
    SYSTEM_WORKSPACE,
    alike,
    byte_size,
    checks,
    contiguous_copies,
    extent,
    generated_contract,
    narrowed,
    temporary,
    tensor_names,
    unchecked_shape,
)
from aclnn_viz.operators.products import ATLAS_A2_A3, FIRST_ARCH35, WITH_ARCH35
from aclnn_viz.words.messages import message

from .declaration import OPERATOR, SCALED

SOURCE = "ops-nn norm/group_norm_swish_grad/op_host/group_norm_swish_grad_tiling.cpp"
KERNEL = "ops-nn norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h"

NAMES = tensor_names(OPERATOR.c_parameters)
INPUTS = tensor_names(OPERATOR.c_parameters, output=False)

# The tiling refuses inputs of different data types. Inferred: the lookup of the kernel, before the
# tiling, refuses them already.
DTYPES = ACL_FLOAT, ACL_FLOAT16, ACL_BF16
DTYPE_ROWS = (
    *alike(NAMES, *DTYPES, products=ATLAS_A2_A3),
    *alike(NAMES, *DTYPES, products=WITH_ARCH35, since=FIRST_ARCH35),
)


def groups(call: Call) -> int:
    """Return numGroups as the tiling reads it, in int32_t."""
    return (call["numGroups"] + 2**31) % 2**32 - 2**31


def channels(call: Call) -> int:
    return extent(call["x"], 1) or 0


def uneven(call: Call) -> bool:
    return (
        groups(call) == 0
        or channels(call) // groups(call) == 0
        or channels(call) % groups(call) != 0
    )


def group_too_wide(call: Call) -> bool:
    """Return whether C/G exceeds 4000; the tiling first rounds C/G up to 8 or 16 channels, which divide 4000."""
    return groups(call) > 0 and channels(call) // groups(call) > 4000


# The tiling makes these checks; after a failure it continues with an empty plan that cannot be
# launched.
TILING = checks(
    OPERATOR,
    SOURCE,
    "dy must have the shape of x",
    (
        "mean axis 1",
        "axis 1 of mean must be numGroups",
        lambda call: extent(call["mean"], 1) != groups(call),
    ),
    (
        "mean axis 0",
        "axis 0 of mean must be as long as axis 0 of x",
        lambda call: extent(call["mean"], 0) != extent(call["x"], 0),
    ),
    "rstd must have the shape of mean",
    (
        "mean rank",
        "mean and rstd must have 2 axes",
        lambda call: call["mean"].rank != 2,
        "mean",
    ),
    *(
        (
            f"{name} shape",
            f"{name} must be (C,)",
            lambda call, name=name: call[name].shape != call["x"].shape[1:2],
            name,
            "x",
        )
        for name in ("gamma", "beta")
    ),
    (
        "batch times groups",
        message("N * numGroups must not be 0"),
        lambda call: (extent(call["x"], 0) or 0) * groups(call) == 0,
        "x",
        "numGroups",
    ),
    ("group width", "C must be a multiple of numGroups, and not 0", uneven, "x", "numGroups"),
    (
        "spatial size",
        "the product of the axes after C must not be 0",
        lambda call: prod(call["x"].shape[2:]) == 0,
        "x",
    ),
    (
        "group width limit",
        "C / numGroups must not exceed 4000",
        group_too_wide,
        "x",
        "numGroups",
    ),
    status=ACLNN_SUCCESS,
    launch_status=ACLNN_ERR_RUNTIME_ERROR,
    inferred=True,
)


def of_discarded(check: Check) -> Constraint:
    return Constraint(
        check.name,
        f"{check.text}: the library answers success to phase 1 and cannot launch",
        "device.run",
        lambda call, arrays: check.fails(call),
        check.source,
    )


CONSTRAINTS = (
    *(of_discarded(check) for check in TILING),
    Constraint(
        "dy rank",
        "dy must have at least 2 axes; the library does not check it",
        "device.run",
        lambda call, arrays: call["dy"].rank < 2,
        SOURCE,
    ),
    *(
        unchecked_shape(
            f"d{name}Out",
            lambda call, name=name: call[name].shape,
            f"d{name}Out must have the shape of {name}",
            SOURCE,
        )
        for name in ("x", "gamma", "beta")
    ),
    Constraint(
        "swishScale before 9.1",
        "swishScale other than 1 needs CANN 9.1: earlier kernels leave it out of one "
        "factor of the derivative",
        "device.run",
        lambda call, arrays: narrowed(call["swishScale"]) != 1,
        KERNEL,
        "with s = swishScale, run on dy/s, s*gamma, s*beta and swishScale=1, and multiply dgammaOut and "
        "dbetaOut by s",
        predicted=True,
        until=SCALED,
    ),
    Constraint(
        "data format",
        "the library never reads dataFormatOptional; tensors are taken as (N, C, ...)",
        "nobody",
        lambda call, arrays: call["dataFormatOptional"] not in (None, "NCHW"),
        SOURCE,
    ),
)


def switched_off(call: Call) -> tuple[str, ...]:
    flags = (("dgammaOut", "dgammaIsRequire"), ("dbetaOut", "dbetaIsRequire"))
    return tuple(name for name, flag in flags if not call[flag])


def workspace_size(call: Call) -> int:
    """Return the system part, plus the two parameter gradients in FLOAT for 16-bit tensors (inferred)."""
    size = SYSTEM_WORKSPACE + contiguous_copies(call, INPUTS)
    if call["x"].dtype != ACL_FLOAT:
        size += sum(temporary(byte_size(call[name], ACL_FLOAT)) for name in ("gamma", "beta"))
    return size


def kernel_inputs(launch, call: Call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    """Return the inputs as the kernel reads them: numGroups as int32_t, without dataFormatOptional."""
    groups = int(np.int64(call["numGroups"]).astype(np.int32))
    return arrays | attributes | {"numGroups": groups, "dataFormatOptional": "NCHW"}


CONTRACT = generated_contract(
    OPERATOR,
    DTYPE_ROWS,
    TILING,
    CONSTRAINTS,
    workspace_size=workspace_size,
    fills=lambda call: (
        dict.fromkeys(switched_off(call), 0.0) if call["x"].dtype == ACL_FLOAT else {}
    ),
    untouched=lambda call: () if call["x"].dtype == ACL_FLOAT else switched_off(call),
    kernel_inputs=kernel_inputs,
)
