"""State what aclnnCrossEntropyLossGrad's phase 1 (GetWorkspaceSize) checks, in which order, with which status codes, for the
emulated C API.

Sources: ops-nn loss/cross_entropy_loss_grad/op_host/cross_entropy_loss_grad_tiling.cpp, ..._tiling_arch35.cpp and
cross_entropy_loss_grad_def.cpp; aclnnCrossEntropyLossGrad, CANN documentation.
"""

import numpy as np

from aclnn_viz.operators.codes import (
    ACL_BF16,
    ACL_FLOAT,
    ACL_FLOAT16,
    ACL_INT32,
    ACL_INT64,
    ACLNN_ERR_INNER_TILING_ERROR,
)
from aclnn_viz.operators.contract.model import Call, Constraint, DtypeRow, KernelFault
from aclnn_viz.operators.contract.rules import (
    checks,
    extent,
    generated_contract,
    narrowed,
    tensor_names,
    unchecked_shape,
)
from aclnn_viz.operators.products import ATLAS_A2_A3, FIRST_ARCH35, WITH_ARCH35, Version

from .declaration import OPERATOR

SOURCE = "ops-nn loss/cross_entropy_loss_grad/op_host/cross_entropy_loss_grad_tiling.cpp"
SOURCE_950 = "ops-nn loss/cross_entropy_loss_grad/op_host/cross_entropy_loss_grad_tiling_arch35.cpp"
KERNEL = "ops-nn loss/cross_entropy_loss_grad/op_kernel/cross_entropy_loss_grad_base.h"
DOCUMENT = "aclnnCrossEntropyLossGrad, CANN documentation"
REDUCTIONS = ("none", "mean", "sum")

NAMES = tensor_names(OPERATOR.c_parameters)


def row(data: int, target: int, products, **scope) -> DtypeRow:
    return DtypeRow(
        dict(zip(NAMES, (data, data, target, ACL_FLOAT, data, data, data))),
        products=products,
        **scope,
    )


FLOATS = (ACL_FLOAT16, ACL_FLOAT, ACL_BF16)
DTYPE_ROWS = (
    *(row(data, ACL_INT64, ATLAS_A2_A3) for data in FLOATS),
    *(row(data, ACL_INT64, WITH_ARCH35, since=FIRST_ARCH35) for data in FLOATS),
    *(row(data, ACL_INT32, WITH_ARCH35, since=FIRST_ARCH35, documented=False) for data in FLOATS),
)


def reduction(call: Call) -> str:
    """Return the reduction, replacing a null string by the operator definition's default."""
    return "mean" if call["reduction"] is None else call["reduction"]


def grad_loss_differs(call: Call) -> bool:
    shape = call["gradLoss"].shape
    return (
        shape != call["logProb"].shape[:1] if reduction(call) == "none" else shape not in ((), (1,))
    )


def weight_differs(call: Call) -> bool:
    weight = call["weightOptional"]
    return weight is not None and extent(weight, 0) != extent(call["logProb"], 1)


def weight_not_float(call: Call) -> bool:
    weight = call["weightOptional"]
    return weight is not None and weight.dtype != ACL_FLOAT


TILING_A2 = checks(
    OPERATOR,
    SOURCE,
    "axis 0 of target must be as long as axis 0 of logProb",
    (
        "weightOptional axis 0",
        "axis 0 of weightOptional must be as long as axis 1 of logProb",
        weight_differs,
    ),
    status=ACLNN_ERR_INNER_TILING_ERROR,
    products=ATLAS_A2_A3,
)
# The tiling on 950 compares data types, too. Only that of weightOptional is listed: before the
# tiling, the library refuses wrong data types of required tensors.
TILING_950 = checks(
    OPERATOR,
    SOURCE_950,
    (
        "reduction",
        "reduction must be none, mean or sum",
        lambda call: reduction(call) not in REDUCTIONS,
    ),
    (
        "labelSmoothing",
        "labelSmoothing must lie in [0, 1]",
        lambda call: not 0 <= narrowed(call["labelSmoothing"]) <= 1,
    ),
    "logProb must have 2 axes",
    (
        "gradLoss shape",
        "gradLoss must be (N,) for reduction none, else a scalar or (1,)",
        grad_loss_differs,
        "gradLoss",
        "logProb",
        "reduction",
    ),
    (
        "target shape",
        "target must be (N,)",
        lambda call: call["target"].shape != call["logProb"].shape[:1],
        "target",
        "logProb",
    ),
    (
        "weightOptional shape",
        "weightOptional must be (C,)",
        lambda call: (
            call["weightOptional"] is not None
            and call["weightOptional"].shape != call["logProb"].shape[1:]
        ),
        "weightOptional",
        "logProb",
    ),
    (
        "weightOptional dtype",
        "weightOptional must be FLOAT",
        weight_not_float,
    ),
    status=ACLNN_ERR_INNER_TILING_ERROR,
    products=WITH_ARCH35,
)


