"""Declare aclnnBinaryCrossEntropyBackward as documented, for checks, test cases and C calls: gradOutput, target and
weightOptional broadcast to self.
"""

from aclnn_viz.operators.families.elementwise import loss
from aclnn_viz.operators.families.losses import CHOICE
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = loss(
    page,
    """aclnnStatus aclnnBinaryCrossEntropyBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, const aclTensor *weightOptional,
        int64_t reduction, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    {
        "self": Tensor("*P", low=0.0, high=1.0),
        "target": Tensor("~*P", CHOICE, low=0.0, high=1.0),
        "weightOptional": Tensor("~*P", CHOICE, optional=True),
    },
)
