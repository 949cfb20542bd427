"""Declare aclnnL1LossBackward as documented, for checks, test cases and C calls: gradOutput, self and target broadcast to the
shape of gradInput.
"""

from aclnn_viz.operators.families.elementwise import loss
from aclnn_viz.operators.families.losses import CHOICE
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = loss(
    page,
    """aclnnStatus aclnnL1LossBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, int64_t reduction, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    {"self": Tensor("~*P", ranks=(1, 8)), "target": Tensor("~*P", CHOICE, kinks=("self",))},
    counts={"count": "P"},
)
