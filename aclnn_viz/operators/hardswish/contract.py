"""The contract of aclnnHardswishBackward.

Sources: ops-nn activation/hard_swish_grad/op_host/op_api/aclnn_hardswish_backward.cpp; aclnnHardswishBackward, CANN
documentation; operator registry of CANN 8.1.
"""

from aclnn_viz.operators.codes import ACL_BF16, ACL_FLOAT, ACL_FLOAT16, ACLNN_ERR_INNER_NULLPTR, ACLNN_ERR_PARAM_INVALID
from aclnn_viz.operators.contract.model import Check, Contract, DtypeRow, EarlySuccess
from aclnn_viz.operators.contract.rules import (
    HAND_WRITTEN, by_architecture, contiguous_copies, dtype_in, executor_pointer, null_pointers, rank_in, same_dtype, same_shape,
    tensor_names, undocumented_dtypes, workspace_size_pointer,
)
from aclnn_viz.operators.products import A2, A3, ASCEND_950, INFERENCE_A2, TRAINING

from .declaration import OPERATOR

SOURCE = "ops-nn activation/hard_swish_grad/op_host/op_api/aclnn_hardswish_backward.cpp"

PARAMETERS = OPERATOR.c_parameters
NAMES = tensor_names(PARAMETERS)

DTYPE_ROWS = (
    *(DtypeRow(dict.fromkeys(NAMES, dtype), products=(TRAINING, A2, A3, ASCEND_950))
      for dtype in (ACL_FLOAT, ACL_FLOAT16)),
    DtypeRow(dict.fromkeys(NAMES, ACL_BF16), products=(A2, A3, ASCEND_950)),
    *(DtypeRow(dict.fromkeys(NAMES, dtype), documented=False, products=(INFERENCE_A2,))
      for dtype in (ACL_FLOAT, ACL_FLOAT16)),
)

SUPPORTED = by_architecture(ACL_FLOAT16, ACL_FLOAT)

CONTRACT = Contract(
    operator=OPERATOR,
    generated=False,
    dtype_rows=DTYPE_ROWS,
    steps=(
        workspace_size_pointer(HAND_WRITTEN),
        executor_pointer(HAND_WRITTEN),
        *null_pointers(("gradOutput", "self", "out"), SOURCE),
        dtype_in("self", SUPPORTED, SOURCE),
        dtype_in("gradOutput", SUPPORTED, SOURCE),
        same_dtype("gradOutput", "self", SOURCE),
        same_dtype("out", "self", SOURCE),
        rank_in("gradOutput", 0, 8, ACLNN_ERR_PARAM_INVALID, SOURCE),
        rank_in("self", 0, 8, ACLNN_ERR_PARAM_INVALID, SOURCE),
        same_shape("gradOutput", "self", ACLNN_ERR_PARAM_INVALID, SOURCE),
        same_shape("out", "self", ACLNN_ERR_PARAM_INVALID, SOURCE),
        EarlySuccess("empty", lambda call: call["self"].size == 0, SOURCE),
        # A kernel that cannot be launched shows as a null result inside the API.
        Check("kernel", lambda call: not any(row.matches(call) for row in DTYPE_ROWS), ACLNN_ERR_INNER_NULLPTR,
              "the operator has no kernel for this product", "operator registry, CANN 8.1", inferred=True),
    ),
    constraints=(undocumented_dtypes(DTYPE_ROWS),),
    # Strided tensors pass through a dense copy; that dense ones need no workspace at all is inferred.
    workspace_size=lambda call: contiguous_copies(call, NAMES),
)
