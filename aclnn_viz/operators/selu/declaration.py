"""Declare aclnnSeluBackward as documented, for checks, test cases and C calls: gradOutput and result of one shape and floating
dtype, rank 1 to 8. Of the documented dtypes the integers are left out.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnSeluBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *result, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    x=Tensor("*P", kinks=(0,), ranks=(1, 8)),
    saved={"result": "y"},
)
