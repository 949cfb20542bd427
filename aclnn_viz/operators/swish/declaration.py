"""Declare aclnnSwishBackward as documented, for checks, test cases and C calls: gradOutput and self of one shape and dtype;
without betaOptional beta is 1.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Attribute
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnSwishBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclScalar *betaOptional, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    attributes={"betaOptional": Attribute("const aclScalar *", 1.0, tries=(-0.5, 1.702))},
)
