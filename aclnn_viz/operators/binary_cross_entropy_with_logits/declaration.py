"""Declare aclnnBinaryCrossEntropyWithLogitsBackward as documented, for checks, test cases and C calls: target has the shape of
self, gradOutput and both weights broadcast to it.
"""

from aclnn_viz.operators.families.elementwise import loss
from aclnn_viz.operators.families.losses import CHOICE
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = loss(
    page,
    """aclnnStatus aclnnBinaryCrossEntropyWithLogitsBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, const aclTensor *weightOptional,
        const aclTensor *posWeightOptional, int64_t reduction, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    {
        "self": Tensor("*P", ranks=(1, 8)),
        "target": Tensor("*P", CHOICE, low=0.0, high=1.0),
        "weightOptional": Tensor("~*P", CHOICE, optional=True),
        "posWeightOptional": Tensor("~*P", CHOICE, optional=True),
    },
    # self = 0, where slopes composed of max and abs are wrong
    shapes=({"shape": (4, 6)}, {"shape": (257,)}, {"shape": (3,), "self": 0.0}),
)
