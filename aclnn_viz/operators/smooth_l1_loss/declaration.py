"""Declare aclnnSmoothL1LossBackward as documented, for checks, test cases and C calls: gradOut, self and target broadcast to
the shape of gradInput.
"""

from aclnn_viz.operators.families.elementwise import loss
from aclnn_viz.operators.families.losses import CHOICE
from aclnn_viz.operators.operator import Attribute, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = loss(
    page,
    """aclnnStatus aclnnSmoothL1LossBackwardGetWorkspaceSize(
        const aclTensor *gradOut, const aclTensor *self, const aclTensor *target, int64_t reduction, float beta,
        aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    {
        "self": Tensor("~*P", ranks=(1, 8)),
        "target": Tensor("~*P", CHOICE, kinks=("self - beta", "self + beta")),
    },
    attributes={"beta": Attribute("float", 1.0, low=0.0, tries=(0.5, 0.0))},
    counts={"count": "P"},
)
