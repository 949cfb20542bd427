"""Declare aclnnSoftMarginLossBackward as documented, for checks, test cases and C calls: gradOutput, self and target broadcast
to the shape of out.
"""

from aclnn_viz.operators.families.elementwise import loss
from aclnn_viz.operators.families.losses import CHOICE
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import TRAINING

from . import page

OPERATOR = loss(
    page,
    """aclnnStatus aclnnSoftMarginLossBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, int64_t reduction, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    {"self": Tensor("~*P", ranks=(1, 8)), "target": Tensor("~*P", CHOICE)},
    counts={"count": "P"},
)
