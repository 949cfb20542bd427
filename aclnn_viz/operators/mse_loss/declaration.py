"""Declare aclnnMseLossBackward as documented, for checks, test cases and C calls: gradOutput, self and target broadcast to the
shape of out.
"""

from aclnn_viz.operators.families.elementwise import loss
from aclnn_viz.operators.families.losses import SHAPE
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import INFERENCE

from . import page

OPERATOR = loss(
    page,
    """aclnnStatus aclnnMseLossBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, int64_t reduction, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (INFERENCE,),
    {"self": Tensor("~*P"), "target": Tensor("~*P")},
    upstream=Tensor(SHAPE),
    shapes=({"shape": (4, 6)}, {"shape": (257,)}, {"shape": ()}),
)
