"""The contract of aclnnHardswishBackward.

Sources: ops-nn activation/hard_swish_grad/op_host/op_api/aclnn_hardswish_backward.cpp; aclnnHardswishBackward, CANN
documentation; operator registry of CANN 8.1.
"""

from aclnn_viz.operators.codes import ACLNN_ERR_INNER_NULLPTR, ACL_FLOAT, ACL_FLOAT16
from aclnn_viz.operators.contract.model import Check, Contract, EarlySuccess
from aclnn_viz.operators.contract.rules import (
    HAND_WRITTEN,
    alike,
    by_architecture,
    contiguous_copies,
    declared_rows,
    dtype_in,
    null_pointers,
    out_pointers,
    rank_in,
    same_dtype,
    same_shape,
    tensor_names,
    undocumented_dtypes,
)
from aclnn_viz.operators.products import INFERENCE_A2
from aclnn_viz.words.messages import message

from .declaration import OPERATOR

SOURCE = "ops-nn activation/hard_swish_grad/op_host/op_api/aclnn_hardswish_backward.cpp"

NAMES = tensor_names(OPERATOR.c_parameters)
DTYPE_ROWS = (
    *declared_rows(OPERATOR),
    *alike(NAMES, ACL_FLOAT, ACL_FLOAT16, documented=False, products=(INFERENCE_A2,)),
)
SUPPORTED = by_architecture(ACL_FLOAT16, ACL_FLOAT)

CONTRACT = Contract(
    operator=OPERATOR,
    generated=False,
    dtype_rows=DTYPE_ROWS,
    steps=(
        *out_pointers(HAND_WRITTEN),
        *null_pointers(("gradOutput", "self", "out"), SOURCE),
        dtype_in("self", SUPPORTED, SOURCE),
        dtype_in("gradOutput", SUPPORTED, SOURCE),
        same_dtype("gradOutput", "self", SOURCE),
        same_dtype("out", "self", SOURCE),
        rank_in("gradOutput", 0, 8, SOURCE),
        rank_in("self", 0, 8, SOURCE),
        same_shape("gradOutput", "self", SOURCE),
        same_shape("out", "self", SOURCE),
        EarlySuccess("empty", lambda call: call["self"].size == 0, SOURCE),
        # A kernel that cannot be launched shows as a null result inside the API.
        Check(
            "kernel",
            lambda call: not any(row.matches(call) for row in DTYPE_ROWS),
            ACLNN_ERR_INNER_NULLPTR,
            message("the operator has no kernel for this product"),
            "operator registry, CANN 8.1",
            inferred=True,
        ),
    ),
    constraints=(undocumented_dtypes(DTYPE_ROWS),),
    # Strided tensors pass through a dense copy; that dense ones need no workspace at all is inferred.
    workspace_size=lambda call: contiguous_copies(call, NAMES),
)
