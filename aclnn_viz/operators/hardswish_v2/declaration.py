"""Declare aclnnHardswishBackwardV2 as documented, for checks, test cases and C calls: gradOutput, self and out of one shape and
dtype, rank 1 to 8.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnHardswishBackwardV2GetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    gradient="out",
    x=Tensor("*P", kinks=(-3, 3), ranks=(1, 8)),
)
