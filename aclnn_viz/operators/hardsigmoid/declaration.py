"""Declare aclnnHardsigmoidBackward as documented, for checks, test cases and C calls: gradOutput, self and out of one shape and
dtype.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnHardsigmoidBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    gradient="out",
    x=Tensor("*P", kinks=(-3, 3)),
)
