"""State what aclnnHardswishBackward's phase 1 (GetWorkspaceSize) checks, in which order, with which status codes, for the emulated C API.

Sources: ops-nn activation/hard_swish_grad/op_host/op_api/aclnn_hardswish_backward.cpp; aclnnHardswishBackward, CANN
documentation; operator registry of CANN 8.1.
"""

from aclnn_viz.operators.codes import ACL_FLOAT, ACL_FLOAT16, ACLNN_ERR_INNER_NULLPTR
from aclnn_viz.operators.contract.model import Check, Contract, EarlySuccess
from aclnn_viz.operators.contract.rules import (
    HAND_WRITTEN,
    alike,
    by_architecture,
    checks,
    contiguous_copies,
    declared_rows,
    out_pointers,
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

CONTRACT = Contract(
    operator=OPERATOR,
    generated=False,
    dtype_rows=DTYPE_ROWS,
    steps=checks(
        OPERATOR,
        SOURCE,
        *out_pointers(HAND_WRITTEN),
        "gradOutput, self, out is a null pointer",
        "the data type of self, gradOutput is not supported on this product",
        "gradOutput, out must have the data type of self",
        "gradOutput, self must have 0 to 8 axes",
        "gradOutput, out must have the shape of self",
        EarlySuccess("empty", lambda call: call["self"].size == 0, SOURCE),
        # If the kernel cannot be launched, a function of the library returns null.
        Check(
            "kernel",
            lambda call: not any(row.matches(call) for row in DTYPE_ROWS),
            ACLNN_ERR_INNER_NULLPTR,
            message("the operator has no kernel for this product"),
            "operator registry, CANN 8.1",
            inferred=True,
        ),
        accepted=by_architecture(ACL_FLOAT16, ACL_FLOAT),
    ),
    constraints=(undocumented_dtypes(DTYPE_ROWS),),
    # Strided tensors are copied to dense ones. Inferred: dense tensors need no workspace.
    workspace_size=lambda call: contiguous_copies(call, NAMES),
)
