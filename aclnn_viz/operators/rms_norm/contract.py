"""State what aclnnRmsNormGrad's phase 1 (GetWorkspaceSize) checks, in which order, with which status codes, for the emulated C API.

Sources: ops-nn norm/rms_norm_grad/op_host/rms_norm_grad_tiling.cpp and rms_norm_grad_def.cpp; aclnnRmsNormGrad, CANN
documentation; operator registry of CANN 8.1.
"""

from math import nan, prod

import numpy as np

from aclnn_viz.operators.codes import (
    ACL_BF16,
    ACL_FLOAT,
    ACL_FLOAT16,
    ACLNN_ERR_INNER_TILING_ERROR,
    DATA_TYPE_SIZES,
)
from aclnn_viz.operators.contract.model import Call, Constraint, DtypeRow
from aclnn_viz.operators.contract.rules import (
    UINT32,
    checks,
    generated_contract,
    tensor_names,
    wrapped_product,
)
from aclnn_viz.operators.products import (
    ATLAS_A2_A3,
    FIRST_ARCH35,
    INFERENCE,
    TRAINING,
    WITH_ARCH35,
    WITHOUT_ARCH35,
)
from aclnn_viz.words.messages import message

from .declaration import OPERATOR

SOURCE = "ops-nn norm/rms_norm_grad/op_host/rms_norm_grad_tiling.cpp"
DOCUMENT = "aclnnRmsNormGrad, CANN documentation"

NAMES = tensor_names(OPERATOR.c_parameters)
INPUTS = tensor_names(OPERATOR.c_parameters, output=False)


def row(data: int, gamma: int, products, **scope) -> DtypeRow:
    """Return a combination: dy, x and dx alike, gamma alike or FLOAT, rstd and dgamma always FLOAT."""
    return DtypeRow(
        dict(zip(NAMES, (data, data, ACL_FLOAT, gamma, data, ACL_FLOAT))),
        products=products,
        **scope,
    )


DTYPE_ROWS = (
    *(
        row(data, gamma, products, since=since)
        for products, since in ((ATLAS_A2_A3, None), (WITH_ARCH35, FIRST_ARCH35))
        for data, gamma in (
            (ACL_FLOAT16, ACL_FLOAT),
            (ACL_BF16, ACL_FLOAT),
            (ACL_FLOAT16, ACL_FLOAT16),
            (ACL_FLOAT, ACL_FLOAT),
            (ACL_BF16, ACL_BF16),
        )
    ),
    *(row(data, data, (INFERENCE,)) for data in (ACL_FLOAT16, ACL_FLOAT)),
    *(row(data, data, (TRAINING,), documented=False) for data in (ACL_FLOAT16, ACL_FLOAT)),
)


def leading(call: Call) -> int:
    """Return the number of axes of x that gamma does not cover."""
    return call["x"].rank - call["gamma"].rank


def rstd_differs(call: Call) -> bool:
    rows, rstd = call["x"].shape[: leading(call)], call["rstd"].shape
    if len(rstd) < len(rows):
        return rstd != rows[: len(rstd)] or any(n != 1 for n in rows[len(rstd) :])
    return rstd[: len(rows)] != rows  # the library compares no further axes


def row_count(call: Call) -> int:
    return wrapped_product(call["x"].shape[: leading(call)])


def below_rows(call: Call) -> tuple[int, ...]:
    return call["dy"].shape[leading(call) :]