def target_outside(call: Call, arrays) -> bool:
    if "target" not in arrays or call["logProb"].rank < 2:
        return False
    target = np.asarray(arrays["target"])
    return bool(
        (
            (target != call["ignoreIndex"]) & ((target < 0) | (target >= call["logProb"].shape[1]))
        ).any()
    )


def ignores_negative(call: Call, arrays) -> bool:
    return (
        call["ignoreIndex"] < 0
        and "target" in arrays
        and bool((np.asarray(arrays["target"]) < 0).any())
    )


def scalar_shape(call: Call) -> tuple | None:
    """Return the expected shape of gradLoss; the library also reads a vector of size 1 as a scalar."""
    if reduction(call) == "none":
        return call["logProb"].shape[:1]
    return None if call["gradLoss"].shape == (1,) else ()


CONSTRAINTS = (
    Constraint(
        "weightOptional dtype",
        "weightOptional must be FLOAT; the library does not compare the data type of an optional input",
        "device.run",
        lambda call, arrays: weight_not_float(call),
        DOCUMENT,
        products=ATLAS_A2_A3,
    ),
    Constraint(
        "z-loss data types",
        "gradZlossOptional and lseForZlossOptional must have the data type of gradLoss; "
        "the library does not compare them",
        "nobody",
        lambda call, arrays: any(
            call[name] is not None and call[name].dtype != call["gradLoss"].dtype
            for name in ("gradZlossOptional", "lseForZlossOptional")
        ),
        DOCUMENT,
    ),
    Constraint(
        "reduction",
        "reduction must be none, mean or sum: the library takes anything else for none",
        "device.run",
        lambda call, arrays: reduction(call) not in REDUCTIONS,
        SOURCE,
        products=ATLAS_A2_A3,
    ),
    Constraint(
        "logProb rank",
        "logProb must have 2 axes; the library does not check it",
        "device.run",
        lambda call, arrays: call["logProb"].rank != 2,
        SOURCE,
        products=ATLAS_A2_A3,
    ),
    unchecked_shape(
        "gradLoss",
        scalar_shape,
        "gradLoss must be (N,) for reduction none, else a scalar",
        SOURCE,
        products=ATLAS_A2_A3,
    ),
    unchecked_shape(
        "target",
        lambda call: call["logProb"].shape[:1],
        "target must be (N,)",
        SOURCE,
        products=ATLAS_A2_A3,
    ),
    unchecked_shape(
        "weightOptional",
        lambda call: call["logProb"].shape[1:2],
        "weightOptional must be (C,)",
        SOURCE,
        products=ATLAS_A2_A3,
    ),
    unchecked_shape(
        "xGradOut",
        lambda call: call["logProb"].shape,
        "xGradOut must have the shape of logProb",
        SOURCE,
    ),
    Constraint(
        "label smoothing",
        "labelSmoothing must be 0 on this product: the kernel writes nothing otherwise",
        "device.run",
        lambda call, arrays: narrowed(call["labelSmoothing"]) != 0,
        KERNEL,
        products=ATLAS_A2_A3,
    ),
    Constraint(
        "z-loss",
        "lseSquareScaleForZloss must be 0: the kernel does not compute the z-loss",
        "device.run",
        lambda call, arrays: narrowed(call["lseSquareScaleForZloss"]) != 0,
        DOCUMENT,
    ),
    Constraint(
        "z-loss inputs",
        "gradZlossOptional and lseForZlossOptional should be null: the kernel does not read them",
        "nobody",
        lambda call, arrays: any(
            call[name] is not None for name in ("gradZlossOptional", "lseForZlossOptional")
        ),
        DOCUMENT,
    ),
    Constraint(
        "target range",
        "target must lie in [0, C) or equal ignoreIndex: the kernel reads outside its tensors "
        "otherwise",
        "device.run",
        target_outside,
        DOCUMENT,
    ),
    Constraint(
        "negative ignoreIndex on 950",
        "a target may equal ignoreIndex only where that is not negative: the "
        "kernel on this product ignores no target below 0 and stops",
        "device.run",
        ignores_negative,
        "ops-nn loss/cross_entropy_loss_grad/op_kernel/arch35",
        products=WITH_ARCH35,
    ),
    Constraint(
        "negative ignoreIndex with weight",
        "a target below 0 needs a null weightOptional before CANN 9.0.0: "
        "the kernel reads the weight of every target",
        "device.run",
        lambda call, arrays: call["weightOptional"] is not None and ignores_negative(call, arrays),
        "ops-nn loss/cross_entropy_loss_grad/op_kernel/cross_entropy_loss_grad_weight_not_none.h",
        until=Version.parse("9.0.0"),
    ),
    Constraint(
        "ignoreIndex",
        "the documents ask for ignoreIndex < C",
        "nobody",
        lambda call, arrays: (
            call["logProb"].rank == 2 and call["ignoreIndex"] >= call["logProb"].shape[1]
        ),
        DOCUMENT,
    ),
    Constraint(
        "ignoreIndex in float",
        "class numbers from 2^24 on may be taken for a neighbouring ignoreIndex: the "
        "kernel compares them in float",
        "nobody",
        lambda call, arrays: (
            call["ignoreIndex"] >= 2**24
            and call["logProb"].rank == 2
            and call["logProb"].shape[1] > 2**24
        ),
        KERNEL,
        products=ATLAS_A2_A3,
    ),
    Constraint(
        "batch size",
        "older documents ask for N < 200000",
        "nobody",
        lambda call, arrays: (extent(call["logProb"], 0) or 0) >= 200000,
        DOCUMENT,
    ),
    Constraint(
        "class count",
        "the documents ask for C > 0; with none the library computes nothing",
        "nobody",
        lambda call, arrays: extent(call["logProb"], 1) == 0,
        DOCUMENT,
    ),
)


