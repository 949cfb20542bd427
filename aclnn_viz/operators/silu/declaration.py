"""Declare aclnnSiluBackward as documented, for checks, test cases and C calls: gradOutput and self, the forward input, of one
shape and dtype, rank 1 to 8.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnSiluBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    x=Tensor("*P", ranks=(1, 8)),
)