TILING = checks(
    OPERATOR,
    SOURCE,
    "x, gamma must have 1 to 8 axes",
    (
        "gamma rank within x",
        "gamma must not have more axes than x",
        lambda call: leading(call) < 0,
    ),
    "dy must have as many axes as x",
    "dxOut must have as many axes as dy",
    "dgammaOut must have as many axes as gamma",
    "dy must have the shape of x",
    "dxOut must have the shape of dy",
    (
        "dy last axis",
        "the last axis of dy must not be 0",
        lambda call: call["dy"].shape[-1] == 0,
    ),
    ("rstd shape", "rstd must have the axes of x that gamma does not cover", rstd_differs),
    (
        "gamma shape",
        "gamma must have the last axes of dy",
        lambda call: call["gamma"].shape != below_rows(call),
    ),
    (
        "dgammaOut shape",
        "dgammaOut must have the last axes of dy",
        lambda call: call["dgammaOut"].shape != below_rows(call),
    ),
    (
        "rstd size",
        None,
        lambda call: wrapped_product(call["rstd"].shape) != row_count(call),
    ),
    *checks(
        OPERATOR,
        SOURCE,
        (
            "gamma size",
            message("the number of elements of gamma must be a multiple of 64"),
            lambda call: prod(call["gamma"].shape) % 64 != 0,
        ),
        status=ACLNN_ERR_INNER_TILING_ERROR,
        products=(TRAINING,),
    ),
    *checks(
        OPERATOR,
        SOURCE,
        (
            "rows",
            message("there must be at least one row"),
            lambda call: row_count(call) == 0,
            "x",
            "gamma",
        ),
        status=ACLNN_ERR_INNER_TILING_ERROR,
        products=WITHOUT_ARCH35,
    ),
    status=ACLNN_ERR_INNER_TILING_ERROR,
)


def short_tail(call: Call, arrays) -> bool:
    return any(
        t.rank and t.shape[-1] * DATA_TYPE_SIZES.get(t.dtype, 0) < 32
        for t in (call["x"], call["dy"], call["gamma"])
    )


def no_rows(call: Call, arrays) -> bool:
    shape = call["x"].shape
    return prod(shape[: max(leading(call), 0)]) == 0 and shape[-1:] != (0,)


def not_finite(call: Call, arrays) -> bool:
    return any(
        not np.isfinite(np.asarray(arrays[name], dtype=np.float64)).all()
        for name in INPUTS
        if name in arrays
    )


CONSTRAINTS = (
    Constraint(
        "last axis of 32 bytes",
        "the last axis of x, dy and gamma must hold at least 32 bytes on this product: "
        "the kernel copies blocks of 32 bytes",
        "device.run",
        short_tail,
        DOCUMENT,
        products=(INFERENCE,),
    ),
    Constraint(
        "finite inputs",
        "inputs must not contain inf or nan on this product",
        "device.run",
        not_finite,
        DOCUMENT,
        products=(INFERENCE,),
    ),
    Constraint(
        "strided input",
        "older documents do not support strided inputs; the library makes them contiguous",
        "nobody",
        lambda call, arrays: any(not call[name].is_contiguous for name in INPUTS),
        DOCUMENT,
    ),
    Constraint(
        "no rows",
        "x must have at least one row: the library answers a tiling error",
        "library",
        no_rows,
        SOURCE,
        products=WITHOUT_ARCH35,
    ),
    Constraint(
        "no rows on 950",
        "x must have at least one row: the kernel fills dgammaOut with nan",
        "device.run",
        no_rows,
        "ops-nn norm/rms_norm_grad/op_kernel/arch35/rms_norm_grad_empty_dgamma.h",
        products=WITH_ARCH35,
    ),
    Constraint(
        "empty last axis",
        "older documents do not support empty tensors; the library answers success and "
        "computes nothing",
        "nobody",
        lambda call, arrays: call["x"].shape[-1:] == (0,),
        DOCUMENT,
    ),
    Constraint(
        "32-bit sizes",
        "rows and columns must each stay below 2^32: their products wrap in uint32_t",
        "device.run",
        lambda call, arrays: any(
            prod(part) >= UINT32
            for part in (call["x"].shape[: max(leading(call), 0)], call["gamma"].shape)
        ),
        SOURCE,
    ),
    Constraint(
        "one axis",
        "the documents ask for two to eight axes of x; the library takes one",
        "nobody",
        lambda call, arrays: call["x"].rank == 1,
        DOCUMENT,
    ),
)


def kernel_inputs(launch, call: Call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    """Return rstd as one number per row; the kernel ignores missing axes of length 1 and axes after the rows."""
    rows = call["x"].shape[: call["x"].rank - call["gamma"].rank]
    return arrays | {"rstd": arrays["rstd"].reshape(rows)}


# The tiling of A2, A3 and 310P states the system part of the workspace; for 910 and 950 it is inferred.
CONTRACT = generated_contract(
    OPERATOR,
    DTYPE_ROWS,
    TILING,
    CONSTRAINTS,
    fills=lambda call: {"dgammaOut": nan} if row_count(call) == 0 else {},
    kernel_inputs=kernel_inputs,
)