def kernel_inputs(launch, call: Call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    """Return the inputs as kernels read them, without those of z-loss. A2 reads as many dense elements as it expects,
    whatever the shape; 950 stops at a target that is no class.
    """
    known = {
        "logProb": arrays["logProb"],
        "ignoreIndex": call["ignoreIndex"],
        "labelSmoothing": call["labelSmoothing"],
    }
    reduction = attributes.get("reduction", "mean")
    if call.product in WITH_ARCH35:
        target = arrays["target"]
        kept = (
            target != call["ignoreIndex"]
            if call["ignoreIndex"] >= 0
            else np.full(target.shape, True)
        )
        if (kept & ((target < 0) | (target >= call["logProb"].shape[1]))).any():
            raise KernelFault("a target is no class")
        weight = {"weightOptional": arrays["weightOptional"]} if "weightOptional" in arrays else {}
        return (
            known
            | weight
            | {"gradLoss": arrays["gradLoss"], "target": target, "reduction": reduction}
        )
    reduction = reduction if reduction in ("mean", "sum") else "none"
    rows, classes = (*call["logProb"].shape, 1, 1)[:2]
    known["reduction"] = reduction
    known["gradLoss"] = launch.read_dense(
        "gradLoss", rows if reduction == "none" else 1, call["gradLoss"].dtype
    )
    known["target"] = launch.read_dense("target", rows, call["target"].dtype)
    if "weightOptional" in arrays:
        known["weightOptional"] = launch.read_dense("weightOptional", classes, ACL_FLOAT)
    return known


# Inferred: the sums of the cores fit into the system part of the workspace.
CONTRACT = generated_contract(
    OPERATOR,
    DTYPE_ROWS,
    TILING_A2 + TILING_950,
    CONSTRAINTS,
    untouched=lambda call: (
        ("xGradOut",) if call.product in ATLAS_A2_A3 and narrowed(call["labelSmoothing"]) else ()
    ),
    kernel_inputs=kernel_inputs,
)
